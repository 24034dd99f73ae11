import { Controller, Get, Inject, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { checkQueue } from '../domain/rights.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import { answer, asciiJson } from '../http/answer.js';
import { Describe } from '../http/describe.js';
import type { Exchange } from '../http/exchange.js';
import { Incoming } from '../http/incoming.js';
import { StatsAnswer, StatsQuery } from './dto.v1.js';
import { askedStats, statsJson } from './stats.v1.js';

/** Statistics on the native API. */
@Controller('v1/:namespace/stats')
@UseGuards(TokenGuard)
export class V1StatsController {
  constructor(@Inject(EngineRegistry) private readonly engines: EngineRegistry) {}

  /** What became of a queue's jobs on a day: `?queue=NAME&day=YYYY-MM-DD`, today if no day is named. */
  @Get()
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    about: 'Tells what became of the jobs of a queue on a day.',
    group: 'Statistics',
    query: StatsQuery,
    answers: { 200: { about: 'Counts, and how long jobs waited and ran.', of: StatsAnswer } },
  })
  async read(@Incoming() exchange: Exchange): Promise<void> {
    const { pool, namespace, rights } = exchange.caller;
    const { stats } = this.engines.forPool(pool);
    const { queue, day } = askedStats(exchange.query, stats.today());
    checkQueue(rights, queue);
    answer(exchange, 200, asciiJson(statsJson(queue, day, await stats.read(namespace, queue, day))));
  }
}
