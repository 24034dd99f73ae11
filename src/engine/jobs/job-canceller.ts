import { DependentsError, jobNotFound, QueueError } from '../../domain/errors.js';
import { ArgumentError } from '../../contract/fields/problems.js';
import { MAX_CANCELS } from '../../domain/limits.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { cancelJobs, deleteJob } from '../../redis/scripts/extended.js';
import { checkNumber } from '../core/checks.js';
import { decodeId, encodeId } from '../core/ids.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { Settings } from '../queues/settings.js';
import type { ScheduleWakeup } from '../timers/schedule-wakeup.js';

/** Options of a cancel. */
export interface CancelRequest {
  /** Also cancels all jobs that depend on the job, directly or indirectly. */
  readonly cascade?: boolean;
  /** How long the lease holder may continue; 0 = the lease is revoked at once; default: the namespace's setting. */
  readonly graceMs?: number;
}

/** Options of a deletion. */
export interface RemoveRequest {
  /** Also deletes a leased job: its lease holder finds it gone. */
  readonly force?: boolean;
  /** Also deletes a job that others depend on: they see a failed dependency. */
  readonly withDependents?: boolean;
}

/** Result of a cancel. `requested`: the lease holder is told, and its lease is revoked at `revokedAtMs`. */
export type Cancelled =
  | { readonly outcome: 'cancelled' | 'already_cancelled' }
  | { readonly outcome: 'requested'; readonly revokedAtMs: number };

/** Result of a cancel of many jobs, for one of them; with `done` and `not_found` nothing has changed. */
export type CancelledOne = Cancelled | { readonly outcome: 'done' } | { readonly outcome: 'not_found' };

/** Codes of lua/commands/extended/cancel.lua. */
const CODE = { missing: 0, cancelled: 1, requested: 2, done: 3, before: 4, hasDependents: 5 } as const;

const NOT_FOUND: CancelledOne = { outcome: 'not_found' };
/** Stands for an id that no job can have. */
const NO_ID = Buffer.alloc(0);

/** Codes of lua/commands/extended/delete_job.lua. */
const REMOVED = { missing: 0, leased: 2, hasDependents: 3 } as const;

/** Cancels and deletes jobs. */
export class JobCanceller {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly scheduleWakeup: ScheduleWakeup,
    private readonly settings: Pick<Settings, 'of'>,
  ) {}

  /**
   * Cancels a job. A waiting or dead job is cancelled now, and kept for its retention. The holder of a leased one
   * learns of it with its next heartbeat, and loses the lease when the cancel grace is over.
   *
   * @throws {QueueError} `job_not_found`; `job_done`: too late; or an error of the store
   * @throws {DependentsError} jobs depend on it, and `cascade` was not set
   */
  async cancel(namespace: string, id: string, request: CancelRequest = {}): Promise<Cancelled> {
    const { results, hindered, dependents } = await this.run(namespace, [id], request);
    if (hindered.length > 0) throw new DependentsError(dependents);
    const [cancelled = NOT_FOUND] = results;
    if (cancelled.outcome === 'not_found') throw jobNotFound(id);
    if (cancelled.outcome === 'done')
      throw new QueueError('job_done', 'the job is done: it cannot be cancelled');
    return cancelled;
  }

  /**
   * Cancels up to 64 different jobs in one step, each like `cancel`: all of them, or none if jobs that are not named
   * depend on one. Those that are gone or have ended do not prevent the others.
   *
   * @returns the results, in order
   * @throws {QueueError} `invalid_argument`, or an error of the store
   * @throws {DependentsError} jobs that are not named depend on some of them, and `cascade` was not set
   */
  async cancelMany(
    namespace: string,
    ids: readonly string[],
    request: CancelRequest = {},
  ): Promise<CancelledOne[]> {
    checkNumber('ids', ids.length, 1, MAX_CANCELS);
    if (new Set(ids).size < ids.length) throw new ArgumentError('ids', 'must be different');
    const { results, hindered, dependents } = await this.run(namespace, ids, request);
    if (hindered.length > 0) throw new DependentsError(dependents, hindered);
    return results;
  }

  /** @returns the results; or the jobs that others depend on, and some of those, if that prevents the cancel */
  private async run(
    namespace: string,
    ids: readonly string[],
    { cascade = false, graceMs }: CancelRequest,
  ): Promise<{
    readonly results: CancelledOne[];
    readonly hindered: readonly string[];
    readonly dependents: readonly string[];
  }> {
    const grace_ms = graceMs ?? (await this.settings.of(namespace)).grace_ms;
    const items = ids.map((id) => [encodeId(id) ?? NO_ID]);
    const args = { cascade: cascade ? '1' : '0', grace_ms };
    const { raw } = await this.runner.run(cancelJobs, namespace, args, items);
    this.scheduleWakeup(namespace, integerAt(raw, 2));
    const codeOf = (i: number): number => integerAt(raw, 3 + 2 * i);
    return {
      results: ids.map((_id, i) => cancelledOf(codeOf(i), integerAt(raw, 4 + 2 * i))),
      hindered: ids.filter((_id, i) => codeOf(i) === CODE.hasDependents),
      dependents: idsFrom(raw, 3 + 2 * ids.length),
    };
  }

  /**
   * Deletes a job in any state but leased; nothing of it is kept. After an error nothing has changed.
   *
   * @throws {QueueError} `job_not_found`; `leased`; or an error of the store
   * @throws {DependentsError} jobs depend on it, and `withDependents` was not set
   */
  async remove(
    namespace: string,
    id: string,
    { force = false, withDependents = false }: RemoveRequest = {},
  ): Promise<void> {
    const encoded = encodeId(id);
    if (!encoded) throw jobNotFound(id);
    const args = { id: encoded, force: force ? '1' : '0', severs: withDependents ? '1' : '0' };
    const { raw } = await this.runner.run(deleteJob, namespace, args);
    this.scheduleWakeup(namespace, integerAt(raw, 2));
    const code = integerAt(raw, 3);
    if (code === REMOVED.missing) throw jobNotFound(id);
    if (code === REMOVED.leased)
      throw new QueueError('leased', 'the job is leased: wait until its lease ends, or delete it with force');
    if (code === REMOVED.hasDependents) throw new DependentsError(idsFrom(raw, 4));
  }
}

function cancelledOf(code: number, atMs: number): CancelledOne {
  switch (code) {
    case CODE.cancelled:
      return { outcome: 'cancelled' };
    case CODE.requested:
      return { outcome: 'requested', revokedAtMs: atMs };
    case CODE.before:
      return { outcome: 'already_cancelled' };
    case CODE.done:
      return { outcome: 'done' };
    default:
      return NOT_FOUND;
  }
}

function idsFrom(raw: readonly (number | Buffer)[], first: number): string[] {
  return raw.slice(first).map((_id, i) => decodeId(bytesAt(raw, first + i)));
}
