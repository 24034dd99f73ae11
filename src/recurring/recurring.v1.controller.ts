import { Controller, Delete, Get, HttpCode, HttpStatus, Patch, Post, Put, UseGuards } from '@nestjs/common';
import { WithHeaders } from '../http/answer/with-headers.js';
import { BodyFields, InPath, QueryFields } from '../http/params.js';
import type { Caller } from '../domain/caller.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { Access, type AccessRules } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import { isJobId } from '../domain/ids.js';
import {
  type Recurring,
  type RecurringChange,
  RecurringChangeFields,
  ReplaceRecurringFields,
} from '../contract/job/recurring.js';
import { Describe } from '../http/describe.js';
import { fromCursor, pageFacts } from '../http/request/page-query.js';
import {
  PauseFields,
  PreviewFields,
  RecurringFields,
  RecurringPageAnswer,
  RecurringQuery,
  RunAnswer,
  UpcomingQuery,
} from './dto/recurring.v1.js';
import { RecurringAnswer, UpcomingAnswer } from '../contract/job/recurring-answers.js';
import { RecurringService } from './recurring.service.js';
import { changeOf, newRecurringOf, previewOf, recurringFactsOf } from './recurring.v1.js';

/** Recurring jobs need permission to publish to their queue. The queue is in the body, or stored with the recurring job. */
const PUBLISHERS: Partial<AccessRules> = { queues: 'body', verb: 'publish', throttle: 'write' };
const GROUP = 'Recurring jobs';
const ONE = { 200: { about: 'The recurring job.', of: RecurringAnswer } };

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
    errors: ['namespace_full', 'queue_not_allowed', 'pool_moving'],
  })
  async create(@CurrentCaller() caller: Caller, @BodyFields() fields: RecurringFields) {
    const recurring = newRecurringOf(fields, this.config.limits.max_body_bytes, fields.id);
    const stored = await this.recurrings.set(caller, recurring);
    const location = `/v1/${caller.namespace}/recurring/${stored.id}`;
    return new WithHeaders(this.factsOf(stored), ['Location', location]);
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
  async list(@CurrentCaller() caller: Caller, @QueryFields() { limit, cursor, queue }: RecurringQuery) {
    const from = cursor === undefined ? undefined : fromCursor(cursor, isJobId);
    const { items, after } = await this.recurrings.list(caller, { limit, after: from, queue });
    return pageFacts(
      items.map((one) => this.factsOf(one)),
      after,
    );
  }

  @Post('preview')
  @HttpCode(HttpStatus.OK)
  @Access(PUBLISHERS)
  @Describe({
    id: 'previewSchedule',
    about: 'Returns the next slots of a schedule, and stores nothing.',
    group: GROUP,
    body: PreviewFields,
    answers: { 200: { about: 'The slots.', of: UpcomingAnswer } },
    errors: ['pool_moving'],
  })
  preview(@CurrentCaller() caller: Caller, @BodyFields() { schedule, count }: PreviewFields) {
    return this.recurrings.preview(caller, previewOf(schedule), count);
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
  async find(@CurrentCaller() caller: Caller, @InPath('id') id: string) {
    return this.factsOf(await this.recurrings.get(caller, id));
  }

  @Put(':id')
  @Access(PUBLISHERS)
  @Describe({
    id: 'replaceRecurringJob',
    about: 'Creates or replaces the recurring job with this id.',
    details:
      'The counters of a replaced one continue. Its slots stay the same if its schedule does not change. It stays paused, with its note, unless `paused` is given.',
    group: GROUP,
    body: ReplaceRecurringFields,
    answers: ONE,
    errors: ['namespace_full', 'queue_not_allowed', 'pool_moving'],
  })
  async replace(
    @CurrentCaller() caller: Caller,
    @InPath('id') id: string,
    @BodyFields() fields: ReplaceRecurringFields,
  ) {
    const recurring = newRecurringOf(fields, this.config.limits.max_body_bytes, id);
    return this.factsOf(await this.recurrings.set(caller, recurring));
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
    errors: ['namespace_full', 'recurring_not_found', 'queue_not_allowed', 'pool_moving'],
  })
  change(
    @CurrentCaller() caller: Caller,
    @InPath('id') id: string,
    @BodyFields() fields: RecurringChangeFields,
  ) {
    return this.alter(caller, id, changeOf(fields, this.config.limits.max_body_bytes));
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
  async remove(@CurrentCaller() caller: Caller, @InPath('id') id: string): Promise<void> {
    await this.recurrings.remove(caller, id);
  }

  @Post(':id/pause')
  @HttpCode(HttpStatus.OK)
  @Access(PUBLISHERS)
  @Describe({
    id: 'pauseRecurringJob',
    about: 'Pauses a recurring job: it publishes nothing until it is resumed.',
    group: GROUP,
    body: PauseFields,
    answers: ONE,
    errors: ['recurring_not_found', 'pool_moving'],
  })
  pause(@CurrentCaller() caller: Caller, @InPath('id') id: string, @BodyFields() { note }: PauseFields) {
    return this.alter(caller, id, { paused: true, note: note ?? null });
  }

  @Post(':id/resume')
  @HttpCode(HttpStatus.OK)
  @Access(PUBLISHERS)
  @Describe({
    id: 'resumeRecurringJob',
    about: 'Resumes a recurring job with its next slot.',
    details: 'Slots that passed during the pause are skipped.',
    group: GROUP,
    answers: ONE,
    errors: ['recurring_not_found', 'pool_moving'],
  })
  resume(@CurrentCaller() caller: Caller, @InPath('id') id: string) {
    return this.alter(caller, id, { paused: false });
  }

  @Post(':id/run')
  @Access(PUBLISHERS)
  @Describe({
    id: 'runRecurringJob',
    about: 'Publishes a job of a recurring job now, outside of its schedule, also while it is paused.',
    group: GROUP,
    answers: { 201: { about: 'The published job.', of: RunAnswer } },
    errors: [
      ...([
        'recurring_not_found',
        'unique_key_taken',
        'missing_dependency',
        'queue_full',
        'pool_moving',
      ] as const),
    ],
  })
  async run(@CurrentCaller() caller: Caller, @InPath('id') id: string) {
    return { id: await this.recurrings.run(caller, id) };
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
  next(@CurrentCaller() caller: Caller, @InPath('id') id: string, @QueryFields() { count }: UpcomingQuery) {
    return this.recurrings.next(caller, id, count);
  }

  private async alter(caller: Caller, id: string, change: RecurringChange) {
    return this.factsOf(await this.recurrings.change(caller, id, change));
  }

  private factsOf(recurring: Recurring) {
    return recurringFactsOf(recurring, this.config.limits.max_json_depth);
  }
}
