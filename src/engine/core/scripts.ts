import { performance } from 'node:perf_hooks';
import { QueueError } from '../../domain/errors.js';
import { unavailable } from '../../redis/errors.js';
import { DATA_FORMAT } from '../../domain/data-format.js';
import type { NamespaceKeys } from '../../redis/keys.js';
import type { ScriptPath } from '../../redis/durable/paths.js';
import type { RedisPool } from '../../redis/pool.js';
import type { Answer, Arg, Item, Script } from '../../redis/scripts/script.js';
import { register } from '../../redis/scripts/simple.js';
import type { EngineObserver } from './observer.js';

/** Maximum number of items, and approximate maximum of bytes, in one script call: it must stay short. */
const MAX_ITEMS = 64;
export const MAX_BYTES = 262_144;

/** Weight of something of which a script may have so many. */
export const weightOfOne = (most: number): number => Math.ceil(MAX_BYTES / most);

/** Receives the outcome of a call. Plain functions: settling one promise per item cost a tenth of a publish. */
export interface Callbacks<R> {
  /**
   * `results` are those of the whole batch; this call's own start at `first`. If it throws, `failed` is called with the
   * error.
   */
  readonly done: (results: readonly R[], first: number) => void;
  readonly failed: (error: unknown) => void;
}

/** A call of a batch, as its sender sees it. */
export interface BatchCall<I, D> {
  readonly items: readonly I[];
  /** What the sender must know of the call besides its items. */
  readonly detail: D | undefined;
}

interface Call<I, R, D> extends Callbacks<R>, BatchCall<I, D> {
  readonly weight: number;
}

/**
 * Group commit: calls for the same namespace in one turn of the event loop are sent as one script call, with a result
 * per item. A single call is not delayed by it. The items of one call stay in one batch.
 */
export class Batcher<I, R, D = undefined> {
  private readonly waiting = new Map<string, Call<I, R, D>[]>();

  /**
   * @param send makes the script call of a batch; `calls` groups the items by call
   * @param maxItems maximum number of items in it
   */
  constructor(
    private readonly send: (
      namespace: string,
      items: readonly I[],
      calls: readonly BatchCall<I, D>[],
    ) => Promise<readonly R[]>,
    private readonly maxItems = MAX_ITEMS,
  ) {}

  /** Adds items to the batch of this turn; `weight` is their approximate size in bytes. */
  add(
    namespace: string,
    items: readonly I[],
    weight: number,
    { done, failed }: Callbacks<R>,
    detail?: D,
  ): void {
    const call = { items, weight, done, failed, detail };
    const calls = this.waiting.get(namespace);
    if (calls) {
      calls.push(call);
      return;
    }
    this.waiting.set(namespace, [call]);
    // After the poll phase: by then the batch has every request that this turn read from its sockets.
    setImmediate(() => this.flush(namespace));
  }

  private flush(namespace: string): void {
    const calls = this.waiting.get(namespace) ?? [];
    this.waiting.delete(namespace);
    let batch: Call<I, R, D>[] = [];
    let items: I[] = [];
    let weight = 0;
    for (const call of calls) {
      const isFull = items.length + call.items.length > this.maxItems || weight + call.weight > MAX_BYTES;
      if (isFull && batch.length > 0) {
        this.dispatch(namespace, batch, items);
        batch = [];
        items = [];
        weight = 0;
      }
      batch.push(call);
      for (const item of call.items) items.push(item);
      weight += call.weight;
    }
    if (batch.length > 0) this.dispatch(namespace, batch, items);
  }

  private dispatch(namespace: string, calls: readonly Call<I, R, D>[], items: readonly I[]): void {
    this.send(namespace, items, calls).then(
      (results) => {
        let first = 0;
        for (const call of calls) {
          try {
            call.done(results, first);
          } catch (error) {
            // For example, an observer threw. Only this call fails: the other calls have their results.
            // guard: throwing-observer-fails-one-call
            call.failed(error);
          }
          first += call.items.length;
        }
      },
      (error: unknown) => {
        for (const call of calls) call.failed(error);
      },
    );
  }
}

const TOO_LATE = 1;
const NOT_REGISTERED = 2;
/** A script that starts this close to its callers' timeout would end after it, in milliseconds. */
const DEADLINE_MARGIN_MS = 20;
/** Maximum number of namespaces remembered as safely listed. */
const MOST_LISTED = 10_000;

type Times = 'clock_ms' | 'deadline_ms';

/**
 * Runs scripts on a namespace: adds the time arguments that all of them take, and registers the namespace if necessary.
 */
