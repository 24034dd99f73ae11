import { Controller, Delete, Get, Inject, Patch, Post, Put, UseGuards } from '@nestjs/common';
import { Access, type AccessRules } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import { isJobId } from '../domain/names.js';
import type { RecurringChange } from '../domain/recurring.js';
import { answer } from '../http/answer.js';
import { type AnswerDescription, Describe } from '../http/describe.js';
import type { Exchange } from '../http/exchange.js';
import { readQuery } from '../http/fields/read.js';
import { Incoming } from '../http/incoming.js';
import { fieldsIn } from '../http/json-body.js';
import { fromCursor, pageAnswer } from '../http/page-query.js';
import { reply } from '../http/reply.js';
import {
  RecurringAnswer,
  RecurringChangeFields,
  RecurringFields,
  RecurringPageAnswer,
  RecurringQuery,
  ReplaceRecurringFields,
} from './dto/recurring.v1.js';
import { RecurringService } from './recurring.service.js';
import { changeOf, newRecurringOf, recurringAnswer } from './recurring.v1.js';

/** Whoever may publish to a queue may have it done by the clock. The queue is in the body, or known of the id. */
const PUBLISHERS: Partial<AccessRules> = { queues: 'body', verb: 'publish', throttle: 'write' };
const GROUP = 'Recurring jobs';
const ONE: Readonly<Record<number, AnswerDescription>> = {
  200: { about: 'The recurring job as it is now.', of: RecurringAnswer },
};

/** Jobs that are made by the clock, on the native API. */
@Controller('v1/:namespace/recurring')
@UseGuards(TokenGuard)
export class V1RecurringController {
  constructor(
    @Inject(RecurringService) private readonly recurrings: RecurringService,
    @Inject(Config) private readonly config: Config,
  ) {}

  @Post()
  @Access(PUBLISHERS)
  @Describe({
    about: 'Stores a recurring job: one job is made for each slot of its schedule.',
    group: GROUP,
    body: RecurringFields,
    answers: { 201: { about: 'The recurring job.', of: RecurringAnswer } },
  })
  async create(@Incoming() exchange: Exchange): Promise<void> {
    const { max_bulk_bytes, max_body_bytes } = this.config.limits;
    const fields = await fieldsIn(exchange, max_bulk_bytes, RecurringFields);
    const recurring = newRecurringOf(fields, max_body_bytes, fields.id);
    const stored = await this.recurrings.set(exchange.caller, recurring);
    const location = `/v1/${exchange.namespace}/recurring/${stored.id}`;
    reply(exchange, 201, recurringAnswer(stored), ['Location', location]);
  }

  @Get()
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    about: 'Lists recurring jobs, in the order of their ids.',
    group: GROUP,
    query: RecurringQuery,
    answers: { 200: { about: 'A page of them.', of: RecurringPageAnswer } },
  })
  async list(@Incoming() exchange: Exchange): Promise<void> {
    const { limit, cursor, queue } = readQuery(RecurringQuery, exchange.query);
    const from = cursor === undefined ? undefined : fromCursor(cursor, isJobId);
    const { items, after } = await this.recurrings.list(exchange.caller, { limit, after: from, queue });
    reply(exchange, 200, pageAnswer(items.map(recurringAnswer), after));
  }

  @Get(':id')
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({ about: 'Shows a recurring job.', group: GROUP, answers: ONE })
  async look(@Incoming() exchange: Exchange): Promise<void> {
    reply(exchange, 200, recurringAnswer(await this.recurrings.get(exchange.caller, exchange.jobId)));
  }

  @Put(':id')
  @Access(PUBLISHERS)
  @Describe({
    about: 'Stores a recurring job under an id, in the place of the one that has it.',
    details: 'It goes on counting, and its slots stay as long as its schedule is the same.',
    group: GROUP,
    body: ReplaceRecurringFields,
    answers: ONE,
  })
  async replace(@Incoming() exchange: Exchange): Promise<void> {
    const { max_bulk_bytes, max_body_bytes } = this.config.limits;
    const fields = await fieldsIn(exchange, max_bulk_bytes, ReplaceRecurringFields);
    const recurring = newRecurringOf(fields, max_body_bytes, exchange.jobId);
    reply(exchange, 200, recurringAnswer(await this.recurrings.set(exchange.caller, recurring)));
  }

  @Patch(':id')
  @Access(PUBLISHERS)
  @Describe({
    about: 'Changes a recurring job while it runs.',
    details: 'What is left out stays. Jobs that were made already do not change.',
    group: GROUP,
    body: RecurringChangeFields,
    answers: ONE,
  })
  async change(@Incoming() exchange: Exchange): Promise<void> {
    const { max_bulk_bytes, max_body_bytes } = this.config.limits;
    const fields = await fieldsIn(exchange, max_bulk_bytes, RecurringChangeFields);
    await this.alter(exchange, changeOf(fields, max_body_bytes));
  }

  @Delete(':id')
  @Access(PUBLISHERS)
  @Describe({
    about: 'Removes a recurring job. The jobs that it made stay.',
    group: GROUP,
    answers: { 204: { about: 'It is gone.' } },
  })
  async remove(@Incoming() exchange: Exchange): Promise<void> {
    await this.recurrings.remove(exchange.caller, exchange.jobId);
    answer(exchange, 204, '');
  }

  @Post(':id/pause')
  @Access(PUBLISHERS)
  @Describe({
    about: 'Pauses a recurring job: it makes no jobs until it is resumed.',
    group: GROUP,
    answers: ONE,
  })
  pause(@Incoming() exchange: Exchange): Promise<void> {
    return this.alter(exchange, { isPaused: true });
  }

  @Post(':id/resume')
  @Access(PUBLISHERS)
  @Describe({
    about: 'Has a recurring job go on with its next slot.',
    details: 'Slots that passed while it was paused are not made up for.',
    group: GROUP,
    answers: ONE,
  })
  resume(@Incoming() exchange: Exchange): Promise<void> {
    return this.alter(exchange, { isPaused: false });
  }

  private async alter(exchange: Exchange, change: RecurringChange): Promise<void> {
    const changed = await this.recurrings.change(exchange.caller, exchange.jobId, change);
    reply(exchange, 200, recurringAnswer(changed));
  }
}
