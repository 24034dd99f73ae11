import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import { isNativeError } from 'node:util/types';
import { type Durability, replicasOf } from '../domain/durability.js';
import { QueueError } from '../domain/errors.js';
import type { Log } from '../domain/log.js';
import type { PoolOptions } from '../domain/pool.js';
import { redisUrlProblem } from '../domain/redis-url.js';
import { Calls, RedisClock } from './calls.js';
import { sendToCluster } from './cluster/command.js';
import { clusterHeads } from './cluster/heads.js';
import { ClusterNodes } from './cluster/nodes.js';
import { ClusterWakeups } from './cluster/wakeups.js';
import { type Client, createClient, isCluster } from './connect.js';
import { Cause, diagnose } from './diagnosis.js';
import { DurablePaths, type ScriptPath } from './durable/paths.js';
import { faultOf, type RedisFault, toQueueError, unavailable } from './errors.js';
import { NewerFormatError, raiseFormat } from './format.js';
import { inspectStore, type StoreState } from './inspect.js';
import { Keys } from './keys.js';
import { LeaseFloor } from './lease-floor.js';
import { LossDetector } from './loss-detector.js';
import { parseInfo } from './parse-info.js';
import { textOfAddress } from './nat.js';
import { withRemedy } from './remedies.js';
import { requireRights, rightsOf } from './rights.js';
import { scanKeys } from './scan.js';
import { lowestScores as scoreHeads } from './scripts/simple.js';
import {
  type Arg,
  EncodedCommand,
  flatten,
  type Item,
  replyOf,
  type Script,
  ScriptCaller,
} from './scripts/script.js';
import { scriptText, type WakeStyle } from './scripts/texts.js';
import { type Admit, LOADS, type Send, SetUpError } from './set-up.js';
import { ChannelWakeups, type WakeListener, type Wakeups } from './wakeups.js';

export type { WakeListener } from './wakeups.js';

/** How often the connection is probed, in milliseconds, and after how many probes the store is inspected. */
const PROBE_MS = 1_000;
const INSPECT_EVERY = 10;
/** How long a pool may take to connect at start, in milliseconds. */
const CONNECT_MS = 10_000;
/** Namespaces that one script reads: half a millisecond of Redis. */
const HEADS_IN_ONE = 500;
/** Errors that retrying does not solve. */
const FINAL =
  /WRONGPASS|NOAUTH|invalid password|certificate|cluster support disabled|unknown command '?cluster/i;

/** Whether a pool is usable now. */
export interface PoolStatus {
  readonly up: boolean;
  /** Its problems if it is: `maxmemory_policy`, `aof_off`, `full`, `disk`, `node_down`, `durability`. */
  readonly degraded: readonly string[];
  /** What Redis refused when a connection was set up, and why. */
  readonly refusal?: string;
}

/** One Redis deployment: its connections, scripts, clock and state. Every call settles within `commandTimeoutMs`. */
export class RedisPool {
  readonly keys: Keys;
  readonly clock = new RedisClock();
  private readonly calls: Calls;
  private readonly durable: DurablePaths;
  private readonly wakeListeners = new Set<WakeListener>();
  private readonly halt = new AbortController();
  private store: StoreState = { degraded: [], hasShardedPubSub: false, format: 0 };
  /** True while the pool's own durability is not available: publishes are rejected. */
  private isShort = false;
  private failedProbes = 0;
  private lastError: unknown;
  private readonly scripts: ScriptCaller;
  /** Only in a Cluster. */
  private readonly nodes: ClusterNodes | undefined;
  private wakeups: Wakeups | undefined;
  private wakeStyle: WakeStyle = 'plain';
  /** Set while the store has a newer data format: our scripts may not access it. */
  private newer: NewerFormatError | undefined;
  private readonly floor: LeaseFloor;
  private readonly losses: LossDetector;
  private readonly client: Client;
  /** All that the pool has opened. */
  private readonly connections = new Set<Client>();
  /** Connections, and nodes of a Cluster, whose set-up Redis refused last, and why. */
  private readonly refused = new Map<Client | string, string>();
  private isOpen = false;
  /** Which rights the Redis user lacks; undefined = none, as far as is known. */
  private denial: string | undefined;
  /** True after Redis refused a call for lack of rights. */
  private isDenied = false;
  /** Keys that not every pool has. */
  private readonly neededKeys: string[] = [];

