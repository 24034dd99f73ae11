import { Registry } from 'prom-client';
import { CounterFamily, GaugeFamily, HistogramFamily } from './series.js';

/** `count` bounds, each `factor` times the previous one. */
function exponential(start: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => Number((start * factor ** i).toPrecision(12)));
}

/** lmstfy's buckets, so that quantiles of existing dashboards keep their meaning. */
const HTTP_MS = exponential(15, 2.5, 9);
const JOB_MS = exponential(15, 3.5, 7);
const REDIS_MS = exponential(1, 2, 16);
/** Our buckets, in seconds: from the latency of an idle server to job waits of an overloaded one. */
const WAIT_S = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400,
];
const LATENESS_S = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600];
const SCRIPT_S = [0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2];
const ITEMS = [1, 2, 4, 8, 16, 32, 48, 64];

const POOL = ['pool'];
const QUEUE = ['pool', 'namespace', 'queue'];

/**
 * All metrics that are counted while requests are served. The gauges that only a scrape reads are in `gauges.ts`; no
 * other file declares any. `infra_lmstfy_*` are lmstfy's families, with its labels and buckets, so that its dashboards
 * keep working: where this engine works differently, the help text says what is counted. `pumphouse_*` are ours; their
 * times are in seconds.
 *
 * Each application has its own registry: several in one process (tests) must not share counters. Each family's
 * aggregator defines how the values of several worker processes are combined; `MetricsService.merge` applies it.
 */
export class Metrics {
  readonly registry = new Registry();

  // lmstfy: HTTP
  readonly httpLatency = this.histogram(
    'infra_lmstfy_http_latency_milliseconds',
    'Time to answer, in milliseconds; successful requests only (a long poll counts its wait)',
    ['pool', 'namespace', 'api', 'method'],
    HTTP_MS,
  );
  readonly httpCodes = this.counter('infra_lmstfy_http_http_codes', 'Responses by status code', [
    'pool',
    'namespace',
    'api',
    'method',
    'code',
  ]);
  readonly rateLimit = this.counter(
    'infra_lmstfy_http_rate_limit',
    'Requests refused by a limit; token shows the first 4 characters only',
    ['pool', 'namespace', 'token', 'action'],
  );

  // lmstfy: the queue
  readonly publishJobs = this.redisCounter('publish_jobs', 'Jobs published');
  readonly publishQueueJobs = this.redisCounter('publish_queue_jobs', 'Jobs published, by queue', QUEUE);
  readonly consumeMultiJobs = this.redisCounter('consume_multi_jobs', 'Jobs given to consumers (leases)');
  readonly consumeQueueJobs = this.redisCounter(
    'consume_queue_jobs',
    'Jobs given to consumers, by queue',
    QUEUE,
  );
  readonly poolAddJobs = this.redisCounter('pool_add_jobs', 'Job bodies stored: one per job published');
  readonly poolGetJobs = this.redisCounter(
    'pool_get_jobs',
    'Job bodies read to be given out: one per lease (peeks are not counted)',
  );
  readonly poolDeleteJobs = this.redisCounter('pool_delete_jobs', 'Job bodies deleted by acknowledgement');
  readonly timerAddJobs = this.redisCounter(
    'timer_add_jobs',
    'Jobs put under a clock: published with a delay, or leased',
  );
  readonly timerDueJobs = this.redisCounter(
    'timer_due_jobs',
    'Jobs that the pump moved: delays that ended, leases that ran out, jobs that had expired',
  );
  readonly timerFullBatches = this.redisCounter(
    'timer_full_batches',
    'Pump rounds that moved as many jobs as one may',
  );
  readonly queueDirectPushJobs = this.redisCounter('queue_direct_push_jobs', 'Jobs published without delay');
  readonly queuePopJobs = this.redisCounter('queue_pop_jobs', 'Jobs taken from their queue: one per lease');
  readonly deadletterRespawnJobs = this.redisCounter('deadletter_respawn_jobs', 'Dead jobs made ready again');
  readonly jobElapsed = this.histogram(
    'infra_lmstfy_redis_job_elapsed_ms',
    'Milliseconds from publish to lease',
    QUEUE,
    JOB_MS,
  );
  readonly jobAckElapsed = this.histogram(
    'infra_lmstfy_redis_job_ack_elapsed_ms',
    'Milliseconds from publish to acknowledgement',
    QUEUE,
    JOB_MS,
  );
  readonly redisCalls = this.redisCounter(
    'qps',
    'Script calls to Redis, by pool (node) and script (command); a counter, as in lmstfy: take its rate',
    ['node', 'command', 'status'],
  );
  readonly redisLatency = this.histogram(
    'infra_lmstfy_redis_latency',
    'Round trip of script calls to Redis, in milliseconds, by pool (node) and script (command)',
    ['node', 'command', 'status'],
    REDIS_MS,
  );

