import { Controller, Delete, Get, Inject, Put, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { answer, answerNothing } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import { Incoming } from '../http/incoming.js';
import { lifeHeaders, peekedJson, sizeJson } from './answers.lmstfy.js';
import { HOT_ACCESS, LmstfyHotCalls } from './hot-calls.lmstfy.js';
import { JobsService } from './jobs.service.js';

const EMPTY_QUEUE = '{"error":"the queue is empty"}';

/** The queue's calls on lmstfy's wire, for what comes over the router. The answers are written past Nest. */
@Controller('api/:namespace/:queue')
@UseGuards(TokenGuard)
export class LmstfyJobsController {
  constructor(
    @Inject(JobsService) private readonly jobs: JobsService,
    @Inject(LmstfyHotCalls) private readonly hot: LmstfyHotCalls,
  ) {}

  @Put()
  @Access(HOT_ACCESS.publish)
  publish(@Incoming() exchange: Exchange): void {
    this.hot.publish(exchange);
  }

  @Put('bulk')
  @Access(HOT_ACCESS.publish)
  publishBulk(@Incoming() exchange: Exchange): void {
    this.hot.publishBulk(exchange);
  }

  @Put('job/:id')
  @Access({ verb: 'publish' })
  republish(@Incoming() exchange: Exchange): void {
    this.hot.republish(exchange);
  }

  @Get()
  @Access(HOT_ACCESS.consume)
  consume(@Incoming() exchange: Exchange): void {
    this.hot.consume(exchange);
  }

  @Delete('job/:id')
  @Access(HOT_ACCESS.ack)
  ack(@Incoming() exchange: Exchange): void {
    this.hot.ack(exchange);
  }

  @Get('peek')
  @Access({ verb: 'consume' })
  async peekQueue(@Incoming() exchange: Exchange): Promise<void> {
    const { caller, namespace, queue } = exchange;
    const job = await this.jobs.peekQueue(caller, queue);
    if (job === null) answer(exchange, 404, EMPTY_QUEUE);
    else answer(exchange, 200, peekedJson(namespace, job));
  }

  @Get('job/:id')
  @Access({ verb: 'consume' })
  async peekJob(@Incoming() exchange: Exchange): Promise<void> {
    const { caller, namespace, queue, jobId } = exchange;
    const job = await this.jobs.peekJob(caller, queue, jobId);
    answer(exchange, 200, peekedJson(namespace, job), { headers: lifeHeaders(job) });
  }

  @Get('size')
  @Access({ isSize: true, verb: 'consume' })
  async size(@Incoming() exchange: Exchange): Promise<void> {
    const { caller, namespace, queue } = exchange;
    answer(exchange, 200, sizeJson(namespace, queue, await this.jobs.size(caller, queue)));
  }

  @Delete()
  @Access({ verb: 'admin' })
  async destroy(@Incoming() exchange: Exchange): Promise<void> {
    await this.jobs.destroy(exchange.caller, exchange.queue);
    answerNothing(exchange);
  }
}
