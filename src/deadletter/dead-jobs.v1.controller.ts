import { Controller, Get, HttpCode, HttpStatus, Post, UseGuards } from '@nestjs/common';
import { Config } from '../config/config.js';
import { BodyFields, QueryFields } from '../http/params.js';
import type { Caller } from '../domain/caller.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import type { DeadStep } from '../domain/job/job-lists.js';
import { checkQueue, checkQueueOrAll } from '../domain/rights.js';
import { pushRightsOf } from '../domain/unique-rights.js';
import { Engines } from '../engine/engines.js';
import { Describe } from '../http/describe.js';
import { type Inside, toInside } from '../contract/fields/wire.js';
import {
  DeadAnswer,
  deadFacts,
  DeadFields,
  DeadFilterFields,
  type DeadSelection,
  RespawnFields,
  respawnOf,
} from '../contract/job/dead-jobs.js';
import { cursorOrNull, pageOf } from '../http/request/page-query.js';
import { dataSearchesOf } from '../contract/fields/withheld.js';
import { JobsPage } from '../contract/job/answers.js';
import { jobsFacts } from '../http/answer/jobs-page.js';
import { checkMove, checkSearch } from '../http/sight.js';
import { checkRespawn, deadSelectionOf, queryFilterOf } from './dead-request.js';
import { DeadQuery, MoveFields } from './dto.v1.js';

const GROUP = 'Dead letter';
const DONE = { 200: { about: 'The number of jobs, and whether there are more.', of: DeadAnswer } };
const IN_STEPS =
  'A call takes half a second at most. If there are more jobs, the answer has `next_cursor` for the next call. Jobs that die after the first call do not change. An interrupted call may be sent again from the beginning.';

/** The dead-letter calls of the native API: dead jobs of all queues, including jobs published through lmstfy's API. */
@Controller('v1/:namespace/dead-letter')
@UseGuards(TokenGuard)
export class V1DeadJobsController {
  constructor(
    private readonly engines: Engines,
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
  async list(@CurrentCaller() caller: Caller, @QueryFields() query: DeadQuery) {
    const { limit, cursor, order, fields, ...filter } = query;
    const page = { ...pageOf({ limit, cursor }), order };
    checkQueueOrAll(caller.rights, filter.queue);
    const { deadLetter, jobs } = this.engines.of(caller.pool);
    const found = await deadLetter.listDead(caller.namespace, queryFilterOf(filter), page);
    const data = fields && (await jobs.dataOf(caller.namespace, found.items));
    return jobsFacts(found, data, this.config.limits.max_json_depth);
  }

  @Post('respawn')
  @HttpCode(HttpStatus.OK)
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
  respawn(@CurrentCaller() caller: Caller, @BodyFields() fields: RespawnFields) {
    return this.respawnIn(caller, fields);
  }

  @Post('move')
  @HttpCode(HttpStatus.OK)
  @Access({ queues: 'body', verb: 'admin' })
  @Describe({
    id: 'moveDeadJobs',
    about: 'Respawns dead jobs in another queue.',
    details: `${IN_STEPS} Jobs for which a quota has no room in that queue stay dead, and are not counted.`,
    group: GROUP,
    body: MoveFields,
    answers: DONE,
    errors: ['queue_not_allowed', 'pool_moving'],
  })
  move(@CurrentCaller() caller: Caller, @BodyFields() fields: MoveFields) {
    return this.respawnIn(caller, fields, fields.to_queue);
  }

  @Post('delete')
  @HttpCode(HttpStatus.OK)
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
  async delete(@CurrentCaller() caller: Caller, @BodyFields() fields: DeadFields) {
    const selection = deadSelectionOf(fields);
    checkQueueOrAll(caller.rights, selection.filter?.queue);
    await this.checkFilter(caller, selection);
    const { deadLetter } = this.engines.of(caller.pool);
    return answerOf(await deadLetter.deleteSelected(caller.namespace, selection), selection);
  }

  private async respawnIn(caller: Caller, fields: RespawnFields, queue?: string) {
    checkRespawn(fields);
    const selection = deadSelectionOf(fields);
    // guard: respawn-checks-target-queue
    if (queue !== undefined) checkQueue(caller.rights, queue);
    checkQueueOrAll(caller.rights, selection.filter?.queue);
    await this.checkFilter(caller, selection);
    if (queue !== undefined) await checkMove(caller, this.engines, selection.filter?.queue, queue);
    const { deadLetter } = this.engines.of(caller.pool);
    const options = { ...respawnOf(toInside(RespawnFields, fields), queue), ...pushRightsOf(caller.rights) };
    return answerOf(await deadLetter.respawnSelected(caller.namespace, selection, options), selection);
  }

  private async checkFilter(caller: Caller, { filter = {} }: DeadSelection): Promise<void> {
    if (dataSearchesOf(DeadFilterFields, filter).length > 0)
      await checkSearch(caller, this.engines, filter.queue);
  }
}

function answerOf(step: DeadStep, selection: DeadSelection): Inside<DeadAnswer> {
  return { ...deadFacts(step, selection), nextCursor: cursorOrNull(step.cursor) };
}
