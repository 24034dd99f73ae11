import { Controller, Delete, Get, Inject, Put, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { callerOf } from '../auth/caller-of.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import type { LeasedJob, NewJob } from '../domain/job.js';
import { answer, answerNothing } from '../http/answer.js';
import { readBody } from '../http/body.js';
import type { Query } from '../http/query.js';
import { leasedJson, peekedJson, publishedJson, publishedManyJson, sizeJson } from './answers.lmstfy.js';
import { attributesOf } from './attributes.lmstfy.js';
import { bulkBodies } from './bulk.lmstfy.js';
import { Delivery } from './delivery.js';
import { JobsService } from './jobs.service.js';
import { consumeParameters, publishParameters } from './parameters.lmstfy.js';

type QueueRequest = FastifyRequest<{ Params: { namespace: string; queue: string }; Querystring: Query }>;
type JobRequest = FastifyRequest<{
  Params: { namespace: string; queue: string; id: string };
  Querystring: Query;
}>;

const NO_JOB = '{"msg":"no job available"}';
const EMPTY_QUEUE = '{"error":"the queue is empty"}';

/** The queue's calls on lmstfy's wire. The answers are written here, past Nest: this is the hot path. */
@Controller('api/:namespace/:queue')
@UseGuards(TokenGuard)
export class LmstfyJobsController {
  constructor(
    @Inject(JobsService) private readonly jobs: JobsService,
    @Inject(Config) private readonly config: Config,
  ) {}

  @Put()
  @Access({ throttle: 'write' })
  async publish(@Req() request: QueueRequest, @Res() reply: FastifyReply): Promise<void> {
    const job = await this.jobOf(request, reply);
    const id = await this.jobs.publish(callerOf(request), request.params.queue, job);
    answer(reply, 201, publishedJson(id));
  }

  @Put('bulk')
  @Access({ throttle: 'write' })
  async publishBulk(@Req() request: QueueRequest, @Res() reply: FastifyReply): Promise<void> {
    const { limits, lmstfy } = this.config;
    const parameters = publishParameters(request.query, lmstfy);
    const attributes = attributesOf(request.raw);
    const body = await readBody(request.raw, reply.raw, limits.max_bulk_bytes);
    const jobs = bulkBodies(body, limits.max_body_bytes).map((element) =>
      newJob(element, parameters, attributes),
    );
    const ids = await this.jobs.publishMany(callerOf(request), request.params.queue, jobs);
    answer(reply, 201, publishedManyJson(ids));
  }

  /** Everything is checked before the old job is touched; then one step puts the new one in its place. */
  @Put('job/:id')
  async republish(@Req() request: JobRequest, @Res() reply: FastifyReply): Promise<void> {
    const { queue, id: oldId } = request.params;
    const job = await this.jobOf(request, reply);
    const id = await this.jobs.republish(callerOf(request), queue, oldId, job);
    answer(reply, 201, publishedJson(id));
  }

  @Get()
  @Access({ queues: 'list', throttle: 'read' })
  async consume(@Req() request: QueueRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ttrMs, waitMs, count, queues } = consumeParameters(
      request.params.queue,
      request.query,
      this.config.lmstfy,
    );
    const wanted = { queues, count, ttrMs };
    const mayWait = waitMs > 0 && !reply.server.drain.closing;
    const delivery = new Delivery(request.raw.socket);
    const jobs = await this.jobs
      .reserve(
        callerOf(request),
        mayWait ? { ...wanted, waitMs, signal: delivery.signal } : { ...wanted, waitMs: 0 },
      )
      .catch((error: unknown) => {
        delivery.done();
        throw error;
      });
    this.deliver(request, reply, { jobs, asList: count > 1, delivery });
  }

  @Delete('job/:id')
  async ack(@Req() request: JobRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.jobs.ack(callerOf(request), request.params.queue, request.params.id);
    answerNothing(reply);
  }

  @Get('peek')
  async peekQueue(@Req() request: QueueRequest, @Res() reply: FastifyReply): Promise<void> {
    const { namespace, queue } = request.params;
    const job = await this.jobs.peekQueue(callerOf(request), queue);
    if (job === null) answer(reply, 404, EMPTY_QUEUE);
    else answer(reply, 200, peekedJson(namespace, job));
  }

  @Get('job/:id')
  async peekJob(@Req() request: JobRequest, @Res() reply: FastifyReply): Promise<void> {
    const { namespace, queue, id } = request.params;
    answer(reply, 200, peekedJson(namespace, await this.jobs.peekJob(callerOf(request), queue, id)));
  }

  @Get('size')
  @Access({ isSize: true })
  async size(@Req() request: QueueRequest, @Res() reply: FastifyReply): Promise<void> {
    const { namespace, queue } = request.params;
    answer(reply, 200, sizeJson(namespace, queue, await this.jobs.size(callerOf(request), queue)));
  }

  @Delete()
  async destroy(@Req() request: QueueRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.jobs.destroy(callerOf(request), request.params.queue);
    answerNothing(reply);
  }

  private async jobOf(request: QueueRequest, reply: FastifyReply): Promise<NewJob> {
    const { raw, query } = request;
    const parameters = publishParameters(query, this.config.lmstfy);
    const attributes = attributesOf(raw);
    return newJob(await readBody(raw, reply.raw, this.config.limits.max_body_bytes), parameters, attributes);
  }

  private deliver(request: QueueRequest, reply: FastifyReply, { jobs, asList, delivery }: Leases): void {
    if (jobs.length === 0) {
      delivery.done();
      answer(reply, 404, NO_JOB);
      return;
    }
    const caller = callerOf(request);
    const isHere = delivery.guard(() => this.jobs.undo(caller, jobs));
    if (isHere) answer(reply, 200, leasedJson(caller.namespace, jobs, asList), { sent: delivery.sent });
    else answer(reply, 404, NO_JOB);
  }
}

interface Leases {
  readonly jobs: readonly LeasedJob[];
  readonly asList: boolean;
  readonly delivery: Delivery;
}

function newJob(
  body: Buffer,
  parameters: Pick<NewJob, 'delayMs' | 'ttlMs' | 'tries'>,
  attributes: Record<string, string> | undefined,
): NewJob {
  return attributes === undefined ? { body, ...parameters } : { body, ...parameters, attributes };
}
