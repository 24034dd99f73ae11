import { performance } from 'node:perf_hooks';
import { Injectable } from '@nestjs/common';
import { Admission } from '../../auth/admission.js';
import { VALID_MS } from '../../auth/token-cache.js';
import { WithHeaders } from '../../http/answer/with-headers.js';
import { Config } from '../../config/config.js';
import { QueueError } from '../../domain/errors.js';
import type { NewExtendedJob } from '../../contract/job/extended-job.js';
import type { PublishedJob } from '../../domain/job/extended-job.js';
import { isJobId, JOB_ID_RULE } from '../../domain/ids.js';
import { checkQueue, checkVerb } from '../../domain/rights.js';
import type { JobState } from '../../domain/job/states.js';
import { accountOf } from '../../http/request/account-client.js';
import { bulkLimit, readBody } from '../../http/request/body.js';
import { HeaderError, InputError } from '../../contract/fields/problems.js';
import type { RequestContext } from '../../http/request/request-context.js';
import { Problems } from '../../contract/fields/problems.js';
import { readQuery } from '../../http/request/query-fields.js';
import { fieldsIn } from '../../http/request/json-body.js';
import { jsonOf } from '../../contract/json/body-json.js';
import { answer } from '../../http/answer/answer.js';
import { reply } from '../../http/answer/reply.js';
import { Delivery } from '../delivery.js';
import { CONFIRM_ACCESS } from '../fast-routes.js';
import {
  type PublishedAnswer,
  PublishFields,
  PublishManyFields,
  PublishQuery,
} from '../../contract/job/options.js';
import type { Inside } from '../../contract/fields/wire.js';
import { EndedAnswer } from '../../contract/job/answers.js';
import { Engines } from '../../engine/engines.js';
import { seenBy } from '../../http/sight.js';
import { endedAnswer } from './job-answers.v1.js';
import { checkIdCount, publishOptionsOf, type RequestOptions } from '../publish-options.js';
import { JobsService } from '../jobs.service.js';
import { extendedJobOf, publishRequestOf } from '../../contract/job/new-job.js';

/** How long the job is kept after the wait has ended, so that a waiting client can still read its end. */
const KEPT_LONGER_MS = 60_000;
const NO_KEY_RULE = 'must be left out: the id in the path makes a repeated PUT safe';
const NO_HEADERS: readonly string[] = [];
const ENDED = new Set<JobState>(['done', 'dead', 'cancelled']);

/** Tells the audit log of the admin port where an account publishes, and how many jobs. */
function recordJobs({ request }: RequestContext, jobs: readonly NewExtendedJob[]): void {
  const client = accountOf(request);
  client?.recordRequest({ queues: [...new Set(jobs.map(({ queue }) => queue))] });
  client?.recordAnswer({ jobs: jobs.length });
}

/** Publishing through the native API, for the router and the fast path. */
@Injectable()
export class V1Publishing {
  constructor(
    private readonly jobs: JobsService,
    private readonly config: Config,
    private readonly engines: Engines,
    private readonly admission: Admission,
  ) {}

  /** Handles an admitted request context and makes sure that it is answered, now or later. */
  publish(context: RequestContext): void {
    const { limits } = this.config;
    const { wait_ms } = readQuery(PublishQuery, context.query);
    const options = publishOptionsOf(context.request);
    // Waiting for a job's end reads the job, which needs the permission to consume.
    // guard: publish-wait-needs-read
    if (wait_ms !== undefined) checkVerb(context.caller.rights, 'consume');
    readBody(context, bulkLimit(limits), (body) => {
      const { caller } = context;
      const { jobs, isOne } = publishRequestOf(
        jsonOf(body, context.server.maxJsonDepth, PublishFields, PublishManyFields),
        limits.max_body_bytes,
      );
      if (caller.rights !== null) for (const { queue } of jobs) checkQueue(caller.rights, queue);
      if (caller.actor !== undefined) recordJobs(context, jobs);
      checkIdCount(options, jobs.length);
      if (wait_ms !== undefined) this.publishAndWait(context, alone(jobs, isOne), wait_ms, options);
      else {
        context.after(this.jobs.publish(caller, jobs, options), (published) => {
          const [first] = published;
          const { answerHeaders: headers = NO_HEADERS } = options ?? {};
          if (!isOne || first === undefined)
            answer(context, 201, `{"jobs":[${published.map(publishedJson).join(',')}]}`, { headers });
          else
            answer(context, 201, publishedJson(first), {
              headers: [...locationOf(context, first), ...headers],
            });
        });
      }
    });
  }

