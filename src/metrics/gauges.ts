import type { Provider } from '@nestjs/common';
import { makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Aggregator } from 'prom-client';
import { LMSTFY_PREFIX, type Metrics } from './metrics.js';

/** Declaration of a gauge. The aggregator combines the values of several processes; default `sum`. */
interface ColdGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly aggregator?: Aggregator;
}

const POOL = ['pool'] as const;
const QUEUE = ['pool', 'namespace', 'queue'] as const;

/** Label names of these gauges, for typing. */
export type PoolLabel = (typeof POOL)[number];
export type QueueLabel = (typeof QUEUE)[number];

/**
 * The gauges that only a scrape sets. They are prom-client's own and are injected by name:
 * `@InjectMetric(GAUGES.redisUp.name)`. See `Metrics` for names and texts.
 */
export const GAUGES = {
  // queues
  oldestReadyAge: {
    name: 'pumphouse_queue_oldest_ready_age_seconds',
    help: 'Time since the oldest ready job was published, 0 if none is ready',
    labelNames: QUEUE,
    aggregator: 'max',
  },
  readyJobs: { name: 'pumphouse_queue_ready_jobs', help: 'Ready jobs', labelNames: QUEUE },
  deadJobs: {
    name: 'pumphouse_queue_dead_jobs',
    help: 'Dead jobs: in the dead-letter queue',
    labelNames: QUEUE,
  },
  scheduledJobs: {
    name: 'pumphouse_queue_scheduled_jobs',
    help: 'Scheduled jobs: not due yet',
    labelNames: QUEUE,
  },
  leasedJobs: {
    name: 'pumphouse_queue_leased_jobs',
    help: 'Leased jobs',
    labelNames: QUEUE,
  },
  blockedJobs: {
    name: 'pumphouse_queue_blocked_jobs',
    help: 'Blocked jobs: they wait for other jobs, stuck ones included',
    labelNames: QUEUE,
  },
  stuckJobs: {
    name: 'pumphouse_queue_stuck_jobs',
    help: 'Stuck jobs: blocked jobs with a failed dependency',
    labelNames: QUEUE,
  },
  heldJobs: {
    name: 'pumphouse_queue_held_jobs',
    help: 'Held jobs: their concurrency key is at its limit, or the breaker of their push origin is open',
    labelNames: QUEUE,
  },
  pausedQueues: {
    name: 'pumphouse_queue_paused',
    help: '1 if the queue is paused, else 0; of `other`, how many are',
    labelNames: QUEUE,
  },
  queueWorkers: {
    name: 'pumphouse_queue_workers',
    help: 'Worker sessions that are not lost and lease from the queue',
    labelNames: QUEUE,
  },
  queues: { name: 'pumphouse_queues', help: 'Queues', labelNames: POOL },
  sessions: {
    name: 'pumphouse_worker_sessions',
    help: 'Worker sessions that are not lost',
    labelNames: POOL,
  },
  gaugesAge: {
    name: 'pumphouse_queue_gauges_age_seconds',
    help: 'Time since the queue gauges were read from Redis; it grows while the pool does not answer',
    labelNames: POOL,
    aggregator: 'max',
  },

  // pools
  redisUp: {
    name: 'pumphouse_redis_up',
    help: '1 if Redis answers every process of the server, else 0',
    labelNames: POOL,
    aggregator: 'min',
  },
  degraded: {
    name: 'pumphouse_degraded',
    help: '1 for each reason why the pool is degraded',
    labelNames: ['pool', 'reason'],
    aggregator: 'max',
  },

  // the Redis of a pool; set by the one process that serves the metrics
  redisUsedMemory: {
    name: 'pumphouse_redis_used_memory_bytes',
    help: 'used_memory of Redis',
    labelNames: POOL,
  },
  redisMaxMemory: {
    name: 'pumphouse_redis_max_memory_bytes',
    help: 'maxmemory of Redis, 0 = no limit',
    labelNames: POOL,
  },
  redisClients: { name: 'pumphouse_redis_clients', help: 'Clients connected to Redis', labelNames: POOL },
  redisKeys: { name: 'pumphouse_redis_keys', help: 'Keys in all databases of Redis', labelNames: POOL },

  // lmstfy: the queue
  timerSizes: {
    name: 'infra_lmstfy_redis_timer_sizes',
    help: 'Jobs with a timer: scheduled and leased',
    labelNames: POOL,
  },
  queueSizes: { name: 'infra_lmstfy_redis_queue_sizes', help: 'Ready jobs', labelNames: QUEUE },
  deadletterSizes: { name: 'infra_lmstfy_redis_deadletter_sizes', help: 'Dead jobs', labelNames: QUEUE },

  // lmstfy: the Redis behind a pool. Set by the one process that serves the metrics.
  maxMemory: {
    name: 'infra_lmstfy_redis_max_mem_bytes',
    help: 'maxmemory of Redis, 0 = no limit',
    labelNames: POOL,
  },
  usedMemory: { name: 'infra_lmstfy_redis_used_mem_bytes', help: 'used_memory of Redis', labelNames: POOL },
  connections: {
    name: 'infra_lmstfy_redis_connections',
    help: 'Clients connected to Redis',
    labelNames: POOL,
  },
  blockingConnections: {
    name: 'infra_lmstfy_redis_blocking_connections',
    help: 'Clients blocked in Redis; none of Pumphouse, whose long polls use no connection',
    labelNames: POOL,
  },
  totalKeys: {
    name: 'infra_lmstfy_redis_total_keys',
    help: 'Keys in all databases of Redis',
    labelNames: POOL,
  },
  totalTtlKeys: {
    name: 'infra_lmstfy_redis_total_ttl_keys',
    help: 'Keys with an expiry in all databases of Redis',
    labelNames: POOL,
  },
} as const satisfies Readonly<Record<string, ColdGauge>>;

/** A provider for each gauge, in the application's own registries. */
export function gaugeProviders({ registry, lmstfyRegistry }: Metrics): Provider[] {
  return Object.values<ColdGauge>(GAUGES).map((gauge) =>
    makeGaugeProvider({
      ...gauge,
      registers: [gauge.name.startsWith(LMSTFY_PREFIX) ? lmstfyRegistry : registry],
    }),
  );
}
