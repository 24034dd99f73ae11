import { Controller, Delete, Get, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import type { WorkerFacts } from '../domain/job-lists.js';
import { answerNothing } from '../http/answer/answer.js';
import { Describe } from '../http/describe.js';
import type { RequestContext } from '../http/request/request-context.js';
import type { Plain } from '../http/fields/field.js';
import { readQuery } from '../http/fields/read.js';
import { InPath, Incoming } from '../http/incoming.js';
import { pageAnswer, pageOf, PageQuery } from '../http/request/page-query.js';
import { isoTime, reply } from '../http/answer/reply.js';
import { WorkerAnswer, WorkersPage } from './dto.v1.js';
import { WorkersService } from './workers.service.js';

const GROUP = 'Workers';

/** Worker sessions: workers that lease jobs under a name. */
@Controller('v1/:namespace/workers')
@UseGuards(TokenGuard)
export class V1WorkersController {
  constructor(private readonly workers: WorkersService) {}

  @Get()
  @Access({ queues: 'none', verb: 'consume' })
  @Describe({
    id: 'listWorkers',
    about: 'Lists the workers that were heard of within the last day.',
    details: 'A worker is who gives a name with its leases. Its jobs are listed by `GET /jobs?worker=`.',
    group: GROUP,
    query: PageQuery,
    answers: { 200: { about: 'A page of workers.', of: WorkersPage } },
    errors: ['pool_moving'],
  })
  async list(@Incoming() context: RequestContext): Promise<void> {
    const page = pageOf(readQuery(PageQuery, context.query));
    const { items, cursor } = await this.workers.list(context.caller, page);
    reply(context, 200, pageAnswer(items.map(workerAnswer), cursor));
  }

  @Get(':name')
  @Access({ queues: 'none', verb: 'consume' })
  @Describe({
    id: 'getWorker',
    about: 'Shows a worker.',
    group: GROUP,
    answers: { 200: { about: 'The worker.', of: WorkerAnswer } },
    errors: ['worker_not_found', 'pool_moving'],
  })
  async find(@Incoming() context: RequestContext, @InPath('name') name: string): Promise<void> {
    reply(context, 200, workerAnswer(await this.workers.find(context.caller, name)));
  }

  @Delete(':name')
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    id: 'deleteWorker',
    about: 'Forgets a worker, until it is heard of again. Its leases stay as they are.',
    group: GROUP,
    answers: { 204: { about: 'It is forgotten.' } },
    errors: ['worker_not_found', 'pool_moving'],
  })
  async deregister(@Incoming() context: RequestContext, @InPath('name') name: string): Promise<void> {
    await this.workers.deregister(context.caller, name);
    answerNothing(context);
  }
}

function workerAnswer({ name, seenAtMs, leased, stalled }: WorkerFacts): Plain<WorkerAnswer> {
  return { name, seen_at: isoTime(seenAtMs), leased, stalled };
}
