import { Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import { checkDependencies, visibleOf } from '../auth/job-rights.js';
import { DependentsError } from '../domain/errors.js';
import { checkAllQueues, checkQueue, isForSomeQueues } from '../domain/rights.js';
import { pushRightsOf, resultRightsOf } from '../domain/unique-rights.js';
import { Engines } from '../engine/engines.js';
import type { CancelRequest, Cancelled, CancelledOne } from '../engine/jobs/job-canceller.js';
import type { Changed, JobChange } from '../engine/jobs/job-updater.js';
import type { JobCalls } from '../engine/engine.js';
import { checkMove, isRestricted } from '../http/sight.js';
import type { SettleOutcome } from '../engine/settle/lease-operations.js';
import { JobsService } from './jobs.service.js';

/** Cancels and changes jobs on behalf of a caller, in the caller's pool. */
@Injectable()
export class ChangesService {
  constructor(
    private readonly engines: Engines,
    private readonly jobs: JobsService,
  ) {}

  /**
   * Calls `JobCanceller.cancel`. Dependents may be in any queue, so a token that is limited to some queues may not
   * cascade.
   *
   * @throws {QueueError} also `queue_not_allowed` and `pool_moving`
   */
  async cancel(caller: Caller, id: string, request: CancelRequest): Promise<Cancelled> {
    // guard: cascade-needs-all-queues
    if (request.cascade === true) checkAllQueues(caller.rights);
    const jobs = await this.jobsFor(caller, id);
    return withVisibleDependents(jobs, caller, jobs.cancel(caller.namespace, id, request));
  }

  /**
   * Calls `JobCanceller.cancelMany`. A job in a queue that the token is not for is not found, and may prevent the others
   * as any job that is not named.
   *
   * @throws as `cancel`
   */
  async cancelMany(
    caller: Caller,
    ids: readonly string[],
    request: CancelRequest,
  ): Promise<(readonly [id: string, CancelledOne])[]> {
    // guard: cancel-many-cascade-rights
    if (request.cascade === true) checkAllQueues(caller.rights);
    const { jobs } = this.engines.of(caller.pool);
    const visible = /* guard: cancel-within-rights */ await visibleOf(jobs, caller, ids);
    const cancel = (): Promise<CancelledOne[]> =>
      withVisibleDependents(jobs, caller, jobs.cancelMany(caller.namespace, visible, request));
    const results = visible.length === 0 ? [] : await cancel();
    const found = new Map(visible.map((id, i) => [id, results[i]]));
    return ids.map((id) => [id, found.get(id) ?? { outcome: 'not_found' }]);
  }

  /**
   * Calls `JobCanceller.remove`. A forced call also fails the job's dependents, but not with a token that is limited to
   * some queues: they may be in any queue.
   *
   * @throws as `cancel`
   */
  async remove(caller: Caller, id: string, force: boolean): Promise<void> {
    const jobs = await this.jobsFor(caller, id);
    const withDependents = force && !isForSomeQueues(caller.rights);
    await withVisibleDependents(jobs, caller, jobs.remove(caller.namespace, id, { force, withDependents }));
  }

  /** Calls `LeaseOperations.revoke`. @throws as `cancel` */
  async revoke(caller: Caller, id: string): Promise<SettleOutcome> {
    await this.jobs.checkJob(caller, id);
    return this.engines.of(caller.pool).settle.revoke(caller.namespace, id);
  }

  /** Calls `JobUpdater.change`. @throws as `cancel`; `verb_missing`: the job names the URL that it is pushed to; as `checkMove` */
  async change(caller: Caller, id: string, change: JobChange): Promise<Changed> {
    if (change.queue !== undefined) checkQueue(caller.rights, change.queue);
    const jobs = await this.jobsFor(caller, id);
    if (change.queue !== undefined && isRestricted(caller)) {
      const [place] = await jobs.placesOf(caller.namespace, [id]);
      if (place) await checkMove(caller, this.engines, place.queue, change.queue);
    }
    await checkDependencies(jobs, caller, change.dependsOn ?? change.moreDependencies ?? []);
    return jobs.change(caller.namespace, id, {
      ...change,
      ...pushRightsOf(caller.rights),
      ...resultRightsOf(caller.rights),
    });
  }

  /** Calls `JobUpdater.log`. @throws as `cancel` */
  async log(caller: Caller, id: string, message: string, data: unknown): Promise<void> {
    await (await this.jobsFor(caller, id)).log(caller.namespace, id, message, data);
  }

  private async jobsFor(caller: Caller, id: string): Promise<JobCalls> {
    await this.jobs.checkJob(caller, id);
    return this.engines.of(caller.pool).jobs;
  }
}

/** An error must not show dependents in queues that the token is not for. */
async function withVisibleDependents<T>(jobs: JobCalls, caller: Caller, call: Promise<T>): Promise<T> {
  return call.catch(async (error: unknown) => {
    if (!(error instanceof DependentsError)) throw error;
    throw new DependentsError(await visibleOf(jobs, caller, error.dependents), error.ids);
  });
}
