/** The queue as a library: an engine over a Redis pool, without HTTP. */
export type {
  DeadLetterCalls,
  Engine,
  EngineCalls,
  EventCalls,
  JobCalls,
  PurgeCalls,
  RecurringCalls,
  SessionCalls,
  SettingCalls,
  SettleCalls,
  TargetCalls,
} from './engine.js';
export type { Queues, QueueView } from './queues/queues.js';
export { PoolEngine, type EngineOptions } from './pool-engine.js';
export type { EventFeed } from './events/feed.js';
export type { EventListener } from './events/follower.js';
export { EVENT_NAMES, type EventName, type JobEvent } from '../domain/job/job-event.js';
export { Engines } from './engines.js';
export type { Census, Purged } from './maintenance/purge.js';
export type { ChosenSettings } from './queues/settings.js';
export type { SettingKey, SettingValues } from './queues/known-settings.js';
export { BINS, type Bin } from './stats/bins.js';
export type { StatisticsOptions } from './stats/statistics.js';
export type { Tally } from './stats/tally.js';
export type { Timers } from './timers/timers.js';
export type { LoopStatus } from '../domain/loop.js';
export { silentObserver, type EngineObserver, type PumpCounts } from './core/observer.js';
export type { Cancelled, CancelledOne, CancelRequest, RemoveRequest } from './jobs/job-canceller.js';
export type { Changed, JobChange } from './jobs/job-updater.js';
export type { PeekedJob } from './core/decode.js';
export type { JobState } from '../domain/job/states.js';
export { RedisPool } from '../redis/pool.js';
export type { PoolOptions, PoolTarget, NodeAddress } from '../domain/pool.js';
export type {
  Ack,
  AckResult,
  DeadLetterHead,
  ImportedJob,
  ImportResult,
  LeasedJob,
  NewJob,
  PublishOptions,
  QueueCounts,
  Receipt,
  LeaseRequest,
  StoredJob,
} from '../domain/job/job.js';
export type { Durability } from '../domain/durability.js';
export type { Quotas } from '../domain/job/quotas.js';
export { DependentsError, QueueError, UnconfirmedError, type ErrorCode } from '../domain/errors.js';
export type { Log } from '../domain/log.js';
