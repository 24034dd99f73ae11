import { jobNotFound, QueueError } from '../../domain/errors.js';
import { ArgumentError } from '../../contract/fields/problems.js';
import type { NewData } from '../../domain/job/extended-job.js';
import type { ChangeFields } from '../../contract/job/changes.js';
import type { OptionsOf } from '../../contract/job/extended-job.js';
import type { DataFields } from '../../contract/job/options.js';
import { type JobState, stateOf } from '../../domain/job/states.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { changeJob } from '../../redis/scripts/extended.js';
import { verbMissing } from '../../domain/rights.js';
import { checkNames } from '../core/checks.js';
import { encodeId } from '../core/ids.js';
import { DATA_TEXT } from '../core/log-data.js';
import type { EngineObserver } from '../core/observer.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { ScheduleWakeup } from '../timers/schedule-wakeup.js';
import { checkExtendedJobs } from '../publish/extended-checks.js';
import {
  checkNumberOf,
  checkPossible,
  dependencyError,
  missingDependencies,
  missingOf,
  packIds,
} from '../publish/dependencies.js';
import type { ExtendedQueues } from '../queues/extended-queues.js';
import type { ResultRights } from '../../domain/unique-rights.js';
import { LONGEST_MS, patternsText } from '../publish/extended-options.js';
import type { NamespaceQuotas } from '../core/quotas.js';

/** Changes to a job; omitted fields stay unchanged. */
export interface JobChange extends OptionsOf<Omit<ChangeFields, keyof DataFields | 'due_at'>>, ResultRights {
  readonly data?: NewData;
  /** `data` and `queue` are refused for a job with a URL of its own: the caller lacks the permission `push`. */
  readonly withoutPush?: true;
  /** Unix ms; in the past: the job is ready now. Alternative to `delayMs`. */
  readonly dueMs?: number;
  /** Dependencies to add; alternative to `dependsOn`, which replaces all. */
  readonly moreDependencies?: readonly string[];
  /** Dependencies to remove. */
  readonly lessDependencies?: readonly string[];
}

/** State of a job after a change. */
export interface Changed {
  readonly state: JobState | null;
  /**
   * Unix ms; null = not scheduled, or unknown: a simple job that is due far ahead is stored in a time slot that cannot
   * be found by its id.
   */
  readonly dueAtMs: number | null;
  /** Ids of new dependencies that no job has; left out if there are none. */
  readonly missingDependencies?: readonly string[];
}

/** Arguments of the script. */
interface Order {
  readonly options: object;
  readonly data: Buffer;
  /** Packed ids: dependencies to add, and to remove. */
  readonly adds: Buffer;
  readonly drops: Buffer;
}

const NOTHING = Buffer.alloc(0);
const NO_MORE = { data: NOTHING, adds: NOTHING, drops: NOTHING };
const CODE = {
  missing: 0,
  changed: 1,
  notWaiting: 2,
  cycle: 3,
  tooMany: 4,
  dueUnknown: 5,
  triesUsed: 6,
  quota: 7,
  mayNotPush: 8,
  missingDependency: 9,
  tooManyQueues: 10,
  queueFull: 11,
} as const;

