const DATA = 'test/engine/new-data.spec.ts';
const LEASES = 'test/api/native-leases.spec.ts';
const STATE_SPEC = 'src/redis/lua/state.spec.ts';

/**
 * New data with the last operation of a lease holder, what a lost lease is told, and what a library of Redis forgets between two calls.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const HOLDER_DATA = [
  {
    id: 'ack-stores-data-kept',
    name: 'new data: an ack stores them with a job that is kept',
    off: 'remove',
    spec: DATA,
    test: 'new data of %s › are set by an ack of a kept job, beside its result',
  },
  {
    id: 'ack-stores-data-moved',
    name: 'new data: an ack stores them with a job that moves',
    off: 'remove',
    spec: DATA,
    test: 'new data of %s › are set by an ack that moves the job, also to a waiting one',
  },
  {
    id: 'result-stands-behind-new-data',
    name: 'new data: the result of an ack stands behind them',
    off: 'false',
    spec: DATA,
    test: 'new data of %s › are set by an ack of a kept job, beside its result',
  },
  {
    id: 'failure-stores-data',
    name: 'new data: retry and fail store them',
    off: 'false',
    spec: DATA,
    test: 'new data of %s › are set by %s, to the last byte',
  },
  {
    id: 'new-data-have-a-content-type',
    name: 'new data: they have the content type of the call',
    off: { with: 'replace_body(job, data)' },
    spec: DATA,
    test: 'new data of %s › are set by %s, to the last byte',
  },
  {
    id: 'failure-keeps-data',
    name: 'new data: a call without data leaves those of the job',
    off: 'true',
    spec: DATA,
    test: 'new data of %s › are unchanged if absent, and may be empty',
  },
  {
    id: 'lost-lease-hides-other-queues',
    name: 'lost leases: a token for some queues learns no state of a job in another one',
    off: 'false',
    spec: LEASES,
    test: 'lease operations › a token for some queues › does not learn the state of a job that moved to another queue: %s',
  },
  {
    id: 'state-of-own-queues-only',
    name: 'lost leases: the state is read only in the queues of the token',
    off: 'true',
    spec: LEASES,
    test: 'lease operations › a token for some queues › does not learn the state of a job that moved to another queue: %s',
  },
  {
    id: 'forced-failure-ends-the-lease',
    name: 'a forced failure ends the lease of the job',
    off: { with: 'moves.leave(job)' },
    spec: 'test/api/native-jobs.spec.ts',
    test: 'a forced failure › ends the lease of a leased job: its holder gets lease_lost',
  },
  {
    id: 'forced-failure-needs-admin',
    name: 'a forced failure needs the permission admin',
    off: 'false',
    spec: 'test/api/native-jobs.spec.ts',
    test: 'a forced failure › needs the permission admin, and a lease or `force` in the request',
  },
  {
    id: 'lost-call-shows-state',
    name: 'lease lost: a single call gets the state of the job',
    off: 'remove',
    spec: LEASES,
    test: 'lease operations › a lease holder › gets lease_lost with the state of the job after a release: %s',
  },
  {
    id: 'lost-expired-is-gone',
    name: 'lease lost: an expired job is gone',
    off: 'remove',
    spec: 'test/engine/expired-leases.spec.ts',
    test: 'an expired lease › makes late calls fail with lease_lost and the present state of the job: %s',
  },
  {
    id: 'single-ack-tells-the-state',
    name: 'lost leases: a single ack tells the state of the job',
    off: { with: 'new LeaseLostError()' },
    spec: LEASES,
    test: 'lease operations › a lease holder › gets lease_lost with the state of the job after a release: %s',
  },
  {
    id: 'batch-acks-tell-the-states',
    name: 'lost leases: acks of many tell the states of the jobs',
    off: 'true',
    spec: LEASES,
    test: 'lease operations › a lease holder › acknowledges many jobs, with results and next queues',
  },
  {
    id: 'modules-begin-anew',
    name: 'scripts: variables of modules begin anew with each call',
    off: { with: '\'""\'' },
    spec: 'test/engine/noscript.spec.ts',
    test: '$form that Redis has forgotten › are sent once as text',
  },
  {
    id: 'lua-variables-begin-empty',
    name: 'Lua loader: variables without a value begin with none',
    off: { with: "''" },
    spec: STATE_SPEC,
    test: 'a module in a Lua library › is loaded with its functions once, and sets its variables at the beginning of each call',
  },
  {
    id: 'lua-exports-reset',
    name: 'Lua loader: exports that a call has set do not outlive it',
    off: 'remove',
    spec: STATE_SPEC,
    test: 'a module in a Lua library › begins each call without the exported values of an earlier call',
  },
  {
    id: 'lua-computed-no-constant',
    name: 'Lua loader: the result of a function is no constant',
    off: 'remove',
    spec: STATE_SPEC,
    test: 'a module in a Lua library › is loaded with constants once, and computes values of functions in each call',
  },
];
