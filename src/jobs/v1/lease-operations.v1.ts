import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { checkQueue, checkVerb } from '../../domain/rights.js';
import type { SettleOutcome } from '../../engine/settle/lease-operations.js';
import type { FieldsClass } from '../../contract/fields/field.js';
import { toInside, toWire } from '../../contract/fields/wire.js';
import { asciiJson } from '../../contract/json/ascii-json.js';
import { refuseParameters } from '../../http/request/query-fields.js';
import { answer } from '../../http/answer/answer.js';
import { bulkLimit } from '../../http/request/body.js';
import { readJson } from '../../http/request/json-body.js';
import type { RequestContext } from '../../http/request/request-context.js';
import {
  AckFields,
  FailFields,
  HeartbeatAnswer,
  HeartbeatFields,
  ReleaseFields,
  RetryFields,
  SettledAnswer,
} from '../dto/settle.v1.js';
import { JobsService } from '../jobs.service.js';
import { ackOf, failureOf, heartbeatOf, isForced } from './outcomes.v1.js';

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
      // The id was found to be that of a job: it needs no escaping.
      return `{"id":"${id}","status":"${await this.jobs.ack(caller, ack)}"}`;
    });
  }

  heartbeat(context: RequestContext): void {
    this.operate(context, HeartbeatFields, async (fields) => {
      const { caller, jobId: id } = context;
      const heartbeat = heartbeatOf(id, fields, this.config.limits.max_body_bytes);
      await this.jobs.checkJob(caller, id);
      return asciiJson(toWire(HeartbeatAnswer, { id, ...(await this.jobs.heartbeat(caller, heartbeat)) }));
    });
  }

  release(context: RequestContext): void {
    this.settle(context, ReleaseFields, (fields) =>
      this.jobs.release(context.caller, { id: context.jobId, ...toInside(ReleaseFields, fields) }),
    );
  }

  retry(context: RequestContext): void {
    this.settle(context, RetryFields, (fields) =>
      this.jobs.retry(context.caller, failureOf(context.jobId, fields, this.config.limits.max_body_bytes)),
    );
  }

  fail(context: RequestContext): void {
    this.operate(context, FailFields, async (fields) => {
      const { caller, jobId: id } = context;
      // guard: forced-failure-needs-admin
      if (isForced(fields)) checkVerb(caller.rights, 'admin');
      const { lease = 0 } = fields;
      const failure = failureOf(id, Object.assign(fields, { lease }), this.config.limits.max_body_bytes);
      await this.jobs.checkJob(caller, id);
      const failed =
        lease === 0 ? await this.jobs.forceFail(caller, id, failure) : await this.jobs.fail(caller, failure);
      return asciiJson(toWire(SettledAnswer, { id, ...failed }));
    });
  }

  private settle<T extends object>(
    context: RequestContext,
    of: FieldsClass<T>,
    run: (fields: T) => Promise<SettleOutcome>,
  ): void {
    this.operate(context, of, async (fields) => {
      await this.jobs.checkJob(context.caller, context.jobId);
      return asciiJson(toWire(SettledAnswer, { id: context.jobId, ...(await run(fields)) }));
    });
  }

  /** @param run returns the answer, as JSON in ASCII */
  private operate<T extends object>(
    context: RequestContext,
    of: FieldsClass<T>,
    run: (fields: T) => Promise<string>,
  ): void {
    // guard: lease-operation-parameters-refused
    refuseParameters(context.query);
    readJson(context, bulkLimit(this.config.limits), of, (fields) => {
      context.after(run(fields), (json) => answer(context, 200, json));
    });
  }
}
