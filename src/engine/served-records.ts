import type { ExtendedPath } from './extended-path.js';

/** What a pool has beside its jobs, as callers read and change it. */
export interface ServedRecords {
  readonly targets: Pick<ExtendedPath['targets'], 'now' | 'read' | 'change' | 'push' | 'ofQueues'>;
  readonly controls: Pick<
    ExtendedPath['controls'],
    'settings' | 'change' | 'pause' | 'resume' | 'drain' | 'forget'
  >;
  readonly queuePurger: Pick<ExtendedPath['queuePurger'], 'count' | 'purge'>;
  readonly recurrings: Pick<
    ExtendedPath['recurrings'],
    | ('set' | 'change' | 'pause' | 'resume' | 'run' | 'next' | 'nextOf' | 'preview')
    | ('find' | 'get' | 'list' | 'countByQueue' | 'remove')
  >;
  readonly workers: Pick<
    ExtendedPath['workers'],
    | ('list' | 'find' | 'deregister' | 'heartbeat' | 'quiet' | 'stop' | 'endWaits')
    | ('awaitedQueues' | 'stalledByQueue')
  >;
}
