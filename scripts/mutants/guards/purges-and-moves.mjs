const MOVING_SPEC = 'test/engine/moving.spec.ts';
const STATISTICS = 'test/engine/statistics.spec.ts';

/**
 * Purges of namespaces, and moves of pools.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const PURGES_AND_MOVES = [
  {
    id: 'purge-is-remembered',
    name: 'purge: its time is kept, so that servers write nothing from before it',
    off: 'remove',
    spec: STATISTICS,
    test: 'statistics › T66: are not written after a purge if another server counted them before the purge',
  },
  {
    id: 'statistics-of-a-purged-namespace',
    name: 'purge: statistics that were counted before it are not written after it',
    off: 'false',
    spec: STATISTICS,
    test: 'statistics › T66: are not written after a purge if another server counted them before the purge',
  },
  {
    id: 'replies-read-after-a-purge',
    name: 'purge: statistics are as old as the reply that they come from may be',
    off: { with: '0' },
    spec: STATISTICS,
    test: 'statistics › T66: are not affected by an answer from before a purge that a server reads after the purge',
  },
  {
    id: 'events-of-a-purged-namespace',
    name: 'purge: events from before it are not written after it',
    off: 'false',
    spec: 'test/engine/events.spec.ts',
    test: 'events › T66: are not written after a purge if they are from before the purge',
  },
  {
    id: 'publishes-list-their-queue',
    name: 'statistics: a queue to which jobs are only published is listed',
    off: 'remove',
    spec: 'test/engine/statistics.spec.ts',
    test: 'statistics › list a queue that is only published to, up to the limit of a day',
  },
  {
    id: 'stalled-jobs-by-pages',
    name: 'sessions: a list of queues looks at 500 workers with each call',
    off: { with: '100' },
    spec: 'test/engine/worker-sessions.spec.ts',
    test: 'worker sessions › cost a list of queues few calls for 10,000 sessions',
  },
  {
    id: 'dependencies-hold-back-the-move',
    name: 'move: a recurring job waits until the jobs that it depends on are done in the old Redis',
    off: 'false',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a pool with recurring jobs during a move › does not move a recurring job whose jobs depend on a job in the old Redis: on_missing_dependency %s',
  },
  {
    id: 'overlapping-job-holds-back-the-move',
    name: 'move: a recurring job with overlap waits until its job in the old Redis has ended',
    off: 'false',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a pool with recurring jobs during a move › does not move a recurring job whose overlap needs both pools',
  },
  {
    id: 'a-leaving-recurring-job-stands-still',
    name: 'move: a recurring job on its way makes no job in the old Redis',
    off: 'remove',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a pool with recurring jobs during a move › makes no job while a killed process has it half moved, and makes it after the next process moved it',
  },
  {
    id: 'recurring-job-arrives-once',
    name: 'move: a recurring job that comes a second time by the same way changes nothing',
    off: 'false',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a pool with recurring jobs during a move › makes no job while a killed process has it half moved, and makes it after the next process moved it',
  },
  {
    id: 'removed-recurring-job-does-not-arrive',
    name: 'move: a recurring job that was removed on its way does not come again',
    off: 'false',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a pool with recurring jobs during a move › does not store a recurring job again that was removed during the move',
  },
  {
    id: 'interrupted-recurring-job-goes-on',
    name: 'move: a recurring job that stands still goes on when the move is taken back',
    off: 'remove',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a pool with recurring jobs during a move › makes jobs in the old Redis when the move is cancelled halfway',
  },
  ...[
    ['moved-setting-keeps-changes', 'a setting'],
    ['moved-variable-keeps-changes', 'a variable'],
    ['moved-queue-setting-keeps-changes', 'a setting of a queue'],
    ['moved-push-keeps-changes', 'the target of a queue'],
  ].map(([id, kind]) => ({
    id,
    name: `moving pools: a change of ${kind} while it is copied is not overwritten`,
    off: 'false',
    spec: MOVING_SPEC,
    test: `a pool moved to another Redis › a record that is changed while it is copied › keeps the change: %s`,
  })),
  {
    id: 'moved-recurring-job-leaves',
    name: 'move: a recurring job that has come to the new Redis is removed from the old one',
    off: 'remove',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a pool with recurring jobs during a move › makes one job for each slot, before, during and after moves in both directions',
  },
  {
    id: 'moved-statistics-leave',
    name: 'move: statistics that were added in the new Redis are removed from the old one',
    off: 'remove',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › counts statistics once if their move stops anywhere',
  },
  {
    id: 'target-changes-in-both-stores',
    name: 'move: a target is changed in both pools, as both are pushed',
    off: 'remove',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › changes and removes settings of queues and targets in both Redis servers',
  },
  {
    id: 'queue-is-pushed-in-both-stores',
    name: 'move: a queue is pushed to a target in both pools',
    off: 'remove',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › changes and removes settings of queues and targets in both Redis servers',
  },
  {
    id: 'old-pool-has-the-last-change',
    name: 'move: two changes at once leave the same in both pools',
    off: 'true',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a push target of both Redis servers › is the same in both after two changes at once: %s',
  },
  ...[
    ['target-ends-in-the-old-store-first', 'a target', 'remove'],
    ['push-ends-in-the-old-store-first', 'the push of a queue', 'remove'],
    ['setting-is-reset-in-the-old-store-first', 'a setting of a queue', { behind: 1 }],
  ].map(([id, what, off]) => ({
    id: String(id),
    name: `move: ${String(what)} that is removed is not copied again`,
    off: /** @type {import('../guards.mjs').Guard['off']} */ (off),
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a removal while the record is copied › is not undone by the copy: %s',
  })),
  ...[
    ['copied-set-ends', 'a set', 'remove'],
    ['half-stored-session-is-stored-again', 'a session', { with: "(await pool.read('EXISTS', key)) === 1" }],
  ].map(([id, what, off]) => ({
    id: String(id),
    name: `move: ${String(what)} that a killed process has half stored ends`,
    off: /** @type {import('../guards.mjs').Guard['off']} */ (off),
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › stores what a killed process left half stored: it ends, too',
  })),
  ...[
    ['stuck-record-holds-back-no-other', 'does not stop others', 'true'],
    ['stuck-recurring-job-is-read', 'can be read', 'true'],
  ].map(([id, what, off]) => ({
    id: String(id),
    name: `move: a record for which the new store has no room ${String(what)}`,
    off: /** @type {import('../guards.mjs').Guard['off']} */ (off),
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a pool with recurring jobs during a move › one full Redis › shows all of them and the queues, if it is the new one',
  })),
  {
    id: 'full-store-is-scanned',
    name: 'move: an old store that is full is scanned all the same',
    off: 'true',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a pool with recurring jobs during a move › one full Redis › has all of them in the new one, if it is the old one',
  },
  {
    id: 'queue-is-made-in-both-stores',
    name: 'move: a setting or a pause makes its queue in both stores',
    off: { with: '(wasInOld ? $& : Promise.resolve())' },
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › a queue that the old Redis does not have › is paused there, too: a job may go on to it',
  },
  ...[
    ['destroy-needs-both-stores', 'a destroy'],
    ['queue-purge-needs-both-stores', 'a purge of a queue'],
  ].map(([id, what]) => ({
    id: String(id),
    name: `move: ${String(what)} removes nothing while a store is away`,
    off: /** @type {const} */ ('remove'),
    spec: 'test/engine/migrating.spec.ts',
    test: "lmstfy's calls during a move › a pool that moves to another Redis › destroys and purges nothing of a queue while the new pool is unreachable",
  })),
  {
    id: 'taken-day-keeps-its-batches',
    name: 'move: a batch of statistics that is sent again after they have moved is not counted again',
    off: 'false',
    spec: MOVING_SPEC,
    test: 'a pool moved to another Redis › counts statistics once that a server adds again, as the answer was lost',
  },
];
