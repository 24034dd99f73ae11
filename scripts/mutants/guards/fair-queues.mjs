const SPEC = 'test/engine/fair-queues.spec.ts';

/**
 * Fair queues: each key gets its share, whatever its backlog and however it publishes.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const FAIR_QUEUES = [
  {
    id: 'lease-costs-a-turn',
    name: 'fair queues: a lease raises the turn of its key',
    off: '0',
    spec: SPEC,
    test: 'a fair queue › serves fair keys in turns, whatever their backlogs',
  },
  {
    id: 'fair-lists-of-types-cost',
    name: 'fair queues: a script opens a bounded number of lists of types',
    off: 'remove',
    spec: 'test/engine/fair-types.spec.ts',
    test: 'a fair queue that is leased by many types › takes so many lists of types for one job into account, and gives all jobs in the end',
  },
  {
    id: 'idle-key-gets-no-credit',
    name: 'fair queues: a key that had no jobs starts at the turn that was served last',
    off: '0',
    spec: SPEC,
    test: 'a fair queue › gives no credit to a key that had no jobs',
  },
  {
    id: 'emptied-key-keeps-its-turn',
    name: 'fair queues: a key whose last job was leased keeps its turn',
    off: 'false',
    spec: SPEC,
    test: 'a fair queue › remembers the turn of a key whose only job is leased, so that it does not come first again',
  },
  {
    id: 'idle-queue-keeps-no-turns',
    name: 'fair queues: keys of a queue without ready jobs take no memory',
    off: 'false',
    spec: SPEC,
    test: 'a fair queue › forgets the turns of its keys when no job is ready, and not before',
  },
  {
    id: 'fair-list-is-also-by-type',
    name: 'fair queues: a job is found by its type, too',
    off: 'false',
    spec: SPEC,
    test: 'a fair queue › gives jobs of some types in turns, too',
  },
  {
    id: 'undone-lease-is-paid-back',
    name: 'fair queues: a lease that is undone costs no turn',
    off: 'false',
    spec: SPEC,
    test: 'a fair queue › pays a lease back that is undone',
  },
  {
    id: 'fair-queues-need-their-format',
    name: 'fair queues: an older store has none',
    off: 'false',
    spec: 'test/engine/data-format.spec.ts',
    test: 'data formats › a server › raises the format when it is told to, and not while a server of an older version is connected',
  },
];
