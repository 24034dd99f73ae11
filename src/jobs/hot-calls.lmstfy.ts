import { performance } from 'node:perf_hooks';
import { Inject, Injectable } from '@nestjs/common';
import type { AccessRules } from '../auth/access.js';
import { Admission } from '../auth/admission.js';
import { VALID_MS } from '../auth/token-cache.js';
import { Config } from '../config/config.js';
import type { LeasedJob, NewJob, PublishOptions } from '../domain/job.js';
import { answer, answerNothing } from '../http/answer.js';
import { expectNoBody, readBody } from '../http/body.js';
import type { Exchange } from '../http/exchange.js';
import { leasedJson, publishedJson, publishedManyJson } from './answers.lmstfy.js';
import { attributesOf } from './attributes.lmstfy.js';
import { bulkBodies } from './bulk.lmstfy.js';
import { Delivery, tellOfArrival } from './delivery.js';
import { JobsService } from './jobs.service.js';
import { consumeParameters, publishParameters } from './parameters.lmstfy.js';
import { checkIdCount, publishOptionsOf } from './publish-options.lmstfy.js';

const NO_JOB = '{"msg":"no job available"}';

/** How the hot calls are let in, on both ways. */
export const HOT_ACCESS = {
  publish: { queues: 'one', verb: 'publish', throttle: 'write' },
  consume: { queues: 'list', verb: 'consume', throttle: 'read' },
  ack: { queues: 'one', verb: 'consume', goesFirst: true },
} as const satisfies Record<string, AccessRules>;

/**
 * What a queue's life consists of on lmstfy's wire: publish, consume, acknowledge. The router's controller and the hot lane both end
 * here. Each takes an exchange that was let in, and sees to it that it is answered, now or later: it throws for what is wrong at
 * once, and refuses by itself what goes wrong after it has returned.
 */
@Injectable()
export class LmstfyHotCalls {
  constructor(
    @Inject(JobsService) private readonly jobs: JobsService,
    @Inject(Config) private readonly config: Config,
    @Inject(Admission) private readonly admission: Admission,
  ) {}

  publish(exchange: Exchange): void {
    this.readJob(exchange, (job, options) => {
      exchange.after(this.jobs.publish(exchange.caller, exchange.queue, job, options), (id) =>
        answer(exchange, 201, publishedJson(id)),
      );
    });
  }

  /** Everything is checked before the old job is touched; then one step puts the new one in its place. */
  republish(exchange: Exchange): void {
    this.readJob(exchange, (job, options) => {
      const { caller, queue, jobId } = exchange;
      exchange.after(this.jobs.republish(caller, queue, jobId, job, options), (id) =>
        answer(exchange, 201, publishedJson(id)),
      );
    });
  }

  publishBulk(exchange: Exchange): void {
    const { limits, lmstfy } = this.config;
    const parameters = publishParameters(exchange.query, lmstfy);
    const attributes = attributesOf(exchange.request);
    const options = publishOptionsOf(exchange.request);
    readBody(exchange, limits.max_bulk_bytes, (body) => {
      const jobs = bulkBodies(body, limits.max_body_bytes).map((element) =>
        newJob(element, parameters, attributes),
      );
      checkIdCount(options, jobs.length);
      exchange.after(this.jobs.publishMany(exchange.caller, exchange.queue, jobs, options), (ids) =>
        answer(exchange, 201, publishedManyJson(ids)),
      );
    });
  }

  consume(exchange: Exchange): void {
    const { request, context } = exchange;
    const asked = consumeParameters(exchange.queue, exchange.query, this.config.lmstfy);
    const { ttrMs, count, queues } = asked;
    const waitMs = context.drain.closing ? 0 : asked.waitMs;
    expectNoBody(request);
    if (waitMs > 0) context.gate?.rest(exchange);
    const delivery = new Delivery(request.socket);
    const wanted = { queues, count, ttrMs, waitMs, confirms: true };
    exchange.after(
      this.jobs.reserve(exchange.caller, waitMs > 0 ? { ...wanted, signal: delivery.signal } : wanted),
      (jobs) => {
        if (waitMs > 0) this.deliverAfterWait(exchange, delivery, jobs, count > 1);
        else this.deliver(exchange, delivery, jobs, count > 1);
      },
      () => delivery.done(),
    );
  }

  ack(exchange: Exchange): void {
    expectNoBody(exchange.request);
    exchange.after(this.jobs.ack(exchange.caller, exchange.queue, exchange.jobId), () =>
      answerNothing(exchange),
    );
  }

  private readJob(exchange: Exchange, take: (job: NewJob, options?: PublishOptions) => void): void {
    const { limits, lmstfy } = this.config;
    const parameters = publishParameters(exchange.query, lmstfy);
    const attributes = attributesOf(exchange.request);
    const options = publishOptionsOf(exchange.request);
    checkIdCount(options, 1);
    readBody(exchange, limits.max_body_bytes, (body) => take(newJob(body, parameters, attributes), options));
  }

  /** Who has waited long may have lost the token meanwhile: then the jobs go back. */
  private deliverAfterWait(
    exchange: Exchange,
    delivery: Delivery,
    jobs: readonly LeasedJob[],
    asList: boolean,
  ): void {
    const isLong = performance.now() - exchange.startedMs > VALID_MS;
    if (!isLong || jobs.length === 0) {
      this.deliver(exchange, delivery, jobs, asList);
      return;
    }
    const takeBack = (): void => {
      delivery.done();
      this.jobs.undo(exchange.caller, jobs);
    };
    exchange.after(
      this.admission.confirm(exchange, HOT_ACCESS.consume),
      () => this.deliver(exchange, delivery, jobs, asList),
      takeBack,
    );
  }

  private deliver(exchange: Exchange, delivery: Delivery, jobs: readonly LeasedJob[], asList: boolean): void {
    const { caller, response } = exchange;
    if (jobs.length === 0 || delivery.isGone) {
      delivery.done();
      if (jobs.length > 0) this.jobs.undo(caller, jobs);
      answer(exchange, 404, NO_JOB);
      return;
    }
    try {
      answer(exchange, 200, leasedJson(caller.namespace, jobs, asList));
    } finally {
      delivery.guard(response, (hasLeft) => {
        if (hasLeft) tellOfArrival(jobs);
        else this.jobs.undo(caller, jobs);
      });
    }
  }
}

function newJob(
  body: Buffer,
  parameters: Pick<NewJob, 'delayMs' | 'ttlMs' | 'tries'>,
  attributes: Record<string, string> | undefined,
): NewJob {
  const { delayMs, ttlMs, tries } = parameters;
  return attributes === undefined
    ? { body, delayMs, ttlMs, tries }
    : { body, delayMs, ttlMs, tries, attributes };
}
