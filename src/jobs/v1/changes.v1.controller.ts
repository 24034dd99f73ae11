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
import { isoTimeOrNull } from '../../domain/iso-time.js';
import { reply } from '../../http/answer/reply.js';
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
  200: { about: 'The state of the job.', of: ChangedAnswer },
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
      'A waiting or dead job ends at once. A leased job gets a request to stop. A job with dependents is refused with `has_dependents`, unless `cascade` is set; a done job with `job_done`.',
    group: GROUP,
    body: CancelFields,
    answers: { 200: { about: 'The outcome.', of: CancelledAnswer } },
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
    about: 'Revokes the lease of a job: the job returns to its queue at once, without using a try.',
    details:
      'All lease operations of the former holder are then refused with `lease_lost`. A job that is not leased: 409 `not_leased`, with its `state`.',
    group: GROUP,
    answers: { 200: { about: 'The state of the job.', of: SettledAnswer } },
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
    about: 'Deletes a job in any state but leased, without dependents. Nothing is kept.',
    details:
      'A leased job: 409 `leased`; a job with dependents: `has_dependents`. `force` deletes both and needs the permission admin; dependents then have a failed dependency.',
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
    about: 'Updates a waiting job: ready, scheduled, blocked or held.',
    details:
      'Fields that are not given do not change. A job in any other state is refused with `not_waiting`. To move a job that was published without options more than ten minutes ahead, set `due_at` or `delay_ms` in the same call: else `due_unknown`.',
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
    about: 'Adds dependencies to a waiting job.',
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
    about: 'Removes dependencies of a job. Without dependencies the job becomes ready or scheduled.',
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
    about: 'Writes an entry to the timeline of a job in any state.',
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
