import { Controller, Get, UseFilters, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { type Explanation, ExplanationAnswer } from '../contract/explain.js';
import { Describe } from '../http/describe.js';
import { CurrentRequest } from '../http/request/current-request.js';
import type { RequestContext } from '../http/request/request-context.js';
import { ExplainService } from './explain.service.js';
import { OutageFilter } from './outage.filter.js';

const ANSWERS = { 200: { about: 'The cause, and what one can do.', of: ExplanationAnswer } };

/** Explanations on the native API. */
@Controller('v1/:namespace')
@UseGuards(TokenGuard)
@UseFilters(OutageFilter)
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
  job(@CurrentRequest() context: RequestContext): Promise<Explanation> {
    return this.explanations.job(context);
  }

  @Get('queues/:queue/explain')
  @Access({ verb: 'consume' })
  @Describe({
    id: 'explainQueue',
    about: 'Says why a queue gives no jobs.',
    details: 'As for a job; `flowing` means that nothing holds its jobs back, `empty` that none is ready.',
    group: 'Queues',
    answers: ANSWERS,
    errors: [],
  })
  queue(@CurrentRequest() context: RequestContext): Promise<Explanation> {
    return this.explanations.queue(context);
  }

  @Get('recurring/:id/explain')
  @Access({ queues: 'body', verb: 'publish' })
  @Describe({
    id: 'explainRecurringJob',
    about: 'Says when a recurring job makes its next job, and why the last slot made none.',
    details: 'As for a job. What holds back the jobs of its queue is in `also`.',
    group: 'Recurring jobs',
    answers: ANSWERS,
    errors: ['recurring_not_found'],
  })
  recurring(@CurrentRequest() context: RequestContext): Promise<Explanation> {
    return this.explanations.recurring(context);
  }
}
