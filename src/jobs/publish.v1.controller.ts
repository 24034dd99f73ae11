import { Controller, Inject, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import type { PublishedJob } from '../domain/rich-job.js';
import { checkQueue } from '../domain/rights.js';
import { readBody } from '../http/body.js';
import { Describe } from '../http/describe.js';
import { exchangeOf } from '../http/exchange-of.js';
import { jsonOf } from '../http/json-body.js';
import { reply } from '../http/reply.js';
import { PublishedAnswer, PublishedManyAnswer, PublishFields, PublishManyFields } from './dto/publish.v1.js';
import { checkIdCount, publishOptionsOf } from './publish-options.lmstfy.js';
import { RichJobsService } from './rich-jobs.service.js';
import { publishRequestOf } from './rich-jobs.v1.js';

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
    answers: { 201: { about: 'What became of each.', of: [PublishedAnswer, PublishedManyAnswer] } },
  })
  publish(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    const exchange = exchangeOf(request, response);
    const { limits } = this.config;
    const options = publishOptionsOf(exchange.request);
    readBody(exchange, limits.max_bulk_bytes, (body) => {
      const { caller } = exchange;
      const { jobs, isOne } = publishRequestOf(jsonOf(body), limits.max_body_bytes);
      if (caller.rights !== null) for (const { queue } of jobs) checkQueue(caller.rights, queue);
      checkIdCount(options, jobs.length);
      exchange.after(this.jobs.publish(caller, jobs, options), (published) => {
        const [first] = published;
        if (!isOne || first === undefined) reply(exchange, 201, { jobs: published });
        else reply(exchange, 201, first, ['Location', placeOf(caller.namespace, first)]);
      });
    });
  }
}

/** Names and ids are of legal characters: they need no escaping. */
function placeOf(namespace: string, { id }: PublishedJob): string {
  return `/v1/${namespace}/jobs/${id}`;
}
