import { Controller, Inject, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import { QueueError } from '../domain/errors.js';
import type { PublishOptions } from '../domain/job.js';
import type { NewRichJob, PublishedJob } from '../domain/rich-job.js';
import type { JobState } from '../domain/states.js';
import { checkQueue } from '../domain/rights.js';
import { readBody } from '../http/body.js';
import { Describe } from '../http/describe.js';
import { InputError } from '../http/errors.v1.js';
import type { Exchange } from '../http/exchange.js';
import { exchangeOf } from '../http/exchange-of.js';
import { readQuery } from '../http/fields/read.js';
import { jsonOf } from '../http/json-body.js';
import { reply } from '../http/reply.js';
import { Delivery } from './delivery.js';
import { EndedAnswer } from './dto/job.v1.js';
import {
  PublishedAnswer,
  PublishedManyAnswer,
  PublishFields,
  PublishManyFields,
  PublishQuery,
} from '../http/job-fields/fields.js';
import { endedAnswer } from './job-answers.v1.js';
import { checkIdCount, publishOptionsOf } from './publish-options.lmstfy.js';
import { RichJobsService } from './rich-jobs.service.js';
import { publishRequestOf } from '../http/job-fields/new-job.js';

/** How long the end of a job is kept for who waited for it, beyond the wait. */
const KEPT_LONGER_MS = 60_000;
const ENDED = new Set<JobState>(['done', 'dead', 'cancelled']);

/** Publishing on the native API. */
@Controller('v1/:namespace/jobs')
@UseGuards(TokenGuard)
export class V1PublishController {
  constructor(
    @Inject(RichJobsService) private readonly jobs: RichJobsService,
    @Inject(Config) private readonly config: Config,
  ) {}

  @Post()
  @Access({ queues: 'body', verb: 'publish', throttle: 'write' })
  @Describe({
    about: 'Publishes a job, or many: all or none.',
    details: 'Jobs of a list may be of any queues of the namespace.',
    group: 'Jobs',
    body: [PublishFields, PublishManyFields],
    headers: [
      {
        name: 'Idempotency-Key',
        about: 'The same request with the same key is answered alike, and stores nothing twice.',
      },
      {
        name: 'X-Durability',
        about: 'How safe the jobs must be before the answer: `memory`, `aof` or `replicated:N`.',
      },
      { name: 'X-Job-ID', about: 'The ids that an earlier attempt was refused with.' },
    ],
    query: PublishQuery,
    answers: {
      201: { about: 'What became of each.', of: [PublishedAnswer, PublishedManyAnswer] },
      200: { about: 'With `wait_ms`: how the job ended.', of: EndedAnswer },
      202: {
        about: 'With `wait_ms`: where the job is; it has not ended yet. `Location` says where to ask later.',
        of: EndedAnswer,
      },
    },
  })
  publish(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    const exchange = exchangeOf(request, response);
    const { limits } = this.config;
    const { wait_ms } = readQuery(PublishQuery, exchange.query);
    const options = publishOptionsOf(exchange.request);
    readBody(exchange, limits.max_bulk_bytes, (body) => {
      const { caller } = exchange;
      const { jobs, isOne } = publishRequestOf(jsonOf(body), limits.max_body_bytes);
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
