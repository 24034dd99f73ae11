import { Controller, Delete, Get, HttpCode, HttpStatus, Param, Put, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Access } from '../../auth/access.js';
import { CurrentCaller } from '../../auth/current-caller.js';
import { TokenGuard } from '../../auth/token.guard.js';
import type { Caller } from '../../domain/caller.js';
import { jobNotFound } from '../../domain/errors.js';
import { isJobId } from '../../domain/ids.js';
import { Engines } from '../../engine/engines.js';
import type { Engine } from '../../engine/engine.js';
import { CurrentRequest } from '../../http/request/current-request.js';
import { LmstfyException } from '../../http/answer/errors.lmstfy.js';
import { takeOver } from '../../http/request/context-of.js';
import { WithHeaders } from '../../http/answer/with-headers.js';
import {
  lifeHeaders,
  peekedJson,
  publishedJson,
  type PublishRequest,
  PublishRequestPipe,
} from './wire.lmstfy.js';
import { FAST_ROUTES, LMSTFY_QUEUE, Route } from '../fast-routes.js';
import { LmstfyFastCalls } from './fast-calls.lmstfy.js';

/** Parameters in the path of a job, with lmstfy's names: metrics show the path as it shows it. */
interface JobParams {
  readonly queue: string;
  readonly job_id: string;
}

/** The queue calls of lmstfy's API. Calls of the fast path arrive here only if their path has an unusual spelling. */
@Controller(LMSTFY_QUEUE)
@UseGuards(TokenGuard)
export class LmstfyJobsController {
  constructor(
    private readonly engines: Engines,
    private readonly hot: LmstfyFastCalls,
  ) {}

  @Route(FAST_ROUTES.publish)
  publish(@Res() reply: FastifyReply): void {
    this.hot.publish(takeOver(reply));
  }

  @Route(FAST_ROUTES.publishBulk)
  publishBulk(@Res() reply: FastifyReply): void {
    this.hot.publishBulk(takeOver(reply));
  }

  @Route(FAST_ROUTES.consume)
  consume(@Res() reply: FastifyReply): void {
    this.hot.consume(takeOver(reply));
  }

  @Route(FAST_ROUTES.ack)
  ack(@Res() reply: FastifyReply): void {
    this.hot.ack(takeOver(reply));
  }

  /** Validates everything before it touches the old job; then one step replaces the old job with the new one. */
  @Put('job/:job_id')
  @HttpCode(HttpStatus.CREATED)
  @Access({ verb: 'publish' })
  async republish(
    @CurrentCaller() caller: Caller,
    @Param() { queue, job_id: id }: JobParams,
    @CurrentRequest(PublishRequestPipe) { job, options }: PublishRequest,
  ): Promise<WithHeaders> {
    const engine = this.engineOf(caller);
    const publishing = isJobId(id)
      ? engine.republish(caller.namespace, queue, id, job, options)
      : engine.publish(caller.namespace, queue, job, options);
    return new WithHeaders(publishedJson(await publishing), options?.answerHeaders ?? []);
  }

  @Get('peek')
  @Access({ verb: 'consume' })
  async peekQueue(@CurrentCaller() caller: Caller, @Param('queue') queue: string): Promise<string> {
    const job = await this.engineOf(caller).queues.peek(caller.namespace, queue);
    if (job === null) throw new LmstfyException(HttpStatus.NOT_FOUND, 'the queue is empty');
    return peekedJson(caller.namespace, job);
  }

  @Get(/* guard: lmstfy-label-names-the-job */ 'job/:job_id')
  @Access({ verb: 'consume' })
  async peekJob(
    @CurrentCaller() caller: Caller,
    @Param() { queue, job_id: id }: JobParams,
  ): Promise<WithHeaders> {
    const job = isJobId(id) ? await this.engineOf(caller).jobs.peekJob(caller.namespace, queue, id) : null;
    if (job === null) throw jobNotFound(id);
    return new WithHeaders(peekedJson(caller.namespace, job), lifeHeaders(job));
  }

  @Get('size')
  @Access({ isSize: true, verb: 'consume' })
  async size(@CurrentCaller() caller: Caller, @Param('queue') queue: string): Promise<object> {
    const { namespace } = caller;
    return { namespace, queue, size: await this.engineOf(caller).queues.size(namespace, queue) };
  }

  @Delete()
  @HttpCode(HttpStatus.NO_CONTENT)
  @Access({ verb: 'admin' })
  async destroy(@CurrentCaller() caller: Caller, @Param('queue') queue: string): Promise<void> {
    await this.engineOf(caller).queues.destroy(caller.namespace, queue);
  }

  private engineOf({ pool }: Caller): Engine {
    return this.engines.of(pool);
  }
}
