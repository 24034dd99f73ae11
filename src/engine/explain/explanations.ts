import type { Cause, Explanation } from '../../contract/explain.js';
import { REDACTED } from '../../contract/json/redacted-json.js';
import { jobNotFound, notFound, QueueError } from '../../domain/errors.js';
import { isJobId } from '../../domain/ids.js';
import { cause, THIS_SERVER } from './cause.js';
import { causesOfEnd, causesOfJob, causesOfQueue, causesOfRecurring, explanationOf } from './causes.js';
import type { Explainer } from './explainer.js';
import {
  type BreakerSeen,
  isEnd,
  type JobEnd,
  type JobReasons,
  type QueueReasons,
  type ServerReasons,
} from './reasons.js';

/** Whose explanations, and how much of them may be shown. */
export interface ExplainView {
  readonly engine: { readonly explain: Pick<Explainer, 'job' | 'queue' | 'recurring'> };
  readonly server: ServerReasons;
  /** True for a queue that the caller may see; null = all of them. */
  readonly isVisible: ((queue: string) => boolean) | null;
  /** True: the caller does not see the messages of failures in queues that withhold places of their data. */
  readonly isRestricted?: boolean;
  /** How long Redis may take, in milliseconds. */
  readonly withinMs: number;
}

/** Why a job does not run. @throws {QueueError} `job_not_found`, also for a job that the caller may not see */
export function explainedJob(view: ExplainView, id: string): Promise<Explanation> {
  const { engine, server, isVisible, withinMs } = view;
  return explained(withinMs, async () => {
    const found = isJobId(id) ? await engine.explain.job(server.namespace, id) : null;
    if (found === null || /* guard: explain-checks-queue */ !maySee(view, queueNameOf(found)))
      throw jobNotFound(id);
    if (isEnd(found)) return causesOfEnd(found);
    return causesOfJob(withoutAnswers(view, visibleJob(withoutMessage(view, found), isVisible)), server);
  });
}

/** A message of a failure may repeat the data. */
function withoutMessage({ isRestricted = false }: ExplainView, reasons: JobReasons): JobReasons {
  const { job, queue } = reasons;
  // guard: explain-hides-messages
  if (!isRestricted || queue.settings.redact === null || job.failure === null) return reasons;
  return { ...reasons, job: { ...job, failure: { ...job.failure, message: REDACTED } } };
}

/**
 * The answer that opened the breaker of a target may repeat data of a job of any queue that is pushed to it: who may not see all of them sees its
 * status only.
 */
function withoutAnswers(view: ExplainView, reasons: JobReasons): JobReasons {
  const { origin, queue } = reasons;
  return {
    ...reasons,
    queue: withoutAnswerOf(view, queue),
    origin: origin && { ...origin, breaker: withoutBody(view, origin.breaker) },
  };
}

function withoutAnswerOf(view: ExplainView, reasons: QueueReasons): QueueReasons {
  const { target } = reasons;
  if (!target?.breaker) return reasons;
  return { ...reasons, target: { ...target, breaker: withoutBody(view, target.breaker) } };
}

function withoutBody({ isRestricted = false, isVisible }: ExplainView, breaker: BreakerSeen): BreakerSeen {
  // guard: explain-hides-answers
  if (!isRestricted && isVisible === null) return breaker;
  const [status] = /^HTTP \d+/.exec(breaker.lastAnswer ?? '') ?? [];
  return { ...breaker, lastAnswer: status ?? null };
}

function queueNameOf(found: JobReasons | JobEnd): string {
  return isEnd(found) ? found.queue : found.job.queue;
}

/** Why a queue gives no jobs. */
export function explainedQueue(view: ExplainView, queue: string): Promise<Explanation> {
  const { engine, server, isVisible, withinMs } = view;
  return explained(withinMs, async () => {
    const reasons = await engine.explain.queue(server.namespace, queue);
    return causesOfQueue(withoutAnswerOf(view, visibleQueue(reasons, isVisible)), server);
  });
}

