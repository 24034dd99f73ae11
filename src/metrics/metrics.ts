import { Registry } from 'prom-client';
import {
  CounterFamily,
  type FamilyOptions,
  GaugeFamily,
  HistogramFamily,
  type HistogramOptions,
} from './series.js';

/** `count` bounds, each `factor` times the previous one; multiplied as in lmstfy's library, so that no digit differs. */
function exponential(start: number, factor: number, count: number): number[] {
  const bounds: number[] = [];
  for (let bound = start; bounds.length < count; bound *= factor) bounds.push(bound);
  return bounds;
}

/** lmstfy's buckets, in milliseconds, so that quantiles of existing dashboards keep their meaning. */
const LMSTFY_HTTP_MS = /* guard: lmstfy-bounds-are-exact */ exponential(15, 2.5, 9);
const LMSTFY_JOB_MS = exponential(15, 3.5, 7);
const LMSTFY_REDIS_MS = exponential(1, 2, 16);
/** Our buckets, in seconds: from the latency of an idle server to job waits of an overloaded one. */
const JOB_S = [0.005, 0.025, 0.1, 0.5, 2, 10, 60, 600, 3_600, 86_400];
const HTTP_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30];
const LATENESS_S = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600];
const SCRIPT_S = [0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2];
const ITEMS = [1, 2, 4, 8, 16, 32, 48, 64];

const POOL = ['pool'];
const QUEUE = ['pool', 'namespace', 'queue'];
const ROUTE = ['pool', 'namespace', 'api', 'method'];
const COMMAND = ['node', 'command', 'status'];

/** Prefix of lmstfy's names. */
export const LMSTFY_PREFIX = 'infra_lmstfy_';

/**
 * All metrics that are counted while requests are served. The gauges that only a scrape reads are in `gauges.ts`; no
 * other file declares any. `pumphouse_*` are ours, in base units (seconds, bytes). `infra_lmstfy_*` are lmstfy's, with
 * its labels and buckets, so that its dashboards keep working: where this engine works differently, the help text says
 * what is counted. If both count the same, lmstfy's family shows the cells of ours: one addition counts for both.
 *
 * Each application has its own registries: several in one process (tests) must not share counters. Each family's
 * aggregator defines how the values of several API processes are combined; `ClusterTotals` applies it.
 */
export class Metrics {
  readonly registry = new Registry();
  /** lmstfy's families: shown only if `metrics.lmstfy_names` is on. */
  readonly lmstfyRegistry = new Registry();

  // jobs
  readonly jobsPublished = this.counter('jobs_published_total', 'Jobs published', QUEUE);
  readonly jobsLeased = this.counter(
    'jobs_leased_total',
    'Leases of jobs; a job counts once for each lease',
    QUEUE,
  );
  readonly jobsAcked = this.counter('jobs_acked_total', 'Jobs acknowledged', QUEUE);
  readonly jobsFailed = this.counter(
    'jobs_failed_total',
    'Jobs moved to the dead-letter queue: no tries left, or a worker failed them',
    QUEUE,
  );
  readonly jobsRetried = this.counter(
    'jobs_retried_total',
    'Jobs to be tried again: the lease expired, or a worker called retry',
    QUEUE,
  );
  readonly jobsReleased = this.counter(
    'jobs_released_total',
    'Jobs that workers gave back without using a try, by reason: no_handler (the worker has no handler for the job), other',
    [...QUEUE, 'reason'],
  );
  readonly jobsRespawned = this.counter('jobs_respawned_total', 'Dead jobs respawned', QUEUE);
  readonly jobsExpired = this.counter('jobs_expired_total', 'Jobs removed because their ttl had ended', POOL);
  readonly jobsPumped = this.counter(
    'jobs_pumped_total',
    'Jobs moved by the pump, by outcome: due (the delay ended), returned (the lease expired, the job is ready again), died ' +
      '(the lease expired, no tries left), expired (the ttl ended)',
    ['pool', 'outcome'],
  );
  readonly jobWait = this.seconds(
    'job_wait_seconds',
    'Seconds from the publish of a job to a lease of it, once for each lease; includes its delay and all earlier attempts',
    QUEUE,
    JOB_S,
    LMSTFY_JOB_MS,
  );
  readonly jobRun = this.seconds(
    'job_run_seconds',
    'Seconds from a lease to the acknowledgement under it. Not of expired leases, and of jobs without a history only if ' +
      'the process that gave the lease gets the acknowledgement',
    QUEUE,
    JOB_S,
  );
  readonly jobAck = this.seconds(
    'job_ack_seconds',
    'Seconds from the publish of a job to its acknowledgement; includes its delay and all attempts',
    QUEUE,
    JOB_S,
    LMSTFY_JOB_MS,
  );

