import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { checkQueue, checkVerb, type Rights } from '../../domain/rights.js';
import { answer } from '../../http/answer/answer.js';
import { bulkLimit, readBody } from '../../http/request/body.js';
import type { RequestContext } from '../../http/request/request-context.js';
import { refuseParameters } from '../../http/request/query-fields.js';
import { acksOf, type BatchAck, resultsJson } from './acks.v1.js';
import { JobsService } from '../jobs.service.js';

/** Calls of the native API that the fast path also serves. `LmstfyFastCalls` says how they treat a request context. */
@Injectable()
export class V1FastCalls {
  constructor(
    private readonly jobs: JobsService,
    private readonly config: Config,
  ) {}

  /** Acks each of many jobs on its own. Acks nothing if one of the acks is malformed. */
  acks(context: RequestContext): void {
    // guard: acks-parameters-refused
    refuseParameters(context.query);
    readBody(context, bulkLimit(this.config.limits), (body) => {
      const acks = acksOf(body, this.config.limits);
      const { caller } = context;
      // guard: acks-check-queues
      if (caller.rights !== null) checkAcks(caller.rights, acks);
      context.after(this.jobs.ackMany(caller, acks), (results) =>
        answer(context, 200, resultsJson(acks, results)),
      );
    });
  }
}

/** A forced ack needs the permission admin; one that moves a job to another queue, permission to publish there. */
function checkAcks(rights: Rights, acks: readonly BatchAck[]): void {
  for (const { queue, lease, outcome } of acks) {
    checkQueue(rights, queue);
    if (lease === undefined) checkVerb(rights, 'admin');
    if (outcome?.next === undefined) continue;
    // guard: ack-move-needs-publish
    checkVerb(rights, 'publish');
    checkQueue(rights, outcome.next.queue);
  }
}
