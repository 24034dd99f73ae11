import { Controller, Get, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { TokenGuard } from '../auth/token.guard.js';
import { type Explanation, ExplanationAnswer } from '../contract/explain.js';
import type { Caller } from '../domain/caller.js';
import { Describe } from '../http/describe.js';
import { InPath } from '../http/params.js';
import { ExplainService } from './explain.service.js';

const ANSWERS = { 200: { about: 'The cause, and what one can do.', of: ExplanationAnswer } };

/** Explanations on the native API. */
@Controller('v1/:namespace')
@UseGuards(TokenGuard)
export class V1ExplainController {
  constructor(private readonly explanations: ExplainService) {}

  @Get('jobs/:id/explain')
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'explainJob',
    about: 'Says why a job does not run.',
    details:
      'One cause, the facts behind it, and calls that remove it. Further causes that hold are in `also`. While Redis does not answer, the cause is `store_unavailable`.',
    group: 'Jobs',
    answers: ANSWERS,
    errors: ['job_not_found'],
  })
  job(@CurrentCaller() caller: Caller, @InPath('id') id: string): Promise<Explanation> {
    return this.explanations.job(caller, id);
  }

  @Get('queues/:queue/explain')
  @Access({ verb: 'consume' })
  @Describe({
    id: 'explainQueue',
    about: 'Says why a queue gives no jobs.',
    details: 'As for a job; `flowing` means that nothing holds its jobs back.',
    group: 'Queues',
    answers: ANSWERS,
    errors: [],
  })
  queue(@CurrentCaller() caller: Caller, @InPath('queue') queue: string): Promise<Explanation> {
    return this.explanations.queue(caller, queue);
  }
}
