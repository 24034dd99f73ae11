import { notFound, QueueError } from '../../domain/errors.js';
import { isQueueName } from '../../domain/ids.js';
import type { EventName } from '../../domain/job/job-event.js';
import { MAX_LEASE_QUEUES } from '../../domain/limits.js';
import type { RedisPool } from '../../redis/pool.js';
import { changeTargets } from '../../redis/scripts/simple.js';
import { checkNames } from '../core/checks.js';
import type { ScriptRunner } from '../core/scripts.js';

/** How often a change is tried again that another one has overtaken. */
const TRIES = 20;
/** Field of the number of the last change. */
const VERSION = 'v';
/** The first characters of the other fields. */
const PREFIXES = { targets: 't:', queues: 'q:', breakers: 'b:' } as const;
export type TargetPart = keyof typeof PREFIXES;

/** All that is stored of a namespace's push targets at one moment. */
export interface StoredTargets {
  /** Number of the last change; 0 = there never was one. */
  readonly version: number;
  /** By the target's name: a text that the store does not read. */
  readonly targets: ReadonlyMap<string, string>;
  /** By the queue's name: the name of the target that it is pushed to. */
  readonly queues: ReadonlyMap<string, string>;
  /** By the target's name: the state of its breaker, a text that the store does not read. */
  readonly breakers: ReadonlyMap<string, string>;
}

/** A change of one field; null removes it. */
export interface TargetChange {
  readonly part: TargetPart;
  readonly name: string;
  readonly value: string | null;
  /** What clients are told of it. */
  readonly event?: TargetEvent;
}

/** An event about a target. */
export interface TargetEvent {
  readonly name: Extract<EventName, `target_${string}` | `breaker_${string}`>;
  /** Further details, as JSON values. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Push targets of each namespace, and which queues are pushed to them. They are kept while the namespace has no queue. */
export class Targets {
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
  ) {}

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
    const fields = await this.pool.read('HGETALL', this.keyOf(namespace));
    const flat = Array.isArray(fields) ? fields.map(String) : [];
    const parts = {
      targets: new Map<string, string>(),
      queues: new Map<string, string>(),
      breakers: new Map<string, string>(),
    };
    let version = 0;
    for (let i = 0; i + 1 < flat.length; i += 2) {
      const [field = '', value = ''] = [flat[i], flat[i + 1]];
      if (field === VERSION) version = Number(value);
      for (const part of Object.keys(PREFIXES) as TargetPart[]) {
        if (field.startsWith(PREFIXES[part])) parts[part].set(field.slice(PREFIXES[part].length), value);
      }
    }
    return { version, ...parts };
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
    checkNames(namespace, queue);
    if (!isQueueName(queue)) throw new QueueError('invalid_argument', 'invalid queue name');
    await this.change(namespace, ({ targets, queues }) => {
      if (target !== null && !targets.has(target)) throw notFound('target', target);
      if ((queues.get(queue) ?? null) === target) return null;
      if (target !== null && queuesOf(queues, target).length >= MAX_LEASE_QUEUES) {
        throw new QueueError(
          'invalid_argument',
          `at most ${MAX_LEASE_QUEUES} queues can be pushed to one target`,
        );
      }
      return { part: 'queues', name: queue, value: target };
    });
  }

  /**
   * Reads, decides and writes in one step, as long as no other change comes between; else again.
   *
   * @param decide returns the change, or null for none. It may be called several times, and may throw
   * @returns what is stored now
   * @throws what `decide` throws; {QueueError} an error of the store: the change may have been made
   */
  async change(
    namespace: string,
    decide: (stored: StoredTargets) => TargetChange | null,
  ): Promise<StoredTargets> {
    checkNames(namespace);
    for (let i = 0; i < TRIES; i++) {
      const stored = await this.read(namespace);
      const change = decide(stored);
      if (change === null) return stored;
      const { part, name, value, event } = change;
      // Before the change, so that a target is found though this process dies; after it, in case a purge came between.
      await this.list(namespace);
      const args = {
        version: stored.version,
        field: `${PREFIXES[part]}${name}`,
        value: value ?? '',
        ...eventArgs(event),
      };
      const { version } = await this.runner.run(changeTargets, namespace, args);
      if (version === 0) continue;
      await this.list(namespace);
      const changedPart = new Map(stored[part]);
      if (value === null) changedPart.delete(name);
      else changedPart.set(name, value);
      return { ...stored, version, [part]: changedPart };
    }
    throw new QueueError('pool_unavailable', 'the targets changed during every attempt');
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

function eventArgs(event: TargetEvent | undefined): { readonly event: string; readonly facts: string } {
  return event ? { event: event.name, facts: JSON.stringify(event.facts) } : { event: '', facts: '' };
}

/** The queues that are pushed to a target, sorted. */
export function queuesOf(queues: StoredTargets['queues'], target: string): string[] {
  return [...queues].flatMap(([queue, of]) => (of === target ? [queue] : [])).sort();
}