  // leases
  readonly leasesUndone = this.counter(
    'leases_undone_total',
    'Leases undone because the answer did not reach the client: the job is ready again, without a try used',
    POOL,
  );
  readonly staleAcks = this.counter(
    'stale_acks_total',
    'Acknowledgements after the lease had expired, by kind: refused (the call named its lease), late (the job was waiting ' +
      'for its next attempt), possible (the job had a later lease)',
    ['pool', 'namespace', 'kind'],
  );
  readonly waiters = this.gauge('waiters', 'Waiting long polls of clients', POOL);

  // worker sessions
  readonly sessions = this.counter(
    'worker_session_changes_total',
    'Changes of worker sessions, by change: started, returned (a heartbeat after it was lost), ended (its worker stopped), lost (no ' +
      'heartbeat for the duration of its leases)',
    ['pool', 'namespace', 'change'],
  );

  // background loops
  readonly pumpLateness = this.seconds(
    'pump_lateness_seconds',
    'Seconds from the due time of a job to the pump round that moved it; the longest of each round',
    POOL,
    LATENESS_S,
  );
  readonly pumpFullRounds = this.counter(
    'pump_full_rounds_total',
    'Pump rounds that moved the maximum number of jobs',
    POOL,
  );
  readonly loopErrors = this.counter('loop_errors_total', 'Failed rounds of background loops', [
    'pool',
    'loop',
  ]);

  // Redis
  readonly scriptTime = this.seconds(
    'script_seconds',
    'Seconds from a script call to the reply of Redis, with repetitions, by script',
    ['pool', 'script'],
    SCRIPT_S,
  );
  readonly scriptItems = this.histogram({
    ...this.ours('script_items', 'Number of items in a script call, such as jobs or acknowledgements', [
      'pool',
      'script',
    ]),
    buckets: ITEMS,
  });

  // events
  readonly eventsWritten = this.counter(
    'events_written_total',
    'Events of publishes, leases and acknowledgements that were written to Redis, as there were subscribers',
    POOL,
  );
  readonly eventsDropped = this.counter(
    'events_dropped_total',
    'Events lost because Redis did not store them in time',
    POOL,
  );
  readonly eventStreams = this.gauge('event_streams', 'Open event streams', []);
  readonly eventsSent = this.counter('events_sent_total', 'Events sent to the clients of event streams', []);
  readonly eventStreamsEnded = this.counter(
    'event_streams_ended_total',
    'Ended event streams, by reason: gone (the client closed it), slow (the client did not read in time), refused (its token ' +
      'is no longer valid), drained (the server stops)',
    ['reason'],
  );

  // HTTP
  readonly httpRequests = this.counter(
    'http_requests_total',
    'Answers of the lmstfy API and the native API',
    [...ROUTE, 'code'],
  );
  readonly httpDuration = this.seconds(
    'http_request_duration_seconds',
    'Seconds from a request to its answer, of answers with a status below 300; a long poll includes its wait',
    ROUTE,
    HTTP_S,
    LMSTFY_HTTP_MS,
  );
  readonly httpRateLimited = this.counter(
    'http_rate_limited_total',
    'Requests rejected by the rate limit of their token; the label `token` has its first 4 characters, or `other` beyond 100 series of a namespace',
    ['pool', 'namespace', 'token', 'action'],
  );

