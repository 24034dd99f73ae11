import {
  Controller,
  Delete,
  Get,
  HttpCode,
  HttpStatus,
  Inject,
  Patch,
  Post,
  UseGuards,
} from '@nestjs/common';
import { BodyFields, InPath, QueryFields } from '../http/params.js';
import { CurrentRequest } from '../http/request/current-request.js';
import type { Caller } from '../domain/caller.js';
import { LOG, type Log } from '../domain/log.js';
import { checkAllQueues, checkVerb, matchesPattern } from '../domain/rights.js';
import { Engines } from '../engine/engines.js';
import { queueWithTypes } from '../engine/explain/queue-types.js';
import type { Queues } from '../engine/queues/queues.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { toInside } from '../contract/fields/wire.js';
import { Describe } from '../http/describe.js';
import type { RequestContext } from '../http/request/request-context.js';
import { fromCursor, pageFacts, PageQuery } from '../http/request/page-query.js';
import { PurgeAnswer, PurgeFields, QueuesAnswer } from './dto/queues.v1.js';
import {
  DrainFields,
  FairKeysAnswer,
  FairKeysQuery,
  PauseQueueFields,
  ResumeQueueFields,
  QueueAnswer,
  queueFacts,
  SettingsFields,
} from '../contract/queue-settings.js';
import { isRestricted, withholdingOf } from '../http/sight.js';
import { isPlaceOfQueues, labelOf, mayNotShow, settingsChangeOf } from './queues.v1.js';

const GROUP = 'Queues';
/** Much more than settings or a list of states need. */
const LIMIT = { maxBytes: 65_536 };
const SHOWN = { 200: { about: 'The queue.', of: QueueAnswer } };

/** Queue calls of the native API. */
@Controller('v1/:namespace/queues')
@UseGuards(TokenGuard)
export class V1QueuesController {
  constructor(
    private readonly engines: Engines,
    @Inject(LOG) private readonly log: Log,
  ) {}

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
  async list(@CurrentCaller() caller: Caller, @QueryFields() { limit, cursor }: PageQuery) {
    const after = cursor === undefined ? '' : fromCursor(cursor, isPlaceOfQueues);
    const patterns = caller.rights?.queues ?? null;
    const isVisible = (name: string): boolean =>
      patterns === null || patterns.some((one) => matchesPattern(one, name));
    const { queues, last } = await this.of(caller).list(caller.namespace, { after, limit, isVisible });
    return pageFacts(queues.map(queueFacts), last);
  }

  @Get(':queue')
  @Access({ verb: 'consume' })
  @Describe({
    id: 'getQueue',
    about: 'Returns a queue: its jobs by state, and its settings.',
    details: 'A queue that does not exist is shown too, without jobs and with `exists` false.',
    group: GROUP,
    answers: SHOWN,
    errors: ['pool_moving'],
  })
  async find(@CurrentCaller() caller: Caller, @InPath('queue') queue: string) {
    const { pool, namespace } = caller;
    return queueFacts(await queueWithTypes(this.engines.of(pool), namespace, queue));
  }

  @Get(':queue/keys')
  @Access({ verb: 'consume' })
  @Describe({
    id: 'listFairKeys',
    about: 'Lists the fair keys of a queue with the most ready jobs.',
    details: 'Only of a fair queue: others have no lists of keys. Jobs without a key are not counted.',
    group: GROUP,
    query: FairKeysQuery,
    answers: { 200: { about: 'The keys, the largest first.', of: FairKeysAnswer } },
    errors: ['pool_moving'],
  })
  async keys(
    @CurrentCaller() caller: Caller,
    @InPath('queue') queue: string,
    @QueryFields() { limit }: FairKeysQuery,
  ) {
    const { keys, isComplete } = await this.of(caller).fairKeys(caller.namespace, queue, limit);
    return { keys, complete: isComplete };
  }

  @Patch(':queue')
  @Access({ verb: 'admin' })
  @Describe({
    id: 'updateQueue',
    about: 'Changes settings of a queue; creates the queue if it does not exist.',
    details: 'All servers apply them from the same moment. Leased jobs continue, and count for the limits.',
    group: GROUP,
    body: SettingsFields,
    answers: SHOWN,
    errors: ['too_many_queues', 'target_not_found', 'pool_moving'],
  })
  async change(
    @CurrentCaller() caller: Caller,
    @InPath('queue') queue: string,
    @BodyFields(LIMIT) fields: SettingsFields,
  ) {
    const target = fields.push === null ? null : fields.push?.target;
    if (target !== undefined) checkVerb(caller.rights, 'push');
    // guard: redact-set-by-admins
    if (fields.redact !== undefined && isRestricted(caller)) throw mayNotShow(queue);
    // Targets belong to the whole namespace: a token for some queues may name none, as it may see none.
    // guard: target-named-for-all-queues
    if (typeof target === 'string') checkAllQueues(caller.rights);
    const view = await this.of(caller).change(caller.namespace, queue, settingsChangeOf(fields), target);
    if (target !== undefined) this.auditPush(caller, queue, target);
    return queueFacts(view);
  }

