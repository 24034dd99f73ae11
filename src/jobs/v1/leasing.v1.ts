import { Injectable } from '@nestjs/common';
import { Admission } from '../../auth/admission.js';
import { InputError } from '../../contract/fields/problems.js';
import type { LeaseRequest, Linger } from '../../domain/job/job.js';
import { checkQueue } from '../../domain/rights.js';
import type { RequestContext } from '../../http/request/request-context.js';
import { refuseParameters } from '../../http/request/query-fields.js';
import { readJson } from '../../http/request/json-body.js';
import { answer } from '../../http/answer/answer.js';
import { LeasesFields } from '../dto/leases.v1.js';
import { CONFIRM_ACCESS } from '../fast-routes.js';
import { leasedJson } from './job-answers.v1.js';
import { LeaseDelivery } from '../lease-delivery.js';

/** Enough for the longest names of the maximal numbers of queues and types, also if JSON escapes each character. */
const LIMIT = { maxBytes: 131_072 };

/** Leases jobs through the native API. A lease is undone if its response does not reach the client, as in lmstfy's API. */
@Injectable()
export class V1Leasing {
  constructor(
    private readonly admission: Admission,
    private readonly delivery: LeaseDelivery,
  ) {}

  /** Handles an admitted request context and makes sure that it is answered, now or later. */
  lease(context: RequestContext): void {
    refuseParameters(context.query);
    readJson(context, LIMIT, LeasesFields, (body) => {
      const { caller, request } = context;
      const { queues } = body;
      if (caller.rights !== null) for (const queue of queues) checkQueue(caller.rights, queue);
      this.delivery.lease(context, requestOf(body, context.mayWait), {
        write: (jobs) => {
          // guard: empty-leases-are-refunded
          context.isEmpty = jobs.length === 0;
          answer(context, 200, leasedJson(jobs, context.server.maxJsonDepth));
        },
        confirm: () => this.admission.confirm({ caller, request, queue: queues.join(',') }, CONFIRM_ACCESS),
      });
    });
  }
}

/** @throws {InputError} a minimum that cannot be reached, or without a linger */
function lingerOf({ count = 1, linger_ms, min }: LeasesFields): Linger | undefined {
  if (linger_ms === undefined && min !== undefined)
    throw new InputError([{ field: 'min', rule: 'needs linger_ms: how long to wait for so many jobs' }]);
  if (min !== undefined && min > count)
    throw new InputError([
      { field: 'min', rule: `must be at most count (${String(count)}): raise count, or lower min` },
    ]);
  return linger_ms === undefined ? undefined : { ms: linger_ms, min: min ?? count };
}

function requestOf(body: LeasesFields, mayWait: boolean): LeaseRequest {
  const linger = lingerOf(body);
  return {
    queues: body.queues,
    count: body.count ?? 1,
    waitMs: mayWait ? (body.wait_ms ?? 0) : 0,
    confirms: true,
    ...(linger === undefined || !mayWait ? {} : { linger }),
    ...(body.ttr_ms === undefined ? {} : { ttrMs: body.ttr_ms }),
    ...(body.worker === undefined ? {} : { worker: body.worker }),
    ...(body.types === undefined ? {} : { types: body.types }),
    ...(body.order === 'round_robin' ? { inTurns: true } : {}),
  };
}
