import { Inject, Injectable } from '@nestjs/common';
import type { AccessRules } from '../auth/access.js';
import { Config } from '../config/config.js';
import { QueueError } from '../domain/errors.js';
import type { PublishOptions } from '../domain/job.js';
import type { NewRichJob, PublishedJob } from '../domain/rich-job.js';
import { checkQueue } from '../domain/rights.js';
import type { JobState } from '../domain/states.js';
import { readBody } from '../http/body.js';
import { InputError } from '../http/errors.v1.js';
import type { Exchange } from '../http/exchange.js';
import { readQuery } from '../http/fields/read.js';
import { jsonOf } from '../http/json-body.js';
import { reply } from '../http/reply.js';
import { Delivery } from './delivery.js';
import { PublishFields, PublishManyFields, PublishQuery } from '../http/job-fields/fields.js';
import { endedAnswer } from './job-answers.v1.js';
import { checkIdCount, publishOptionsOf } from './publish-options.lmstfy.js';
import { RichJobsService } from './rich-jobs.service.js';
import { publishRequestOf } from '../http/job-fields/new-job.js';

/** How long the end of a job is kept for who waited for it, beyond the wait. */
const KEPT_LONGER_MS = 60_000;
const ENDED = new Set<JobState>(['done', 'dead', 'cancelled']);

export const PUBLISH_ACCESS = {
  queues: 'body',
  verb: 'publish',
  throttle: 'write',
} as const satisfies AccessRules;

/** Publishing on the native API, on both ways. */
@Injectable()
export class V1Publishing {
  constructor(
    @Inject(RichJobsService) private readonly jobs: RichJobsService,
    @Inject(Config) private readonly config: Config,
  ) {}

  /** Takes an exchange that was let in, and sees to it that it is answered, now or later. */
  publish(exchange: Exchange): void {
    const { limits } = this.config;
    const { wait_ms } = readQuery(PublishQuery, exchange.query);
    const options = publishOptionsOf(exchange.request);
    readBody(exchange, limits.max_bulk_bytes, (body) => {
      const { caller } = exchange;
      const { jobs, isOne } = publishRequestOf(
        jsonOf(body, PublishFields, PublishManyFields),
        limits.max_body_bytes,
      );
      if (caller.rights !== null) for (const { queue } of jobs) checkQueue(caller.rights, queue);
      checkIdCount(options, jobs.length);
      if (wait_ms !== undefined) this.publishAndWait(exchange, alone(jobs, isOne), wait_ms, options);
      else {
        exchange.after(this.jobs.publish(caller, jobs, options), (published) => {
          const [first] = published;
          if (!isOne || first === undefined) reply(exchange, 201, { jobs: published });
          else reply(exchange, 201, first, locationOf(exchange, first));
        });
      }
    });
  }

  /** The answer is the job's end. A server that stops, and a time that is over, answer where to ask later. */
  private publishAndWait(
    exchange: Exchange,
    job: NewRichJob,
    waitMs: number,
    options: PublishOptions | undefined,
  ): void {
    const { caller, context, request } = exchange;
    context.gate?.rest(exchange);
    const delivery = new Delivery(request.socket);
    const kept = { ...job, retentionMs: Math.max(job.retentionMs ?? 0, waitMs + KEPT_LONGER_MS) };
    const publish = async (): Promise<void> => {
      const [published] = await this.jobs.publish(caller, [kept], options);
      if (published === undefined) throw new QueueError('internal', 'a publish of one job has no answer');
      const found = await this.jobs.waitForEnd(caller, published.id, waitMs, delivery.signal);
      const hasEnded = found === null || ENDED.has(found.state);
      reply(
        exchange,
        hasEnded ? 200 : 202,
        endedAnswer(published, found),
        hasEnded ? [] : locationOf(exchange, published),
      );
    };
    const done = (): void => delivery.done();
    exchange.after(publish(), done, done);
  }
}

/** @throws {InputError} it is not alone */
function alone(jobs: readonly NewRichJob[], isOne: boolean): NewRichJob {
  const [job] = jobs;
  if (isOne && job !== undefined) return job;
  throw new InputError([{ field: 'wait_ms', rule: 'must be left out where there is a list of jobs' }]);
}

/** Names and ids are of legal characters: they need no escaping. */
function locationOf({ namespace }: Exchange, { id }: PublishedJob): string[] {
  return ['Location', `/v1/${namespace}/jobs/${id}`];
}
