import { Controller, Delete, Get, Inject, Patch, Post, Put, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access, type AccessRules } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import { isJobId } from '../domain/names.js';
import type { Recurring, RecurringChange } from '../domain/recurring.js';
import { answer } from '../http/answer.js';
import { expectNoBody } from '../http/body.js';
import { type AnswerDescription, Describe } from '../http/describe.js';
import type { Exchange } from '../http/exchange.js';
import { exchangeOf } from '../http/exchange-of.js';
import { readQuery } from '../http/fields/read.js';
import { readJson } from '../http/json-body.js';
import { fromCursor, toCursor } from '../http/page-query.js';
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
  create(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    const exchange = exchangeOf(request, response);
    readJson(exchange, this.config.limits.max_bulk_bytes, RecurringFields, (fields) => {
      const recurring = newRecurringOf(fields, this.config.limits.max_body_bytes, fields.id);
      exchange.after(this.recurrings.set(exchange.caller, recurring), (stored) =>
        reply(exchange, 201, recurringAnswer(stored), [
          'Location',
          `/v1/${exchange.namespace}/recurring/${stored.id}`,
        ]),
      );
    });
  }

  @Get()
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    about: 'Lists recurring jobs, in the order of their ids.',
    group: GROUP,
    query: RecurringQuery,
    answers: { 200: { about: 'A page of them.', of: RecurringPageAnswer } },
  })
  async list(@Req() request: FastifyRequest, @Res() response: FastifyReply): Promise<void> {
    const exchange = exchangeOf(request, response);
    expectNoBody(exchange.request);
    const { limit, cursor, queue } = readQuery(RecurringQuery, exchange.query);
    const after = cursor === undefined ? undefined : fromCursor(cursor, isJobId);
    const page = await this.recurrings.list(exchange.caller, {
      limit,
      ...(after === undefined ? {} : { after }),
      ...(queue === undefined ? {} : { queue }),
    });
    reply(exchange, 200, {
      items: page.items.map(recurringAnswer),
      next_cursor: page.after === null ? null : toCursor(page.after),
    });
  }

  @Get(':id')
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({ about: 'Shows a recurring job.', group: GROUP, answers: ONE })
  async look(@Req() request: FastifyRequest, @Res() response: FastifyReply): Promise<void> {
    const exchange = exchangeOf(request, response);
    expectNoBody(exchange.request);
    show(exchange, await this.recurrings.get(exchange.caller, exchange.jobId));
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
  replace(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    const exchange = exchangeOf(request, response);
    readJson(exchange, this.config.limits.max_bulk_bytes, ReplaceRecurringFields, (fields) => {
      const recurring = newRecurringOf(fields, this.config.limits.max_body_bytes, exchange.jobId);
      exchange.after(this.recurrings.set(exchange.caller, recurring), (stored) => show(exchange, stored));
    });
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
  change(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    const exchange = exchangeOf(request, response);
    readJson(exchange, this.config.limits.max_bulk_bytes, RecurringChangeFields, (fields) =>
      this.alter(exchange, changeOf(fields, this.config.limits.max_body_bytes)),
    );
  }

  @Delete(':id')
  @Access(PUBLISHERS)
  @Describe({
    about: 'Removes a recurring job. The jobs that it made stay.',
    group: GROUP,
    answers: { 204: { about: 'It is gone.' } },
  })
  async remove(@Req() request: FastifyRequest, @Res() response: FastifyReply): Promise<void> {
    const exchange = exchangeOf(request, response);
    expectNoBody(exchange.request);
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
  pause(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    const exchange = exchangeOf(request, response);
    expectNoBody(exchange.request);
    this.alter(exchange, { isPaused: true });
  }

  @Post(':id/resume')
  @Access(PUBLISHERS)
  @Describe({
    about: 'Has a recurring job go on with its next slot.',
    details: 'Slots that passed while it was paused are not made up for.',
    group: GROUP,
    answers: ONE,
  })
  resume(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    const exchange = exchangeOf(request, response);
    expectNoBody(exchange.request);
    this.alter(exchange, { isPaused: false });
  }

  private alter(exchange: Exchange, change: RecurringChange): void {
    exchange.after(this.recurrings.change(exchange.caller, exchange.jobId, change), (changed) =>
      show(exchange, changed),
    );
  }
}

function show(exchange: Exchange, recurring: Recurring): void {
  reply(exchange, 200, recurringAnswer(recurring));
}
