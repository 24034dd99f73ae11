import { Controller, Get, Post, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import type { DeadStep } from '../domain/job/job-lists.js';
import { Describe } from '../http/describe.js';
import type { RequestContext } from '../http/request/request-context.js';
import type { FieldsClass, Plain } from '../http/fields/field.js';
import { readQuery } from '../http/fields/read.js';
import { Incoming } from '../http/incoming.js';
import { bulkLimit } from '../http/request/body.js';
import { fieldsIn } from '../http/request/json-body.js';
import { cursorOrNull, pageOf } from '../http/request/page-query.js';
import { reply } from '../http/answer/reply.js';
import { JobsPage, jobsPage } from '../http/job-fields/summary.v1.js';
import { deadRequestOf, queryFilterOf, respawnOf } from './dead-request.js';
import { DeadJobsService } from './dead-jobs.service.js';
import { DeadAnswer, DeadFields, DeadQuery, MoveFields, RespawnFields } from './dto.v1.js';

const GROUP = 'Dead letter';
const DONE = { 200: { about: 'The number of jobs, and whether there are more.', of: DeadAnswer } };
const IN_STEPS =
  'A call takes half a second at most. If there are more jobs, the answer has `next_cursor` for the next call. Jobs that die after the first call do not change. An interrupted call may be sent again from the beginning.';

/** The dead-letter calls of the native API: dead jobs of all queues, including jobs published through lmstfy's API. */
@Controller('v1/:namespace/dead-letter')
@UseGuards(TokenGuard)
export class V1DeadJobsController {
  constructor(
    private readonly jobs: DeadJobsService,
    private readonly config: Config,
  ) {}

  @Get()
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'listDeadJobs',
    about: 'Lists dead jobs, oldest death first; with `order=newest`, latest first.',
    group: GROUP,
    query: DeadQuery,
    answers: { 200: { about: 'A page of jobs.', of: JobsPage } },
    errors: ['queue_not_allowed', 'pool_moving'],
  })
  async list(@Incoming() context: RequestContext): Promise<void> {
    const { limit, cursor, order, ...filter } = readQuery(DeadQuery, context.query);
    const page = { ...pageOf({ limit, cursor }), order };
    reply(context, 200, jobsPage(await this.jobs.list(context.caller, queryFilterOf(filter), page)));
  }

  @Post('respawn')
  @Access({ queues: 'body', verb: 'admin' })
  @Describe({
    id: 'respawnDeadJobs',
    about: 'Respawns dead jobs (redrive): they are ready again.',
    details: IN_STEPS,
    group: GROUP,
    body: RespawnFields,
    answers: DONE,
    errors: ['queue_not_allowed', 'pool_moving'],
  })
  respawn(@Incoming() context: RequestContext): Promise<void> {
    return this.act(context, RespawnFields, (fields) =>
      this.jobs.respawn(context.caller, deadRequestOf(fields), respawnOf(fields)),
    );
  }

  @Post('move')
  @Access({ queues: 'body', verb: 'admin' })
  @Describe({
    id: 'moveDeadJobs',
    about: 'Respawns dead jobs in another queue.',
    details: IN_STEPS,
    group: GROUP,
    body: MoveFields,
    answers: DONE,
    errors: ['queue_not_allowed', 'pool_moving'],
  })
  move(@Incoming() context: RequestContext): Promise<void> {
    return this.act(context, MoveFields, (fields) =>
      this.jobs.respawn(context.caller, deadRequestOf(fields), respawnOf(fields, fields.to_queue)),
    );
  }

  @Post('delete')
  @Access({ queues: 'body', verb: 'admin' })
  @Describe({
    id: 'deleteDeadJobs',
    about: 'Deletes dead jobs.',
    details: IN_STEPS,
    group: GROUP,
    body: DeadFields,
    answers: DONE,
    errors: ['queue_not_allowed', 'pool_moving'],
  })
  delete(@Incoming() context: RequestContext): Promise<void> {
    return this.act(context, DeadFields, (fields) => this.jobs.delete(context.caller, deadRequestOf(fields)));
  }

  private async act<T extends DeadFields>(
    context: RequestContext,
    of: FieldsClass<T>,
    work: (fields: T) => Promise<DeadStep>,
  ): Promise<void> {
    const fields = await fieldsIn(context, bulkLimit(this.config.limits), of);
    reply(context, 200, deadAnswer(await work(fields), fields));
  }
}

function deadAnswer({ done, cursor }: DeadStep, { dry_run = false }: DeadFields): Plain<DeadAnswer> {
  return { jobs: done, dry_run, next_cursor: cursorOrNull(cursor) };
}
