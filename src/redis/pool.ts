import { setTimeout as sleep } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import { isNativeError } from 'node:util/types';
import { type Durability, replicasOf } from '../domain/durability.js';
import { QueueError } from '../domain/errors.js';
import type { Log } from '../domain/log.js';
import type { PoolOptions } from '../domain/pool.js';
import { RedisClock } from './clock.js';
import { Calls } from './calls.js';
import { sendToCluster } from './cluster/command.js';
import { clusterHeads } from './cluster/heads.js';
import { ClusterNodes } from './cluster/nodes.js';
import { ClusterWakeups } from './cluster/wakeups.js';
import { createClient, isCluster, type Client } from './connect.js';
import { DurablePaths, type ScriptPath } from './durable/paths.js';
import { faultOf, toQueueError, unavailable, type RedisFault } from './errors.js';
import { inspectStore, NewerFormatError, type StoreState } from './inspect.js';
import { Keys } from './keys.js';
import { scanKeys } from './scan.js';
import { heads as scoreHeads } from './scripts/plain.js';
import { flatten, scriptText, type Arg, type Item, type Script, type WakeStyle } from './scripts/script.js';
import { ChannelWakeups, type WakeListener, type Wakeups } from './wakeups.js';
import { encodeCommand, EncodedCommand } from './wire.js';

export type { WakeListener } from './wakeups.js';

/** How often the connection is probed, and the store inspected, in milliseconds. */
const PROBE_MS = 1_000;
const INSPECT_EVERY = 10;
/** How long a pool may take to connect at start, in milliseconds. */
const CONNECT_MS = 10_000;
/** Namespaces that one script looks at: half a millisecond of Redis. */
const HEADS_IN_ONE = 500;
/** No time mends these. */
const WRONG_CREDENTIALS = /WRONGPASS|NOAUTH|invalid password|certificate/;

/** One Redis deployment: its connections, scripts, clock and state. Every call settles within `commandTimeoutMs`. */
export class RedisPool {
  readonly keys: Keys;
  readonly clock = new RedisClock();
  private readonly calls: Calls;
  private readonly durable: DurablePaths;
  private readonly wakeListeners = new Set<WakeListener>();
  private readonly halt = new AbortController();
  private store: StoreState = { degraded: [], hasShardedPubSub: false };
  /** The pool's own durability cannot be had now: publishes are refused. */
  private isShort = false;
  private failedProbes = 0;
  private lastError: unknown;
  /** In a Cluster. */
  private readonly nodes: ClusterNodes | undefined;
  private wakeups: Wakeups | undefined;
  private wakeStyle: WakeStyle = 'plain';
  /** Set while the store is of a later version: no script of ours may touch it. */
  private refusal: NewerFormatError | undefined;

  private constructor(
    readonly name: string,
    readonly options: PoolOptions,
    private readonly log: Log,
    private readonly client: Client,
  ) {
    this.keys = new Keys(options.keyPrefix);
    this.calls = new Calls(name, options.commandTimeoutMs, (fault) => this.note(fault));
    this.durable = new DurablePaths({
      name,
      options,
      client,
      call: (script, args) => this.call(script, args),
      check: () => this.check(),
      scriptOf: (script) => scriptText(script, this.wakeStyle),
      onFault: (fault) => this.note(fault),
      onError: (error) => this.noteError(error),
      onShortfall: (durability, error) => {
        if (durability === options.durability) this.noteShort(error);
      },
    });
    if (isCluster(client)) this.nodes = new ClusterNodes(client, this.calls, this.clock);
  }

