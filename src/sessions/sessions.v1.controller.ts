import { Controller, Delete, Get, HttpCode, HttpStatus, Post, UseGuards } from '@nestjs/common';
import { BodyFields, InPath, QueryFields } from '../http/params.js';
import type { Caller } from '../domain/caller.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { notFound } from '../domain/errors.js';
import { isJobId } from '../domain/ids.js';
import { MAX_JOB_ID_LENGTH } from '../domain/limits.js';
import type { SessionCalls } from '../engine/engine.js';
import { Engines } from '../engine/engines.js';
import { InputError } from '../contract/fields/problems.js';
import { toInside } from '../contract/fields/wire.js';
import { Describe } from '../http/describe.js';
import { pageFacts, pageOf, PageQuery } from '../http/request/page-query.js';
import { WorkersPage } from './dto.v1.js';
import {
  SessionHeartbeatAnswer,
  SessionHeartbeatFields,
  WorkerAnswer,
  workerFacts,
} from '../contract/workers.js';
import { SessionsService } from './sessions.service.js';

const GROUP = 'Workers';
const ID_RULE = `must have 1 to ${String(MAX_JOB_ID_LENGTH)} letters, digits, - and _, the first a letter or a digit`;

/** Workers that lease jobs under a name, and their sessions. */
@Controller('v1/:namespace/workers')
@UseGuards(TokenGuard)
export class V1SessionsController {
  constructor(
    private readonly workers: SessionsService,
    private readonly engines: Engines,
  ) {}

  @Get()
  @Access({ queues: 'none', verb: 'consume' })
  @Describe({
    id: 'listWorkers',
    about: 'Lists the workers that were seen within the last day.',
    details:
      'A worker is known by the name in its lease requests, or by the heartbeats of its session. `GET /jobs?worker=` lists its jobs. The worker that was seen last comes first: one that is seen while you read the pages moves to the first one, and may be missed or listed twice.',
    group: GROUP,
    query: PageQuery,
    answers: { 200: { about: 'A page of workers.', of: WorkersPage } },
    errors: ['pool_moving'],
  })
  async list(@CurrentCaller() caller: Caller, @QueryFields() query: PageQuery) {
    const { items, cursor } = await this.of(caller).list(caller.namespace, pageOf(query));
    return pageFacts(items.map(workerFacts), cursor);
  }

  @Get(':name')
  @Access({ queues: 'none', verb: 'consume' })
  @Describe({
    id: 'getWorker',
    about: 'Shows a worker.',
    group: GROUP,
    answers: { 200: { about: 'The worker.', of: WorkerAnswer } },
    errors: ['worker_not_found', 'pool_moving'],
  })
  async find(@CurrentCaller() caller: Caller, @InPath('name') name: string) {
    const worker = await this.of(caller).find(caller.namespace, name);
    if (worker === null) throw notFound('worker', name);
    return workerFacts(worker);
  }

  @Delete(':name')
  // A token for some queues may end its worker's session, too.
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'deleteWorker',
    about:
      'Forgets a worker until its next request, and ends its session and its lease requests that wait. Its leases stay.',
    group: GROUP,
    answers: { 204: { about: 'It is deleted.' } },
    errors: ['worker_not_found', 'pool_moving'],
  })
  async deregister(@CurrentCaller() caller: Caller, @InPath('name') name: string): Promise<void> {
    await this.workers.deregister(caller, name);
  }

  @Delete(':name/waits')
  @Access({ queues: 'body', verb: 'consume', goesFirst: true })
  @Describe({
    id: 'endWorkerWaits',
    about: 'Ends the lease requests of a worker that wait, on all servers.',
    details:
      'They are answered with no jobs. A proxy does not pass on that a client has closed its connection: a worker that stops calls this, and reads the answer of its lease request.',
    group: GROUP,
    answers: { 204: { about: 'There are none.' } },
    errors: ['pool_moving'],
  })
  async endWaits(@CurrentCaller() caller: Caller, @InPath('name') name: string): Promise<void> {
    await this.workers.endWaits(caller, name);
  }

  @Post(':name/heartbeat')
  @HttpCode(HttpStatus.OK)
  @Access({ queues: 'body', verb: 'consume', goesFirst: true })
  @Describe({
    id: 'heartbeatWorker',
    about: 'Heartbeat of a worker session: extends all of its leases.',
    details:
      'Each lease is extended as by the heartbeat of one job. A session begins with the first heartbeat that has `info`; without it the answer is `worker_not_found`, and no lease is extended. The answer tells the worker what to do.',
    group: GROUP,
    body: SessionHeartbeatFields,
    answers: { 200: { about: 'The state of each lease, and what to do.', of: SessionHeartbeatAnswer } },
    errors: ['namespace_full', 'worker_not_found'],
  })
  async heartbeat(
    @CurrentCaller() caller: Caller,
    @InPath('name') name: string,
    @BodyFields() fields: SessionHeartbeatFields,
  ) {
    if (!isJobId(name)) throw new InputError([{ field: 'name', rule: ID_RULE }]);
    return this.workers.heartbeat(caller, name, toInside(SessionHeartbeatFields, fields));
  }

  @Post(':name/quiet')
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    id: 'quietWorker',
    about: 'Asks a worker session to lease nothing more. It learns that from its next heartbeat.',
    group: GROUP,
    answers: { 204: { about: 'It learns it from its next heartbeat.' } },
    errors: ['worker_not_found', 'pool_moving'],
  })
  async quiet(@CurrentCaller() caller: Caller, @InPath('name') name: string): Promise<void> {
    await this.of(caller).quiet(caller.namespace, name);
  }

  @Post(':name/stop')
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    id: 'stopWorker',
    about: 'Asks a worker session to shut down. It learns that from its next heartbeat.',
    group: GROUP,
    answers: { 204: { about: 'It learns it from its next heartbeat.' } },
    errors: ['worker_not_found', 'pool_moving'],
  })
  async stop(@CurrentCaller() caller: Caller, @InPath('name') name: string): Promise<void> {
    await this.of(caller).stop(caller.namespace, name);
  }

  private of({ pool }: Caller): SessionCalls {
    return this.engines.of(pool).sessions;
  }
}
