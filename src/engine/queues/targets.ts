import { notFound, QueueError } from '../../domain/errors.js';
import { isQueueName } from '../../domain/ids.js';
import type { EventName } from '../../domain/job/job-event.js';
import { MAX_LEASE_QUEUES } from '../../domain/limits.js';
import type { RedisPool } from '../../redis/pool.js';
import { changeBreaker, changeTarget, pushQueue, readTargets } from '../../redis/scripts/targets.js';
import { checkNames } from '../core/checks.js';
import { textsOf } from '../core/flat-lists.js';
import type { ScriptRunner } from '../core/scripts.js';

/** How often a change of a target is tried again that another change of it has overtaken. */
const TRIES = 50;
/** Targets of one namespace. */
const MOST_TARGETS = 1_000;
/** Changed fields that are read one by one: of more the whole hash is read. */
const MOST_CHANGES = 500;
/** Codes of lua/commands/targets/change.lua. */
const DONE = 1;
const IN_USE = -1;
const TOO_MANY = -2;
/** Field of the number of the last change. */
const VERSION = 'v';
/** The first characters of the other fields. */
const PREFIXES = { targets: 't:', queues: 'q:', breakers: 'b:' } as const;
type TargetPart = keyof typeof PREFIXES;

/** All that is stored of a namespace's push targets at one moment. */
export interface StoredTargets {
  /** Number of the last change; 0 = there never was one. */
  readonly version: number;
  /** By the target's name: a JSON object; scripts read some of its members. */
  readonly targets: ReadonlyMap<string, string>;
  /** By the queue's name: the name of the target that it is pushed to. */
  readonly queues: ReadonlyMap<string, string>;
  /** By the name of the target, or of the target and one of its origins: the state of its breaker (JSON). */
  readonly breakers: ReadonlyMap<string, string>;
}

/** What has changed of a namespace's push targets since a change that the caller knows. */
export interface ChangedTargets extends StoredTargets {
  /** True: it is all that there is. False: only what has changed; an empty value was removed. */
  readonly isWhole: boolean;
}

/** A change of one target. */
export interface TargetChange {
  /** Null removes it. */
  readonly value: string | null;
  /** What clients are told of it. */
  readonly event?: TargetEvent;
  /** Names of breakers that it closes, with what clients are told of each. */
  readonly closes?: ReadonlyMap<string, TargetEvent['facts']>;
}

/** An event about a target. */
export interface TargetEvent {
  readonly name: Extract<EventName, `target_${string}` | `breaker_${string}`>;
  /** Further details, as JSON values. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** What happens to a breaker; see lua/commands/targets/change_breaker.lua. */
export interface BreakerChange {
  readonly target: string;
  /** '' = of the target's own URL. */
  readonly origin: string;
  /** That was tried. */
  readonly url: string;
  readonly action: 'open' | 'try' | 'fail' | 'close';
  /** To the request that opens it. */
  readonly answered?: string;
  readonly openMs: number;
  readonly maxOpenMs: number;
  readonly tryMs: number;
}

/** Push targets of each namespace, and which queues are pushed to them. They are kept while the namespace has no queue. */
export class Targets {
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
  ) {}

  /** The time of Redis, Unix ms: the clock of all that is stored here. */
  now(): number {
    return /* guard: targets-by-redis-clock */ this.runner.now();
  }

  /** The namespaces that have targets, and some that had. @throws {QueueError} an error of the store */
  async namespaces(): Promise<string[]> {
    const names = await this.pool.read('SMEMBERS', this.pool.keys.pushed);
    return Array.isArray(names) ? names.map(String).sort() : [];
  }

  /** The number of the last change. @throws {QueueError} an error of the store */
  async version(namespace: string): Promise<number> {
    return Number(await this.pool.read('HGET', this.keyOf(namespace), VERSION));
  }

  /** @throws {QueueError} an error of the store */
  async read(namespace: string): Promise<StoredTargets> {
    const byName = textsOf(await this.pool.read('HGETALL', this.keyOf(namespace)));
    return { version: Number(byName.get(VERSION) ?? 0), ...partsOf(byName) };
  }

  /** Reads what has changed since, or all if that is not known. @throws {QueueError} an error of the store */
  async readSince(namespace: string, since: number): Promise<ChangedTargets> {
    const changes = await this.runner.run(readTargets, namespace, { since, most: MOST_CHANGES });
    if (changes.version < 0) return { ...(await this.read(namespace)), isWhole: true };
    return { version: changes.version, isWhole: false, ...partsOf(changes.fields) };
  }

  /** The targets that queues are pushed to, in order; null for a queue that is not. @throws as `read` */
  async ofQueues(namespace: string, queues: readonly string[]): Promise<(string | null)[]> {
    if (queues.length === 0) return [];
    const fields = queues.map((queue) => `${PREFIXES.queues}${queue}`);
    const found = await this.pool.read('HMGET', this.keyOf(namespace), ...fields);
    return Array.isArray(found) ? found.map((one) => (one === null ? null : String(one))) : [];
  }