  /**
   * Opens a pool's connections and checks that its Redis is fit to hold jobs.
   *
   * @throws {QueueError} `pool_unavailable`: it cannot be reached within ten seconds
   * @throws {Error} it is too old, its data format is newer than ours, or it may lose jobs and `allowUnsafe` is not set
   */
  static async connect(name: string, options: PoolOptions, log: Log): Promise<RedisPool> {
    const pool = new RedisPool(name, options, log, createClient(options));
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

  /** Usable now, and what is wrong with it although it is: `maxmemory_policy`, `aof_off`, `full`, `disk`, `node_down`, `durability`. */
  get status(): { readonly up: boolean; readonly degraded: readonly string[] } {
    const degraded = [...this.store.degraded];
    if (this.nodes?.hasSilent === true) degraded.push('node_down');
    if (this.isShort) degraded.push('durability');
    return { up: this.failedProbes === 0 && this.client.status === 'ready', degraded };
  }

  /** Calls `listener` for each wake-up; returns what takes it off again. */
  onWake(listener: WakeListener): () => void {
    this.wakeListeners.add(listener);
    return () => this.wakeListeners.delete(listener);
  }

  /** Somebody waits in the namespace: its wake-ups are to be heard until `unfollow` is called as often. Costs nothing but in a Cluster. */
  follow(namespace: string): void {
    this.wakeups?.follow(namespace);
  }

  unfollow(namespace: string): void {
    this.wakeups?.unfollow(namespace);
  }

  /**
   * Runs a script. What surely did not run is tried again within the command timeout; so is what may have run, if the script can
   * bear it. A reply that comes after the caller was told of failure goes to `late`.
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
    const raw = await this.calls.persist(() => this.call(binding.name, args), {
      repeatable: binding.repeatable,
      late: late && ((reply) => late(binding.reply(reply))),
    });
    return binding.reply(raw);
  }

  /** The way for calls that must be safe before they are answered. Its errors: also `durability_unavailable`, `not_replicated`. */
  through(durability: Durability): ScriptPath {
    return durability === 'memory' ? this : this.durable.of(durability);
  }

  /**
   * Sends one plain command that may safely be repeated; byte strings come back as text.
   *
   * @throws {QueueError} `pool_unavailable`, `store_full` or `disk_full`
   */
  async read(command: string, ...args: (string | number)[]): Promise<unknown> {
    return this.calls.persist(() => this.client.call(command, ...args), { repeatable: true });
  }

  /**
   * The lowest scores of many zsets, such as when each namespace is due next: in a few calls for all, but in a Cluster, where their
   * keys are on several nodes. There a node that does not answer keeps nobody from the others: what it has is not told this time.
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

  /** Ends probes and closes the connections; calls that are under way fail. */
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
    await this.inspect(this.options.allowUnsafe);
    this.wakeups = await this.hear(deadline);
    await this.wakeups.open();
    await this.probe();
    await this.requireDurability();
    void this.watch();
  }

  /** A disk that is not written to stays so. Replicas that are missing may come: until then publishes are refused, and the rest goes on. */
  private async requireDurability(): Promise<void> {
    const { durability = 'memory' } = this.options;
    if (durability === 'memory') return;
    try {
      await this.durable.require(durability);
    } catch (error) {
      if (replicasOf(durability) === 0) throw error;
    }
  }

  /** Looks whether what publishes are promised can still be had. What cannot be found out now stays as it was known. */
  private async lookAtDurability(): Promise<void> {
    const { durability = 'memory' } = this.options;
    if (durability === 'memory') return;
    try {
      await this.durable.require(durability);
    } catch {
      return;
    }
    if (this.isShort) this.log.info({ pool: this.name, durability }, 'publishes are taken again');
    this.isShort = false;
  }

  private noteShort({ message: err }: Error): void {
    if (!this.isShort) this.log.warn({ pool: this.name, err }, 'publishes are refused for now');
    this.isShort = true;
  }

  private noteError({ message }: Error): void {
    this.log.debug({ pool: this.name, err: message }, 'redis connection');
  }

  /** Opens the connections that wake-ups come on. */
  private async hear(deadline: number): Promise<Wakeups> {
    const { client, nodes, calls, keys, wakeListeners } = this;
    if (isCluster(client) && nodes) {
      this.wakeStyle = this.store.hasShardedPubSub ? 'sharded' : 'plain';
      return new ClusterWakeups(client, nodes, calls, keys, this.wakeStyle, wakeListeners);
    }
    const subscriber = createClient(this.options, { enableOfflineQueue: true });
    if (isCluster(subscriber)) throw new TypeError('a Cluster has another kind of subscriber');
    const wakeups = new ChannelWakeups(subscriber, calls, keys.wakeChannel, wakeListeners);
    await this.connectBy(deadline, subscriber).catch((error: unknown) => {
      wakeups.disconnect(false);
      throw error;
    });
    return wakeups;
  }

  private async connectBy(deadline: number, client: Client): Promise<void> {
    client.on('error', (error: Error) => {
      this.lastError = error;
      this.noteError(error);
    });
    client.connect().catch((error: unknown) => (this.lastError = error));
    while (client.status !== 'ready') {
      const reason = reasonOf(this.lastError);
      if (performance.now() > deadline || WRONG_CREDENTIALS.test(reason)) {
        const where = `the Redis of pool ${this.name} at ${placeOf(this.options)}`;
        throw new QueueError('pool_unavailable', `${where} cannot be used: ${reason}`);
      }
      await sleep(5);
    }
    this.lastError = undefined;
  }

