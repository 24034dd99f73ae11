import { performance } from 'node:perf_hooks';
import { QueueError } from '../domain/errors.js';
import { unavailable } from '../redis/errors.js';
import { DATA_FORMAT } from '../redis/inspect.js';
import type { NamespaceKeys } from '../redis/keys.js';
import type { ScriptPath } from '../redis/durable/paths.js';
import type { RedisPool } from '../redis/pool.js';
import type { Arg, Item, Script } from '../redis/scripts/script.js';
import { register, type Answer } from '../redis/scripts/plain.js';
import type { EngineObserver } from './observer.js';

const TOO_LATE = 1;
const NOT_REGISTERED = 2;
/** A script that starts this close to its callers' time-out would end after it, in milliseconds. */
const DEADLINE_MARGIN_MS = 20;
/** Namespaces that are known to be listed safely, at most. */
const MOST_LISTED = 10_000;

type Times = 'clock_ms' | 'deadline_ms';

/** Runs scripts on a namespace: adds the times that all of them take, and makes the namespace known when it is not. */
export class ScriptRunner {
  /** Namespaces whose place on the list is as safe as their jobs. */
  private readonly listed = new Set<string>();

  constructor(
    private readonly pool: RedisPool,
    private readonly observer: EngineObserver,
    /** A test's clock, Unix ms; without it Redis's own counts. */
    private readonly clock: (() => number) | undefined,
    /** How its scripts reach the pool. */
    private readonly path: ScriptPath = pool,
  ) {}

  /** Redis's time, or the test's, Unix ms. */
  now(): number {
    return this.clock ? this.clock() : this.pool.clock.now();
  }

  /**
   * Runs a script and returns what it did.
   *
   * @throws {QueueError} `pool_unavailable` (it may have run only if its binding says so by its reply being read late), `store_full`,
   * `disk_full`
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
    if (reply.status === NOT_REGISTERED) {
      this.listed.delete(namespace);
      await this.register(namespace);
      reply = await send();
    } else if (reply.status === TOO_LATE && performance.now() - sentMs < this.patienceMs) {
      // It was in time by our own clock: Redis's was stepped forward, and the reply has told us by how much.
      reply = await send();
    }
    if (reply.status === TOO_LATE || reply.status === NOT_REGISTERED) throw unavailable(this.pool.name);
    const { settle } = this.path;
    if (settle && !this.listed.has(namespace)) await this.list(namespace, settle);
    return reply;
  }

  /** What is safe in a namespace that is on no list after a fail-over would be met by nobody: once for each namespace. */
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
    await this.pool.read('SADD', this.pool.keys.namespaces, namespace);
    await this.pool.run(register, this.pool.keys.namespace(namespace), args);
    // A janitor that was taking it off the list meanwhile may have come after the first entry.
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
      : { clock_ms: '', deadline_ms: this.pool.clock.now() + this.patienceMs };
    const all = { ...args, ...times } as Readonly<Record<A | Times, Arg>>;
    const sentMs = performance.now();
    const reply = await this.path.run(binding, this.pool.keys.namespace(namespace), all, items, late);
    const receivedMs = performance.now();
    this.observer.script(binding.name, binding.count?.(items) ?? items.length, receivedMs - sentMs);
    if (!this.clock) this.pool.clock.sample(sentMs, receivedMs, reply.nowMs);
    return reply;
  }

  /** How long a script may take to begin, in milliseconds. */
  private get patienceMs(): number {
    return Math.max(this.pool.options.commandTimeoutMs - DEADLINE_MARGIN_MS, 1);
  }
}
