import { QueueError } from '../../domain/errors.js';
import { type JobState, stateOf } from '../../domain/states.js';
import { integerAt } from '../../redis/scripts/script.js';
import { fullChange } from '../../redis/scripts/full.js';
import { checkNames } from '../checks.js';
import { encodeId } from '../ids.js';
import { DATA_TEXT } from '../log-data.js';
import type { ScriptRunner } from '../script-runner.js';
import { checkRichJobs } from './checks.js';
import { checkNumberOf, dependencyError, packIds } from './dependencies.js';
import type { FullQueues } from './full-queues.js';
import { LONGEST_MS } from './options.js';

/** What is to be changed of a job; what is left out stays. */
export interface JobChange {
  readonly priority?: number;
  /** None: it has no tags. */
  readonly tags?: readonly string[];
  readonly data?: { readonly body: Buffer; readonly contentType?: string };
  /** Unix ms; in the past: it is ready now. */
  readonly dueMs?: number;
  /** Instead of `dueMs`: from now on. */
  readonly delayMs?: number;
  /** How long it may exist from now on; 0 = for ever. */
  readonly ttlMs?: number;
  readonly queue?: string;
  /** It waits for these and no others. */
  readonly dependsOn?: readonly string[];
  /** It waits for these too. */
  readonly moreDependencies?: readonly string[];
  /** It waits for these no more. */
  readonly lessDependencies?: readonly string[];
}

/** Where a job stands after a change. */
export interface Changed {
  readonly state: JobState | null;
  /** Unix ms; null = it is not scheduled, or nobody knows: a plain job's time far ahead stands nowhere by its name. */
  readonly dueAtMs: number | null;
}

const NOTHING = Buffer.alloc(0);
const CODE = { missing: 0, changed: 1, notWaiting: 2, cycle: 3, tooMany: 4, dueUnknown: 5 } as const;

/** Changes jobs that wait, and writes lines into timelines. */
export class Changing {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly arm: (namespace: string, dueMs: number) => void,
    private readonly full: FullQueues,
  ) {}

  /**
   * Changes a job that is ready, scheduled, blocked or held. With another priority it keeps its place in time among those that have it;
   * in another queue it begins at the end of the line.
   *
   * @throws {QueueError} `invalid_argument`, `job_not_found`; `not_waiting`: it is leased, dead or has ended; `dependency_cycle`,
   * `too_many_dependencies`; `due_unknown`: a plain job far ahead is moved without a new due time; nothing has changed then. Or the store's own
   */
  async change(namespace: string, id: string, change: JobChange): Promise<Changed> {
    const { priority, tags, data, dueMs, delayMs, ttlMs, queue, dependsOn } = change;
    checkNames(namespace, ...(queue === undefined ? [] : [queue]));
    const more = dependsOn ?? change.moreDependencies ?? [];
    checkNumberOf(more);
    checkNumberOf(change.lessDependencies ?? []);
    const fields = Object.fromEntries(
      Object.entries({ priority, dueMs, delayMs, ttlMs }).filter(([, value]) => value !== undefined),
    );
    checkRichJobs([{ queue: queue ?? '', body: NOTHING, ...fields }]);
    if (more.includes(id)) throw dependencyError('dependency_cycle');
    const options = {
      priority,
      queue,
      due_ms: dueMs,
      delay_ms: delayMs === undefined ? undefined : Math.min(delayMs, LONGEST_MS),
      ttl_ms: ttlMs === undefined ? undefined : Math.min(ttlMs, LONGEST_MS),
      tags: tags && (tags.length === 0 ? '' : JSON.stringify([...new Set(tags)])),
      has_data: data && true,
      ctype: data?.contentType,
      only: dependsOn && true,
    };
    const changed = await this.run(namespace, id, options, data?.body, more, change.lessDependencies);
    if (queue !== undefined) this.full.add(namespace, [queue]);
    return changed;
  }

  /**
   * Writes a line into the timeline of a job, in whatever state it is.
   *
   * @param data JSON of the caller's own
   * @throws {QueueError} `job_not_found`, or the store's own
   */
  async log(namespace: string, id: string, message: string, data?: unknown): Promise<void> {
    await this.run(namespace, id, { log: { message, [DATA_TEXT]: JSON.stringify(data) } });
  }

  private async run(
    namespace: string,
    id: string,
    options: Readonly<Record<string, unknown>>,
    data: Buffer = NOTHING,
    more: readonly string[] = [],
    less: readonly string[] = [],
  ): Promise<Changed> {
    const encoded = encodeId(id);
    if (!encoded) throw refusalOf(CODE.missing, id, '');
    const { raw } = await this.runner.run(fullChange, namespace, {
      id: encoded,
      options: JSON.stringify(options),
      data,
      adds: packIds(more),
      drops: packIds(less),
    });
    const nextMs = integerAt(raw, 2);
    if (nextMs > 0) this.arm(namespace, nextMs);
    const state = integerAt(raw, 4);
    const name = state === 0 ? null : stateOf(state);
    if (integerAt(raw, 3) !== CODE.changed) throw refusalOf(integerAt(raw, 3), id, name ?? '');
    const dueMs = Math.floor(integerAt(raw, 5));
    return { state: name, dueAtMs: dueMs === 0 ? null : dueMs };
  }
}

function refusalOf(code: number, id: string, state: string): QueueError {
  switch (code) {
    case CODE.notWaiting:
      return new QueueError('not_waiting', `the job is ${state}: only one that waits can be changed`);
    case CODE.cycle:
      return dependencyError('dependency_cycle');
    case CODE.tooMany:
      return dependencyError('too_many_dependencies');
    case CODE.dueUnknown:
      return new QueueError('due_unknown', 'its due time is not known: give a new one with the change');
    default:
      return new QueueError('job_not_found', `no job ${id}`);
  }
}
