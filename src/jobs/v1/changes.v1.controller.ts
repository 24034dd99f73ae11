import { Controller, Delete, Patch, Post, UseGuards } from '@nestjs/common';
import { Access } from '../../auth/access.js';
import { TokenGuard } from '../../auth/token.guard.js';
import { Config } from '../../config/config.js';
import type { CancelRequest } from '../../engine/jobs/job-canceller.js';
import type { JobChange } from '../../engine/jobs/job-updater.js';
import { answerNothing } from '../../http/answer/answer.js';
import { type AnswerDescription, Describe } from '../../http/describe.js';
import type { RequestContext } from '../../http/request/request-context.js';
import type { FieldsClass } from '../../http/fields/field.js';
import { checkVerb } from '../../domain/rights.js';
import { readQuery } from '../../http/fields/read.js';
import { given } from '../../http/fields/given.js';
import { Incoming } from '../../http/incoming.js';
import { bulkLimit } from '../../http/request/body.js';
import { fieldsIn } from '../../http/request/json-body.js';
import { isoTimeOrNull, reply } from '../../http/answer/reply.js';
import { cancelledAnswer, jobChangeOf, logDataOf } from './changes.v1.js';
import { ChangesService } from '../changes.service.js';
import { SettledAnswer } from '../dto/settle.v1.js';
import {
  CancelFields,
  CancelledAnswer,
  ChangedAnswer,
  ChangeFields,
  DeleteJobQuery,
  DependencyFields,
  LogFields,
} from '../dto/change.v1.js';

const GROUP = 'Jobs';
const CHANGED: Readonly<Record<number, AnswerDescription>> = {
  200: { about: 'Where the job is now.', of: ChangedAnswer },
};

/** Operations on a job that need no lease of it. */
@Controller('v1/:namespace/jobs/:id')
@UseGuards(TokenGuard)
export class V1ChangesController {
  constructor(
    private readonly changes: ChangesService,
    private readonly config: Config,
  ) {}

  @Post('cancel')
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'cancelJob',
    about: 'Cancels a job.',
    details:
      'One that waits or is dead ends at once. One that others depend on is refused with `has_dependents`, unless `cascade` says that they are to be cancelled too; one that is done with `job_done`.',
    group: GROUP,
    body: CancelFields,
    answers: { 200: { about: 'What became of it.', of: CancelledAnswer } },
    errors: ['job_not_found', 'queue_not_allowed', 'has_dependents', 'job_done', 'pool_moving'],
  })
  async cancel(@Incoming() context: RequestContext): Promise<void> {
    const { caller, jobId: id } = context;
    const { cascade, grace_ms } = await this.fields(context, CancelFields);
    const request = given<CancelRequest>({ cascade, graceMs: grace_ms });
    reply(context, 200, cancelledAnswer(id, await this.changes.cancel(caller, id, request)));
  }

  @Post('revoke')
  @Access({ queues: 'body', verb: 'admin' })
  @Describe({
    id: 'revokeJob',
    about: 'Ends the lease of a job: the job goes back to its queue at once, and the try is not spent.',
    details:
      'Whatever the lease holder says from then on is refused with `lease_lost`. A job that is not leased: 409 `not_leased`, with its `state`.',
    group: GROUP,
    answers: { 200: { about: 'Where the job is now.', of: SettledAnswer } },
    errors: ['job_not_found', 'not_leased', 'pool_moving'],
  })
  async revoke(@Incoming() context: RequestContext): Promise<void> {
    const { caller, jobId: id } = context;
    const { state, dueAtMs } = await this.changes.revoke(caller, id);
    reply(context, 200, { id, state, due_at: isoTimeOrNull(dueAtMs) });
  }

  @Delete()
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'deleteJob',
    about: 'Deletes a job in any state but leased that no other job depends on. Nothing of it is kept.',
    details:
      'Of a leased job: 409 `leased`, of one that others depend on `has_dependents`, unless `force` is true, which needs the permission admin. Then jobs that depend on it see a failed dependency.',
    group: GROUP,
    query: DeleteJobQuery,
    answers: { 204: { about: 'It is deleted.' } },
    errors: ['job_not_found', 'queue_not_allowed', 'leased', 'has_dependents', 'pool_moving'],
  })
  async remove(@Incoming() context: RequestContext): Promise<void> {
    const { caller, jobId: id } = context;
    const { force } = readQuery(DeleteJobQuery, context.query);
    if (force) checkVerb(caller.rights, 'admin');
    await this.changes.remove(caller, id, force);
    answerNothing(context);
  }

  @Patch()
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    id: 'updateJob',
    about: 'Changes a job that waits: one that is ready, scheduled, blocked or held.',
    details:
      'What is left out stays. A job in any other state is refused with `not_waiting`. A job published without options for a time more than ten minutes ahead is moved to another queue only with a new `due_at` or `delay_ms`: else `due_unknown`.',
    group: GROUP,
    body: ChangeFields,
    answers: CHANGED,
    errors: [
      'job_not_found',
      'queue_not_allowed',
      'not_waiting',
      'due_unknown',
      'dependency_cycle',
      'too_many_dependencies',
      'pool_moving',
    ],
  })
  async change(@Incoming() context: RequestContext): Promise<void> {
    const fields = await this.fields(context, ChangeFields);
    await this.alter(context, jobChangeOf(fields, this.config.limits.max_body_bytes));
  }

  @Post('dependencies')
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    id: 'addJobDependencies',
    about: 'Has a job that waits wait for others too.',
    group: GROUP,
    body: DependencyFields,
    answers: CHANGED,
    errors: [
      'job_not_found',
      'queue_not_allowed',
      'not_waiting',
      'dependency_cycle',
      'too_many_dependencies',
      'pool_moving',
    ],
  })
  async addDependencies(@Incoming() context: RequestContext): Promise<void> {
    const { depends_on } = await this.fields(context, DependencyFields);
    await this.alter(context, { moreDependencies: depends_on });
  }

  @Delete('dependencies')
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    id: 'removeJobDependencies',
    about: 'Has a job not wait for others any more. When nothing is left that it waits for, it goes on.',
    group: GROUP,
    body: DependencyFields,
    answers: CHANGED,
    errors: ['job_not_found', 'not_waiting', 'pool_moving'],
  })
  async removeDependencies(@Incoming() context: RequestContext): Promise<void> {
    const { depends_on } = await this.fields(context, DependencyFields);
    await this.alter(context, { lessDependencies: depends_on });
  }

  @Post('log')
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'logJob',
    about: 'Writes a line into the timeline of a job, in whatever state it is.',
    group: GROUP,
    body: LogFields,
    answers: { 204: { about: 'It is written.' } },
    errors: ['job_not_found', 'pool_moving'],
  })
  async log(@Incoming() context: RequestContext): Promise<void> {
    const { message, data } = await this.fields(context, LogFields);
    await this.changes.log(context.caller, context.jobId, message, logDataOf(data));
    answerNothing(context);
  }

  private async alter(context: RequestContext, change: JobChange): Promise<void> {
    const { state, dueAtMs } = await this.changes.change(context.caller, context.jobId, change);
    reply(context, 200, { id: context.jobId, state, due_at: isoTimeOrNull(dueAtMs) });
  }

  private fields<T extends object>(context: RequestContext, of: FieldsClass<T>): Promise<T> {
    return fieldsIn(context, bulkLimit(this.config.limits), of);
  }
}
