import { DependentsError, jobNotFound, QueueError } from '../../domain/errors.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { cancelJobs, deleteJob } from '../../redis/scripts/extended.js';
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

const CODE = { missing: 0, cancelled: 1, requested: 2, done: 3, before: 4, hasDependents: 5 } as const;

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
  async cancel(
    namespace: string,
    id: string,
    { cascade = false, graceMs }: CancelRequest = {},
  ): Promise<Cancelled> {
    const encoded = encodeId(id);
    if (!encoded) throw jobNotFound(id);
    const grace_ms = graceMs ?? (await this.settings.of(namespace)).grace_ms;
    const args = { id: encoded, cascade: cascade ? '1' : '0', grace_ms };
    const { raw } = await this.runner.run(cancelJobs, namespace, args);
    this.scheduleWakeup(namespace, integerAt(raw, 2));
    switch (integerAt(raw, 3)) {
      case CODE.cancelled:
        return { outcome: 'cancelled' };
      case CODE.requested:
        return { outcome: 'requested', revokedAtMs: integerAt(raw, 4) };
      case CODE.before:
        return { outcome: 'already_cancelled' };
      case CODE.done:
        throw new QueueError('job_done', 'the job is done');
      case CODE.hasDependents:
        throw new DependentsError(idsFrom(raw, 5));
      default:
        throw jobNotFound(id);
    }
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
    if (code === REMOVED.leased) throw new QueueError('leased', 'the job is leased');
    if (code === REMOVED.hasDependents) throw new DependentsError(idsFrom(raw, 4));
  }
}

function idsFrom(raw: readonly (number | Buffer)[], first: number): string[] {
  return raw.slice(first).map((_id, i) => decodeId(bytesAt(raw, first + i)));
}
