import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { checkQueue, checkVerb } from '../../domain/rights.js';
import type { Release } from '../../domain/job/extended-job.js';
import type { SettleOutcome } from '../../engine/settle/lease-operations.js';
import type { FieldsClass } from '../../contract/fields/field.js';
import { given } from '../../contract/fields/given.js';
import { refuseParameters } from '../../http/request/query-fields.js';
import { answer } from '../../http/answer/answer.js';
import { isoTime } from '../../domain/iso-time.js';
import { timeJson } from '../../http/answer/reply.js';
import { bulkLimit } from '../../http/request/body.js';
import { readJson } from '../../http/request/json-body.js';
import type { RequestContext } from '../../http/request/request-context.js';
import { AckFields, FailFields, HeartbeatFields, ReleaseFields, RetryFields } from '../dto/settle.v1.js';
import { JobsService } from '../jobs.service.js';
import { ackOf, failureOf, heartbeatOf } from './outcomes.v1.js';

/**
 * Lease operations on one job, for the router and the fast path. Each method takes an admitted request context and makes
 * sure that it is answered, now or later. It throws errors found at once; it answers later errors itself.
 */
@Injectable()
export class V1LeaseOperations {
  constructor(
    private readonly jobs: JobsService,
    private readonly config: Config,
  ) {}

  ack(context: RequestContext): void {
    this.operate(context, AckFields, async (fields) => {
      const { caller, jobId: id } = context;
      const ack = ackOf(id, fields, this.config.limits.max_body_bytes);
      const next = ack.outcome?.next;
      if (next !== undefined) {
        checkVerb(caller.rights, 'publish');
        checkQueue(caller.rights, next.queue);
      }
      await this.jobs.checkJob(caller, id);
      return `"status":"${await this.jobs.ack(caller, ack)}"`;
    });
  }

  heartbeat(context: RequestContext): void {
    this.operate(context, HeartbeatFields, async (fields) => {
      const { caller, jobId: id } = context;
      const heartbeat = heartbeatOf(id, fields, this.config.limits.max_body_bytes);
      await this.jobs.checkJob(caller, id);
      const { leaseEndsAtMs, cancelRequested } = await this.jobs.heartbeat(caller, heartbeat);
      return `"lease_ends_at":"${isoTime(leaseEndsAtMs)}","cancel_requested":${String(cancelRequested)}`;
    });
  }

  release(context: RequestContext): void {
    this.settle(context, ReleaseFields, ({ lease, delay_ms, reason, worker }) =>
      this.jobs.release(
        context.caller,
        given<Release>({ id: context.jobId, lease, delayMs: delay_ms, reason, worker }),
      ),
    );
  }

  retry(context: RequestContext): void {
    this.settle(context, RetryFields, (fields) =>
      this.jobs.retry(context.caller, failureOf(context.jobId, fields, this.config.limits.max_body_bytes)),
    );
  }

  fail(context: RequestContext): void {
    this.settle(context, FailFields, (fields) =>
      this.jobs.fail(context.caller, failureOf(context.jobId, fields, this.config.limits.max_body_bytes)),
    );
  }

  private settle<T extends object>(
    context: RequestContext,
    of: FieldsClass<T>,
    run: (fields: T) => Promise<SettleOutcome>,
  ): void {
    this.operate(context, of, async (fields) => {
      await this.jobs.checkJob(context.caller, context.jobId);
      const { state, dueAtMs } = await run(fields);
      return `"state":"${state}","due_at":${timeJson(dueAtMs)}`;
    });
  }

  /** @param run returns the members of the answer besides the id, as JSON */
  private operate<T extends object>(
    context: RequestContext,
    of: FieldsClass<T>,
    run: (fields: T) => Promise<string>,
  ): void {
    // guard: lease-operation-parameters-refused
    refuseParameters(context.query);
    readJson(context, bulkLimit(this.config.limits), of, (fields) => {
      // The id was found to be that of a job: it needs no escaping.
      context.after(run(fields), (members) => answer(context, 200, `{"id":"${context.jobId}",${members}}`));
    });
  }
}