  /** By its digest; a Redis that does not know the script, or was made to forget it, is sent the text. */
  private async call(name: string, args: readonly Arg[]): Promise<unknown> {
    const { client } = this;
    const { text, sha } = scriptText(name, this.wakeStyle);
    const send = (verb: string, script: string): Promise<unknown> => {
      const bytes = encodeCommand([verb, script, ...args]);
      const key = String(args[1]);
      if (isCluster(client)) return sendToCluster(client, bytes, key);
      return client.sendCommand(new EncodedCommand(bytes, key)) as Promise<unknown>;
    };
    try {
      return await send('EVALSHA', sha);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return send('EVAL', text);
    }
  }

  /** A store of a later version is not ours to touch. */
  private check(): void {
    if (this.refusal) throw unavailable(this.name, this.refusal);
  }

  /** What a call has met is told before the next inspection finds it. */
  private note(fault: RedisFault): void {
    const reason = fault === 'full' || fault === 'disk' ? fault : undefined;
    if (reason && !this.store.degraded.includes(reason)) {
      this.store = { ...this.store, degraded: [...this.store.degraded, reason] };
    }
  }

  /** Probes each second: a connection that is half open is found out and replaced; the clock gets its samples. */
  private async watch(): Promise<void> {
    const { signal } = this.halt;
    for (let round = 1; ; round++) {
      await sleep(PROBE_MS, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.probe();
        // What a silent node of a Cluster would tell is waited for in vain: the pool is degraded for it already.
        const isTurn = round % INSPECT_EVERY === 0 && this.nodes?.hasSilent !== true;
        if (this.refusal || isTurn) await this.inspect(true);
        if (this.isShort || isTurn) await this.lookAtDurability();
        if (this.failedProbes > 0) this.log.info({ pool: this.name }, 'the pool answers again');
        this.failedProbes = 0;
      } catch (error) {
        this.failedProbes++;
        if (this.failedProbes === 1) {
          const err = error instanceof Error ? error.message : String(error);
          this.log.warn({ pool: this.name, err }, 'the pool does not answer');
        }
        if (!this.halt.signal.aborted && !this.refusal) this.reconnect();
      }
    }
  }

  /** Not in a Cluster: there each node's connection is looked after by itself. */
  private reconnect(): void {
    if (this.nodes) return;
    if (this.client.status === 'ready') this.client.disconnect(true);
    this.wakeups?.disconnect(true);
  }

  private async probe(): Promise<void> {
    if (this.nodes) {
      await Promise.all([this.nodes.probe(), this.wakeups?.probe()]);
      return;
    }
    const sentMs = performance.now();
    const time = await this.read('TIME');
    const [seconds, micros] = Array.isArray(time) ? time.map(Number) : [];
    if (seconds === undefined || micros === undefined) throw new TypeError('TIME has no answer');
    this.clock.sample(sentMs, performance.now(), seconds * 1_000 + Math.floor(micros / 1_000));
    await this.wakeups?.probe().catch((error: unknown) => {
      // Redis refuses even a ping when it cannot write to its disk: it lives, and reads go on.
      if (faultOf(error) !== 'disk') throw error;
      this.note('disk');
    });
  }

  private async inspect(allowUnsafe: boolean): Promise<void> {
    const before = this.store.degraded;
    const look = async (): Promise<void> => {
      this.store = await inspectStore(this.client, { ...this.options, allowUnsafe }, this.keys);
    };
    try {
      await this.calls.attempt(look);
      this.refusal = undefined;
    } catch (error) {
      if (error instanceof NewerFormatError) this.refusal = error;
      throw error;
    }
    const fresh = this.store.degraded.filter((reason) => !before.includes(reason));
    if (fresh.length > 0) {
      this.log.warn({ pool: this.name, degraded: this.store.degraded }, 'the pool is degraded');
    }
  }
}

/** What an error of a connection is about: of a Cluster, what the last of its nodes said. */
function reasonOf(error: unknown): string {
  if (!isNativeError(error)) return 'no answer';
  const { lastNodeError } = error as { readonly lastNodeError?: unknown };
  return isNativeError(lastNodeError) ? `${error.message}: ${lastNodeError.message}` : error.message;
}

/** Where a pool's Redis is, without credentials. */
function placeOf({ url, socketPath, sentinels, clusterNodes }: PoolOptions): string {
  if (url !== undefined) return new URL(url).host;
  if (socketPath !== undefined) return socketPath;
  return (sentinels ?? clusterNodes ?? []).map(({ host, port }) => `${host}:${String(port)}`).join(', ');
}
