import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import type { Explanation } from '../contract/explain.js';
import { isForQueue, isForSomeQueues } from '../domain/rights.js';
import { Engines } from '../engine/engines.js';
import {
  explainedJob,
  explainedQueue,
  explainedRecurring,
  type ExplainView,
} from '../engine/explain/explanations.js';
import { isRestricted } from '../http/sight.js';
import type { RequestContext } from '../http/request/request-context.js';

/** Says why jobs do not run, as far as a caller may know it. */
@Injectable()
export class ExplainService {
  constructor(
    private readonly engines: Engines,
    private readonly config: Config,
  ) {}

  /** Why a job does not run. @throws {QueueError} `job_not_found` */
  async job(context: RequestContext): Promise<Explanation> {
    return explainedJob(this.viewOf(context), context.jobId);
  }

  /** Why a queue gives no jobs. */
  async queue(context: RequestContext): Promise<Explanation> {
    return explainedQueue(this.viewOf(context), context.queue);
  }

  /** When a recurring job makes its next job. @throws {QueueError} `recurring_not_found` */
  async recurring(context: RequestContext): Promise<Explanation> {
    return explainedRecurring(this.viewOf(context), context.jobId);
  }

  private viewOf({ caller, startedMs }: RequestContext): ExplainView {
    const { pool, namespace, rights } = caller;
    return {
      engine: this.engines.of(pool),
      server: {
        namespace,
        isPushing: this.config.push.enabled,
        isMoving: this.engines.isMoving(pool),
      },
      isVisible: isForSomeQueues(rights) ? (queue) => isForQueue(rights, queue) : null,
      isRestricted: isRestricted(caller),
      // The check of the token has taken a part of the time.
      withinMs: startedMs + this.config.redis.command_timeout_ms - performance.now(),
    };
  }
}
