import { setTimeout as sleep } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import type { Cluster } from 'ioredis';
import { QueueError } from '../domain/errors.js';
import type { Log } from '../domain/log.js';
import type { PoolOptions } from '../domain/pool.js';
import { RedisClock } from './clock.js';
import { createClient, type Client } from './connect.js';
import { Calls } from './calls.js';
import { faultOf, toQueueError, unavailable, type RedisFault } from './errors.js';
import { inspectStore, NewerFormatError, type StoreState } from './inspect.js';
import { Keys } from './keys.js';
import { heads as scoreHeads } from './scripts.js';
import { flatten, scriptText, type Arg, type Item, type Script } from './script.js';
import { encodeCommand, EncodedCommand } from './wire.js';

/** Hears that a queue may have work; a hint that may be lost or too much. */
export type WakeListener = (namespace: string, queue: string) => void;

/** How often the connection is probed, and the store inspected, in milliseconds. */
const PROBE_MS = 1_000;
const INSPECT_EVERY = 10;
/** How long a pool may take to connect at start, in milliseconds. */
const CONNECT_MS = 10_000;
/** Namespaces that one script looks at: half a millisecond of Redis. */
const HEADS_IN_ONE = 500;
/** No time mends these. */
const WRONG_CREDENTIALS = /WRONGPASS|NOAUTH|invalid password/;

/** One Redis deployment: its connections, scripts, clock and state. Every call settles within `commandTimeoutMs`. */
export class RedisPool {
  readonly keys: Keys;
  readonly clock = new RedisClock();
  private readonly calls: Calls;
  private readonly wakeListeners = new Set<WakeListener>();
  private readonly halt = new AbortController();
  private store: StoreState = { degraded: [] };
  private failedProbes = 0;
  private lastError: unknown;
  /** Set while the store is of a later version: no script of ours may touch it. */
  private refusal: NewerFormatError | undefined;

  private constructor(
    readonly name: string,
    readonly options: PoolOptions,
    private readonly log: Log,
    private readonly client: Client,
    private readonly subscriber: Client,
  ) {
    this.keys = new Keys(options.keyPrefix);
    this.calls = new Calls(name, options.commandTimeoutMs, (fault) => this.note(fault));
  }

