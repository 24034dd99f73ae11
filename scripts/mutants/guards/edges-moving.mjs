const STATISTICS = 'test/engine/statistics.spec.ts';

/**
 * Purges of namespaces, and moves of pools.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const MOVING = [
  {
    id: 'purge-is-remembered',
    name: 'purge: its time is kept, so that servers write nothing from before it',
    off: 'remove',
    spec: STATISTICS,
    test: 'statistics › T66: have nothing of a purged namespace that another server had not written yet',
  },
  {
    id: 'statistics-of-a-purged-namespace',
    name: 'purge: statistics that were counted before it are not written after it',
    off: 'false',
    spec: STATISTICS,
    test: 'statistics › T66: have nothing of a purged namespace that another server had not written yet',
  },
  {
    id: 'replies-read-after-a-purge',
    name: 'purge: statistics are as old as the reply that they come from may be',
    off: { with: '0' },
    spec: STATISTICS,
    test: 'statistics › T66: have nothing of a purged namespace in an answer that a server reads after the purge',
  },
  {
    id: 'events-of-a-purged-namespace',
    name: 'purge: events from before it are not written after it',
    off: 'false',
    spec: 'test/engine/events.spec.ts',
    test: 'events › T66: have nothing of a purged namespace that a server had not written yet',
  },
];