  private constructor(
    readonly name: string,
    readonly options: PoolOptions,
    private readonly log: Log,
  ) {
    this.keys = new Keys(options.keyPrefix);
    this.floor = new LeaseFloor(this.keys);
    this.losses = new LossDetector(this.keys, name, log);
    this.client = this.openClient();
    const { client } = this;
    this.calls = new Calls(name, options.commandTimeoutMs, (fault) => this.record(fault));
    this.durable = new DurablePaths({
      name,
      options,
      client,
      openClient: () => this.openClient(),
      fill: (binding, args) => this.floor.fill(binding, args),
      call: (script, args) => this.scripts.call(script, args),
      check: () => this.check(),
      scriptOf: (script) => scriptText(script, this.wakeStyle),
      onFault: (fault) => this.record(fault),
      onShortfall: (durability, error) => {
        if (durability === options.durability) this.recordShortFault(error);
      },
    });
    if (isCluster(client)) {
      this.nodes = new ClusterNodes(client, this.calls, this.clock, this.floor, this.losses);
    }
    const send = isCluster(client)
      ? (command: Buffer, key: string): Promise<unknown> => sendToCluster(client, command, key)
      : (command: Buffer, key: string) =>
          client.sendCommand(new EncodedCommand(command, key)) as Promise<unknown>;
    this.scripts = new ScriptCaller(send, () => this.wakeStyle);
  }

  /**
   * Opens a pool's connections and checks that its Redis can hold jobs.
   *
   * @throws {TypeError} the URL is none of a Redis; the message does not show it, as it may contain a password
   * @throws {QueueError} `pool_unavailable`: it cannot be reached within ten seconds
   * @throws {Error} it is too old, its data format is newer than ours, or it may lose jobs and `allowUnsafe` is not set
   */
  static async connect(name: string, options: PoolOptions, log: Log): Promise<RedisPool> {
    const problem = options.url === undefined ? null : redisUrlProblem(options.url);
    // guard: error-hides-the-url
    if (problem !== null) throw new TypeError(`the Redis URL of pool ${name} ${problem}`);
    const pool = new RedisPool(name, options, log);
    try {
      await pool.open();
    } catch (error) {
      await pool.close();
      const known = toQueueError(name, error);
      if (known instanceof QueueError || !(error instanceof Error)) throw known;
      throw new Error(`pool ${name} at ${placeOf(options)}: ${error.message}`, { cause: error });
    }
    return pool;
  }

  get status(): PoolStatus {
    const degraded = [...this.store.degraded];
    if (this.nodes?.hasSilent === true) degraded.push('node_down');
    if (this.isShort) degraded.push('durability');
    const { refusal } = this;
    // The other nodes of a Cluster are used.
    const isRefused = this.denial !== undefined || (refusal !== undefined && !this.nodes);
    const up = this.failedProbes === 0 && this.client.status === 'ready' && !isRefused;
    return { up, degraded, ...(refusal === undefined ? {} : { refusal }) };
  }

  /** Version of the data format of the store, as it was read last. */
  get format(): number {
    return this.store.format;
  }

  /**
   * Raises the format of the store to ours, for good.
   *
   * @throws {OlderServersError} servers that cannot read it are connected, or may be
   * @throws {QueueError} an error of the store
   */
  async raiseFormat(): Promise<void> {
    await this.calls.persist(() => raiseFormat(this.client, this.keys), { repeatable: true });
    await this.inspect(true);
  }

  /** Calls `listener` for each wake-up. @returns a function that removes it */
  onWake(listener: WakeListener): () => void {
    this.wakeListeners.add(listener);
    return () => this.wakeListeners.delete(listener);
  }

