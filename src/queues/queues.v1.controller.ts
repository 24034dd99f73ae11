import { Controller, Delete, Get, Inject, Patch, Post, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import type { JobState } from '../domain/states.js';
import { answerNothing } from '../http/answer.js';
import { type AnswerDescription, Describe } from '../http/describe.js';
import type { Exchange } from '../http/exchange.js';
import { readQuery } from '../http/fields/read.js';
import { Incoming } from '../http/incoming.js';
import { fieldsIn } from '../http/json-body.js';
import { fromCursor, pageAnswer, PageQuery } from '../http/page-query.js';
import { reply } from '../http/reply.js';
import {
  DrainFields,
  PurgeAnswer,
  PurgeFields,
  QueueAnswer,
  QueuesAnswer,
  SettingsFields,
} from './dto/queues.v1.js';
import { QueuesService } from './queues.service.js';
import { changeOf, isPlaceOfQueues, queueAnswer } from './queues.v1.js';

const GROUP = 'Queues';
/** Settings, or names of states: far more than they need. */
const MAX_BODY_BYTES = 65_536;
const SHOWN: Readonly<Record<number, AnswerDescription>> = {
  200: { about: 'The queue as it is now.', of: QueueAnswer },
};

/** Queues on the native API. */
@Controller('v1/:namespace/queues')
@UseGuards(TokenGuard)
export class V1QueuesController {
  constructor(@Inject(QueuesService) private readonly queues: QueuesService) {}

  @Get()
  @Access({ queues: 'body', verb: 'consume' })
  @Describe({
    about: 'Lists the queues of the namespace by name, with their counts and settings.',
    details: 'A token for some queues sees those.',
    group: GROUP,
    query: PageQuery,
    answers: { 200: { about: 'A page of queues.', of: QueuesAnswer } },
  })
  async list(@Incoming() exchange: Exchange): Promise<void> {
    const { limit, cursor } = readQuery(PageQuery, exchange.query);
    const after = cursor === undefined ? '' : fromCursor(cursor, isPlaceOfQueues);
    const { queues, last } = await this.queues.list(exchange.caller, after, limit);
    reply(exchange, 200, pageAnswer(queues.map(queueAnswer), last));
  }

  @Get(':queue')
  @Access({ verb: 'consume' })
  @Describe({
    about: 'Shows a queue: how many jobs are in which state, and its settings.',
    group: GROUP,
    answers: SHOWN,
  })
  look(@Incoming() exchange: Exchange): Promise<void> {
    return this.show(exchange);
  }

  @Patch(':queue')
  @Access({ verb: 'admin' })
  @Describe({
    about: 'Changes the settings of a queue, which is made if there is none.',
    details: 'They hold on all servers from the same moment. What runs already goes on, and counts.',
    group: GROUP,
    body: SettingsFields,
    answers: SHOWN,
  })
  async change(@Incoming() exchange: Exchange): Promise<void> {
    const fields = await fieldsIn(exchange, MAX_BODY_BYTES, SettingsFields);
    await this.queues.change(exchange.caller, exchange.queue, changeOf(fields));
    await this.show(exchange);
  }

  @Delete(':queue')
  @Access({ verb: 'admin' })
  @Describe({
    about: 'Forgets an empty queue and its settings.',
    details: '`queue_not_empty` while there are jobs in it, in whatever state.',
    group: GROUP,
    answers: { 204: { about: 'It is forgotten.' } },
  })
  async forget(@Incoming() exchange: Exchange): Promise<void> {
    await this.queues.forget(exchange.caller, exchange.queue);
    answerNothing(exchange);
  }

  @Post(':queue/pause')
  @Access({ verb: 'admin' })
  @Describe({
    about: 'Pauses a queue: nobody gets its jobs. Publishes go on, and so does who has a job.',
    group: GROUP,
    answers: SHOWN,
  })
  async pause(@Incoming() exchange: Exchange): Promise<void> {
    await this.queues.pause(exchange.caller, exchange.queue);
    await this.show(exchange);
  }

  @Post(':queue/resume')
  @Access({ verb: 'admin' })
  @Describe({
    about: 'Ends a pause and a drain. Consumers that wait get jobs at once.',
    group: GROUP,
    answers: SHOWN,
  })
  async resume(@Incoming() exchange: Exchange): Promise<void> {
    await this.queues.resume(exchange.caller, exchange.queue);
    await this.show(exchange);
  }

  @Post(':queue/drain')
  @Access({ verb: 'admin' })
  @Describe({
    about: 'Drains a queue: until it is empty, it takes no new jobs.',
    details:
      'Publishes are refused with `queue_draining` until no job of it is ready, scheduled, blocked, held or leased; then they are taken again.',
    group: GROUP,
    body: DrainFields,
    answers: { 200: { about: 'The queue as it is now: `length` 0 = it is empty.', of: QueueAnswer } },
  })
  async drain(@Incoming() exchange: Exchange): Promise<void> {
    const { context, caller, queue } = exchange;
    const { wait_ms } = await fieldsIn(exchange, MAX_BODY_BYTES, DrainFields);
    if (wait_ms > 0) context.gate?.rest(exchange);
    const isWanted = (): boolean => !exchange.request.socket.destroyed && !context.drain.closing;
    reply(exchange, 200, queueAnswer(await this.queues.drain(caller, queue, wait_ms, isWanted)));
  }

  @Post(':queue/purge')
  @Access({ verb: 'admin' })
  @Describe({
    about: 'Removes jobs of a queue by their state; or counts them, if it is a dry run.',
    details:
      'Who has one of them leased finds it gone. It goes on for some seconds at most: if `complete` is false, call it again.',
    group: GROUP,
    body: PurgeFields,
    answers: { 200: { about: 'How many of each state went, or would go.', of: PurgeAnswer } },
  })
  async purge(@Incoming() exchange: Exchange): Promise<void> {
    const { caller, queue } = exchange;
    const { states, dry_run } = await fieldsIn(exchange, MAX_BODY_BYTES, PurgeFields);
    if (dry_run) {
      const found = await this.queues.count(caller, queue, states as JobState[]);
      reply(exchange, 200, { jobs: found, dry_run, complete: true });
      return;
    }
    const { removed, isComplete } = await this.queues.purge(caller, queue, states as JobState[]);
    reply(exchange, 200, { jobs: removed, dry_run, complete: isComplete });
  }

  private async show(exchange: Exchange): Promise<void> {
    reply(exchange, 200, queueAnswer(await this.queues.find(exchange.caller, exchange.queue)));
  }
}
