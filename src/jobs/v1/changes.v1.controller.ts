import { Controller, Delete, HttpCode, HttpStatus, Patch, Post, UseGuards } from '@nestjs/common';
import { BodyFields, InPath, QueryFields } from '../../http/params.js';
import type { Caller } from '../../domain/caller.js';
import { CurrentCaller } from '../../auth/current-caller.js';
import { Access } from '../../auth/access.js';
import { TokenGuard } from '../../auth/token.guard.js';
import { Config } from '../../config/config.js';
import type { JobChange } from '../../engine/jobs/job-updater.js';
import { Describe } from '../../http/describe.js';
import { checkVerb } from '../../domain/rights.js';
import { given } from '../../contract/fields/given.js';
import { toInside } from '../../contract/fields/wire.js';
import { CancelFields, CancelledAnswer, ChangedAnswer, ChangeFields } from '../../contract/job/changes.js';
import { cancelledFacts, jobChangeOf, logDataOf } from './changes.v1.js';
import { ChangesService } from '../changes.service.js';
import { SettledAnswer } from '../dto/settle.v1.js';
import { DeleteJobQuery, DependencyFields, LogFields, MoreDependencyFields } from '../dto/change.v1.js';

const GROUP = 'Jobs';
const CHANGED = { 200: { about: 'The state of the job.', of: ChangedAnswer } };

/** Operations on a job that need no lease of it. */
@Controller('v1/:namespace/jobs/:id')
@UseGuards(TokenGuard)
export class V1ChangesController {
  constructor(
    private readonly changes: ChangesService,
    private readonly config: Config,
  ) {}

  @Post('cancel')
  @HttpCode(HttpStatus.OK)
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
  async cancel(
    @CurrentCaller() caller: Caller,
    @InPath('id') id: string,
    @BodyFields() fields: CancelFields,
  ) {
    const cancelled = await this.changes.cancel(caller, id, toInside(CancelFields, fields));
    return cancelledFacts(id, cancelled);
  }

  @Post('revoke')
  @HttpCode(HttpStatus.OK)
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
  async revoke(@CurrentCaller() caller: Caller, @InPath('id') id: string) {
    return { id, ...(await this.changes.revoke(caller, id)) };
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
  async remove(
    @CurrentCaller() caller: Caller,
    @InPath('id') id: string,
    @QueryFields() { force }: DeleteJobQuery,
  ): Promise<void> {
    if (force) checkVerb(caller.rights, 'admin');
    await this.changes.remove(caller, id, force);
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
      'namespace_full',
      'too_many_queues',
      'queue_full',
      'job_not_found',
      'queue_not_allowed',
      'not_waiting',
      'due_unknown',
      'dependency_cycle',
      'too_many_dependencies',
      'missing_dependency',
      'pool_moving',
    ],
  })
  change(@CurrentCaller() caller: Caller, @InPath('id') id: string, @BodyFields() fields: ChangeFields) {
    return this.alter(caller, id, jobChangeOf(fields, this.config.limits.max_body_bytes));
  }

  @Post('dependencies')
  @HttpCode(HttpStatus.OK)
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    id: 'addJobDependencies',
    about: 'Adds dependencies to a waiting job.',
    group: GROUP,
    body: MoreDependencyFields,
    answers: CHANGED,
    errors: [
      'namespace_full',
      'job_not_found',
      'queue_not_allowed',
      'not_waiting',
      'dependency_cycle',
      'too_many_dependencies',
      'missing_dependency',
      'pool_moving',
    ],
  })
  addDependencies(
    @CurrentCaller() caller: Caller,
    @InPath('id') id: string,
    @BodyFields() fields: MoreDependencyFields,
  ) {
    const { dependsOn, onMissingDependency } = toInside(MoreDependencyFields, fields);
    const change = { moreDependencies: dependsOn, onMissingDependency };
    return this.alter(caller, id, given<JobChange>(change));
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
  removeDependencies(
    @CurrentCaller() caller: Caller,
    @InPath('id') id: string,
    @BodyFields() { depends_on }: DependencyFields,
  ) {
    return this.alter(caller, id, { lessDependencies: depends_on });
  }

  @Post('log')
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'logJob',
    about: 'Writes an entry to the timeline of a job in any state.',
    group: GROUP,
    body: LogFields,
    answers: { 204: { about: 'It is written.' } },
    errors: ['namespace_full', 'job_not_found', 'pool_moving'],
  })
  async log(
    @CurrentCaller() caller: Caller,
    @InPath('id') id: string,
    @BodyFields() { message, data }: LogFields,
  ): Promise<void> {
    await this.changes.log(caller, id, message, logDataOf(data));
  }

  private async alter(caller: Caller, id: string, change: JobChange) {
    return { id, ...(await this.changes.change(caller, id, change)) };
  }
}