/** When a recurring job makes its next job. @throws {QueueError} `recurring_not_found`, also for one that the caller may not see */
export function explainedRecurring(view: ExplainView, id: string): Promise<Explanation> {
  const { engine, server, isVisible, withinMs } = view;
  return explained(withinMs, async () => {
    const reasons = await engine.explain.recurring(server.namespace, id);
    if (reasons === null || /* guard: explain-checks-recurring */ !maySee(view, reasons.queue.queue))
      throw notFound('recurring job', id);
    const queue = withoutAnswerOf(view, visibleQueue(reasons.queue, isVisible));
    return causesOfRecurring({ ...reasons, queue }, server);
  });
}

/** The explanation while Redis cannot be read, by the error; null for another error. */
export function explainedOutage(error: unknown): Explanation | null {
  if (!(error instanceof QueueError) || !OUTAGES.has(error.code)) return null;
  return explanationOf([outage(error)]);
}

const OUTAGES: ReadonlySet<string> = new Set(['pool_unavailable', 'disk_full']);

/** Why Redis does not answer: by its error, or that of its driver. The first that matches counts. */
const OUTAGE_REASONS = [
  ['read_only', /READONLY/, 'Redis takes no writes: it is a replica'],
  ['loading', /LOADING/, 'Redis has started, and still loads its data'],
  ['no_replicas', /NOREPLICAS/, 'Redis takes no writes: it has too few replicas'],
  ['disk', /MISCONF/, 'Redis takes no writes: it cannot write to its disk'],
  ['denied', /NOPERM|NOAUTH|WRONGPASS|ACL/, 'the Redis user of this server lacks rights'],
  ['unreachable', /writeable|closed|lost|ECONN|unreachable/i, 'this server has no connection to Redis'],
] as const;

function outage({ cause: source }: QueueError): Cause {
  const text = source instanceof Error ? source.message : '';
  const [reason, , why] = OUTAGE_REASONS.find(([, pattern]) => pattern.test(text)) ?? [
    'no_answer',
    null,
    'Redis does not answer this server in time',
  ];
  return cause(
    'store_unavailable',
    `Nothing can be leased or published, and nothing is known of the job or the queue: ${why}.`,
    { facts: { reason, seen_by: THIS_SERVER } },
  );
}

async function explained(withinMs: number, causes: () => Promise<Cause[]>): Promise<Explanation> {
  try {
    return explanationOf(await within(withinMs, causes()));
  } catch (error) {
    const found = explainedOutage(error);
    if (found === null) throw error;
    return found;
  }
}

/** How long the error of a call, which ends at its own deadline, is waited for: it says more, in milliseconds. */
const GRACE_MS = 20;

/** @throws {QueueError} `pool_unavailable` when the time is over; or the error of `work` */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = (): void => reject(new QueueError('pool_unavailable', 'Redis is late'));
    timer = setTimeout(fail, Math.max(ms, 0) + GRACE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The reasons of a job without what is of queues that the caller may not see. */
function visibleJob(reasons: JobReasons, isVisible: ExplainView['isVisible']): JobReasons {
  if (isVisible === null) return reasons;
  const { job } = reasons;
  const isShown = (one: { readonly queue: string | null }): boolean =>
    one.queue !== null && /* guard: explain-hides-foreign-jobs */ isVisible(one.queue);
  const dependencies = reasons.dependencies.filter(isShown);
  const seen = new Set(dependencies.map(({ id }) => id));
  const failed = Object.entries(job.failedDependencies);
  return {
    ...reasons,
    dependencies,
    deadDependencies: reasons.deadDependencies.filter(isShown),
    job: { ...job, failedDependencies: Object.fromEntries(failed.filter(([id]) => seen.has(id))) },
    // Of many dependencies, only some were read.
    hiddenDependencies:
      /* guard: unread-dependencies-are-not-hidden */ reasons.dependencies.length - dependencies.length,
    queue: visibleQueue(reasons.queue, isVisible),
  };
}

/** The reasons of a queue without lease requests for queues that the caller may not see. */
function visibleQueue(reasons: QueueReasons, isVisible: ExplainView['isVisible']): QueueReasons {
  if (isVisible === null) return reasons;
  const requests = reasons.requests.filter(({ queue }) =>
    /* guard: explain-hides-foreign-queues */ isVisible(queue),
  );
  return { ...reasons, requests };
}

function maySee({ isVisible }: ExplainView, queue: string): boolean {
  return isVisible === null || isVisible(queue);
}