export class ScriptRunner {
  /** Namespaces whose entry in the list of namespaces is as durable as their jobs. */
  private readonly listed = new Set<string>();

  constructor(
    private readonly pool: RedisPool,
    private readonly observer: EngineObserver,
    /** Clock for tests, Unix ms; without it the clock of Redis is used. */
    private readonly clock: (() => number) | undefined,
    /** Connection path of the scripts. */
    private readonly path: ScriptPath = pool,
  ) {}

  /** The time of Redis, or of the test's clock, Unix ms. */
  now(): number {
    return this.clock ? this.clock() : this.pool.clock.now();
  }

  /**
   * Runs a script and returns its reply.
   *
   * @throws {QueueError} `pool_unavailable` (it may have run only if its binding reads late replies), `store_full`,
   *   `disk_full`
   */
  async run<K extends keyof NamespaceKeys, A extends string, R extends Answer>(
    binding: Script<K, A | Times, string, R>,
    namespace: string,
    args: Readonly<Record<Exclude<A, Times>, Arg>>,
    items: readonly Item[] = [],
    late?: (reply: R) => void,
  ): Promise<R> {
    const sentMs = performance.now();
    const send = (): Promise<R> => this.send(binding, namespace, args, items, late);
    let reply = await send();
    // guard: refused-namespace-is-registered
    if (reply.status === NOT_REGISTERED) {
      this.listed.delete(namespace);
      await this.register(namespace);
      reply = await send();
    } else if (reply.status === TOO_LATE && performance.now() - sentMs < this.patienceMs) {
      // It was in time by our own clock: Redis's clock was stepped forward, and the reply has told us by how much.
      reply = await send();
    }
    if (reply.status === TOO_LATE || reply.status === NOT_REGISTERED) throw unavailable(this.pool.name);
    const { settle } = this.path;
    // guard: namespace-list-durable
    if (settle && !this.listed.has(namespace)) await this.list(namespace, settle);
    return reply;
  }

  /**
   * Makes the entry of the namespace durable, once per namespace: after a failover no server would find the jobs of an
   * unlisted one.
   */
  private async list(namespace: string, settle: (key: string) => Promise<void>): Promise<void> {
    const { namespaces } = this.pool.keys;
    try {
      await this.pool.read('SADD', namespaces, namespace);
      await settle(namespaces);
    } catch (error) {
      // The script has done its work by now.
      if (!(error instanceof QueueError) || error.code !== 'durability_unavailable') throw error;
      throw new QueueError('not_replicated', error.message, { cause: error });
    }
    if (this.listed.size >= MOST_LISTED) this.listed.clear();
    this.listed.add(namespace);
  }

  /** The list first, then the marker: a namespace that has a marker is always on the list. */
  async register(namespace: string): Promise<void> {
    const args = { format: DATA_FORMAT, now_ms: this.now() };
    // guard: listed-before-marker
    await this.pool.read('SADD', this.pool.keys.namespaces, namespace);
    await this.pool.run(register, this.pool.keys.namespace(namespace), args);
    // A janitor may have removed the namespace from the list after the first SADD.
    await this.pool.read('SADD', this.pool.keys.namespaces, namespace);
  }

  private async send<K extends keyof NamespaceKeys, A extends string, R extends Answer>(
    binding: Script<K, A | Times, string, R>,
    namespace: string,
    args: Readonly<Record<Exclude<A, Times>, Arg>>,
    items: readonly Item[],
    late: ((reply: R) => void) | undefined,
  ): Promise<R> {
    const times = this.clock
      ? { clock_ms: String(this.clock()), deadline_ms: 0 }
      : {
          clock_ms: /* guard: scripts-ask-redis-for-the-time */ '',
          deadline_ms: this.pool.clock.now() + this.patienceMs,
        };
    const all = { ...args, ...times } as Readonly<Record<A | Times, Arg>>;
    const sentMs = performance.now();
    const reply = await this.path.run(binding, this.pool.keys.namespace(namespace), all, items, late);
    const receivedMs = performance.now();
    this.observer.script(binding.label, binding.count?.(items) ?? items.length, receivedMs - sentMs);
    if (!this.clock) this.pool.clock.sample(sentMs, receivedMs, reply.nowMs);
    return reply;
  }

  /** How long a script may take to start, in milliseconds. */
  private get patienceMs(): number {
    return Math.max(this.pool.options.commandTimeoutMs - DEADLINE_MARGIN_MS, 1);
  }
}
