import { Controller, Get, Inject, Post, UseGuards } from '@nestjs/common';
import { Access, type AccessRules } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import { checkQueue, checkVerb } from '../domain/rights.js';
import type { Release } from '../domain/rich-job.js';
import type { LetGo } from '../engine/full/owners.js';
import { type AnswerDescription, Describe } from '../http/describe.js';
import type { Exchange } from '../http/exchange.js';
import type { FieldsClass } from '../http/fields/field.js';
import { given } from '../http/fields/given.js';
import { Incoming } from '../http/incoming.js';
import { fieldsIn } from '../http/json-body.js';
import { isoTime, isoTimeOrNull, reply } from '../http/reply.js';
import { WholeJobAnswer } from './dto/job.v1.js';
import { LeasesAnswer, LeasesFields } from './dto/leases.v1.js';
import {
  AckFields,
  AckManyResult,
  FailFields,
  HeartbeatAnswer,
  HeartbeatFields,
  ReleaseFields,
  RetryFields,
  SettledAnswer,
} from './dto/settle.v1.js';
import { wholeJobAnswer } from './job-answers.v1.js';
import { LEASES_ACCESS, V1Leasing } from './leasing.v1.js';
import { completionOf, givenUpOf, heartbeatOf } from './outcomes.v1.js';
import { RichJobsService } from './rich-jobs.service.js';

/** They let go of what is held, or hold on to it: served when other requests are refused for want of room. */
const OWNERS: Partial<AccessRules> = { queues: 'body', verb: 'consume', goesFirst: true };
const GROUP = 'Jobs';
const SETTLED: Readonly<Record<number, AnswerDescription>> = {
  200: { about: 'Where the job is now.', of: SettledAnswer },
};

/** Leasing jobs, and what their owners say of them; the lease's number proves whose a job is. */
@Controller('v1/:namespace')
@UseGuards(TokenGuard)
export class V1OwnersController {
  constructor(
    @Inject(RichJobsService) private readonly jobs: RichJobsService,
    @Inject(V1Leasing) private readonly leasing: V1Leasing,
    @Inject(Config) private readonly config: Config,
  ) {}

  @Post('leases')
  @Access(LEASES_ACCESS)
  @Describe({
    about: 'Leases jobs, waiting for a first one if asked to.',
    group: GROUP,
    body: LeasesFields,
    answers: { 200: { about: 'The jobs; none if there were none.', of: LeasesAnswer } },
  })
  lease(@Incoming() exchange: Exchange): void {
    this.leasing.lease(exchange);
  }

  @Get('jobs/:id')
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    about: 'Shows a job, with all that is known of it.',
    group: GROUP,
    answers: { 200: { about: 'The job.', of: WholeJobAnswer } },
  })
  async look(@Incoming() exchange: Exchange): Promise<void> {
    reply(exchange, 200, wholeJobAnswer(await this.jobs.find(exchange.caller, exchange.jobId)));
  }

  @Post('jobs/:id/ack')
  @Access(OWNERS)
  @Describe({
    about:
      'Ends a job: its work is done. It goes, is kept with its result for its retention, or moves on to its next queue.',
    group: GROUP,
    body: AckFields,
    answers: { 200: { about: 'What became of it.', of: AckManyResult } },
  })
  async ack(@Incoming() exchange: Exchange): Promise<void> {
    const { caller, jobId: id } = exchange;
    const fields = await this.fields(exchange, AckFields);
    const completion = completionOf(id, fields, this.config.limits.max_body_bytes);
    const { next } = completion;
    if (next !== undefined) {
      checkVerb(caller.rights, 'publish');
      checkQueue(caller.rights, next.queue);
    }
    await this.jobs.checkJob(caller, id);
    reply(exchange, 200, { id, status: await this.jobs.ack(caller, completion) });
  }

  @Post('jobs/:id/heartbeat')
  @Access(OWNERS)
  @Describe({
    about: 'Says that its owner is still at a job: the lease lasts longer.',
    details: 'It is heard until somebody else has the job, even after the lease has run out.',
    group: GROUP,
    body: HeartbeatFields,
    answers: { 200: { about: 'How long the lease lasts, and whether to go on.', of: HeartbeatAnswer } },
  })
  async heartbeat(@Incoming() exchange: Exchange): Promise<void> {
    const { caller, jobId: id } = exchange;
    const fields = await this.fields(exchange, HeartbeatFields);
    const heartbeat = heartbeatOf(id, fields, this.config.limits.max_body_bytes);
    await this.jobs.checkJob(caller, id);
    const { leaseEndsAtMs, cancelRequested } = await this.jobs.heartbeat(caller, heartbeat);
    reply(exchange, 200, { id, lease_ends_at: isoTime(leaseEndsAtMs), cancel_requested: cancelRequested });
  }

  @Post('jobs/:id/release')
  @Access(OWNERS)
  @Describe({
    about: 'Gives a job back, and the try with it.',
    group: GROUP,
    body: ReleaseFields,
    answers: SETTLED,
  })
  release(@Incoming() exchange: Exchange): Promise<void> {
    const { caller, jobId: id } = exchange;
    return this.letGo(exchange, ReleaseFields, ({ lease, delay_ms }) =>
      this.jobs.release(caller, given<Release>({ id, lease, delayMs: delay_ms })),
    );
  }

  @Post('jobs/:id/retry')
  @Access(OWNERS)
  @Describe({
    about: 'Says that a job went wrong: it is tried again, if it has tries left, or is dead.',
    group: GROUP,
    body: RetryFields,
    answers: SETTLED,
  })
  retry(@Incoming() exchange: Exchange): Promise<void> {
    return this.letGo(exchange, RetryFields, (fields) =>
      this.jobs.retry(exchange.caller, givenUpOf(exchange.jobId, fields)),
    );
  }

  @Post('jobs/:id/fail')
  @Access(OWNERS)
  @Describe({
    about: 'Says that a job went wrong for good: it goes to the dead letter at once.',
    group: GROUP,
    body: FailFields,
    answers: SETTLED,
  })
  fail(@Incoming() exchange: Exchange): Promise<void> {
    return this.letGo(exchange, FailFields, (fields) =>
      this.jobs.fail(exchange.caller, givenUpOf(exchange.jobId, fields)),
    );
  }

  private async letGo<T extends object>(
    exchange: Exchange,
    of: FieldsClass<T>,
    say: (fields: T) => Promise<LetGo>,
  ): Promise<void> {
    const { caller, jobId: id } = exchange;
    const fields = await this.fields(exchange, of);
    await this.jobs.checkJob(caller, id);
    const { state, dueAtMs } = await say(fields);
    reply(exchange, 200, { id, state, due_at: isoTimeOrNull(dueAtMs) });
  }

  private fields<T extends object>(exchange: Exchange, of: FieldsClass<T>): Promise<T> {
    return fieldsIn(exchange, this.config.limits.max_bulk_bytes, of);
  }
}
