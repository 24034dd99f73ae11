import { Controller, Put, Res, UseGuards } from '@nestjs/common';
import { CurrentRequest } from '../../http/request/current-request.js';
import { takeOver } from '../../http/request/context-of.js';
import type { FastifyReply } from 'fastify';
import { Access } from '../../auth/access.js';
import { TokenGuard } from '../../auth/token.guard.js';
import { Describe } from '../../http/describe.js';
import type { RequestContext } from '../../http/request/request-context.js';
import { EndedAnswer } from '../../contract/job/answers.js';
import {
  PublishedAnswer,
  PublishedManyAnswer,
  PublishFields,
  PublishManyFields,
  PublishQuery,
} from '../../contract/job/options.js';
import { FAST_ROUTES, Route, V1_NAMESPACE } from '../fast-routes.js';
import { V1Publishing } from './publishing.v1.js';

const REPLAYED = {
  name: 'Idempotency-Replayed',
  about:
    '`true`: this is the answer to an earlier request with the same `Idempotency-Key`. Nothing was stored.',
};

/** Publishing through the native API. */
@Controller(V1_NAMESPACE)
@UseGuards(TokenGuard)
export class V1PublishController {
  constructor(private readonly publishing: V1Publishing) {}

  @Route(FAST_ROUTES.v1Publish)
  @Describe({
    id: 'publishJobs',
    about: 'Publishes one job or many: all or none.',
    details: 'Jobs of a list may be of any queues of the namespace.',
    group: 'Jobs',
    body: [PublishFields, PublishManyFields],
    headers: [
      {
        name: 'Idempotency-Key',
        about:
          'Idempotent publishing: the same request with the same key returns the same answer and stores nothing twice.',
      },
      {
        name: 'Idempotency-TTL-Ms',
        about: 'How long the key is kept, in milliseconds, 1000 to 2592000000; default a day.',
      },
      {
        name: 'X-Durability',
        about: 'Where the jobs must be stored before the answer: `memory`, `aof` or `replicated:N`.',
      },
      { name: 'X-Job-ID', about: 'The ids from the header of an earlier answer with `not_replicated`.' },
    ],
    query: PublishQuery,
    answers: {
      201: {
        about: 'The outcome of each.',
        of: [PublishedAnswer, PublishedManyAnswer],
        headers: [REPLAYED],
      },
      200: { about: 'With `wait_ms`: how the job ended.', of: EndedAnswer, headers: [REPLAYED] },
      202: {
        about:
          'With `wait_ms`: the state of the job; it has not ended yet. `Location` has the address to poll.',
        of: EndedAnswer,
        headers: [REPLAYED],
      },
    },
    errors: [
      'queue_not_allowed',
      'job_exists',
      'unique_key_taken',
      'queue_draining',
      'dependency_cycle',
      'too_many_dependencies',
      'missing_dependency',
      'idempotency_key_reused',
      'too_many_queues',
      'queue_full',
      'namespace_full',
      'too_many_waiters',
      'durability_unavailable',
      'not_replicated',
      'pool_moving',
    ],
  })
  publish(@Res() reply: FastifyReply): void {
    this.publishing.publish(takeOver(reply));
  }

  @Put('jobs/:id')
  @Access({ queues: 'body', verb: 'publish', throttle: 'write' })
  @Describe({
    id: 'putJob',
    about: 'Stores a job under an id: creates it, or replaces a waiting one.',
    details:
      'A free id, or one of a done or cancelled job: 201. A ready, scheduled, blocked or held job is replaced in one atomic step: 200. A leased job is refused with `leased`, a dead one with `job_exists`, one with dependents with `has_dependents`. With `If-None-Match: *` no job is replaced: `job_exists` if the id is in use.',
    group: 'Jobs',
    body: PublishFields,
    headers: [
      { name: 'If-None-Match', about: '`*`: only creates.' },
      {
        name: 'X-Durability',
        about: 'Where the job must be stored before the answer: `memory`, `aof` or `replicated:N`.',
      },
    ],
    answers: {
      201: { about: 'The new job.', of: PublishedAnswer },
      200: { about: 'The job that replaced another one.', of: PublishedAnswer },
    },
    errors: [
      'queue_not_allowed',
      'job_exists',
      'leased',
      'has_dependents',
      'unique_key_taken',
      'queue_draining',
      'dependency_cycle',
      'too_many_dependencies',
      'missing_dependency',
      'too_many_queues',
      'queue_full',
      'namespace_full',
      'durability_unavailable',
      'not_replicated',
      'pool_moving',
    ],
  })
  put(@CurrentRequest() context: RequestContext) {
    return this.publishing.put(context);
  }
}