  /**
   * Registers a waiter in the namespace: its wake-ups are received until `unfollow` has been called as often. Costs
   * nothing except in a Cluster.
   */
  follow(namespace: string): void {
    this.wakeups?.follow(namespace);
  }

  unfollow(namespace: string): void {
    this.wakeups?.unfollow(namespace);
  }

  /**
   * Runs a script. Within the command timeout it retries scripts that certainly did not run, and repeatable scripts
   * that may have run. A reply that arrives after the caller got an error goes to `late`.
   *
   * @throws {QueueError} `pool_unavailable`, `store_full` or `disk_full`
   */
  async run<K extends string, A extends string, R>(
    binding: Script<K, A, string, R>,
    keyOf: Readonly<Record<K, string>>,
    argOf: Readonly<Record<A, Arg>>,
    items: readonly Item[] = [],
    late?: (reply: R) => void,
  ): Promise<R> {
    this.check();
    const args = flatten(binding, keyOf, argOf, items);
    const raw = await this.calls.persist(
      () => this.scripts.call(binding.name, this.floor.fill(binding, args)),
      {
        repeatable: binding.repeatable,
        late: late && ((reply) => late(replyOf(binding, reply))),
      },
    );
    return replyOf(binding, raw);
  }

  /** The connection path for a durability. Its further errors: `durability_unavailable`, `not_replicated`. */
  through(durability: Durability): ScriptPath {
    return durability === 'memory' ? this : this.durable.of(durability);
  }

  /**
   * Sends one plain command that may safely be repeated; byte strings are returned as text.
   *
   * @throws {QueueError} `pool_unavailable`, `store_full` or `disk_full`
   */
  async read(command: string, ...args: (string | number | Buffer)[]): Promise<unknown> {
    return this.calls.persist(() => this.client.call(command, ...args), { repeatable: true });
  }

  /** Like `read`; texts of the reply are buffers. */
  async readBytes(command: string, ...args: (string | number | Buffer)[]): Promise<unknown> {
    return this.calls.persist(() => this.client.callBuffer(command, ...args), { repeatable: true });
  }

  /**
   * The lowest scores of many zsets, for example when each namespace is due next: in a few calls for all, except in a
   * Cluster, where their keys are on several nodes. There a node that does not answer is skipped and does not delay the
   * others.
   *
   * @returns NaN for one that is empty, or that cannot be read now
   * @throws {QueueError} as `read`
   */
  async heads(zsets: readonly string[]): Promise<number[]> {
    if (isCluster(this.client)) return clusterHeads(this.client, this.calls, zsets);
    const heads: number[] = [];
    for (let i = 0; i < zsets.length; i += HEADS_IN_ONE) {
      const items = zsets.slice(i, i + HEADS_IN_ONE).map((key) => [key]);
      heads.push(...(await this.run(scoreHeads, {}, {}, items)));
    }
    return heads;
  }

  /** Pages of the keys that match a pattern, of all nodes; see `scanKeys`. */
  scan(pattern: string, count: number): AsyncGenerator<Buffer[]> {
    return scanKeys(this.client, this.calls, pattern, count);
  }

  /** Redis's INFO, of one node: raw text. For metrics. */
  async info(): Promise<string> {
    return String(await this.read('INFO'));
  }

  /**
   * Checks that the Redis user may use further keys, and checks it from now on.
   *
   * @throws {QueueError} `pool_unavailable`: it may not
   */
  async need(keys: readonly string[]): Promise<void> {
    this.neededKeys.push(...keys);
    await this.checkRights();
    if (this.denial !== undefined) throw this.unusable(this.denial);
  }

  /** Ends probes and closes the connections; calls in progress fail. */
  async close(): Promise<void> {
    this.halt.abort();
    this.client.disconnect();
    this.wakeups?.disconnect(false);
    this.durable.close();
    this.calls.close();
    await Promise.resolve();
  }

