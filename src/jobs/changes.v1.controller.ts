import { Controller, Delete, Inject, Patch, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import type { JobChange } from '../engine/full/changing.js';
import { answerNothing } from '../http/answer.js';
import { type AnswerDescription, Describe } from '../http/describe.js';
import type { Exchange } from '../http/exchange.js';
import { exchangeOf } from '../http/exchange-of.js';
import type { FieldsClass } from '../http/fields/field.js';
import { readJson } from '../http/json-body.js';
import { isoTime, isoTimeOrNull, reply } from '../http/reply.js';
import { jobChangeOf, logDataOf } from './changes.v1.js';
import { ChangesService } from './changes.service.js';
import {
  CancelFields,
  CancelledAnswer,
  ChangedAnswer,
  ChangeFields,
  DependencyFields,
  LogFields,
} from './dto/change.v1.js';

const GROUP = 'Jobs';
const CHANGED: Readonly<Record<number, AnswerDescription>> = {
  200: { about: 'Where the job is now.', of: ChangedAnswer },
};

/** What may be done to a job by those who do not own a lease of it. */
@Controller('v1/:namespace/jobs/:id')
@UseGuards(TokenGuard)
export class V1ChangesController {
  constructor(
    @Inject(ChangesService) private readonly changes: ChangesService,
    @Inject(Config) private readonly config: Config,
  ) {}

  @Post('cancel')
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    about: 'Cancels a job.',
    details:
      'One that waits or is dead ends at once. One that others depend on is refused with `has_dependents`, unless `cascade` says that they are to be cancelled too; one that is done with `job_done`.',
    group: GROUP,
    body: CancelFields,
    answers: { 200: { about: 'What became of it.', of: CancelledAnswer } },
  })
  cancel(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    this.read(exchangeOf(request, response), CancelFields, async (exchange, { cascade, grace_ms }) => {
      const cancelled = await this.changes.cancel(exchange.caller, exchange.jobId, {
        ...(cascade === undefined ? {} : { cascade }),
        ...(grace_ms === undefined ? {} : { graceMs: grace_ms }),
      });
      const revoked_at = cancelled.outcome === 'requested' ? isoTime(cancelled.revokedAtMs) : null;
      reply(exchange, 200, { id: exchange.jobId, outcome: cancelled.outcome, revoked_at });
    });
  }

  @Patch()
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    about: 'Changes a job that waits: one that is ready, scheduled, blocked or held.',
    details:
      'What is left out stays. A job in any other state is refused with `not_waiting`. A job published without options for a time more than ten minutes ahead is moved to another queue only with a new `due_at` or `delay_ms`: else `due_unknown`.',
    group: GROUP,
    body: ChangeFields,
    answers: CHANGED,
  })
  change(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    this.read(exchangeOf(request, response), ChangeFields, (exchange, fields) =>
      this.reply(exchange, jobChangeOf(fields, this.config.limits.max_body_bytes)),
    );
  }

  @Post('dependencies')
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    about: 'Has a job that waits wait for others too.',
    group: GROUP,
    body: DependencyFields,
    answers: CHANGED,
  })
  addDependencies(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    this.read(exchangeOf(request, response), DependencyFields, (exchange, { depends_on }) =>
      this.reply(exchange, { moreDependencies: depends_on }),
    );
  }

  @Delete('dependencies')
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    about: 'Has a job not wait for others any more. When nothing is left that it waits for, it goes on.',
    group: GROUP,
    body: DependencyFields,
    answers: CHANGED,
  })
  removeDependencies(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    this.read(exchangeOf(request, response), DependencyFields, (exchange, { depends_on }) =>
      this.reply(exchange, { lessDependencies: depends_on }),
    );
  }

  @Post('log')
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    about: 'Writes a line into the timeline of a job, in whatever state it is.',
    group: GROUP,
    body: LogFields,
    answers: { 204: { about: 'It is written.' } },
  })
  log(@Req() request: FastifyRequest, @Res() response: FastifyReply): void {
    this.read(exchangeOf(request, response), LogFields, async (exchange, { message, data }) => {
      await this.changes.log(exchange.caller, exchange.jobId, message, logDataOf(data));
      answerNothing(exchange);
    });
  }

  private async reply(exchange: Exchange, change: JobChange): Promise<void> {
    const { state, dueAtMs } = await this.changes.change(exchange.caller, exchange.jobId, change);
    reply(exchange, 200, { id: exchange.jobId, state, due_at: isoTimeOrNull(dueAtMs) });
  }

  private read<T extends object>(
    exchange: Exchange,
    of: FieldsClass<T>,
    take: (exchange: Exchange, fields: T) => Promise<void>,
  ): void {
    readJson(exchange, this.config.limits.max_bulk_bytes, of, (fields) =>
      exchange.after(take(exchange, fields), () => undefined),
    );
  }
}