/** Changes waiting jobs, and writes timeline entries. */
export class JobUpdater {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly scheduleWakeup: ScheduleWakeup,
    private readonly queues: ExtendedQueues,
    private readonly observer: EngineObserver,
    private readonly quotas: NamespaceQuotas,
  ) {}

  /**
   * Changes a job that is ready, scheduled, blocked or held. With another priority it keeps its position by time among
   * the jobs of that priority; in another queue it starts at the end of the ready list.
   *
   * @throws {QueueError} `invalid_argument`, `job_not_found`; `not_waiting`: it is leased, dead or has ended;
   *   `dependency_cycle`, `too_many_dependencies`, `missing_dependency`; `namespace_full`, `too_many_queues`, `queue_full`: a quota; `due_unknown`: a simple job
   *   that is due far ahead is moved without a new due time. Nothing has changed then. Or an error of the store
   */
  async change(namespace: string, id: string, change: JobChange): Promise<Changed> {
    const { queue, data, lessDependencies: less = [] } = change;
    const more = change.dependsOn ?? change.moreDependencies ?? [];
    checkNames(namespace, ...(queue === undefined ? [] : [queue]));
    checkNumberOf(more);
    checkNumberOf(less);
    checkChange(change);
    if (more.includes(id)) throw dependencyError('dependency_cycle');
    checkPossible(more, change.onMissingDependency === 'refuse');
    const order = { options: changeOptions(change), data: data?.body ?? NOTHING };
    const packed = { adds: packIds(more), drops: packIds(less) };
    const changed = await this.run(namespace, id, { ...order, ...packed }, more);
    if (queue !== undefined) this.queues.add(namespace, [queue]);
    return changed;
  }

  /**
   * Writes an entry into the timeline of a job in any state.
   *
   * @param data any JSON of the caller
   * @throws {QueueError} `job_not_found`, `namespace_full`, or an error of the store
   */
  async log(namespace: string, id: string, message: string, data?: unknown): Promise<void> {
    const options = { log: { message, /* guard: log-data-are-text */ [DATA_TEXT]: JSON.stringify(data) } };
    await this.run(namespace, id, { options, ...NO_MORE });
  }

  private async run(
    namespace: string,
    id: string,
    { options, ...order }: Order,
    more: readonly string[] = [],
  ): Promise<Changed> {
    const encoded = encodeId(id);
    if (!encoded) throw jobNotFound(id);
    const most = { most_bytes: this.quotas.bytesOf(namespace), ...this.quotas.movesOf(namespace) };
    const args = { id: encoded, options: JSON.stringify({ ...options, ...most }), ...order };
    const { raw } = await this.runner.run(changeJob, namespace, args);
    this.scheduleWakeup(namespace, integerAt(raw, 2));
    const [code, state, present] = [integerAt(raw, 3), integerAt(raw, 4), integerAt(raw, 5)];
    const name = state === 0 ? null : stateOf(state);
    if (code === CODE.triesUsed) throw triesUsed(present);
    if (code === CODE.quota) throw this.quotas.bytesError(namespace, present);
    if (code === CODE.tooManyQueues) throw this.quotas.queuesError(namespace, present);
    if (code === CODE.queueFull) throw this.quotas.jobsError(namespace, present);
    const missing = missingOf(more, bytesAt(raw, 7).toString());
    if (code === CODE.missingDependency) throw missingDependencies(more, missing);
    if (code !== CODE.changed) throw refusalOf(code, id, name ?? '');
    // The queue in which the job died, because a dependency had failed.
    const died = bytesAt(raw, 6).toString();
    if (died !== '') this.observer.failed(namespace, died, 1);
    const dueMs = Math.floor(present);
    return {
      state: name,
      dueAtMs: dueMs === 0 ? null : dueMs,
      ...(missing.length > 0 && { missingDependencies: missing }),
    };
  }
}

/** A value that is not allowed at publish is not allowed in a change. @throws {QueueError} `invalid_argument` */
export function checkChange(change: JobChange): void {
  checkExtendedJobs([{ ...change, queue: change.queue ?? '', body: NOTHING }]);
}

/** Encodes a change as lua/commands/extended/change.lua reads it. */
export function changeOptions(change: JobChange): object {
  const { priority, tries, type, retry, tags, data, dueMs, delayMs, ttlMs, queue, dependsOn } = change;
  return {
    priority,
    tries,
    type,
    retry: retry && JSON.stringify(retry),
    queue,
    due_ms: dueMs,
    delay_ms: delayMs === undefined ? undefined : Math.min(delayMs, LONGEST_MS),
    ttl_ms: ttlMs === undefined ? undefined : Math.min(ttlMs, LONGEST_MS),
    tags: tags && (tags.length === 0 ? '' : JSON.stringify([...new Set(tags)])),
    has_data: data && true,
    ctype: data?.contentType,
    only: dependsOn && true,
    refuse_missing: change.onMissingDependency === 'refuse' ? true : undefined,
    no_push: change.withoutPush,
    results_of: patternsText(change),
  };
}

function triesUsed(used: number): QueueError {
  const rule = `must be more than ${String(used)}, which the job has used: give a larger number, or cancel the job`;
  return new ArgumentError('tries', rule);
}

function refusalOf(code: number, id: string, state: string): QueueError {
  switch (code) {
    case CODE.mayNotPush:
      return verbMissing('push');
    case CODE.notWaiting:
      return new QueueError('not_waiting', `the job is ${state}: only a waiting job can be updated`);
    case CODE.cycle:
      return dependencyError('dependency_cycle');
    case CODE.tooMany:
      return dependencyError('too_many_dependencies');
    case CODE.dueUnknown:
      return new QueueError(
        'due_unknown',
        'the due time is not known: set due_at or delay_ms in the same call',
      );
    default:
      return jobNotFound(id);
  }
}
