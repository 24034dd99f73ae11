import { Controller, Delete, Get, HttpCode, HttpStatus, Post, Put, UseGuards } from '@nestjs/common';
import { BodyFields, InPath, QueryFields } from '../../http/params.js';
import { bodyLimit } from '../../http/request/body.js';
import { CurrentRequest } from '../../http/request/current-request.js';
import { Config } from '../../config/config.js';
import type { Caller } from '../../domain/caller.js';
import { jobNotFound } from '../../domain/errors.js';
import { isJobId } from '../../domain/ids.js';
import { checkQueueOrAll, isForQueue } from '../../domain/rights.js';
import type { JobCalls } from '../../engine/engine.js';
import { Engines } from '../../engine/engines.js';
import { CurrentCaller } from '../../auth/current-caller.js';
import { Access, type AccessRules } from '../../auth/access.js';
import { TokenGuard } from '../../auth/token.guard.js';
import { InputError } from '../../contract/fields/problems.js';
import type { Query } from '../../http/request/head.js';
import { Describe } from '../../http/describe.js';
import type { RequestContext } from '../../http/request/request-context.js';
import { readFields } from '../../contract/fields/read.js';
import { pageFacts, pageOf, PageQuery } from '../../http/request/page-query.js';
import type { JobSummary } from '../../domain/job/extended-job.js';
import { JobsPage } from '../../contract/job/answers.js';
import { FailureGroupsPage } from '../../contract/job/failure-groups.js';
import { jobsFacts } from '../../http/answer/jobs-page.js';
import {
  JobsQuery,
  NamedCountsPage,
  TagsAnswer,
  TagsFields,
  TagsQuery,
  TrackedAnswer,
  TrackedPage,
} from '../dto/lists.v1.js';
import { JobsService } from '../jobs.service.js';

const OF_JOB: Partial<AccessRules> = { queues: 'body', verb: 'consume' };
const OF_NAMESPACE: Partial<AccessRules> = { queues: 'none', verb: 'consume' };
const GROUP = 'Lists';
const TAGS = { 200: { about: 'The tags.', of: TagsAnswer } };

/** Lists of jobs, tags, tracked jobs and failure groups. */
@Controller('v1/:namespace')
@UseGuards(TokenGuard)
export class V1ListsController {
  constructor(
    private readonly engines: Engines,
    private readonly jobs: JobsService,
    private readonly config: Config,
  ) {}

  @Get('jobs')
  @Access(OF_JOB)
  @Describe({
    id: 'listJobs',
    about: 'Lists jobs in any state.',
    details:
      '`ids` lists the jobs with these ids: ids without a job are omitted. Ready jobs are in the order in which they will be leased, all others by time. `order=newest` reverses the order. A job that changes state during pagination may be missed or repeated.',
    group: GROUP,
    query: JobsQuery,
    answers: { 200: { about: 'A page of jobs.', of: JobsPage } },
    errors: ['queue_not_allowed', 'pool_moving'],
  })
  async list(
    @CurrentRequest() { caller, query }: RequestContext,
    @QueryFields() { limit, cursor, order, ids, fields, ...filter }: JobsQuery,
  ) {
    if (ids !== undefined) refuseBesideIds(query);
    const page = { ...pageOf({ limit, cursor }), order };
    if (ids === undefined) checkQueueOrAll(caller.rights, filter.queue);
    const jobs = this.jobsOf(caller);
    const found =
      ids === undefined
        ? await jobs.list(caller.namespace, filter, page)
        : {
            items: visible(caller, await jobs.listByIds(caller.namespace, ids)),
            cursor: null,
          };
    const data = fields && (await jobs.dataOf(caller.namespace, found.items));
    return jobsFacts(found, data, this.config.limits.max_json_depth);
  }

  @Get('jobs/:id/tags')
  @Access(OF_JOB)
  @Describe({
    id: 'getJobTags',
    about: 'Shows the tags of a job.',
    group: GROUP,
    answers: TAGS,
    errors: ['job_not_found', 'pool_moving'],
  })
  async tagsOf(@CurrentCaller() caller: Caller, @InPath('id') id: string) {
    await this.jobs.checkJob(caller, id);
    return { id, tags: await this.jobsOf(caller).tagsOf(caller.namespace, id) };
  }

  @Post('jobs/:id/tags')
  @HttpCode(HttpStatus.OK)
  @Access(OF_JOB)
  @Describe({
    id: 'addJobTags',
    about: 'Adds tags to a job in any state.',
    details: 'A tag that the job has already is not added again.',
    group: GROUP,
    body: TagsFields,
    answers: TAGS,
    errors: ['namespace_full', 'job_not_found', 'pool_moving'],
  })
  async addTags(
    @CurrentCaller() caller: Caller,
    @InPath('id') id: string,
    @BodyFields(bodyLimit) { tags }: TagsFields,
  ) {
    await this.jobs.checkJob(caller, id);
    return { id, tags: await this.jobsOf(caller).addTags(caller.namespace, id, tags) };
  }

