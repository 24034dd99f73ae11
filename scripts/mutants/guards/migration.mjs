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
    test: "lmstfy's calls during a move › a pool that moves to another Redis › leases the jobs of the old pool first, in order, and then those of the new one",
  },
  {
    id: 'migrating-wait-ends-other',
    name: 'moving pools: a job found in one pool ends the wait in the other',
    off: 'remove',
    spec: MIGRATING,
    test: "lmstfy's calls during a move › a pool that moves to another Redis › wakes long polls when a job arrives in the %s pool",
  },
  {
    id: 'jobs-of-both-pools-are-bounded',
    name: 'migration: what both pools bring at one moment is not too many',
    off: { with: '$& + 1' },
    spec: MIGRATING,
    test: "lmstfy's calls during a move › a pool that moves to another Redis › leases %i to a long poll for as many jobs when both pools have a job at one moment",
  },
  {
    id: 'migrating-double-find-returns',
    name: 'moving pools: jobs that both pools found at one moment are released',
    off: 'remove',
    spec: MIGRATING,
    test: "lmstfy's calls during a move › a pool that moves to another Redis › leases %i to a long poll for as many jobs when both pools have a job at one moment",
  },
  {
    id: 'second-fetch-is-of-the-other-pool',
    name: 'migration: the second fetch reads the other pool',
    off: { with: 'one()' },
    spec: MIGRATING,
    test: "lmstfy's calls during a move › a pool that moves to another Redis › acknowledges a job in the pool that has it, and refuses a wrong lease",
  },
  {
    id: 'republish-stores-first',
    name: 'migration: republish stores the new job before the old one is removed',
    off: { behind: 1 },
    spec: MIGRATING,
    test: "lmstfy's calls during a move › a pool that moves to another Redis › T27: republishes a job into the new pool before it removes the former job from the old pool",
  },
  {
    id: 'id-is-free-in-both-pools',
    name: 'migration: an id must be free in both pools',
    off: 'false',
    spec: MIGRATING,
    test: "lmstfy's calls during a move › a pool that moves to another Redis › refuses a chosen id that a job in either pool has",
  },
  {
    id: 'retry-is-known-in-the-old-pool',
    name: 'migration: a publish that is sent again counts in the pool that has stored it',
    off: 'false',
    spec: MIGRATING,
    test: "lmstfy's calls during a move › a pool that moves to another Redis › stores nothing again that an earlier attempt stored in the old pool",
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
    test: "lmstfy's calls during a move › a pool that moves to another Redis › finds what was published under an idempotency key before the move, and stores nothing again",
  },
  {
    id: 'migrating-key-known-many',
    name: 'moving pools: an idempotency key of publish many is known in the new pool',
    off: 'remove',
    spec: MIGRATING,
    test: "lmstfy's calls during a move › a pool that moves to another Redis › finds what was published under an idempotency key before the move, and stores nothing again",
  },
  {
    id: 'old-pool-refuses-another-request',
    name: 'migration: another request under a key of the old pool is refused',
    off: { replace: 'return null;' },
    spec: MIGRATING,
    test: "lmstfy's calls during a move › a pool that moves to another Redis › refuses another request under an idempotency key of the old pool, and stores nothing",
  },
  {
    id: 'migrating-key-durability',
    name: 'moving pools: a record of the old pool is as durable as requested',
    off: 'remove',
    spec: MIGRATING,
    test: "lmstfy's calls during a move › a pool that moves to another Redis › uses the record of an idempotency key in the old pool only if it is durable enough there",
  },
  {
    id: 'moves-in-a-chain',
    name: 'moving pools: the quotas of a pool hold in those to which it moves by way of another one',
    off: { with: '[next]' },
    spec: 'test/api/limits.spec.ts',
    test: 'quotas of a namespace › apply in each pool to which theirs moves by way of another one',
  },
];
