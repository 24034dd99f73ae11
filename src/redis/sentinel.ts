import { createConnection, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Redis } from 'ioredis';
import type { NodeAddress, PoolTarget } from '../domain/pool.js';
import { reachedAt, textOfAddress } from './nat.js';
import { checkSetUp, SetUpError } from './set-up.js';

/** The master of a Sentinel group; the higher its epoch, the newer its election. */
export interface Master extends NodeAddress {
  readonly epoch: number;
}

/** How long one sentinel may take to answer, and the others after the first one, in milliseconds. */
const SENTINEL_MS = 1_000;
const OTHERS_MS = 200;
/** How often the connector checks that it is connected to the current master, in milliseconds. */
const WATCH_MS = 1_000;

type Target = Pick<PoolTarget, 'sentinels' | 'masterName' | 'sentinelPassword' | 'tls' | 'natMap'>;

/**
 * Asks all sentinels of a group at once for their master, and uses the newest election: a sentinel that is cut off from
 * the others still names the old master. A silent sentinel delays nothing.
 */
export class MasterFinder {
  private asking: Promise<Master> | undefined;

  constructor(readonly target: Target) {}

  /** Asks once for all callers. @throws {Error} no sentinel answers, or knows a master of that name */
  find(): Promise<Master> {
    this.asking ??= this.findMaster().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private async findMaster(): Promise<Master> {
    const { sentinels = [], masterName = 'mymaster' } = this.target;
    const found: Master[] = [];
    const failed: Error[] = [];
    const all = sentinels.map((address) =>
      this.askSentinel(address, masterName).then(
        (master) => void found.push(master),
        (error: unknown) => void failed.push(error instanceof Error ? error : new Error(String(error))),
      ),
    );
    await Promise.race([Promise.all(all), this.first(all, found)]);
    const [newest] = found.sort((a, b) => /* guard: newest-election-counts */ b.epoch - a.epoch);
    if (newest) return { ...newest, ...reachedAt(newest, this.target) };
    const last = failed.at(-1);
    const reason = last?.message ?? 'none is named';
    // Each of them has answered, and would answer so again.
    if (last instanceof SetUpError && failed.every((error) => error instanceof SetUpError)) throw last;
    throw new Error(`All sentinels are unreachable, or do not know ${masterName}: ${reason}`);
  }

  /** Resolves `OTHERS_MS` after the first answer. */
  private async first(all: readonly Promise<void>[], found: readonly Master[]): Promise<void> {
    const answered = all.map((one) =>
      one.then(() => (found.length > 0 ? undefined : Promise.reject(new Error()))),
    );
    await Promise.any(answered).then(
      () => sleep(OTHERS_MS, undefined, { ref: false }),
      () => undefined,
    );
  }

  private async askSentinel({ host, port }: NodeAddress, name: string): Promise<Master> {
    const { sentinelPassword: password, tls } = this.target;
    const sentinel = new Redis({
      ...{ host, port, protocol: 2, lazyConnect: true, enableReadyCheck: false, disableClientInfo: true },
      ...{
        connectTimeout: SENTINEL_MS,
        /* guard: sentinel-hang-no-delay */ commandTimeout: SENTINEL_MS,
        disconnectTimeout: OTHERS_MS,
      },
      retryStrategy: () => null,
      ...(password === undefined ? {} : { password }),
      // guard: sentinel-over-tls
      ...(tls === undefined ? {} : { tls: { ...tls } }),
    });
    let reason: Error | undefined;
    checkSetUp(sentinel).on('error', (error: Error) => (reason ??= error));
    try {
      await sentinel.connect();
      return masterOf(await sentinel.call('SENTINEL', 'MASTER', name));
    } catch (error) {
      // The driver's error only says that the connection is closed.
      throw reason ?? answerOf(error, textOfAddress({ host, port }), name);
    } finally {
      sentinel.disconnect();
    }
  }
}

/** The error for a sentinel that answered: what to set instead; any other as it is. */
function answerOf(error: unknown, at: string, name: string): unknown {
  const message = error instanceof Error && error.name === 'ReplyError' ? error.message : '';
  if (/unknown command/i.test(message)) {
    const remedy = 'name the ports of the sentinels (by default 26379), or set url in the place of sentinels';
    return new SetUpError(`${at} is no Sentinel but a Redis: ${remedy}`);
  }
  if (/No such master/i.test(message))
    return new SetUpError(`the Sentinel at ${at} knows no master of the name ${name}: set master_name`);
  if (/^(?:NOAUTH|WRONGPASS)/.test(message))
    return new SetUpError(`the Sentinel at ${at} needs another password (${message}): set sentinel_password`);
  return error;
}

/** @param reply names and values, alternating */
function masterOf(reply: unknown): Master {
  const facts = Array.isArray(reply) ? reply.map(String) : [];
  const fact = (name: string): string => facts[facts.indexOf(name) + 1] ?? '';
  const master = { host: fact('ip'), port: Number(fact('port')), epoch: Number(fact('config-epoch')) };
  if (master.host === '' || !(master.port > 0))
    throw new Error('a sentinel answered something else than a master');
  return master;
}

/**
 * Connects the driver to the master of a group, and closes the connection when the group has another master. A master
 * that was cut off from the others still answers clients that reach it; writes to it are lost when it comes back as a
 * replica.
 */
export class MasterConnector extends AbstractConnector {
  private watch: NodeJS.Timeout | undefined;

  /**
   * @param goodbyeMs how long closing a connection may take, in milliseconds
   * @param pauseMs the pause before the n-th attempt, in milliseconds
   */
  constructor(
    private readonly finder: MasterFinder,
    goodbyeMs: number,
    private readonly pauseMs: (attempt: number) => number,
  ) {
    super(goodbyeMs);
  }

  /** @throws {Error} only if it was disconnected meanwhile: after any other error the driver would give up for good */
  override async connect(emit: (type: string, error: Error) => void): Promise<Socket> {
    this.connecting = true;
    for (let attempt = 1; ; attempt++) {
      const master = await this.finder.find().catch((error: unknown) => {
        emit('error', error instanceof Error ? error : new Error(String(error)));
        return undefined;
      });
      if (!this.isWanted()) throw new Error('Connection is closed.');
      if (master) return this.open(master);
      await sleep(this.pauseMs(attempt));
    }
  }

  /** Rejects a former master that has become a replica. */
  override check(info: { readonly role?: string }): boolean {
    return info.role === undefined || info.role === 'master';
  }

  override disconnect(): void {
    clearInterval(this.watch);
    super.disconnect();
  }

  private isWanted(): boolean {
    return this.connecting;
  }

  private open(master: Master): Socket {
    const { tls } = this.finder.target;
    const address = { host: master.host, port: master.port };
    const socket: Socket = tls ? connectTls({ ...address, ...tls }) : createConnection(address);
    this.stream = socket;
    socket.once('error', (error) => (this.firstError = error));
    clearInterval(this.watch);
    const watch = setInterval(() => void this.compare(socket, master), WATCH_MS).unref();
    this.watch = watch;
    socket.once('close', () => clearInterval(watch));
    return socket;
  }

  private async compare(socket: Socket, { host, port, epoch }: Master): Promise<void> {
    const now = await this.finder.find().catch(() => undefined);
    if (!now || now.epoch < epoch || (now.host === host && now.port === port)) return;
    // guard: sentinel-leaves-deposed
    if (this.stream === socket) this.disconnect();
  }
}