  // ours: the engine
  readonly jobWait = this.histogram('pumphouse_job_wait_seconds', 'Time from publish to lease', POOL, WAIT_S);
  readonly jobAck = this.histogram(
    'pumphouse_job_ack_seconds',
    'Time from publish to acknowledgement',
    POOL,
    WAIT_S,
  );
  readonly jobRun = this.histogram(
    'pumphouse_job_run_seconds',
    'Time from lease to acknowledgement, where one process saw both',
    POOL,
    WAIT_S,
  );
  readonly failedJobs = this.counter(
    'pumphouse_failed_jobs_total',
    'Jobs that went to the dead letter',
    POOL,
  );
  readonly retriedJobs = this.counter(
    'pumphouse_retried_jobs_total',
    'Jobs that went back to be tried again: their leases ran out, or a worker gave them up',
    POOL,
  );
  readonly pumpLateness = this.histogram(
    'pumphouse_pump_lateness_seconds',
    'How late the latest job of a pump round was moved',
    POOL,
    LATENESS_S,
  );
  readonly pumpedJobs = this.counter('pumphouse_pumped_jobs_total', 'Jobs that the pump moved, by outcome', [
    'pool',
    'outcome',
  ]);
  readonly expiredJobs = this.counter(
    'pumphouse_expired_jobs_total',
    'Jobs that expired and were removed',
    POOL,
  );
  readonly undoneLeases = this.counter(
    'pumphouse_undone_leases_total',
    'Leases given back because their answers reached nobody',
    POOL,
  );
  readonly staleAcks = this.counter(
    'pumphouse_stale_ack_total',
    'Acknowledgements of owners whose lease had run out: refused (it named its lease), late (the job was waiting for its next try), ' +
      'possible (the job was under a later lease)',
    ['pool', 'namespace', 'kind'],
  );
  readonly waiters = this.gauge('pumphouse_waiters', 'Long polls that wait now', POOL);
  readonly scriptItems = this.histogram(
    'pumphouse_script_items',
    'Items that travelled in one script call',
    ['pool', 'script'],
    ITEMS,
  );
  readonly scriptTime = this.histogram(
    'pumphouse_script_seconds',
    'Round trip of script calls to Redis',
    ['pool', 'script'],
    SCRIPT_S,
  );
  readonly loopErrors = this.counter('pumphouse_loop_errors_total', 'Failed rounds of background loops', [
    'pool',
    'loop',
  ]);

  // ours: events
  readonly eventsWritten = this.counter(
    'pumphouse_events_written_total',
    'Events of publishes, leases and acknowledgements that were written because somebody listens',
    POOL,
  );
  readonly eventsDropped = this.counter(
    'pumphouse_events_dropped_total',
    'Events that were left out: Redis did not take them in time',
    POOL,
  );
  readonly eventStreams = this.gauge('pumphouse_event_streams', 'Open streams of events', []);
  readonly eventsSent = this.counter('pumphouse_events_sent_total', 'Events sent to listeners', []);
  readonly eventStreamsEnded = this.counter(
    'pumphouse_event_streams_ended_total',
    'Ended streams: the client left (gone), did not take its events in time (slow), its token no longer works (refused), the server stops (drained)',
    ['reason'],
  );

  // ours: HTTP push
  readonly pushedJobs = this.counter(
    'pumphouse_push_jobs_total',
    'Jobs that were pushed to a target, by what became of them; held: not sent, because the breaker of their origin is open',
    ['pool', 'namespace', 'target', 'outcome'],
  );
  readonly pushBreakers = this.counter(
    'pumphouse_push_breakers_opened_total',
    'How often a breaker was opened because the target failed',
    ['pool', 'namespace', 'target'],
  );
  readonly pushTime = this.histogram(
    'pumphouse_push_seconds',
    'Time of a request to a target, from the connection to the last byte of the answer, or to the failure',
    POOL,
    WAIT_S,
  );
  readonly pushInFlight = this.gauge(
    'pumphouse_push_in_flight',
    'Requests to targets that are under way',
    [],
  );

  // ours: bounds
  readonly inFlight = this.gauge(
    'pumphouse_http_in_flight',
    'Requests that were let in and are not answered; long polls that wait are in pumphouse_waiters',
    [],
  );
  readonly bodyBytes = this.gauge(
    'pumphouse_http_body_bytes',
    'Bytes of the bodies of requests that were let in and are not answered',
    [],
  );
  readonly httpConnections = this.gauge('pumphouse_http_connections', 'Open connections of the API port', []);
  readonly refusals = this.counter(
    'pumphouse_refusals_total',
    'Refused for want of room: requests (in_flight, body_bytes), long polls (waiters, token_waiters) and connections',
    ['reason'],
  );
  readonly quotaRefusals = this.counter(
    'pumphouse_quota_refusals_total',
    'Calls that were refused because a namespace has as many queues, a queue as many jobs, or a namespace as many bytes as it may',
    ['kind'],
  );
  readonly unreadAnswers = this.counter(
    'pumphouse_unread_answers_total',
    'Connections that were ended because the client did not take its answer in time',
    [],
  );

  private counter(name: string, help: string, labelNames: readonly string[]): CounterFamily {
    return new CounterFamily({ name, help, labelNames, registry: this.registry });
  }

  private redisCounter(name: string, help: string, labelNames: readonly string[] = POOL): CounterFamily {
    return this.counter(`infra_lmstfy_redis_${name}`, help, labelNames);
  }

  private gauge(name: string, help: string, labelNames: readonly string[]): GaugeFamily {
    return new GaugeFamily({ name, help, labelNames, registry: this.registry });
  }

  private histogram(
    name: string,
    help: string,
    labelNames: readonly string[],
    buckets: readonly number[],
  ): HistogramFamily {
    return new HistogramFamily({ name, help, labelNames, buckets, registry: this.registry });
  }
}