  private async open(): Promise<void> {
    this.client.on('close', () => this.calls.failAll('connection lost'));
    const deadline = performance.now() + CONNECT_MS;
    await this.connectBy(deadline, this.client);
    await this.inspect(this.options.allowUnsafe).catch((error: unknown) => this.explain(error));
    this.wakeups = await this.listen(deadline);
    await this.wakeups.open();
    await this.probe();
    await this.requireDurability();
    if (this.refusal !== undefined) throw this.unusable(this.refusal);
    this.isOpen = true;
    void this.watch();
  }

  /** In a Cluster others may answer while the node is away that has what is read first: looks for the cause. @throws always */
  private async explain(error: unknown): Promise<never> {
    const isAway = error instanceof QueueError && this.options.clusterNodes !== undefined;
    const cause = isAway ? await diagnose(this.options) : null;
    throw cause === null ? error : this.unusable(cause.reason);
  }

  /** Checks a Redis that one of the connections leads to, before its first command. */
  private async admit(client: Client, ...[send, facts]: Parameters<Admit>): Promise<void> {
    await requireRights(send, this.rights());
    const isOther = await this.floor.admit(send, facts);
    if (!isOther || !this.isOpen) return;
    // Calls wait for the connection to a node with the floor of before in them: they fail, and are sent again.
    if (this.nodes) throw new Error('connection lost: the node has another history');
    for (const other of this.connections) {
      // guard: connections-lead-to-one-history
      if (other !== client && other.status === 'ready') (other as Redis).disconnect(true);
    }
  }

  /** Creates a connection, without opening it. */
  private openClient(overrides: Parameters<typeof createClient>[1] = {}): Client {
    const client = createClient(this.options, overrides, (...of) => this.admit(client, ...of));
    this.connections.add(client);
    client.once('end', () => this.connections.delete(client));
    this.report(client);
    return client;
  }

  /** Reports errors of a connection; of a Cluster, those of each node. */
  private report(client: Client): void {
    if (isCluster(client)) client.on('+node', (node: Redis) => this.report(node));
    // The driver makes another connection to a node after each failure.
    const key = this.nodes && !isCluster(client) ? addressOf(client) : client;
    client.on('error', (error: Error) => {
      this.lastError = error;
      this.calls.note(error);
      this.recordError(error);
      if (!(error instanceof SetUpError)) return;
      if (this.isOpen && this.refused.get(key) !== error.message) {
        this.log.warn({ pool: this.name, err: error.message }, 'Redis refuses a connection of the pool');
      }
      this.refused.set(key, error.message);
    });
    client.on('ready', () => this.refused.delete(key));
    client.on(LOADS, () => this.calls.note(new Error('LOADING Redis is loading its data')));
  }

  private rights(): string[] {
    return rightsOf(this.keys, this.nodes !== undefined, this.neededKeys);
  }

  /** Checks the rights of the Redis user again, on each node: they may be taken away while connections are open. */
  private async checkRights(): Promise<void> {
    const { client } = this;
    for (const node of isCluster(client) ? client.nodes('master') : [client]) {
      const send = this.calls.over(node);
      try {
        await requireRights(send, this.rights());
      } catch (error) {
        if (!(error instanceof SetUpError) && faultOf(error) !== 'denied') throw error;
        const reason = error instanceof Error ? error.message : String(error);
        if (this.denial === undefined && this.isOpen) {
          this.log.warn({ pool: this.name, err: reason }, 'the Redis user lacks rights');
        }
        this.denial = reason;
        return;
      }
    }
    this.denial = undefined;
  }

  /** What Redis refused when a connection was set up, and why. Nodes that have left their Cluster do not count. */
  private get refusal(): string | undefined {
    if (this.denial !== undefined) return this.denial;
    const masters = this.nodes?.masters() ?? [];
    return [...this.refused].find(([key]) => typeof key !== 'string' || masters.includes(key))?.[1];
  }

  /**
   * A disk that is not written to stays so: fails. Missing replicas may connect later: until then publishes are
   * rejected, and everything else works.
   */
  private async requireDurability(): Promise<void> {
    const { durability = 'memory' } = this.options;
    if (durability === 'memory') return;
    try {
      await this.durable.require(durability);
    } catch (error) {
      if (replicasOf(durability) === 0) throw error;
    }
  }

