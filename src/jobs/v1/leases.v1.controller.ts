import { Controller, Get, Res, UseGuards } from '@nestjs/common';
import { InPath } from '../../http/params.js';
import { takeOver } from '../../http/request/context-of.js';
import { Config } from '../../config/config.js';
import type { Caller } from '../../domain/caller.js';
import { CurrentCaller } from '../../auth/current-caller.js';
import type { FastifyReply } from 'fastify';
import { Access } from '../../auth/access.js';
import { TokenGuard } from '../../auth/token.guard.js';
import { Describe } from '../../http/describe.js';
import { WholeJobAnswer } from '../../contract/job/answers.js';
import { LeasesAnswer, LeasesFields } from '../dto/leases.v1.js';
import {
  AckFields,
  AckManyResult,
  FailFields,
  HeartbeatAnswer,
  HeartbeatFields,
  ReleaseFields,
  RetryFields,
  SettledAnswer,
} from '../dto/settle.v1.js';
import { wholeJobFacts } from './job-answers.v1.js';
import { FAST_ROUTES, Route, V1_NAMESPACE } from '../fast-routes.js';
import { V1Leasing } from './leasing.v1.js';
import { V1LeaseOperations } from './lease-operations.v1.js';
import { JobsService } from '../jobs.service.js';

const GROUP = 'Jobs';
const SETTLED = { 200: { about: 'The state of the job.', of: SettledAnswer } };

/** Leasing and lease operations. The lease number proves ownership of the lease. */
@Controller(V1_NAMESPACE)
@UseGuards(TokenGuard)
export class V1LeasesController {
  constructor(
    private readonly jobs: JobsService,
    private readonly leasing: V1Leasing,
    private readonly operations: V1LeaseOperations,
    private readonly config: Config,
  ) {}

  @Route(FAST_ROUTES.v1Lease)
  @Describe({
    id: 'leaseJobs',
    about: 'Leases jobs; waits for a first one with `wait_ms`.',
    group: GROUP,
    body: LeasesFields,
    answers: { 200: { about: 'The leased jobs; empty if there were none.', of: LeasesAnswer } },
    errors: ['queue_not_allowed', 'too_many_waiters', 'format_too_old'],
  })
  lease(@Res() reply: FastifyReply): void {
    this.leasing.lease(takeOver(reply));
  }

  @Get('jobs/:id')
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'getJob',
    about: 'Returns a job with all its fields.',
    group: GROUP,
    answers: { 200: { about: 'The job.', of: WholeJobAnswer } },
    errors: ['job_not_found'],
  })
  async find(@CurrentCaller() caller: Caller, @InPath('id') id: string) {
    return wholeJobFacts(await this.jobs.find(caller, id), this.config.limits.max_json_depth);
  }

  @Route(FAST_ROUTES.v1Ack)
  @Describe({
    id: 'ackJob',
    about:
      'Acknowledges a job: the work is done. The job is deleted, kept with its result for its retention, or moved to its next queue.',
    details: '`data` replaces the data of a job that is kept or moves on.',
    group: GROUP,
    body: AckFields,
    answers: { 200: { about: 'The outcome.', of: AckManyResult } },
    errors: [
      'namespace_full',
      'too_many_queues',
      'queue_full',
      'job_not_found',
      'lease_lost',
      'queue_not_allowed',
      'dependency_cycle',
      'too_many_dependencies',
      'missing_dependency',
      'pool_moving',
    ],
  })
  ack(@Res() reply: FastifyReply): void {
    this.operations.ack(takeOver(reply));
  }

  @Route(FAST_ROUTES.v1Heartbeat)
  @Describe({
    id: 'heartbeatJob',
    about: 'Extends the lease of a job.',
    details: 'Accepted until the job is leased again, even after the lease expired.',
    group: GROUP,
    body: HeartbeatFields,
    answers: { 200: { about: 'The end of the lease, and whether to stop.', of: HeartbeatAnswer } },
    errors: ['namespace_full', 'job_not_found', 'lease_lost'],
  })
  heartbeat(@Res() reply: FastifyReply): void {
    this.operations.heartbeat(takeOver(reply));
  }

  @Route(FAST_ROUTES.v1Release)
  @Describe({
    id: 'releaseJob',
    about: 'Releases a job without using a try.',
    group: GROUP,
    body: ReleaseFields,
    answers: SETTLED,
    errors: ['job_not_found', 'lease_lost'],
  })
  release(@Res() reply: FastifyReply): void {
    this.operations.release(takeOver(reply));
  }

  @Route(FAST_ROUTES.v1Retry)
  @Describe({
    id: 'retryJob',
    about: 'Nack: the attempt failed. The job is retried if it has tries left, else it is dead.',
    details: '`data` replaces the data of the job.',
    group: GROUP,
    body: RetryFields,
    answers: SETTLED,
    errors: ['namespace_full', 'job_not_found', 'lease_lost'],
  })
  retry(@Res() reply: FastifyReply): void {
    this.operations.retry(takeOver(reply));
  }

  @Route(FAST_ROUTES.v1Fail)
  @Describe({
    id: 'failJob',
    about: 'The job failed for good: it goes to the dead-letter queue at once.',
    details:
      '`data` replaces the data of the job. With `force` in place of a lease, the job may be in any state; this needs the permission admin. A dead job stays as it is; one that has ended: 409 `job_done`.',
    group: GROUP,
    body: FailFields,
    answers: SETTLED,
    errors: ['namespace_full', 'job_not_found', 'lease_lost', 'job_done'],
  })
  fail(@Res() reply: FastifyReply): void {
    this.operations.fail(takeOver(reply));
  }
}
