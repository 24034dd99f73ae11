import { Controller, HttpCode, HttpStatus, Post, UseGuards } from '@nestjs/common';
import { BodyFields } from '../../http/params.js';
import type { Caller } from '../../domain/caller.js';
import { CurrentCaller } from '../../auth/current-caller.js';
import { Access } from '../../auth/access.js';
import { TokenGuard } from '../../auth/token.guard.js';
import { Describe } from '../../http/describe.js';
import { toInside } from '../../contract/fields/wire.js';
import { ChangesService } from '../changes.service.js';
import { CancelManyAnswer, CancelManyFields } from '../dto/change.v1.js';
import { cancelledFacts } from './changes.v1.js';

/** Cancels of many jobs. */
@Controller('v1/:namespace/jobs/cancel')
@UseGuards(TokenGuard)
export class V1CancelsController {
  constructor(private readonly changes: ChangesService) {}

  @Post()
  @HttpCode(HttpStatus.OK)
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
  async cancel(@CurrentCaller() caller: Caller, @BodyFields() fields: CancelManyFields) {
    const { ids, ...request } = toInside(CancelManyFields, fields);
    const results = await this.changes.cancelMany(caller, ids, request);
    return { results: results.map(([id, cancelled]) => cancelledFacts(id, cancelled)) };
  }
}