  // HTTP push
  readonly pushedJobs = this.counter(
    'push_jobs_total',
    'Jobs pushed to a target, by outcome: ack, keep (the target acknowledges later), retry, release, fail, held (not sent: ' +
      'the circuit breaker of the origin is open)',
    ['pool', 'namespace', 'target', 'outcome'],
  );
  readonly pushBreakers = this.counter(
    'push_breakers_opened_total',
    'Openings of circuit breakers, because a target failed',
    ['pool', 'namespace', 'target'],
  );
  readonly pushTime = this.seconds(
    'push_seconds',
    'Seconds from the start of a request to a target, connecting included, to the last byte of the answer or to the ' +
      'failure',
    POOL,
    HTTP_S,
  );
  readonly pushInFlight = this.gauge('push_in_flight', 'Requests to targets in progress', []);

  readonly inFlight = this.gauge(
    'http_in_flight',
    'Requests in progress, without waiting long polls (pumphouse_waiters)',
    [],
  );
  readonly bodyBytes = this.gauge('http_body_bytes', 'Bytes of the bodies of requests in progress', []);
  readonly httpConnections = this.gauge('http_connections', 'Open connections of the API port', []);
  readonly refusals = this.counter(
    'refusals_total',
    'Rejections for overload, by reason: requests (in_flight, body_bytes), long polls (waiters, token_waiters), event streams ' +
      '(event_streams, token_event_streams), connections',
    ['reason'],
  );
  readonly quotaRefusals = this.counter(
    'quota_refusals_total',
    'Calls rejected by a quota, by kind: queues of a namespace, jobs of a queue, bytes of a namespace',
    ['kind'],
  );
  readonly unreadAnswers = this.counter(
    'unread_answers_total',
    'Connections closed because the client did not read its answer in time',
    [],
  );

  // lmstfy: HTTP
  readonly lmstfyHttpCodes = this.lmstfyCounter(
    'http_http_codes',
    'Answers by status code',
    [...ROUTE, 'code'],
    this.httpRequests,
  );
  readonly lmstfyHttpLatency = this.lmstfyTime(
    'http_latency_milliseconds',
    'Milliseconds from a request to its answer, of answers with a status below 300; a long poll includes its wait',
    ROUTE,
    LMSTFY_HTTP_MS,
    this.httpDuration,
  );
  readonly lmstfyRateLimit = this.lmstfyCounter(
    'http_rate_limit',
    'Requests rejected by the rate limit of their token; the label `token` has its first 4 characters, or `other` beyond 100 series of a namespace',
    ['pool', 'namespace', 'token', 'action'],
    this.httpRateLimited,
  );

