import { performance } from 'node:perf_hooks';
import { Cluster, type Redis } from 'ioredis';
import { type Durability, replicasOf } from '../../domain/durability.js';
import { QueueError } from '../../domain/errors.js';
import type { PoolOptions } from '../../domain/pool.js';
import { Calls } from '../calls.js';
import type { Client } from '../connect.js';
import { DurableConnection, MARK, type Proof } from './connection.js';
import type { RedisFault } from '../errors.js';
import type { LeaseFloor } from '../lease-floor.js';
import { leastOf, type Safety, safetyOf, shortfallOf } from './safety.js';
import { type Arg, EncodedCommand, flatten, type Item, replyOf, type Script } from '../scripts/script.js';
import type { ScriptText } from '../scripts/texts.js';

/** A connection path for scripts; see `RedisPool.run`. */
export interface ScriptPath {
  run<K extends string, A extends string, R>(
    binding: Script<K, A, string, R>,
    keyOf: Readonly<Record<K, string>>,
    argOf: Readonly<Record<A, Arg>>,
    items?: readonly Item[],
    late?: (reply: R) => void,
  ): Promise<R>;
  /**
   * Resolves when earlier writes to a key are as safe as those of the scripts. Only in a Cluster, where the key may be
   * on another node.
   *
   * @throws {QueueError} as `run`
   */
  readonly settle?: ((key: string) => Promise<void>) | undefined;
}

/** What the paths need of their pool. */
export interface PoolParts {
  readonly name: string;
  readonly options: PoolOptions;
  /** The pool's connection for everything that is not durable. */
  readonly client: Client;
  /** Creates a further connection, without opening it. */
  readonly openClient: () => Client;
  /** Puts the lease floor into the arguments of a call. */
  readonly fill: LeaseFloor['fill'];
  /** Sends a script over it, once. */
  readonly call: (name: string, args: readonly Arg[]) => Promise<unknown>;
  /** @throws {QueueError} `pool_unavailable`: scripts may not access the store now */
  readonly check: () => void;
  /** A script's text for the pool's Redis. */
  readonly scriptOf: (name: string) => ScriptText;
  readonly onFault: (fault: RedisFault) => void;
  /** Called when a requested durability is not available now. */
  readonly onShortfall: (durability: Durability, error: Error) => void;
}

/** How long the result of a safety check is cached, in milliseconds: a sufficient one, and an insufficient one. */
const BELIEVED_MS = 10_000;
const DOUBTED_MS = 250;
const USUAL_WAIT_MS = 500;

/** The connection paths of one pool for durable publishes: one for each requested durability. */
export class DurablePaths {
  private readonly paths = new Map<Durability, DurablePath>();
  private readonly calls: Calls;
  /** By Redis, or master of a Cluster. */
  private known = new WeakMap<Redis, { readonly safety: Safety; readonly atMs: number }>();
  private readonly asking = new Map<Redis, Promise<Safety>>();

  constructor(private readonly parts: PoolParts) {
    this.calls = new Calls(parts.name, parts.options.commandTimeoutMs, parts.onFault);
    // guard: durability-per-redis
    parts.client.on('close', () => this.forget());
  }

  of(durability: Durability): ScriptPath {
    let path = this.paths.get(durability);
    if (!path) {
      path = new DurablePath(durability, this.parts, this);
      this.paths.set(durability, path);
    }
    return path;
  }

  /**
   * Checks that a durability is available now.
   *
   * @param key in a Cluster, only the master of its slot counts; left out: all of them
   * @returns what the Redis can do
   * @throws {QueueError} `durability_unavailable`: it is not; or the error of a call without a reply
   */
  async require(durability: Durability, key?: string): Promise<Safety> {
    const nodes = this.nodesFor(/* guard: durability-of-the-master */ key);
    return this.demand(
      durability,
      leastOf(await Promise.all(nodes.map((one) => this.inspect(durability, one)))),
    );
  }

  /** Discards the cached results. */
  doubt(): void {
    this.known = new WeakMap();
  }

  private nodesFor(key: string | undefined): Redis[] {
    const { client } = this.parts;
    if (!(client instanceof Cluster)) return [client];
    if (key === undefined) return client.nodes('master');
    const master = masterOf(client, key);
    if (master === undefined) throw notReady();
    return [master];
  }

  close(): void {
    this.calls.close();
    for (const path of this.paths.values()) path.close();
  }

  /** Discards what is known of the old Redis: another one may come after it. */
  private forget(): void {
    this.doubt();
    this.calls.failAll('connection lost');
    for (const path of this.paths.values()) path.lost();
  }

  private demand(durability: Durability, safety: Safety): Safety {
    const missing = shortfallOf(durability, safety);
    if (missing === undefined) return safety;
    const error = new QueueError('durability_unavailable', `pool ${this.parts.name}: durability ${missing}`);
    // guard: durability-missing-shown
    this.parts.onShortfall(durability, error);
    throw error;
  }