  @Delete(':queue')
  @Access({ verb: 'admin' })
  @Describe({
    id: 'deleteQueue',
    about: 'Deletes an empty queue and its settings.',
    details: '409 `queue_not_empty` if it has jobs in any state.',
    group: GROUP,
    answers: { 204: { about: 'It is deleted.' } },
    errors: ['queue_not_found', 'queue_not_empty', 'pool_moving'],
  })
  async forget(@CurrentCaller() caller: Caller, @InPath('queue') queue: string): Promise<void> {
    // Its recurring jobs stay, and what an operation can bring back: without the settings their data would be shown.
    const [withholding] = await withholdingOf(caller, this.engines, [queue]);
    // guard: redacting-queue-deleted-by-admins
    if (withholding !== undefined) throw mayNotShow(queue);
    await this.of(caller).forget(caller.namespace, queue);
  }

  @Post(':queue/pause')
  @HttpCode(HttpStatus.OK)
  @Access({ verb: 'admin' })
  @Describe({
    id: 'pauseQueue',
    about: 'Pauses a queue or some of its jobs: none of them is leased. Publishes and leased jobs continue.',
    details:
      'The queue shows the description of the token, and the `note`, until it is resumed or the pause ends. With `type`, `fair_key` or `concurrency_key` only these jobs are paused; this takes as long whatever their number. It needs data format 4.',
    group: GROUP,
    body: PauseQueueFields,
    answers: SHOWN,
    errors: ['too_many_queues', 'format_too_old', 'pool_moving'],
  })
  async pause(
    @CurrentCaller() caller: Caller,
    @InPath('queue') queue: string,
    @BodyFields(LIMIT) fields: PauseQueueFields,
  ) {
    const { note = null, forMs, ...jobs } = toInside(PauseQueueFields, fields);
    const pauser = { by: labelOf(caller.label), note, forMs };
    return queueFacts(await this.of(caller).pause(caller.namespace, queue, pauser, jobs));
  }

  @Post(':queue/resume')
  @HttpCode(HttpStatus.OK)
  @Access({ verb: 'admin' })
  @Describe({
    id: 'resumeQueue',
    about: 'Ends a pause and a drain. Waiting lease requests get jobs at once.',
    details: 'With `type`, `fair_key` or `concurrency_key` it ends the pause of these jobs only.',
    group: GROUP,
    body: ResumeQueueFields,
    answers: SHOWN,
    errors: ['queue_not_found', 'format_too_old', 'pool_moving'],
  })
  async resume(
    @CurrentCaller() caller: Caller,
    @InPath('queue') queue: string,
    @BodyFields(LIMIT) fields: ResumeQueueFields,
  ) {
    const jobs = toInside(ResumeQueueFields, fields);
    return queueFacts(await this.of(caller).resume(caller.namespace, queue, jobs));
  }

  @Post(':queue/drain')
  @HttpCode(HttpStatus.OK)
  @Access({ verb: 'admin' })
  @Describe({
    id: 'drainQueue',
    about: 'Drains a queue: it accepts no new jobs until it is empty.',
    details:
      '404 `queue_not_found` if there is no such queue. Publishes are refused with `queue_draining` until the queue has no ready, scheduled, blocked, held or leased jobs. Then it accepts jobs again.',
    group: GROUP,
    body: DrainFields,
    answers: { 200: { about: 'The queue; `length` 0 = it is empty.', of: QueueAnswer } },
    errors: ['queue_not_found', 'too_many_waiters', 'pool_moving'],
  })
  async drain(@CurrentRequest() context: RequestContext, @BodyFields(LIMIT) { wait_ms }: DrainFields) {
    const { server, caller, queue } = context;
    if (wait_ms > 0) server.loadShedder.park(context);
    return queueFacts(await this.of(caller).drain(caller.namespace, queue, wait_ms, () => context.mayWait));
  }

  @Post(':queue/purge')
  @HttpCode(HttpStatus.OK)
  @Access({ verb: 'admin' })
  @Describe({
    id: 'purgeQueue',
    about: 'Deletes jobs of a queue by state; with `dry_run` only counts them.',
    details:
      '404 `queue_not_found` if there is no such queue. Lease operations on a deleted job are answered with 404 `job_not_found`. A call takes a few seconds at most: if `complete` is false, call it again.',
    group: GROUP,
    body: PurgeFields,
    answers: {
      200: { about: 'Deleted jobs by state; with `dry_run`, jobs that would be deleted.', of: PurgeAnswer },
    },
    errors: ['queue_not_found', 'pool_moving'],
  })
  async purge(
    @CurrentCaller() caller: Caller,
    @InPath('queue') queue: string,
    @BodyFields(LIMIT) fields: PurgeFields,
  ) {
    const { states, dryRun } = toInside(PurgeFields, fields);
    const queues = this.of(caller);
    if (dryRun) return { jobs: await queues.count(caller.namespace, queue, states), dryRun, complete: true };
    const { removed, isComplete } = await queues.purge(caller.namespace, queue, states);
    return { jobs: removed, dryRun, complete: isComplete };
  }

  private of({ pool }: Caller): Queues {
    return this.engines.of(pool).queues;
  }

  private auditPush({ pool, namespace, tokenHint }: Caller, queue: string, target: string | null): void {
    this.log.info({ audit: 'queue.push', pool, namespace, token_hint: tokenHint, queue, target }, 'audit');
  }
}
