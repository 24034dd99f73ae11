const SPEC = 'test/engine/linger.spec.ts';
const LONG_POLLS = 'src/engine/lease/long-poll-manager.spec.ts';
const SUITE = 'a lease request that lingers';
const POLLS = 'a long poll that lingers';

/**
 * Lease requests that linger: nothing is leased before the answer, and no other request gets its jobs later.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const LINGER = [
  {
    id: 'too-few-are-not-leased',
    name: 'linger: fewer jobs than the minimum are not leased',
    off: 'false',
    spec: SPEC,
    test: `${SUITE} › changes nothing in Redis while it finds too few jobs`,
  },
  {
    id: 'lingering-request-registers',
    name: 'linger: a server with too few jobs is registered for the next one',
    off: 'false',
    spec: SPEC,
    test: `${SUITE} › registers its server for the next job, of all its queues`,
  },
  {
    id: 'unordered-queue-wakes-a-lingering-request',
    name: 'linger: a queue whose order by type was not stored wakes the server',
    off: 'false',
    spec: SPEC,
    test: `${SUITE} › registers its server for each type, and in queues that are not ordered by type yet`,
  },
  {
    id: 'full-answer-does-not-linger',
    name: 'linger: jobs that fill an answer are leased, however few',
    off: 'true',
    spec: SPEC,
    test: `${SUITE} › leases at once what fills an answer, also if it is less than its minimum`,
  },
  {
    id: 'linger-ends',
    name: 'linger: a request takes the jobs that are there at its end',
    off: 'remove',
    spec: LONG_POLLS,
    test: `${POLLS} › takes what is there when its time is over`,
  },
  {
    id: 'linger-begins-again',
    name: 'linger: a request whose jobs went to others lingers again',
    off: { with: 'waiter.request' },
    spec: LONG_POLLS,
    test: `${POLLS} › lingers again when there is no job any more`,
  },
  {
    id: 'too-few-are-not-none',
    name: 'linger: a plain request fetches the jobs that are too few for another',
    off: 'true',
    spec: LONG_POLLS,
    test: `${POLLS} › does not make a queue with too few jobs count as empty`,
  },
  {
    id: 'lingering-request-takes-no-place',
    name: 'linger: a wake-up serves plain requests behind those that linger',
    off: 'remove',
    spec: LONG_POLLS,
    test: `${POLLS} › takes no place of a plain request in a burst`,
  },
  {
    id: 'recheck-asks-for-lingering-requests',
    name: 'linger: requests that linger look again each second',
    off: 'remove',
    spec: LONG_POLLS,
    test: `${POLLS} › survives a fetch that fails, and looks again within a second`,
  },
  {
    id: 'moving-linger-waits-for-both',
    name: 'linger: while a pool moves, the old pool does not hold up the new one',
    off: 'false',
    spec: 'test/engine/migrating.spec.ts',
    test: "lmstfy's calls during a move › a pool that moves to another Redis › lingers in each pool for itself, and leases from one that has the minimum",
  },
];
