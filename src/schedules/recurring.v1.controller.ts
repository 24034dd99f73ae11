import { Controller, Delete, Get, Patch, Post, Put, UseGuards } from '@nestjs/common';
import { Access, type AccessRules } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import { isJobId } from '../domain/ids.js';
import type { RecurringChange } from '../domain/job/recurring.js';
import { answer } from '../http/answer/answer.js';
import { type AnswerDescription, Describe } from '../http/describe.js';
import type { RequestContext } from '../http/request/request-context.js';
import { readQuery } from '../http/fields/read.js';
import { Incoming } from '../http/incoming.js';
import { bulkLimit } from '../http/request/body.js';
import { fieldsIn } from '../http/request/json-body.js';
import { fromCursor, pageAnswer } from '../http/request/page-query.js';
import { reply } from '../http/answer/reply.js';
import {
  PauseFields,
  PreviewFields,
  RecurringAnswer,
  RecurringChangeFields,
  RecurringFields,
  RecurringPageAnswer,
  RecurringQuery,
  ReplaceRecurringFields,
  RunAnswer,
  UpcomingAnswer,
  UpcomingQuery,
} from './dto/recurring.v1.js';
import { RecurringService } from './recurring.service.js';
import { changeOf, newRecurringOf, previewOf, recurringAnswer, upcomingAnswer } from './recurring.v1.js';

/** Recurring jobs need permission to publish to their queue. The queue is in the body, or stored with the recurring job. */
const PUBLISHERS: Partial<AccessRules> = { queues: 'body', verb: 'publish', throttle: 'write' };
const GROUP = 'Recurring jobs';
const ONE: Readonly<Record<number, AnswerDescription>> = {
  200: { about: 'The recurring job.', of: RecurringAnswer },
};

/** Recurring jobs on the native API. */
@Controller('v1/:namespace/recurring')
@UseGuards(TokenGuard)
export class V1RecurringController {
  constructor(
    private readonly recurrings: RecurringService,
    private readonly config: Config,
  ) {}

  @Post()
  @Access(PUBLISHERS)
  @Describe({
    id: 'createRecurringJob',
    about: 'Stores a recurring job: one job is published for each slot of its schedule, by interval or cron.',
    group: GROUP,
    body: RecurringFields,
    answers: { 201: { about: 'The recurring job.', of: RecurringAnswer } },
    errors: ['queue_not_allowed', 'pool_moving'],
  })
  async create(@Incoming() context: RequestContext): Promise<void> {
    const { limits } = this.config;
    const fields = await fieldsIn(context, bulkLimit(limits), RecurringFields);
    const recurring = newRecurringOf(fields, limits.max_body_bytes, fields.id);
    const stored = await this.recurrings.set(context.caller, recurring);
    const location = `/v1/${context.namespace}/recurring/${stored.id}`;
    reply(context, 201, recurringAnswer(stored), ['Location', location]);
  }

