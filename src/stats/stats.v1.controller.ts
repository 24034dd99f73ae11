import { Controller, Get, UseGuards } from '@nestjs/common';
import { CurrentRequest } from '../http/request/current-request.js';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { checkQueueOrAll } from '../domain/rights.js';
import { Engines } from '../engine/engines.js';
import { OTHER_QUEUES } from '../engine/stats/statistics.js';
import { Describe } from '../http/describe.js';
import type { RequestContext } from '../http/request/request-context.js';
import { StatsAnswer, statsFacts } from '../contract/stats.js';
import { StatsQuery } from './dto.v1.js';
import { statsQueryOf } from './stats.v1.js';

/** Statistics on the native API. */
@Controller('v1/:namespace/stats')
@UseGuards(TokenGuard)
export class V1StatsController {
  constructor(private readonly engines: Engines) {}

  /** Statistics of a queue, or of all queues, on one day: `?queue=NAME&day=YYYY-MM-DD`; today if the day is missing. */
  @Get()
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'getStatistics',
    about: 'Returns counts and durations of a day, of a queue or of all queues of the namespace.',
    details: 'A token for some queues must name one of them.',
    group: 'Statistics',
    query: StatsQuery,
    answers: { 200: { about: 'Counts, and how long jobs waited and ran.', of: StatsAnswer } },
    errors: ['queue_not_allowed'],
  })
  async read(@CurrentRequest() { caller, query }: RequestContext) {
    const { pool, namespace, rights } = caller;
    const { stats } = this.engines.of(pool);
    const { queue, day } = statsQueryOf(query, stats.today());
    checkQueueOrAll(rights, queue ?? undefined);
    const [tally, stillDead] = await Promise.all([
      stats.read(namespace, queue, day),
      queue === OTHER_QUEUES ? null : stats.stillDead(namespace, queue, day),
    ]);
    return statsFacts(queue, day, tally, stillDead);
  }
}