  /**
   * Pushes a queue to a target; null ends it. @throws {QueueError} `target_not_found`; `invalid_argument`; an error of
   * the store
   */
  async push(namespace: string, queue: string, target: string | null): Promise<void> {
    await this.pushFrom(namespace, queue, '*', target ?? '');
  }

  /** The same, if the queue is pushed to `from` before; null = nowhere. Else it stays as it is. */
  async repush(namespace: string, queue: string, from: string | null, target: string | null): Promise<void> {
    await this.pushFrom(namespace, queue, from ?? '', target ?? '');
  }

  private async pushFrom(namespace: string, queue: string, expected: string, target: string): Promise<void> {
    checkNames(namespace, queue);
    if (!isQueueName(queue)) throw new QueueError('invalid_argument', 'invalid queue name');
    const args = { queue, target, expected, most: MAX_LEASE_QUEUES };
    const { code } = await this.runner.run(pushQueue, namespace, args);
    if (code === 1)
      throw new QueueError(
        'target_not_found',
        `${notFound('target', target).message}: make it first (pumphouse target set NAME URL)`,
      );
    if (code === 2) {
      throw new QueueError(
        'invalid_argument',
        `at most ${MAX_LEASE_QUEUES} queues can be pushed to one target`,
      );
    }
  }

  /**
   * Reads a target, decides and writes in one step, as long as no other change of this target comes between; else again.
   *
   * @param decide returns the change, or null for none. Gets null if there is no such target. It may be called several
   *   times, and may throw
   * @throws what `decide` throws; {QueueError} `invalid_argument`: there are too many targets; `target_in_use`; an error
   *   of the store: the change may have been made
   */
  async change(
    namespace: string,
    name: string,
    decide: (text: string | null) => TargetChange | null,
  ): Promise<void> {
    checkNames(namespace);
    for (let i = 0; i < TRIES; i++) {
      const found = await this.pool.read('HGET', this.keyOf(namespace), `${PREFIXES.targets}${name}`);
      const text = typeof found === 'string' ? found : null;
      const change = decide(text);
      if (change === null || (await this.tryChange(namespace, name, text, change))) return;
    }
    throw new QueueError('pool_unavailable', `target ${name} changed during every attempt`);
  }

  /** Opens, tries or closes a breaker: O(1), and conflicts with nothing. @returns `isDone`: this call has done it */
  async changeBreaker(
    namespace: string,
    { openMs, maxOpenMs, tryMs, answered = '', ...change }: BreakerChange,
  ): Promise<{ readonly isDone: boolean; readonly breaker: string | undefined }> {
    const args = { ...change, open_ms: openMs, max_open_ms: maxOpenMs, try_ms: tryMs, answered };
    const { isDone, breaker } = await this.runner.run(changeBreaker, namespace, args);
    return { isDone, breaker: breaker === '' ? undefined : breaker };
  }

  /** @returns false if the target is not as it was read */
  private async tryChange(
    namespace: string,
    target: string,
    expected: string | null,
    { value, event, closes = new Map() }: TargetChange,
  ): Promise<boolean> {
    // Before the change, so that a target is found though this process dies; after it, in case a purge came between.
    await this.list(namespace);
    const items = [...closes].map(([breaker, facts]) => [breaker, JSON.stringify(facts)]);
    const args = {
      ...{ target, expected: expected ?? '', value: value ?? '', most: MOST_TARGETS },
      ...{ event: event?.name ?? '', facts: JSON.stringify(event?.facts ?? {}) },
    };
    const { code, queue } = await this.runner.run(changeTarget, namespace, args, items);
    if (code === IN_USE)
      throw new QueueError(
        'target_in_use',
        `queue ${queue} is pushed to target ${target}: end the push of that queue first`,
      );
    if (code === TOO_MANY)
      throw new QueueError('invalid_argument', `a namespace has at most ${MOST_TARGETS} targets`);
    await this.list(namespace);
    return code === DONE;
  }

  private async list(namespace: string): Promise<void> {
    const { pushed } = this.pool.keys;
    // A full Redis refuses to add even what is there.
    if ((await this.pool.read('SISMEMBER', pushed, namespace)) === 1) return;
    await this.pool.read('SADD', pushed, namespace);
  }

  private keyOf(namespace: string): string {
    return this.pool.keys.namespace(namespace).targets;
  }
}

function partsOf(fields: ReadonlyMap<string, string>): Omit<StoredTargets, 'version'> {
  const parts = {
    targets: new Map<string, string>(),
    queues: new Map<string, string>(),
    breakers: new Map<string, string>(),
  };
  for (const [field, value] of fields) {
    for (const part of Object.keys(PREFIXES) as TargetPart[])
      if (field.startsWith(PREFIXES[part])) parts[part].set(field.slice(PREFIXES[part].length), value);
  }
  return parts;
}

/** The queues that are pushed to a target, sorted. */
export function queuesOf(queues: StoredTargets['queues'], target: string): string[] {
  return [...queues].flatMap(([queue, of]) => (of === target ? [queue] : [])).sort();
}