  @Get()
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    id: 'listRecurringJobs',
    about: 'Lists recurring jobs by id.',
    group: GROUP,
    query: RecurringQuery,
    answers: { 200: { about: 'A page of them.', of: RecurringPageAnswer } },
    errors: ['queue_not_allowed', 'pool_moving'],
  })
  async list(@Incoming() context: RequestContext): Promise<void> {
    const { limit, cursor, queue } = readQuery(RecurringQuery, context.query);
    const from = cursor === undefined ? undefined : fromCursor(cursor, isJobId);
    const { items, after } = await this.recurrings.list(context.caller, { limit, after: from, queue });
    reply(context, 200, pageAnswer(items.map(recurringAnswer), after));
  }

  @Post('preview')
  @Access(PUBLISHERS)
  @Describe({
    id: 'previewSchedule',
    about: 'Returns the next slots of a schedule, and stores nothing.',
    group: GROUP,
    body: PreviewFields,
    answers: { 200: { about: 'The slots.', of: UpcomingAnswer } },
    errors: ['pool_moving'],
  })
  async preview(@Incoming() context: RequestContext): Promise<void> {
    const fields = await fieldsIn(context, bulkLimit(this.config.limits), PreviewFields);
    const { slots, timeZone } = this.recurrings.preview(
      context.caller,
      previewOf(fields.schedule),
      fields.count,
    );
    reply(context, 200, upcomingAnswer(slots, timeZone));
  }

  @Get(':id')
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    id: 'getRecurringJob',
    about: 'Shows a recurring job.',
    group: GROUP,
    answers: ONE,
    errors: ['recurring_not_found', 'pool_moving'],
  })
  async find(@Incoming() context: RequestContext): Promise<void> {
    reply(context, 200, recurringAnswer(await this.recurrings.get(context.caller, context.jobId)));
  }

  @Put(':id')
  @Access(PUBLISHERS)
  @Describe({
    id: 'replaceRecurringJob',
    about: 'Creates or replaces the recurring job with this id.',
    details:
      'The counters of a replaced one continue. Its slots stay the same if its schedule does not change.',
    group: GROUP,
    body: ReplaceRecurringFields,
    answers: ONE,
    errors: ['queue_not_allowed', 'pool_moving'],
  })
  async replace(@Incoming() context: RequestContext): Promise<void> {
    const { limits } = this.config;
    const fields = await fieldsIn(context, bulkLimit(limits), ReplaceRecurringFields);
    const recurring = newRecurringOf(fields, limits.max_body_bytes, context.jobId);
    reply(context, 200, recurringAnswer(await this.recurrings.set(context.caller, recurring)));
  }

  @Patch(':id')
  @Access(PUBLISHERS)
  @Describe({
    id: 'updateRecurringJob',
    about: 'Changes a recurring job while it runs.',
    details: 'Omitted fields do not change. Jobs that it has already published do not change.',
    group: GROUP,
    body: RecurringChangeFields,
    answers: ONE,
    errors: ['recurring_not_found', 'queue_not_allowed', 'pool_moving'],
  })
  async change(@Incoming() context: RequestContext): Promise<void> {
    const { limits } = this.config;
    const fields = await fieldsIn(context, bulkLimit(limits), RecurringChangeFields);
    await this.alter(context, changeOf(fields, limits.max_body_bytes));
  }

  @Delete(':id')
  @Access(PUBLISHERS)
  @Describe({
    id: 'deleteRecurringJob',
    about: 'Deletes a recurring job. Its jobs stay.',
    group: GROUP,
    answers: { 204: { about: 'It is deleted.' } },
    errors: ['recurring_not_found', 'pool_moving'],
  })
  async remove(@Incoming() context: RequestContext): Promise<void> {
    await this.recurrings.remove(context.caller, context.jobId);
    answer(context, 204, '');
  }

  @Post(':id/pause')
  @Access(PUBLISHERS)
  @Describe({
    id: 'pauseRecurringJob',
    about: 'Pauses a recurring job: it publishes nothing until it is resumed.',
    group: GROUP,
    body: PauseFields,
    answers: ONE,
    errors: ['recurring_not_found', 'pool_moving'],
  })
  async pause(@Incoming() context: RequestContext): Promise<void> {
    const { note = null } = await fieldsIn(context, bulkLimit(this.config.limits), PauseFields);
    await this.alter(context, { isPaused: true, note });
  }

  @Post(':id/resume')
  @Access(PUBLISHERS)
  @Describe({
    id: 'resumeRecurringJob',
    about: 'Resumes a recurring job with its next slot.',
    details: 'Slots that passed during the pause are skipped.',
    group: GROUP,
    answers: ONE,
    errors: ['recurring_not_found', 'pool_moving'],
  })
  resume(@Incoming() context: RequestContext): Promise<void> {
    return this.alter(context, { isPaused: false });
  }

  @Post(':id/run')
  @Access(PUBLISHERS)
  @Describe({
    id: 'runRecurringJob',
    about: 'Publishes a job of a recurring job now, outside of its schedule, also while it is paused.',
    group: GROUP,
    answers: { 201: { about: 'The published job.', of: RunAnswer } },
    errors: ['recurring_not_found', 'unique_key_taken', 'queue_full', 'pool_moving'],
  })
  async run(@Incoming() context: RequestContext): Promise<void> {
    reply(context, 201, { id: await this.recurrings.run(context.caller, context.jobId) });
  }

  @Get(':id/next')
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    id: 'listUpcomingSlots',
    about: 'Shows the next slots of a recurring job, also while it is paused.',
    group: GROUP,
    query: UpcomingQuery,
    answers: { 200: { about: 'The slots.', of: UpcomingAnswer } },
    errors: ['recurring_not_found', 'pool_moving'],
  })
  async next(@Incoming() context: RequestContext): Promise<void> {
    const { count } = readQuery(UpcomingQuery, context.query);
    const { slots, timeZone } = await this.recurrings.next(context.caller, context.jobId, count);
    reply(context, 200, upcomingAnswer(slots, timeZone));
  }

  private async alter(context: RequestContext, change: RecurringChange): Promise<void> {
    const changed = await this.recurrings.change(context.caller, context.jobId, change);
    reply(context, 200, recurringAnswer(changed));
  }
}