  /**
   * Checks whether the durability of publishes is available again. If that cannot be found out, the last result stays.
   */
  private async checkDurability(): Promise<void> {
    const { durability = 'memory' } = this.options;
    if (durability === 'memory') return;
    try {
      await this.durable.require(durability);
    } catch {
      return;
    }
    if (this.isShort) this.log.info({ pool: this.name, durability }, 'publishes are accepted again');
    this.isShort = false;
  }

  private recordShortFault({ message: err }: Error): void {
    if (!this.isShort)
      this.log.warn(
        { pool: this.name, err },
        'publishes are refused: the durability of the pool is not available',
      );
    this.isShort = true;
  }

  private recordError({ message }: Error): void {
    this.log.debug({ pool: this.name, err: message }, 'a Redis connection failed');
  }

  /** Opens the connections for wake-ups. */
  private async listen(deadline: number): Promise<Wakeups> {
    const { client, nodes, calls, keys, wakeListeners } = this;
    if (isCluster(client) && nodes) {
      this.wakeStyle = this.store.hasShardedPubSub ? 'sharded' : 'plain';
      return new ClusterWakeups(client, nodes, calls, keys, this.wakeStyle, wakeListeners);
    }
    const subscriber = this.openClient({
      enableOfflineQueue: true,
      autoResubscribe: /* guard: driver-does-not-subscribe */ false,
    });
    if (isCluster(subscriber)) throw new TypeError('a Cluster has another kind of subscriber');
    const wakeups = new ChannelWakeups(subscriber, calls, keys.wakeChannel, wakeListeners);
    await this.connectBy(deadline, subscriber).catch((error: unknown) => {
      wakeups.disconnect(false);
      throw error;
    });
    return wakeups;
  }

  private async connectBy(deadline: number, client: Client): Promise<void> {
    client.connect().catch((error: unknown) => (this.lastError ??= error));
    const cause = new Cause(this.options);
    while (client.status !== 'ready') {
      const reason = reasonOf(this.lastError);
      if (this.lastError instanceof SetUpError || FINAL.test(reason)) throw this.unusable(reason);
      const isLate = performance.now() > deadline;
      const found = cause.find();
      if (found !== null && (found.isFinal || isLate)) throw this.unusable(found.reason);
      if (isLate) throw this.unusable(reason);
      await sleep(5);
    }
    this.lastError = undefined;
  }

  private unusable(reason: string): QueueError {
    const where = `the Redis of pool ${this.name} at ${placeOf(this.options)}`;
    return new QueueError('pool_unavailable', `${where} cannot be used: ${withRemedy(reason)}`);
  }

  /** Refuses access to a store with a newer data format. */
  private check(): void {
    // guard: newer-store-left-alone
    if (this.newer) throw unavailable(this.name, this.newer);
    // guard: no-call-without-rights
    if (this.denial !== undefined) throw unavailable(this.name, new Error(this.denial));
  }

  /** Reports a fault found by a call, before the next inspection finds it. */
  private record(fault: RedisFault): void {
    if (fault === 'denied') this.isDenied = true;
    const reason = fault === 'full' || fault === 'disk' ? fault : undefined;
    if (reason && !this.store.degraded.includes(reason)) {
      this.store = { ...this.store, degraded: [...this.store.degraded, reason] };
    }
  }

  /** Probes every second: finds and replaces half-open connections, and samples the clock. */
  private async watch(): Promise<void> {
    const { signal } = this.halt;
    for (let round = 1; ; round++) {
      await sleep(PROBE_MS, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.probe();
        // While a node of a Cluster is silent, inspecting it would only wait; the pool is already degraded.
        const isTurn = round % INSPECT_EVERY === 0 && this.nodes?.hasSilent !== true;
        if (this.isDenied || this.denial !== undefined || isTurn) {
          this.isDenied = false;
          await this.checkRights();
        }
        // guard: store-checked-while-running
        if (this.newer || isTurn) await this.inspect(true);
        if (this.isShort || isTurn) await this.checkDurability();
        if (this.failedProbes > 0) this.log.info({ pool: this.name }, 'the pool answers again');
        this.failedProbes = 0;
      } catch (error) {
        this.failedProbes++;
        if (this.failedProbes === 1) {
          const err = error instanceof Error ? error.message : String(error);
          this.log.warn({ pool: this.name, err }, 'the pool does not answer');
        }
        if (!this.halt.signal.aborted && !this.newer) this.reconnect();
      }
    }
  }

