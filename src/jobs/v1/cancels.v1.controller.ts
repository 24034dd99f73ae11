import { Controller, Post, UseGuards } from '@nestjs/common';
import { Access } from '../../auth/access.js';
import { TokenGuard } from '../../auth/token.guard.js';
import { Config } from '../../config/config.js';
import type { CancelRequest } from '../../engine/jobs/job-canceller.js';
import { Describe } from '../../http/describe.js';
import { given } from '../../http/fields/given.js';
import { Incoming } from '../../http/incoming.js';
import { reply } from '../../http/answer/reply.js';
import { bulkLimit } from '../../http/request/body.js';
import { fieldsIn } from '../../http/request/json-body.js';
import type { RequestContext } from '../../http/request/request-context.js';
import { ChangesService } from '../changes.service.js';
import { CancelManyAnswer, CancelManyFields } from '../dto/change.v1.js';
import { cancelledAnswer } from './changes.v1.js';

/** Cancels of many jobs. */
@Controller('v1/:namespace/jobs/cancel')
@UseGuards(TokenGuard)
export class V1CancelsController {
  constructor(
    private readonly changes: ChangesService,
    private readonly config: Config,
  ) {}

  @Post()
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'cancelJobs',
    about: 'Cancels up to 64 jobs in one atomic step: all or none.',
    details:
      'Each job is cancelled as by `cancelJob`. Jobs that depend on each other may be named together. If another job depends on one of them and `cascade` is not set, none is cancelled: `has_dependents`. Jobs that are gone or have ended do not prevent the cancel of the others.',
    group: 'Jobs',
    body: CancelManyFields,
    answers: { 200: { about: 'The outcome of each.', of: CancelManyAnswer } },
    errors: ['queue_not_allowed', 'has_dependents', 'pool_moving'],
  })
  async cancel(@Incoming() context: RequestContext): Promise<void> {
    const fields = await fieldsIn(context, bulkLimit(this.config.limits), CancelManyFields);
    const { ids, cascade, grace_ms } = fields;
    const request = given<CancelRequest>({ cascade, graceMs: grace_ms });
    const results = await this.changes.cancelMany(context.caller, ids, request);
    reply(context, 200, { results: results.map(([id, cancelled]) => cancelledAnswer(id, cancelled)) });
  }
}
