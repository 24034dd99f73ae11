import { Controller, Delete, Get, Inject, Put, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { answer, answerNothing } from '../http/answer.js';
import { exchangeOf } from '../http/exchange-of.js';
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
  publish(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.hot.publish(exchangeOf(request, reply));
  }

  @Put('bulk')
  @Access(HOT_ACCESS.publish)
  publishBulk(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.hot.publishBulk(exchangeOf(request, reply));
  }

  @Put('job/:id')
  @Access({ verb: 'publish' })
  republish(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.hot.republish(exchangeOf(request, reply));
  }

  @Get()
  @Access(HOT_ACCESS.consume)
  consume(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.hot.consume(exchangeOf(request, reply));
  }

  @Delete('job/:id')
  @Access(HOT_ACCESS.ack)
  ack(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.hot.ack(exchangeOf(request, reply));
  }

  @Get('peek')
  @Access({ verb: 'consume' })
  async peekQueue(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const exchange = exchangeOf(request, reply);
    const { caller, namespace, queue } = exchange;
    const job = await this.jobs.peekQueue(caller, queue);
    if (job === null) answer(exchange, 404, EMPTY_QUEUE);
    else answer(exchange, 200, peekedJson(namespace, job));
  }

  @Get('job/:id')
  @Access({ verb: 'consume' })
  async peekJob(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const exchange = exchangeOf(request, reply);
    const { caller, namespace, queue, jobId } = exchange;
    const job = await this.jobs.peekJob(caller, queue, jobId);
    answer(exchange, 200, peekedJson(namespace, job), { headers: lifeHeaders(job) });
  }

  @Get('size')
  @Access({ isSize: true, verb: 'consume' })
  async size(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const exchange = exchangeOf(request, reply);
    const { caller, namespace, queue } = exchange;
    answer(exchange, 200, sizeJson(namespace, queue, await this.jobs.size(caller, queue)));
  }

  @Delete()
  @Access({ verb: 'admin' })
  async destroy(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const exchange = exchangeOf(request, reply);
    await this.jobs.destroy(exchange.caller, exchange.queue);
    answerNothing(exchange);
  }
}
