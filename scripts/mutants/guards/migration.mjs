const MIGRATING = 'test/engine/migrating.spec.ts';

/**
 * Moving a pool to another Redis: the old one first, never none, and nothing given to one who has his job already.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const MIGRATION = [
  {
    id: 'old-pool-is-drained-first',
    name: 'migration: consumers drain the old pool first',
    off: 'true',
    spec: MIGRATING,
    test: 'a pool that migrates › a pool that moves to another Redis › leases the jobs of the old pool first, in order, and then those of the new one',
  },
  {
    id: 'migrating-wait-ends-other',
    name: 'moving pools: a job found in one pool ends the wait in the other',
    off: 'remove',
    spec: MIGRATING,
    test: 'a pool that migrates › a pool that moves to another Redis › wakes long polls when a job arrives in the %s pool',
  },
  {
    id: 'jobs-of-both-pools-are-bounded',
    name: 'migration: what both pools bring at one moment is not too many',
    off: { with: '$& + 1' },
    spec: MIGRATING,
    test: 'a pool that migrates › a pool that moves to another Redis › leases %i to one long poll when both pools have a job at one moment',
  },
  {
    id: 'migrating-double-find-returns',
    name: 'moving pools: jobs that both pools found at one moment are released',
    off: 'remove',
    spec: MIGRATING,
    test: 'a pool that migrates › a pool that moves to another Redis › leases %i to one long poll when both pools have a job at one moment',
  },
  {
    id: 'second-fetch-is-of-the-other-pool',
    name: 'migration: the second fetch reads the other pool',
    off: { with: 'one()' },
    spec: MIGRATING,
    test: 'a pool that migrates › a pool that moves to another Redis › acknowledges a job in its pool, also by its lease',
  },
  {
    id: 'republish-stores-first',
    name: 'migration: republish stores the new job before the old one is removed',
    off: { behind: 1 },
    spec: MIGRATING,
    test: 'a pool that migrates › a pool that moves to another Redis › T27: puts the new job in its pool before it removes the old one',
  },
  {
    id: 'id-is-free-in-both-pools',
    name: 'migration: an id must be free in both pools',
    off: 'false',
    spec: MIGRATING,
    test: 'a pool that migrates › a pool that moves to another Redis › refuses an id of a job in either pool',
  },
  {
    id: 'migrating-no-circle',
    name: 'moving pools: pools cannot move in a circle',
    off: 'remove',
    spec: 'src/config/load.spec.ts',
    test: 'settings that belong together › are refused if pools move to each other in a circle',
  },
  {
    id: 'migrating-key-known',
    name: 'moving pools: an idempotency key of the old pool is known in the new one',
    off: { with: '{}' },
    spec: MIGRATING,
    test: 'a pool that migrates › a pool that moves to another Redis › finds what was published under a key before the move, and stores nothing again',
  },
  {
    id: 'migrating-key-known-many',
    name: 'moving pools: an idempotency key of publish many is known in the new pool',
    off: 'remove',
    spec: MIGRATING,
    test: 'a pool that migrates › a pool that moves to another Redis › finds what was published under a key before the move, and stores nothing again',
  },
  {
    id: 'old-pool-refuses-another-request',
    name: 'migration: another request under a key of the old pool is refused',
    off: { replace: 'return null;' },
    spec: MIGRATING,
    test: 'a pool that migrates › a pool that moves to another Redis › refuses another request under a key of the old pool, and changes nothing',
  },
  {
    id: 'migrating-key-durability',
    name: 'moving pools: a record of the old pool is as durable as requested',
    off: 'remove',
    spec: MIGRATING,
    test: 'a pool that migrates › a pool that moves to another Redis › uses the record of a key in the old pool only if it is durable enough there',
  },
];
