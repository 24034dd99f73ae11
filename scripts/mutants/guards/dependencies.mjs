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
    test: 'dependencies › waits until all that it depends on is done, and leaves nothing behind',
  },
  {
    id: 'dependency-circle-refused',
    name: 'dependencies: a dependency that closes a circle is refused',
    off: 'false',
    spec: SPEC,
    test: 'dependencies › refuses circles and stores nothing (Q5, T32)',
  },
  {
    id: 'delay-outlives-dependencies',
    name: 'dependencies: a delay counts after the dependencies are met',
    off: 'false',
    spec: SPEC,
    test: 'dependencies › becomes scheduled when its time is still to come, also when its dependencies are taken away (Q7)',
  },
  {
    id: 'end-of-earlier-job-ignored',
    name: 'dependencies: the end of an earlier job with the same id is ignored',
    off: 'false',
    spec: SPEC,
    test: 'dependencies › means nothing to a job that was made anew under its old id',
  },
  {
    id: 'blocked-until-edges-stored',
    name: 'dependencies: a job stays blocked until all of its edges are stored',
    off: 'remove',
    spec: SPEC,
    test: 'dependencies › a thousand jobs (T32) › are tied all before the one that waits for them may go',
  },
  {
    id: 'respawned-blocks-again',
    name: 'dependencies: dependents of a dead job that comes back wait for it again',
    off: 'false',
    spec: SPEC,
    test: 'dependencies › shows what waits in vain, until the dead job is brought back and done (Q6)',
  },
  {
    id: 'id-taken-until-notified',
    name: 'dependencies: an id is taken until its dependents are notified',
    off: 'false',
    spec: SPEC,
    test: 'dependencies › keeps its id until all have been told',
  },
  {
    id: 'cancel-grace-ends-lease',
    name: 'cancel: a lease ends when its cancel grace is over',
    off: 'false',
    spec: CANCEL,
    test: 'cancelling › tells the owner of a lease, and takes it from him when his grace is over',
  },
  {
    id: 'cancelled-never-waits',
    name: 'cancel: a job with a cancel request does not wait again',
    off: 'false',
    spec: CANCEL,
    test: 'cancelling › ends a job that comes back by %s during the grace',
  },
  {
    id: 'done-not-cancelled',
    name: 'cancel: a done job is not cancelled',
    off: 'false',
    spec: CANCEL,
    test: 'cancelling › tells a job that is done or cancelled as such, and changes nothing (Q11)',
  },
  {
    id: 'needed-not-cancelled-alone',
    name: 'cancel: a job with dependents is not cancelled alone',
    off: 'false',
    spec: CANCEL,
    test: 'cancelling › refuses a job that others depend on, and names them',
  },
  {
    id: 'cancel-many-together',
    name: 'cancel: jobs of one call that depend on each other are cancelled together',
    off: 'true',
    spec: MANY,
    test: 'a cancel of many jobs › takes a chain of jobs that is named as a whole: %s',
  },
  {
    id: 'cancel-many-outside-dependent',
    name: 'cancel: a dependent outside of the call stops it',
    off: 'remove',
    spec: MANY,
    test: 'a cancel of many jobs › cancels nothing if a job that is not named depends on one of them',
  },
  {
    id: 'ended-jobs-stop-no-cancel',
    name: 'cancel of many: what depends on a job that has ended does not prevent the others',
    off: { with: 'job' },
    spec: MANY,
    test: 'a cancel of many jobs › does not mind what depends on one that has ended',
  },
  {
    id: 'cancel-many-names-once',
    name: 'cancel: a dependent is named once',
    off: 'remove',
    spec: MANY,
    test: 'a cancel of many jobs › counts a dependent of two of them once, and names a hundred at most',
  },
  {
    id: 'cancel-within-rights',
    name: 'cancel of many: a job in a queue that the token is not for is not found',
    off: { with: '[...ids]' },
    spec: 'test/api/permissions.spec.ts',
    test: 'permissions by queue › a token for some queues › cannot cancel a job of another queue among many, nor a dependency of one',
  },
  {
    id: 'cancel-many-cascade-rights',
    name: 'cancel: a cascade over many jobs needs a token for all queues',
    off: 'remove',
    spec: 'test/api/permissions.spec.ts',
    test: 'permissions by queue › a token for some queues › cannot cancel a job of another queue among many, nor a dependency of one',
  },
  {
    id: 'cancel-many-one-pool',
    name: 'cancel of many: jobs in two pools are not cancelled together',
    off: 'false',
    spec: 'test/engine/migrating.spec.ts',
    test: 'native calls while a pool migrates › the native API, while a pool moves › cancels many jobs of one pool in one step, and none if they are in both',
  },
  {
    id: 'changed-priority-keeps-place',
    name: 'changes: a job of priority 0 keeps its place in time',
    off: 'false',
    spec: CHANGE,
    test: 'changing a job › keeps the place in time of a plain job that is there and back again',
  },
  {
    id: 'failed-dependency-is-forgotten',
    name: 'dependencies: one that failed does not count when its id is waited for again',
    off: 'remove',
    spec: 'test/engine/reused-ids.spec.ts',
    test: 'ids used again › a dependency that failed, whose id comes back › is waited for when the job is told so, and met when it is done',
  },
  {
    id: 'left-list-keeps-a-stale-entry',
    name: 'entry number: a job that leaves the list for a priority leaves a stale entry',
    off: 'remove',
    spec: CHANGE,
    test: 'changing a job › keeps the place in time of a plain job that is there and back again',
  },
  {
    id: 'far-extended-job-opens-extended',
    name: 'far slots: a job that became extended is moved to the extended ones',
    off: 'false',
    spec: CHANGE,
    test: 'changing a job › changes a job far ahead where it is, and moves it only to a new due time',
  },
  {
    id: 'debounced-stays-blocked',
    name: 'unique keys: a blocked job that is debounced stays blocked',
    off: 'true',
    spec: 'test/engine/dependencies.spec.ts',
    test: 'dependencies › stays blocked when its unique key is published again in mode debounce, and has the new payload',
  },
];
