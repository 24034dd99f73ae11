import { Controller, Get, UseInterceptors } from '@nestjs/common';
import { CallInterceptor } from '../../http/call.interceptor.js';
import { Describe } from '../../http/describe.js';
import { InPath, QueryFields } from '../../http/params.js';
import { Actor } from '../../domain/actor.js';
import { CurrentActor } from '../parameters.js';
import { HistoryAnswer, HistoryQuery, OverviewAnswer, OverviewQuery } from './dto.js';
import { OverviewService } from './overview.service.js';
import { QueueHistoryService } from './queue-history.service.js';

const GROUP = 'Overview';

/** All queues at a glance, and what happened to one of them; lmstfy has no such calls. */
@Controller()
@UseInterceptors(CallInterceptor)
export class OverviewController {
  constructor(
    private readonly overview: OverviewService,
    private readonly histories: QueueHistoryService,
  ) {}

  @Get('overview')
  @Describe({
    id: 'getOverview',
    about: 'Lists the queues of all namespaces, with the pools, sums, and rates of the last minutes.',
    details:
      'Order and conditions go by the last sample of each queue, ten seconds old at most, of queues beyond the first 500 five minutes. The queues of the page are read anew, at most every two seconds and at most 100 of them.',
    group: GROUP,
    query: OverviewQuery,
    answers: { 200: { about: 'The pools, and a page of queues.', of: OverviewAnswer } },
    errors: ['pool_not_found'],
  })
  read(@CurrentActor() actor: Actor, @QueryFields() query: OverviewQuery) {
    // guard: overview-shows-own-namespaces
    return this.overview.read(query, (namespace) => actor.allows(namespace));
  }

  @Get('namespaces/:namespace/queues/:queue/history')
  @Describe({
    id: 'getQueueHistory',
    about: 'Returns what happened to the jobs of a queue in each interval of the last hour or week.',
    details:
      'Lists of equal length: an item is of the interval that begins at `from_at` and as many times `step_ms`. Points of ten seconds are kept of at most 500 queues.',
    group: GROUP,
    query: HistoryQuery,
    answers: { 200: { about: 'Lists by interval.', of: HistoryAnswer } },
    errors: ['pool_not_found'],
  })
  history(
    @InPath('namespace') namespace: string,
    @InPath('queue') queue: string,
    @QueryFields() { pool, step_ms: stepMs }: HistoryQuery,
  ) {
    return this.histories.read(pool, namespace, queue, Number(stepMs));
  }
}
