import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import type { Cause, Explanation } from '../contract/explain.js';
import type { Caller } from '../domain/caller.js';
import { jobNotFound, QueueError } from '../domain/errors.js';
import { isJobId } from '../domain/ids.js';
import { isForQueue, isForSomeQueues, type Rights } from '../domain/rights.js';
import type { JobReasons, QueueReasons } from '../engine/explain/explainer.js';
import { Engines } from '../engine/engines.js';
import { causesOfJob, causesOfQueue, explanationOf, type ServerReasons } from '../engine/explain/causes.js';

/** Says why jobs do not run, as far as a caller may know it. */
@Injectable()
export class ExplainService {
  constructor(
    private readonly engines: Engines,
    private readonly config: Config,
  ) {}

  /** Why a job does not run. @throws {QueueError} `job_not_found`, also for a job that the caller may not see */
  async job(caller: Caller, id: string): Promise<Explanation> {
    if (!isJobId(id)) throw jobNotFound(id);
    return this.answer(caller, async (server) => {
      const reasons = await this.engines.of(caller.pool).explain.job(caller.namespace, id);
      if (reasons === null || /* guard: explain-checks-queue */ !isForQueue(caller.rights, reasons.job.queue))
        throw jobNotFound(id);
      return causesOfJob(visibleJob(reasons, caller.rights), server);
    });
  }

  /** Why a queue gives no jobs. */
  async queue(caller: Caller, queue: string): Promise<Explanation> {
    return this.answer(caller, async (server) => {
      const reasons = await this.engines.of(caller.pool).explain.queue(caller.namespace, queue);
      return causesOfQueue(visibleQueue(reasons, caller.rights), server);
    });
  }

  private async answer(
    { pool, namespace }: Caller,
    causes: (server: ServerReasons) => Promise<Cause[]>,
  ): Promise<Explanation> {
    const server = {
      namespace,
      isPushing: this.config.push.enabled,
      isMoving: this.engines.isMoving(pool),
    };
    return explanationOf(await causes(server).catch(unavailable));
  }
}

/** The cause in place of an error of a Redis that does not answer. @throws any other error */
function unavailable(error: unknown): Cause[] {
  if (!(error instanceof QueueError) || error.code !== 'pool_unavailable') throw error;
  const message = `Redis does not answer this server, so nothing is leased and nothing is known of the job: ${error.message}.`;
  const facts = { seen_by: 'this server' };
  return [{ cause: 'store_unavailable', message, facts, sinceMs: null, nextAtMs: null, remedies: [] }];
}

/** The reasons of a job without what is of queues that the token is not for. */
function visibleJob(reasons: JobReasons, rights: Rights | null): JobReasons {
  if (!isForSomeQueues(rights)) return reasons;
  const dependencies = reasons.dependencies.filter(
    ({ queue }) => queue !== null && /* guard: explain-hides-foreign-jobs */ isForQueue(rights, queue),
  );
  return { ...reasons, dependencies, queue: visibleQueue(reasons.queue, rights) };
}

/** The reasons of a queue without lease requests for queues that the token is not for. */
function visibleQueue(reasons: QueueReasons, rights: Rights | null): QueueReasons {
  const requests = reasons.requests.filter(({ queue }) =>
    /* guard: explain-hides-foreign-queues */ isForQueue(rights, queue),
  );
  return { ...reasons, requests };
}