  @Delete('jobs/:id/tags')
  @Access(OF_JOB)
  @Describe({
    id: 'removeJobTags',
    about: 'Removes tags of a job.',
    group: GROUP,
    query: TagsQuery,
    answers: TAGS,
    errors: ['job_not_found', 'pool_moving'],
  })
  async removeTags(
    @CurrentCaller() caller: Caller,
    @InPath('id') id: string,
    @QueryFields() { tag = [], tags: list = [] }: TagsQuery,
  ) {
    const { tags } = readFields(TagsFields, { tags: [...tag, ...list] });
    await this.jobs.checkJob(caller, id);
    return { id, tags: await this.jobsOf(caller).removeTags(caller.namespace, id, tags) };
  }

  @Get('tags')
  @Access(OF_NAMESPACE)
  @Describe({
    id: 'listTags',
    about: 'Lists the tags of all jobs.',
    group: GROUP,
    query: PageQuery,
    answers: { 200: { about: 'A page of tags.', of: NamedCountsPage } },
    errors: ['pool_moving'],
  })
  async tags(@CurrentCaller() caller: Caller, @QueryFields() query: PageQuery) {
    const { items, cursor } = await this.jobsOf(caller).tags(caller.namespace, pageOf(query));
    return pageFacts(items, cursor);
  }

  @Get('failure-groups')
  @Access(OF_NAMESPACE)
  @Describe({
    id: 'listFailureGroups',
    about: 'Lists the failure groups of dead jobs: how many, since when, why, and how fast they become more.',
    details:
      'The group `lease_expired` has the jobs whose last lease expired. Jobs without a history are in no group: those with no option beyond data, delay, ttl, tries, attributes and id.',
    group: GROUP,
    query: PageQuery,
    answers: { 200: { about: 'A page of groups.', of: FailureGroupsPage } },
    errors: ['pool_moving'],
  })
  async groups(@CurrentCaller() caller: Caller, @QueryFields() query: PageQuery) {
    const { items, cursor } = await this.jobsOf(caller).groups(caller.namespace, pageOf(query));
    return pageFacts(items, cursor);
  }

  @Get('tracked')
  @Access(OF_NAMESPACE)
  @Describe({
    id: 'listTrackedJobs',
    about: 'Lists tracked jobs, and those that ended within the last day.',
    group: GROUP,
    query: PageQuery,
    answers: { 200: { about: 'A page of jobs; `gone` is the same on each.', of: TrackedPage } },
    errors: ['pool_moving'],
  })
  async tracked(@CurrentCaller() caller: Caller, @QueryFields() query: PageQuery) {
    const page = pageOf(query);
    const calls = this.jobsOf(caller);
    const [jobs, traces] = await Promise.all([
      calls.list(caller.namespace, { tracked: true }, page),
      calls.traces(caller.namespace),
    ]);
    return { ...jobsFacts(jobs), gone: traces };
  }

  @Put('tracked/:id')
  @Access(OF_NAMESPACE)
  @Describe({
    id: 'trackJob',
    about: 'Tracks a job: its events have `tracked`, and it is listed for a day after its end.',
    group: GROUP,
    answers: { 200: { about: 'It is tracked.', of: TrackedAnswer } },
    errors: ['job_not_found', 'pool_moving'],
  })
  async track(@CurrentCaller() caller: Caller, @InPath('id') id: string) {
    if (!isJobId(id)) throw jobNotFound(id);
    await this.jobsOf(caller).track(caller.namespace, id);
    return { id, tracked: true };
  }

  @Delete('tracked/:id')
  @Access(OF_NAMESPACE)
  @Describe({
    id: 'untrackJob',
    about: 'Ends the tracking of a job; succeeds also if the job is gone.',
    group: GROUP,
    answers: { 200: { about: 'It is not tracked.', of: TrackedAnswer } },
    errors: ['pool_moving'],
  })
  async untrack(@CurrentCaller() caller: Caller, @InPath('id') id: string) {
    await this.jobsOf(caller).untrack(caller.namespace, id);
    return { id, tracked: false };
  }

  private jobsOf({ pool }: Caller): JobCalls {
    return this.engines.of(pool).jobs;
  }
}

/** Without jobs in queues that the caller may not see. */
function visible(caller: Caller, jobs: readonly JobSummary[]): JobSummary[] {
  return jobs.filter(({ queue }) => isForQueue(caller.rights, queue));
}

const BESIDE_IDS = new Set(['ids', 'fields', 'token']);

/** @throws {InputError} parameters that filter or page a list of ids, which has all of them */
function refuseBesideIds(query: Query): void {
  const others = Object.keys(query).filter((name) => !BESIDE_IDS.has(name));
  if (others.length === 0) return;
  throw new InputError(others.map((field) => ({ field, rule: 'must not be set together with ids' })));
}
