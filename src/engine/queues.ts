import type { QueueEngine } from './engine.js';
import type { NativeJobs } from './native-jobs.js';
import type { Purge } from './purge/purge.js';
import type { Settings } from './settings/settings.js';
import type { StatisticsReading } from './stats/statistics.js';

/**
 * What may be asked of the queues of a pool: those of one Redis, or of two while one moves to the other. Callers cannot tell which, but by
 * what the migration page says. Errors and units are those of `QueueEngine`.
 */
export type Queues = Pick<
  QueueEngine,
  | 'publish'
  | 'publishMany'
  | 'republish'
  | 'findNote'
  | 'reserve'
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
  readonly stats: StatisticsReading;
  readonly purge: Pick<Purge, 'census' | 'run'>;
  readonly settings: Pick<Settings, 'defaults' | 'chosen' | 'set' | 'unset'>;
};