  // lmstfy: jobs
  readonly lmstfyPublishJobs = this.lmstfyCounter('redis_publish_jobs', 'Jobs published');
  readonly lmstfyPoolAddJobs = this.lmstfyCounter(
    'redis_pool_add_jobs',
    'Job bodies stored: one for each published job',
    POOL,
    this.lmstfyPublishJobs,
  );
  readonly lmstfyPublishQueueJobs = this.lmstfyCounter(
    'redis_publish_queue_jobs',
    'Jobs published, by queue',
    QUEUE,
    this.jobsPublished,
  );
  readonly lmstfyConsumeJobs = this.lmstfyCounter(
    'redis_consume_multi_jobs',
    'Jobs consumed: one for each lease',
  );
  readonly lmstfyPoolGetJobs = this.lmstfyCounter(
    'redis_pool_get_jobs',
    'Job bodies read by consume: one for each lease; peeks do not count',
    POOL,
    this.lmstfyConsumeJobs,
  );
  readonly lmstfyQueuePopJobs = this.lmstfyCounter(
    'redis_queue_pop_jobs',
    'Jobs taken from the ready list: one for each lease',
    POOL,
    this.lmstfyConsumeJobs,
  );
  readonly lmstfyConsumeQueueJobs = this.lmstfyCounter(
    'redis_consume_queue_jobs',
    'Jobs consumed, by queue',
    QUEUE,
    this.jobsLeased,
  );
  readonly lmstfyPoolDeleteJobs = this.lmstfyCounter(
    'redis_pool_delete_jobs',
    'Job bodies deleted by acknowledgement',
  );
  readonly lmstfyTimerAddJobs = this.lmstfyCounter(
    'redis_timer_add_jobs',
    'Jobs with a timer: published with a delay, or leased',
  );
  readonly lmstfyTimerDueJobs = this.lmstfyCounter(
    'redis_timer_due_jobs',
    'Jobs moved by the pump: the delay ended, the lease expired, or the ttl ended',
  );
  readonly lmstfyTimerFullBatches = this.lmstfyCounter(
    'redis_timer_full_batches',
    'Pump rounds that moved the maximum number of jobs',
    POOL,
    this.pumpFullRounds,
  );
  readonly lmstfyDirectPushJobs = this.lmstfyCounter(
    'redis_queue_direct_push_jobs',
    'Jobs published without delay',
  );
  readonly lmstfyRespawnJobs = this.lmstfyCounter('redis_deadletter_respawn_jobs', 'Dead jobs respawned');
  readonly lmstfyJobElapsed = this.lmstfyTime(
    'redis_job_elapsed_ms',
    'Milliseconds from the publish of a job to a lease of it, once for each lease; includes its delay and all earlier attempts',
    QUEUE,
    LMSTFY_JOB_MS,
    this.jobWait,
  );
  readonly lmstfyJobAckElapsed = this.lmstfyTime(
    'redis_job_ack_elapsed_ms',
    'Milliseconds from the publish of a job to its acknowledgement; includes its delay and all attempts',
    QUEUE,
    LMSTFY_JOB_MS,
    this.jobAck,
  );

  // lmstfy: Redis
  readonly lmstfyRedisCalls = this.lmstfyCounter(
    'redis_qps',
    'Script calls to Redis, by pool (node) and script (command); a counter, as in lmstfy: use rate()',
    COMMAND,
  );
  readonly lmstfyRedisLatency = this.lmstfyTime(
    'redis_latency',
    'Milliseconds from a script call to the reply of Redis, with repetitions, by pool (node) and script (command)',
    COMMAND,
    LMSTFY_REDIS_MS,
  );

  private ours(name: string, help: string, labelNames: readonly string[]): FamilyOptions {
    return { name: `pumphouse_${name}`, help, labelNames, registry: this.registry };
  }

  private counter(name: string, help: string, labelNames: readonly string[]): CounterFamily {
    return new CounterFamily(this.ours(name, help, labelNames));
  }

  private gauge(name: string, help: string, labelNames: readonly string[]): GaugeFamily {
    return new GaugeFamily(this.ours(name, help, labelNames));
  }

  private histogram(options: HistogramOptions): HistogramFamily {
    return new HistogramFamily(options);
  }

  /** A histogram of milliseconds, shown in seconds. @param moreBounds lmstfy's buckets for the same values */
  private seconds(
    name: string,
    help: string,
    labelNames: readonly string[],
    buckets: readonly number[],
    moreBounds: readonly number[] = [],
  ): HistogramFamily {
    return this.histogram({ ...this.ours(name, help, labelNames), buckets, unit: 1_000, moreBounds });
  }

  private lmstfys(name: string, help: string, labelNames: readonly string[]): FamilyOptions {
    return { name: LMSTFY_PREFIX + name, help, labelNames, registry: this.lmstfyRegistry };
  }

  private lmstfyCounter(
    name: string,
    help: string,
    labelNames: readonly string[] = POOL,
    source?: CounterFamily,
  ): CounterFamily {
    return new CounterFamily(this.lmstfys(name, help, labelNames), source);
  }

  private lmstfyTime(
    name: string,
    help: string,
    labelNames: readonly string[],
    buckets: readonly number[],
    source?: HistogramFamily,
  ): HistogramFamily {
    return new HistogramFamily({ ...this.lmstfys(name, help, labelNames), buckets }, source);
  }
}
