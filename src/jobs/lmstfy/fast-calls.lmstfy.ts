import { Injectable } from '@nestjs/common';
import { Admission } from '../../auth/admission.js';
import { Config } from '../../config/config.js';
import { Engines } from '../../engine/engines.js';
import { answer, answerNothing, type AnswerOptions } from '../../http/answer/answer.js';
import { bulkLimit, expectNoBody, readBody } from '../../http/request/body.js';
import type { RequestContext } from '../../http/request/request-context.js';
import {
  attributesOf,
  consumeParameters,
  leasedJson,
  newJob,
  publishedJson,
  publishedManyJson,
  publishParameters,
  readJob,
} from './wire.lmstfy.js';
import { bulkBodies } from './bulk.lmstfy.js';
import { LeaseDelivery } from '../lease-delivery.js';
import { FAST_ROUTES } from '../fast-routes.js';
import { checkIdCount, publishOptionsOf, type RequestOptions } from '../publish-options.js';

const NO_JOB = '{"msg":"no job available"}';

/**
 * The most frequent calls of lmstfy's API: publish, consume, ack. Both the router's controller and the fast path call
 * them. Each method takes an admitted request context and makes sure that it is answered, now or later. It throws
 * errors found at once; it answers later errors itself.
 */
@Injectable()
export class LmstfyFastCalls {
  constructor(
    private readonly engines: Engines,
    private readonly config: Config,
    private readonly admission: Admission,
    private readonly delivery: LeaseDelivery,
  ) {}

  publish(context: RequestContext): void {
    readJob(context, this.config, ({ job, options }) => {
      const { caller, queue } = context;
      const publishing = this.engines.of(caller.pool).publish(caller.namespace, queue, job, options);
      context.after(publishing, (id) => answer(context, 201, publishedJson(id), answerOptionsOf(options)));
    });
  }

  publishBulk(context: RequestContext): void {
    const { limits, lmstfy } = this.config;
    const parameters = publishParameters(context.query, lmstfy);
    const attributes = attributesOf(context.request);
    const options = publishOptionsOf(context.request);
    readBody(context, bulkLimit(limits), (body) => {
      const jobs = bulkBodies(body, limits.max_body_bytes).map((element) =>
        newJob(element, parameters, attributes),
      );
      checkIdCount(options, jobs.length);
      const { caller, queue } = context;
      const publishing = this.engines.of(caller.pool).publishMany(caller.namespace, queue, jobs, options);
      context.after(publishing, (ids) =>
        answer(context, 201, publishedManyJson(ids), answerOptionsOf(options)),
      );
    });
  }

  consume(context: RequestContext): void {
    const parameters = consumeParameters(context.queue, context.query, this.config.lmstfy);
    const { ttrMs, count, queues } = parameters;
    const waitMs = context.mayWait ? parameters.waitMs : 0;
    expectNoBody(context.request);
    this.delivery.lease(
      context,
      { queues, count, ttrMs, waitMs, /* guard: lmstfy-confirms-flushed */ confirms: true },
      {
        write: (jobs) => {
          if (jobs.length === 0) answer(context, 404, NO_JOB);
          else answer(context, 200, leasedJson(context.caller.namespace, jobs, count > 1));
        },
        confirm: () => this.admission.confirm(context, FAST_ROUTES.consume.access),
      },
    );
  }

  /** Removes a job in any state. Succeeds if there is no such job. */
  ack(context: RequestContext): void {
    expectNoBody(context.request);
    const { caller, queue, jobId } = context;
    const acking = this.engines.of(caller.pool).ack(caller.namespace, queue, jobId);
    context.after(acking, () => answerNothing(context));
  }
}

/** Headers are new to lmstfy, so that its bodies stay as they are. */
function answerOptionsOf(options: RequestOptions | undefined): AnswerOptions | undefined {
  return options?.answerHeaders && { headers: options.answerHeaders };
}
