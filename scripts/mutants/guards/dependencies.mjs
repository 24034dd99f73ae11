const SPEC = 'test/engine/dependencies.spec.ts';
const CANCEL = 'test/engine/changes.spec.ts';
const CHANGE = 'test/engine/changes.spec.ts';
const MANY = 'test/engine/cancel-many.spec.ts';

/**
 * Jobs that wait for others, and their cancels and changes.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const DEPENDENCIES = [
  {
    id: 'dependents-notified',
    name: 'dependencies: dependents are notified of an end',
    off: 'false',
    spec: SPEC,
    test: 'dependencies › block a job until all are done, and leave nothing behind',
  },
  {
    id: 'dependency-circle-refused',
    name: 'dependencies: a dependency that closes a circle is refused',
    off: 'false',
    spec: SPEC,
    test: 'dependencies › refuse circles and store nothing (Q5, T32)',
  },
  {
    id: 'delay-outlives-dependencies',
    name: 'dependencies: a delay counts after the dependencies are met',
    off: 'false',
    spec: SPEC,
    test: 'dependencies › make a job scheduled if its time is still to come, also when they are removed (Q7)',
  },
  {
    id: 'end-of-earlier-job-ignored',
    name: 'dependencies: the end of an earlier job with the same id is ignored',
    off: 'false',
    spec: SPEC,
    test: 'dependencies › ignore a job that was created again under its old id',
  },
  {
    id: 'blocked-until-edges-stored',
    name: 'dependencies: a job stays blocked until all of its edges are stored',
    off: 'remove',
    spec: SPEC,
    test: 'dependencies › T32: a thousand dependent jobs › are all connected before the waiting job may run',
  },
  {
    id: 'respawned-blocks-again',
    name: 'dependencies: dependents of a dead job that comes back wait for it again',
    off: 'false',
    spec: SPEC,
    test: 'dependencies › count a job as stuck while its dependency is dead, until the dead job is respawned (Q6)',
  },
  {
    id: 'id-taken-until-notified',
    name: 'dependencies: an id is taken until its dependents are notified',
    off: 'false',
    spec: SPEC,
    test: 'dependencies › keep the id of a done job in use until its dependents are updated',
  },
  {
    id: 'cancel-grace-ends-lease',
    name: 'cancel: a lease ends when its cancel grace is over',
    off: 'false',
    spec: CANCEL,
    test: 'the cancel of a job › notifies the lease holder, and ends the lease after the grace',
  },
  {
    id: 'cancelled-never-waits',
    name: 'cancel: a job with a cancel request does not wait again',
    off: 'false',
    spec: CANCEL,
    test: 'the cancel of a job › ends a job that returns during the grace by: %s',
  },
  {
    id: 'done-not-cancelled',
    name: 'cancel: a done job is not cancelled',
    off: 'false',
    spec: CANCEL,
    test: 'the cancel of a job › reports a done or cancelled job as such, and changes nothing (Q11)',
  },
  {
    id: 'needed-not-cancelled-alone',
    name: 'cancel: a job with dependents is not cancelled alone',
    off: 'false',
    spec: CANCEL,
    test: 'the cancel of a job › refuses a job with dependents, and names them',
  },
  {
    id: 'cancel-many-together',
    name: 'cancel: jobs of one call that depend on each other are cancelled together',
    off: 'true',
    spec: MANY,
    test: 'a cancel of many jobs › cancels a chain of dependent jobs if all are named: %s',
  },
  {
    id: 'cancel-many-outside-dependent',
    name: 'cancel: a dependent outside of the call stops it',
    off: 'remove',
    spec: MANY,
    test: 'a cancel of many jobs › cancels no job if a job that is not named depends on a named one',
  },
  {
    id: 'ended-jobs-stop-no-cancel',
    name: 'cancel of many: what depends on a job that has ended does not prevent the others',
    off: { with: 'job' },
    spec: MANY,
    test: 'a cancel of many jobs › reports a job that is done, whatever depends on it',
  },
  {
    id: 'cancel-many-names-once',
    name: 'cancel: a dependent is named once',
    off: 'remove',
    spec: MANY,
    test: 'a cancel of many jobs › is refused with the names of at most a hundred dependents, each once',
  },
  {
    id: 'cancel-within-rights',
    name: 'cancel of many: a job in a queue that the token is not for is not found',
    off: { with: '[...ids]' },
    spec: 'test/api/permissions.spec.ts',
    test: 'permissions by queue › a token for some queues › cannot cancel a job of another queue by a cancel of many, nor a job that one depends on',
  },
  {
    id: 'cancel-many-cascade-rights',
    name: 'cancel: a cascade over many jobs needs a token for all queues',
    off: 'remove',
    spec: 'test/api/permissions.spec.ts',
    test: 'permissions by queue › a token for some queues › cannot cancel a job of another queue by a cancel of many, nor a job that one depends on',
  },
  {
    id: 'cancel-many-one-pool',
    name: 'cancel of many: jobs in two pools are not cancelled together',
    off: 'false',
    spec: 'test/engine/migrating.spec.ts',
    test: 'native calls during a move › the native API while a pool moves › cancels many jobs of one pool in one step, and none if the jobs are in two pools',
  },
  {
    id: 'changed-priority-keeps-place',
    name: 'changes: a job of priority 0 keeps its place in time',
    off: 'false',
    spec: CHANGE,
    test: 'an update of a job › keeps the publish order of a simple job whose priority changes and changes back',
  },
  {
    id: 'failed-dependency-is-forgotten',
    name: 'dependencies: one that failed does not count when its id is waited for again',
    off: 'remove',
    spec: 'test/engine/reused-ids.spec.ts',
    test: 'ids used again › a failed dependency whose id is used again › is waited for after an update adds it again',
  },
  {
    id: 'left-list-keeps-a-stale-entry',
    name: 'entry number: a job that leaves the list for a priority leaves a stale entry',
    off: 'remove',
    spec: CHANGE,
    test: 'an update of a job › keeps the publish order of a simple job whose priority changes and changes back',
  },
  {
    id: 'far-extended-job-opens-extended',
    name: 'far slots: a job that became extended is moved to the extended ones',
    off: 'false',
    spec: CHANGE,
    test: 'an update of a job › changes tags and priority of a far job, which stays due at its time, and refuses to move it to another queue',
  },
  {
    id: 'debounced-stays-blocked',
    name: 'unique keys: a blocked job that is debounced stays blocked',
    off: 'true',
    spec: 'test/engine/dependencies.spec.ts',
    test: 'dependencies › stay when a blocked job is published again in mode debounce, with the new payload',
  },
];
