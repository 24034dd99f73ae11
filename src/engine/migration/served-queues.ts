import type { QueueEngine } from '../engine.js';
import type { ServedRecords } from '../served-records.js';
import type { NativeJobs } from '../native-jobs.js';
import type { Purge } from '../maintenance/purge.js';
import type { Settings } from '../queues/settings.js';
import type { StatisticsReading } from '../stats/statistics.js';

/**
 * Operations on the queues of a pool: of one Redis, or of two during a migration. Callers see no difference, except for
 * those listed in docs/how-to/moving-a-pool.md. Errors and units are those of `QueueEngine`.
 */
export type Queues = Pick<
  QueueEngine,
  | 'publish'
  | 'publishMany'
  | 'republish'
  | 'findIdempotencyRecord'
  | 'lease'
  | 'undo'
  | 'ack'
  | 'ackMany'
  | 'peekQueue'
  | 'peekJob'
  | 'counts'
  | 'size'
  | 'destroy'
  | 'deadLetterHead'
  | 'respawn'
  | 'deleteDead'
  | 'namespaces'
  | 'queues'
  | 'pumpNow'
  | 'tidyNow'
  | 'isUp'
> & {
  readonly native: NativeJobs;
  /** Settings of queues, targets, recurring jobs and workers. */
  readonly records: ServedRecords;
  readonly stats: StatisticsReading;
  readonly purge: Pick<Purge, 'census' | 'run'>;
  readonly settings: Pick<Settings, 'defaults' | 'chosen' | 'set' | 'unset'>;
};