  /**
   * Opens a pool's connections and checks that its Redis is fit to hold jobs.
   *
   * @throws {QueueError} `pool_unavailable`: it cannot be reached within ten seconds
   * @throws {Error} it is too old, its data format is newer than ours, or it may lose jobs and `allowUnsafe` is not set
   */
  static async connect(name: string, options: PoolOptions, log: Log): Promise<RedisPool> {
    const subscriber = createClient(options, { enableOfflineQueue: true });
    const pool = new RedisPool(name, options, log, createClient(options), subscriber);
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

  /** Usable now, and what is wrong with it although it is: `maxmemory_policy`, `aof_off`, `full`. */
  get status(): { readonly up: boolean; readonly degraded: readonly string[] } {
    return { up: this.failedProbes === 0 && this.client.status === 'ready', degraded: this.store.degraded };
  }

  /** Calls `listener` for each wake-up; returns what takes it off again. */
  onWake(listener: WakeListener): () => void {
    this.wakeListeners.add(listener);
    return () => this.wakeListeners.delete(listener);
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
    if (this.refusal) throw unavailable(this.name, this.refusal);
    const args = flatten(binding, keyOf, argOf, items);
    const raw = await this.calls.persist(() => this.call(binding.name, args), {
      repeatable: binding.repeatable,
      late: late && ((reply) => late(binding.reply(reply))),
    });
    return binding.reply(raw);
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
   * keys are on several nodes.
   *
   * @returns NaN for one that is empty
   * @throws {QueueError} as `read`
   */
  async heads(zsets: readonly string[]): Promise<number[]> {
    if (!isCluster(this.client)) {
      const heads: number[] = [];
      for (let i = 0; i < zsets.length; i += HEADS_IN_ONE) {
        const items = zsets.slice(i, i + HEADS_IN_ONE).map((key) => [key]);
        heads.push(...(await this.run(scoreHeads, {}, {}, items)));
      }
      return heads;
    }
    return Promise.all(
      zsets.map(async (key) => {
        const head = await this.read('ZRANGE', key, 0, 0, 'WITHSCORES');
        return Array.isArray(head) && head.length > 1 ? Number(head[1]) : Number.NaN;
      }),
    );
  }

  /** Redis's INFO, of one node: raw text. For metrics. */
  async info(): Promise<string> {
    return String(await this.read('INFO'));
  }

  /** Ends probes and closes the connections; calls that are under way fail. */
  async close(): Promise<void> {
    this.halt.abort();
    this.client.disconnect();
    this.subscriber.disconnect();
    this.calls.close();
    await Promise.resolve();
  }

  private async open(): Promise<void> {
    for (const client of [this.client, this.subscriber]) {
      client.on('error', (error: Error) => {
        this.lastError = error;
        this.log.debug({ pool: this.name, err: error.message }, 'redis connection');
      });
    }
    this.client.on('close', () => this.calls.failAll('connection lost'));
    this.subscriber.on('message', (_channel: string, message: string) => this.wake(message));
    await this.connectWithin(CONNECT_MS);
    await this.inspect(this.options.allowUnsafe);
    await this.subscriber.subscribe(this.keys.wakeChannel);
    await this.probe();
    void this.watch();
  }

  private async connectWithin(ms: number): Promise<void> {
    const deadline = performance.now() + ms;
    for (const client of [this.client, this.subscriber]) {
      client.connect().catch((error: unknown) => (this.lastError = error));
      while (client.status !== 'ready') {
        const reason = this.lastError instanceof Error ? this.lastError.message : 'no answer';
        if (performance.now() > deadline || WRONG_CREDENTIALS.test(reason)) {
          const where = `the Redis of pool ${this.name} at ${placeOf(this.options)}`;
          throw new QueueError('pool_unavailable', `${where} cannot be used: ${reason}`);
        }
        await sleep(5);
      }
    }
    this.lastError = undefined;
  }

  /** By its digest; a Redis that does not know the script, or was made to forget it, is sent the text. */
  private async call(name: string, args: readonly Arg[]): Promise<unknown> {
    const { text, sha } = scriptText(name);
    const send = (verb: string, script: string): Promise<unknown> =>
      this.client.sendCommand(
        new EncodedCommand(encodeCommand([verb, script, ...args]), String(args[1])),
      ) as Promise<unknown>;
    try {
      return await send('EVALSHA', sha);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return send('EVAL', text);
    }
  }

  private wake(message: string): void {
    const [namespace, queue] = message.split(' ');
    if (namespace === undefined || queue === undefined) return;
    for (const listener of this.wakeListeners) listener(namespace, queue);
  }

  /** What a call has met is told before the next inspection finds it. */
  private note(fault: RedisFault): void {
    const reason = fault === 'full' || fault === 'disk' ? fault : undefined;
    if (reason && !this.store.degraded.includes(reason)) {
      this.store = { degraded: [...this.store.degraded, reason] };
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
        if (this.refusal || round % INSPECT_EVERY === 0) await this.inspect(true);
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

  private reconnect(): void {
    for (const client of [this.client, this.subscriber]) {
      if (client.status === 'ready') client.disconnect(true);
    }
  }

  private async probe(): Promise<void> {
    const sentMs = performance.now();
    const time = await this.read('TIME');
    const [seconds, micros] = Array.isArray(time) ? time.map(Number) : [];
    if (seconds === undefined || micros === undefined) throw new TypeError('TIME has no answer');
    this.clock.sample(sentMs, performance.now(), seconds * 1_000 + Math.floor(micros / 1_000));
    await this.probeSubscriber();
  }

  /** A subscriber whose socket is half open would lose wake-ups without a word. */
  private async probeSubscriber(): Promise<void> {
    if (isCluster(this.subscriber)) return;
    await this.calls
      .attempt(() => this.subscriber.ping())
      .catch((error: unknown) => {
        // Redis refuses even this when it cannot write to its disk: it lives, and reads go on.
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

function isCluster(client: Client): client is Cluster {
  return client.isCluster;
}

/** Where a pool's Redis is, without credentials. */
function placeOf({ url, socketPath, sentinels, clusterNodes }: PoolOptions): string {
  if (url !== undefined) return new URL(url).host;
  if (socketPath !== undefined) return socketPath;
  return (sentinels ?? clusterNodes ?? []).map(({ host, port }) => `${host}:${String(port)}`).join(', ');
}
