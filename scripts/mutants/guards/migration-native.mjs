const NATIVE = 'test/engine/migrating.spec.ts';

/**
 * The native API while a pool moves: each job where it is, and nothing that two stores cannot keep.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const NATIVE_MIGRATION = [
  {
    id: 'migrating-unique-waits',
    name: 'moving pools: unique keys are refused until the old pool is empty',
    off: 'remove',
    spec: NATIVE,
    test: 'native calls during a move › the native API while a pool moves › rejects %s during the move: it cannot be kept across two stores',
  },
  {
    id: 'migrating-dependencies-wait',
    name: 'moving pools: dependencies are refused until the old pool is empty',
    off: 'remove',
    spec: NATIVE,
    test: 'native calls during a move › the native API while a pool moves › rejects %s during the move: it cannot be kept across two stores',
  },
  {
    id: 'native-id-is-free-in-both-pools',
    name: 'native migration: an id must be free in both pools',
    off: 'remove',
    spec: NATIVE,
    test: 'native calls during a move › the native API while a pool moves › requires a chosen id to be free in both pools',
  },
  {
    id: 'native-retry-is-known-in-the-old-pool',
    name: 'native migration: a publish that is sent again counts in the pool that has stored it',
    off: 'false',
    spec: NATIVE,
    test: 'native calls during a move › the native API while a pool moves › stores nothing again that an earlier attempt stored in the old pool',
  },
  {
    id: 'old-pool-knows-other-jobs',
    name: 'native migration: a job that the new pool does not know is sought in the old one',
    off: { with: '() => true' },
    spec: NATIVE,
    test: 'native calls during a move › the native API while a pool moves › leases the jobs of the old pool first, and settles each job in its pool',
  },
  {
    id: 'migrating-unavailable-not-gone',
    name: 'moving pools: a job of an unavailable pool is not reported as gone',
    off: 'remove',
    spec: NATIVE,
    test: 'native calls during a move › the native API while a pool moves › drains the old pool while the new one is unreachable',
  },
];