  /** Asks once for all callers, and believes the answer for a while. */
  private inspect(durability: Durability, node: Redis): Promise<Safety> {
    const known = this.known.get(node);
    const believedMs =
      known && shortfallOf(durability, known.safety) === undefined ? BELIEVED_MS : DOUBTED_MS;
    if (known && performance.now() - known.atMs < believedMs) return Promise.resolve(known.safety);
    const asking =
      this.asking.get(node) ?? this.readSafety(node).finally(() => void this.asking.delete(node));
    this.asking.set(node, asking);
    return asking;
  }

  private async readSafety(node: Redis): Promise<Safety> {
    const atMs = performance.now();
    const safety = (await this.calls.attempt(() => safetyOf(node))) as Safety;
    this.known.set(node, { safety, atMs });
    return safety;
  }
}

/** The connection path for one durability. */
class DurablePath implements ScriptPath {
  readonly settle: ((key: string) => Promise<void>) | undefined;
  private readonly calls: Calls;
  private readonly connections = new WeakMap<Redis, DurableConnection>();
  private own: Client | undefined;

  constructor(
    private readonly durability: Durability,
    private readonly parts: PoolParts,
    private readonly paths: DurablePaths,
  ) {
    this.calls = new Calls(parts.name, parts.options.commandTimeoutMs, parts.onFault);
    this.settle = parts.client instanceof Cluster ? (key) => this.prove(key) : undefined;
  }

  async run<K extends string, A extends string, R>(
    binding: Script<K, A, string, R>,
    keyOf: Readonly<Record<K, string>>,
    argOf: Readonly<Record<A, Arg>>,
    items: readonly Item[] = [],
    late?: (reply: R) => void,
  ): Promise<R> {
    this.parts.check();
    const args = flatten(binding, keyOf, argOf, items);
    const raw = await this.calls.persist(() => this.send(binding.name, this.parts.fill(binding, args)), {
      repeatable: binding.repeatable,
      late: late && ((reply) => late(replyOf(binding, reply))),
    });
    return replyOf(binding, raw);
  }

  private async prove(key: string): Promise<void> {
    this.parts.check();
    await this.calls.persist(() => this.send(MARK, [1, key]), { repeatable: true });
  }

  /** The pool has lost its connection: its master may have changed. */
  lost(): void {
    this.calls.failAll('connection lost');
    this.renew();
  }

  private renew(): void {
    this.paths.doubt();
    if (this.own instanceof Cluster) this.own.refreshSlotsCache();
    else if (this.own?.status === 'ready') this.own.disconnect(true);
  }

  close(): void {
    this.calls.close();
    this.own?.disconnect();
  }

  /** Chooses the connection again for each attempt: it may lead to another Redis by then. */
  private async send(name: string, args: readonly Arg[]): Promise<unknown> {
    const key = String(args[1]);
    const { fsyncsAlways } = await this.paths.require(this.durability, key);
    // Such a Redis answers after its disk has the write.
    if (this.durability === 'aof' && fsyncsAlways) return this.parts.call(name, args);
    const client = this.nodeOf(key);
    let connection = this.connections.get(client);
    if (!connection) {
      const { name: pool, options, scriptOf } = this.parts;
      const proof = proofOf(this.durability, options);
      connection = new DurableConnection(pool, client, proof, scriptOf, options.commandTimeoutMs, () =>
        this.renew(),
      );
      this.connections.set(client, connection);
    }
    return connection.send(name, args);
  }

  /** The connection to the Redis that has a key; in a Cluster the master of its slot. */
  private nodeOf(key: string): Redis {
    const client = this.open();
    if (!(client instanceof Cluster)) return client;
    const node = masterOf(client, key);
    if (node) return node;
    this.renew();
    throw notReady();
  }

  private open(): Client {
    if (this.own) return this.own;
    const client = this.parts.openClient();
    // Its error was reported by an event.
    client.connect().catch(() => undefined);
    return (this.own = client);
  }
}

/** The master of the slot of a key; undefined: the slot map names one that is gone. */
function masterOf(cluster: Cluster, key: string): Redis | undefined {
  const [place] = cluster.slots[new EncodedCommand(Buffer.alloc(0), key).getSlot()] ?? [];
  return cluster
    .nodes('master')
    .find(({ options: { host, port } }) => `${host ?? ''}:${String(port)}` === place);
}

/** No reply would reveal that a master is gone, so nothing is sent. The text is that of the driver. */
function notReady(): Error {
  return new Error("Cluster isn't ready");
}

function proofOf(
  durability: Durability,
  { commandTimeoutMs, waitTimeoutMs = USUAL_WAIT_MS }: PoolOptions,
): Proof {
  // A call may have to wait for the round before its own, and for a new connection.
  const waitMs = Math.max(1, Math.min(waitTimeoutMs, Math.floor(commandTimeoutMs / 3)));
  const wanted = replicasOf(durability);
  if (wanted > 0) {
    return {
      command: ['WAIT', wanted, waitMs],
      missing: (answer) =>
        Number(answer) >= wanted
          ? undefined
          : `${String(Number(answer))} of ${String(wanted)} replicas have it`,
    };
  }
  return {
    command: ['WAITAOF', 1, 0, waitMs],
    missing: (answer) =>
      Array.isArray(answer) && Number(answer[0]) >= 1 ? undefined : 'it is not on the disk yet',
  };
}