  /** Stores a job under the id of the path, perhaps in the place of another one. */
  async put(context: RequestContext): Promise<WithHeaders<Inside<PublishedAnswer>>> {
    const { caller, jobId: id, request } = context;
    const isOnlyNew = isOnlyNewOf(request.headers['if-none-match']);
    const { durability, idempotencyKey, retryOf } = publishOptionsOf(request) ?? {};
    if (idempotencyKey !== undefined || retryOf !== undefined)
      throw new HeaderError(idempotencyKey === undefined ? 'X-Job-ID' : 'Idempotency-Key', NO_KEY_RULE);
    const { limits } = this.config;
    const problems = new Problems();
    const fields = await fieldsIn(context, bulkLimit(limits), PublishFields);
    if (!isJobId(id)) problems.add('id', `in the path ${JOB_ID_RULE}`);
    if (fields.id !== undefined && fields.id !== id)
      problems.add('id', 'must be left out, or be the one of the path');
    const job = { ...extendedJobOf(fields, '', limits.max_body_bytes, problems), id };
    problems.settle();
    checkQueue(caller.rights, job.queue);
    const { isReplaced, ...stored } = await this.jobs.put(caller, job, isOnlyNew, durability);
    const published = { ...stored, id, existing: false };
    const headers = isReplaced ? [] : locationOf(context, published);
    return new WithHeaders(published, headers, { status: isReplaced ? 200 : 201 });
  }

  /**
   * Answers with the end of the job. If the wait time is over or the server shuts down, answers 202 with the address of
   * the job.
   */
  private publishAndWait(
    context: RequestContext,
    job: NewExtendedJob,
    waitMs: number,
    options: RequestOptions | undefined,
  ): void {
    const { caller, server, request } = context;
    // guard: publish-that-waits-is-a-waiter
    server.loadShedder.park(context);
    const delivery = new Delivery(request.socket);
    const kept = {
      ...job,
      retentionMs: /* guard: awaited-result-kept */ Math.max(job.retentionMs ?? 0, waitMs + KEPT_LONGER_MS),
    };
    const publishing = this.jobs.publish(caller, [kept], options);
    const done = (): void => delivery.done();
    const wait = { queue: job.queue, waitMs, signal: delivery.signal };
    context.after(this.answerEnd(context, publishing, wait, options?.answerHeaders), done, done);
  }

  /** Waits without the job itself: the body of its request would stay in memory for as long. */
  private async answerEnd(
    context: RequestContext,
    publishing: Promise<readonly PublishedJob[]>,
    {
      queue,
      waitMs,
      signal,
    }: { readonly queue: string; readonly waitMs: number; readonly signal: AbortSignal },
    answerHeaders: readonly string[] = NO_HEADERS,
  ): Promise<void> {
    const { caller, server, request } = context;
    const [published] = await publishing;
    if (published === undefined) throw new QueueError('internal', 'a publish of one job has no answer');
    const found = await this.jobs.waitForEnd(caller, published.id, waitMs, signal);
    const isLong = performance.now() - context.startedMs > VALID_MS;
    // guard: publish-wait-checks-the-token-again
    if (isLong) await this.admission.confirm({ caller, request, queue }, CONFIRM_ACCESS);
    const hasEnded = found === null || ENDED.has(found.state);
    const ended = endedAnswer(published, found, server.maxJsonDepth);
    const seen = await seenBy(caller, this.engines, EndedAnswer, ended, found?.queue);
    reply(context, hasEnded ? 200 : 202, seen, [
      ...(hasEnded ? [] : locationOf(context, published)),
      ...answerHeaders,
    ]);
  }
}

/** @throws {QueueError} `invalid_argument` */
function isOnlyNewOf(header: string | undefined): boolean {
  if (header === undefined || header === '*') return header === '*';
  throw new HeaderError('If-None-Match', 'must be *, or be left out: jobs have no entity tags');
}

/** @throws {InputError} there is a list of jobs */
function alone(jobs: readonly NewExtendedJob[], isOne: boolean): NewExtendedJob {
  const [job] = jobs;
  if (isOne && job !== undefined) return job;
  throw new InputError([{ field: 'wait_ms', rule: 'is allowed for one job only, not for a list' }]);
}

/** `PublishedAnswer`. Ids, names and states have only legal characters: they need no escaping. */
function publishedJson({ id, state, existing, missingDependencies: missing }: PublishedJob): string {
  const more = missing === undefined ? '' : `,"missing_dependencies":${JSON.stringify(missing)}`;
  return `{"id":"${id}","state":"${state}","existing":${String(existing)}${more}}`;
}

function locationOf({ namespace }: RequestContext, { id }: PublishedJob): string[] {
  return ['Location', `/v1/${namespace}/jobs/${id}`];
}