  /** Not in a Cluster, where each node's connection is handled separately. */
  private reconnect(): void {
    if (this.nodes) return;
    // guard: half-open-replaced
    if (this.client.status === 'ready') this.client.disconnect(true);
    this.wakeups?.disconnect(true);
  }

  private async probe(): Promise<void> {
    if (this.nodes) {
      await this.probeNodes(this.nodes);
      return;
    }
    await this.probeHistory();
    const sentMs = performance.now();
    const time = await this.read('TIME');
    const [seconds, micros] = Array.isArray(time) ? time.map(Number) : [];
    if (seconds === undefined || micros === undefined) throw new TypeError('TIME has no answer');
    const nowMs = seconds * 1_000 + Math.floor(micros / 1_000);
    this.clock.sample(sentMs, performance.now(), nowMs);
    const send: Send = (command, ...args) => this.read(String(command), ...args);
    await this.floor.renew(send, nowMs, false);
    await this.losses.probe(send);
    await this.wakeups?.probe().catch((error: unknown) => {
      // With a disk that cannot be written, Redis rejects even PING: it is alive, and reads work.
      if (faultOf(error) !== 'disk') throw error;
      this.record('disk');
    });
  }

  private async probeNodes(nodes: ClusterNodes): Promise<void> {
    const before = nodes.silent;
    try {
      await Promise.all([nodes.probe(), this.wakeups?.probe()]);
    } finally {
      const fresh = nodes.silent.filter((node) => !before.includes(node));
      if (fresh.length > 0) {
        this.log.warn(
          { pool: this.name, nodes: fresh },
          'nodes of the Cluster do not answer at these addresses',
        );
      }
    }
  }

  /** Finds out if a Redis was a replica for a moment, with another's data, and did not close its connections. */
  private async probeHistory(): Promise<void> {
    const facts = parseInfo(String(await this.read('INFO', 'replication')));
    if (/* guard: history-is-probed */ !this.floor.knows(facts))
      throw new Error('connection lost: the data has another history');
  }

  private async inspect(allowUnsafe: boolean): Promise<void> {
    const before = this.store.degraded;
    const refresh = async (): Promise<void> => {
      this.store = await inspectStore(this.client, { ...this.options, allowUnsafe }, this.keys);
    };
    try {
      await this.calls.persist(refresh, { repeatable: true });
      this.newer = undefined;
    } catch (error) {
      if (error instanceof NewerFormatError) this.newer = error;
      throw error;
    }
    const fresh = this.store.degraded.filter((reason) => !before.includes(reason));
    if (fresh.length > 0) {
      this.log.warn({ pool: this.name, degraded: this.store.degraded }, 'the pool is degraded');
    }
  }
}

/** The reason of a connection error: in a Cluster including the error of the last node. */
function reasonOf(error: unknown): string {
  if (!isNativeError(error)) return 'no answer';
  const { lastNodeError } = error as { readonly lastNodeError?: unknown };
  return isNativeError(lastNodeError) ? `${error.message}: ${lastNodeError.message}` : error.message;
}

/** Address of a node of a Cluster, as in its slots. */
function addressOf({ options }: Redis): string {
  return `${options.host ?? ''}:${String(options.port)}`;
}

/** Address of a pool's Redis, without credentials. */
function placeOf({ url, socketPath, sentinels, clusterNodes }: PoolOptions): string {
  if (url !== undefined) return new URL(url).host;
  if (socketPath !== undefined) return socketPath;
  return (sentinels ?? clusterNodes ?? []).map(textOfAddress).join(', ');
}
