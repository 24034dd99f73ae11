import { Controller, Delete, Get, Patch, Post, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { answerNothing } from '../http/answer/answer.js';
import { type AnswerDescription, Describe } from '../http/describe.js';
import type { RequestContext } from '../http/request/request-context.js';
import { readQuery } from '../http/fields/read.js';
import { Incoming } from '../http/incoming.js';
import { fieldsIn } from '../http/request/json-body.js';
import { fromCursor, pageAnswer, PageQuery } from '../http/request/page-query.js';
import { reply } from '../http/answer/reply.js';
import {
  DrainFields,
  PurgeAnswer,
  PurgeFields,
  QueueAnswer,
  QueuesAnswer,
  SettingsFields,
} from './dto/queues.v1.js';
import type { QueueAdmin } from '../engine/queue-admin.js';
import { QueuesService } from './queues.service.js';
import { changeOf, isPlaceOfQueues, queueAnswer } from './queues.v1.js';

const GROUP = 'Queues';
/** Much more than settings or a list of states need. */
const LIMIT = { maxBytes: 65_536 };
const SHOWN: Readonly<Record<number, AnswerDescription>> = {
  200: { about: 'The queue.', of: QueueAnswer },
};

/** Queue calls of the native API. */
@Controller('v1/:namespace/queues')
@UseGuards(TokenGuard)
export class V1QueuesController {
  constructor(private readonly queues: QueuesService) {}

  @Get()
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    id: 'listQueues',
    about: 'Lists the queues of the namespace by name, with their counts and settings.',
    details:
      'Also lists queues without jobs and settings that have waiting lease requests, recurring jobs, or statistics of today or yesterday. A token for some queues sees only those.',
    group: GROUP,
    query: PageQuery,
    answers: { 200: { about: 'A page of queues.', of: QueuesAnswer } },
    errors: ['pool_moving'],
  })
  async list(@Incoming() context: RequestContext): Promise<void> {
    const { limit, cursor } = readQuery(PageQuery, context.query);
    const after = cursor === undefined ? '' : fromCursor(cursor, isPlaceOfQueues);
    const { queues, last } = await this.queues.list(context.caller, after, limit);
    reply(context, 200, pageAnswer(queues.map(queueAnswer), last));
  }

  @Get(':queue')
  @Access({ verb: 'consume' })
  @Describe({
    id: 'getQueue',
    about: 'Returns a queue: its jobs by state, and its settings.',
    details: 'A queue that does not exist is shown too, without jobs and with `exists` false.',
    group: GROUP,
    answers: SHOWN,
    errors: ['queue_not_found', 'pool_moving'],
  })
  async find(@Incoming() context: RequestContext): Promise<void> {
    reply(
      context,
      200,
      queueAnswer(await this.adminOf(context).find(context.caller.namespace, context.queue)),
    );
  }

  @Patch(':queue')
  @Access({ verb: 'admin' })
  @Describe({
    id: 'updateQueue',
    about: 'Changes settings of a queue; creates the queue if it does not exist.',
    details: 'They hold on all servers from the same moment. What runs already goes on, and counts.',
    group: GROUP,
    body: SettingsFields,
    answers: SHOWN,
    errors: ['queue_not_found', 'target_not_found', 'pool_moving'],
  })
  async change(@Incoming() context: RequestContext): Promise<void> {
    const fields = await fieldsIn(context, LIMIT, SettingsFields);
    const target = fields.push === null ? null : fields.push?.target;
    const view = await this.queues.change(context.caller, context.queue, changeOf(fields), target);
    reply(context, 200, queueAnswer(view));
  }

  @Delete(':queue')
  @Access({ verb: 'admin' })
  @Describe({
    id: 'deleteQueue',
    about: 'Deletes an empty queue and its settings.',
    details: '`queue_not_empty` while there are jobs in it, in whatever state.',
    group: GROUP,
    answers: { 204: { about: 'It is deleted.' } },
    errors: ['queue_not_found', 'queue_not_empty', 'pool_moving'],
  })
  async forget(@Incoming() context: RequestContext): Promise<void> {
    await this.adminOf(context).forget(context.caller.namespace, context.queue);
    answerNothing(context);
  }

  @Post(':queue/pause')
  @Access({ verb: 'admin' })
  @Describe({
    id: 'pauseQueue',
    about: 'Pauses a queue: none of its jobs is leased. Publishes and leased jobs continue.',
    group: GROUP,
    answers: SHOWN,
    errors: ['queue_not_found', 'pool_moving'],
  })
  async pause(@Incoming() context: RequestContext): Promise<void> {
    reply(
      context,
      200,
      queueAnswer(await this.adminOf(context).pause(context.caller.namespace, context.queue)),
    );
  }

  @Post(':queue/resume')
  @Access({ verb: 'admin' })
  @Describe({
    id: 'resumeQueue',
    about: 'Ends a pause and a drain. Waiting lease requests get jobs at once.',
    group: GROUP,
    answers: SHOWN,
    errors: ['queue_not_found', 'pool_moving'],
  })
  async resume(@Incoming() context: RequestContext): Promise<void> {
    reply(
      context,
      200,
      queueAnswer(await this.adminOf(context).resume(context.caller.namespace, context.queue)),
    );
  }

  @Post(':queue/drain')
  @Access({ verb: 'admin' })
  @Describe({
    id: 'drainQueue',
    about: 'Drains a queue: it accepts no new jobs until it is empty.',
    details:
      '404 `queue_not_found` if there is none. Publishes are refused with `queue_draining` until no job of it is ready, scheduled, blocked, held or leased; then they are taken again.',
    group: GROUP,
    body: DrainFields,
    answers: { 200: { about: 'The queue; `length` 0 = it is empty.', of: QueueAnswer } },
    errors: ['queue_not_found', 'too_many_waiters', 'pool_moving'],
  })
  async drain(@Incoming() context: RequestContext): Promise<void> {
    const { server, caller, queue } = context;
    const { wait_ms } = await fieldsIn(context, LIMIT, DrainFields);
    if (wait_ms > 0) server.loadShedder.park(context);
    const view = await this.adminOf(context).drain(caller.namespace, queue, wait_ms, () => context.mayWait);
    reply(context, 200, queueAnswer(view));
  }

  @Post(':queue/purge')
  @Access({ verb: 'admin' })
  @Describe({
    id: 'purgeQueue',
    about: 'Deletes jobs of a queue by state; with `dry_run` only counts them.',
    details:
      '404 `queue_not_found` if there is no such queue. Who has one of them leased finds it gone. It goes on for some seconds at most: if `complete` is false, call it again.',
    group: GROUP,
    body: PurgeFields,
    answers: {
      200: { about: 'Deleted jobs by state; with `dry_run`, jobs that would be deleted.', of: PurgeAnswer },
    },
    errors: ['queue_not_found', 'pool_moving'],
  })
  async purge(@Incoming() context: RequestContext): Promise<void> {
    const { caller, queue } = context;
    const { states, dry_run } = await fieldsIn(context, LIMIT, PurgeFields);
    if (dry_run) {
      const found = await this.adminOf(context).count(caller.namespace, queue, states);
      reply(context, 200, { jobs: found, dry_run, complete: true });
      return;
    }
    const { removed, isComplete } = await this.adminOf(context).purge(caller.namespace, queue, states);
    reply(context, 200, { jobs: removed, dry_run, complete: isComplete });
  }

  private adminOf({ caller }: RequestContext): QueueAdmin {
    return this.queues.adminOf(caller);
  }
}
