import cluster, { type Worker } from 'node:cluster';
import type { AdminServer } from '../admin-server.js';
import { ClusterCommands } from './cluster-commands.js';
import { OwnNativeCalls } from '../native-calls.js';
import type { Config } from '../../config/config.js';
import type { Log } from '../../domain/log.js';
import { poolsOf, type Sockets } from '../embedded-pools.js';
import { Drain } from '../../http/request/drain.js';
import type { RunningServer } from './running-server.js';
import { isMessage, type ToPrimary, type ToApiProcess } from './process-messages.js';

/** Pause before a dead API process is replaced, in milliseconds; doubled with each early death. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** If an API process lived this long, in milliseconds, its death is not a problem of its start. */
const STABLE_MS = 30_000;
/** Time beyond `server.drain_ms` that an API process has to exit before it is killed, in milliseconds. */
const GRACE_MS = 5_000;

/** The primary of a cluster: runs the admin port and keeps the configured number of API processes running. */
export class Primary implements RunningServer {
  private readonly commands: ClusterCommands;
  private adminServer: AdminServer | undefined;
  /** API processes that are ready to serve. */
  private readonly serving = new WeakSet<Worker>();
  private isStopping = false;
  private pauseMs = FIRST_PAUSE_MS;
  private port = 0;
  private portOfLater: number | null = null;
  /** Lets the API processes start. They load their code before that, but a problem with a pool is to be reported only once. */
  private mayBegin!: () => void;
  private readonly beginning = new Promise<void>((resolve) => (this.mayBegin = resolve));

  private hasFirst!: () => void;
  private readonly firstServes = new Promise<void>((resolve) => (this.hasFirst = resolve));

  private constructor(
    private readonly config: Config,
    private readonly sockets: Sockets,
    private readonly log: Log,
  ) {
    this.commands = new ClusterCommands(() => this.processes(), config.metrics.max_queues);
  }

  /** @throws {Error} the admin port or an API process does not start */
  static async start(config: Config, sockets: Sockets, log: Log): Promise<Primary> {
    const primary = new Primary(config, sockets, log);
    try {
      await primary.begin();
    } catch (error) {
      await primary.stop();
      throw error;
    }
    return primary;
  }

  get admin(): AdminServer {
    if (this.adminServer === undefined) throw new Error('the admin port is not open yet');
    return this.adminServer;
  }

  get apiPort(): number {
    return this.port;
  }

  get laterPort(): number | null {
    return this.portOfLater;
  }

  announceEnd(): void {
    this.isStopping = true;
    this.adminServer?.announceEnd();
    for (const child of this.processes()) send(child, { type: 'announce_end' });
  }

  async stop(): Promise<void> {
    this.announceEnd();
    const ended = this.processes().map(
      (child) =>
        new Promise<void>((resolve) => {
          const timer = setTimeout(
            () => child.process.kill('SIGKILL'),
            this.config.server.drain_ms + GRACE_MS,
          );
          child.once('exit', () => {
            clearTimeout(timer);
            resolve();
          });
          if (this.serving.has(child)) send(child, { type: 'stop' });
          else child.process.kill('SIGKILL');
        }),
    );
    await Promise.all([...ended, this.commands.calls?.stop()]);
    await this.adminServer?.stop();
  }

  kill(): void {
    for (const child of this.processes()) child.process.kill('SIGKILL');
  }

  private async begin(): Promise<void> {
    const { config, log, sockets, commands } = this;
    const parts = {
      config,
      pools: poolsOf(config, sockets),
      log,
      drain: new Drain(),
      metrics: { reads: true },
    };
    commands.accessLogOn = config.log.access;
    const processes = Promise.all(Array.from({ length: config.server.workers }, () => this.first()));
    // If the server cannot start, the API processes are killed: ignore their exits.
    processes.catch(() => undefined);
    const { checkSurroundings } = await import('../surroundings.js');
    await checkSurroundings(config, parts.pools);
    this.mayBegin();
    // Wait for one API process first: with no more cores than API processes, loading the admin port's code would delay the
    // others. Do not wait for all: an API process that hangs must not keep the admin port closed.
    await Promise.race([this.firstServes, processes]);
    const admin = await import('../admin-server.js');
    commands.calls = new OwnNativeCalls(parts);
    this.adminServer = await admin.AdminServer.start(parts, commands, commands.calls);
    commands.own = this.adminServer.metrics;
    for (const child of this.processes()) send(child, { type: 'end_start' });
    cluster.on('message', (child, message: unknown) => {
      if (isMessage(message)) commands.onMessage(child, message as ToPrimary);
    });
    await processes;
  }

  /** Starts one of the first API processes. Its death ends the server if none serves yet: then the configuration is wrong. */
  private async first(): Promise<void> {
    try {
      await this.fork();
    } catch (error) {
      if (this.port === 0) throw error;
      this.retry(error);
    }
  }

  /** Starts an API process. Resolves when it serves; if it dies after that, it is replaced. */
  private fork(): Promise<void> {
    const child = cluster.fork();
    const startedAt = Date.now();
    return new Promise((resolve, reject) => {
      let isReady = false;
      child.on('message', (message: unknown) => {
        if (!isMessage(message)) return;
        if (message.type === 'hello') {
          void this.beginning.then(() =>
            send(child, { type: 'start', sockets: this.sockets, accessLog: this.commands.accessLogOn }),
          );
        }
        if (message.type !== 'ready') return;
        const { port, laterPort } = message as Extract<ToPrimary, { type: 'ready' }>;
        this.port = port;
        this.portOfLater = laterPort;
        // The access log may have been switched since the fork.
        send(child, { type: 'access_log', on: this.commands.accessLogOn });
        if (this.adminServer !== undefined) send(child, { type: 'end_start' });
        isReady = true;
        this.serving.add(child);
        this.hasFirst();
        resolve();
      });
      child.once('exit', (code, signal) => {
        this.commands.onExit(child);
        if (!isReady) reject(new Error(`an API process ended with ${endOf(code, signal)} before it served`));
        if (isReady && !this.isStopping) this.replace(child, Date.now() - startedAt, endOf(code, signal));
      });
    });
  }

  private replace(dead: Worker, livedMs: number, how: string): void {
    if (livedMs >= STABLE_MS) this.pauseMs = FIRST_PAUSE_MS;
    this.log.error(
      { process: dead.id, pid: dead.process.pid, how, pause_ms: this.pauseMs },
      'an API process died, and is started again',
    );
    setTimeout(() => void this.refork(), this.pauseMs);
    this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS);
  }

  private async refork(): Promise<void> {
    if (this.isStopping) return;
    try {
      await this.fork();
    } catch (error) {
      this.retry(error);
    }
  }

  private retry(error: unknown): void {
    this.log.error({ err: error, pause_ms: this.pauseMs }, 'an API process could not be started');
    setTimeout(() => void this.refork(), this.pauseMs);
    this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS);
  }

  private processes(): Worker[] {
    return Object.values(cluster.workers ?? {}).filter((child) => child !== undefined);
  }
}

/** Node's types always promise a signal; it is null for a process that exited. */
function endOf(code: number | null, signal: string | null): string {
  return signal ?? String(code);
}

function send(child: Worker, message: ToApiProcess): void {
  if (child.isConnected()) child.send(message, undefined, () => undefined);
}
