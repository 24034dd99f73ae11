const SPEC = 'test/api/explain.spec.ts';
const RIGHTS = 'an explanation › shows a token for some queues nothing of other queues';

/**
 * Explanations: src/explain, and what it reads.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const EXPLAIN = [
  {
    id: 'last-delay-is-explained',
    name: 'explain: what delayed a job last is named',
    off: { with: 'last === undefined' },
    spec: 'src/engine/explain/causes.spec.ts',
    test: 'the sentence of a cause › names what gave a scheduled job its due time last',
  },
  {
    id: 'grace-ends-before-lease',
    name: 'explain: the end of the grace of a cancel is told if it comes first',
    off: { with: 'leaseEndsAtMs' },
    spec: 'src/engine/explain/causes.spec.ts',
    test: 'the sentence of a cause › says of a job that is being cancelled when its lease ends: with the grace, or before',
  },
  {
    id: 'paused-types-do-not-flow',
    name: 'explain: a queue whose ready types are all paused does not flow',
    off: 'true',
    spec: 'src/engine/explain/causes.spec.ts',
    test: 'the causes of a queue that is leased by type › begin with a pause if no ready job is of a type that is leased',
  },
  {
    id: 'paused-keys-do-not-flow',
    name: 'explain: a queue whose ready jobs are all of paused fair keys does not flow',
    off: 'false',
    spec: 'src/engine/explain/causes.spec.ts',
    test: 'the causes of a queue that is leased by type › begin with a pause if all ready jobs are of paused fair keys',
  },
  {
    id: 'paused-keys-have-no-turn',
    name: 'explain: fair keys that are paused do not come before a job',
    off: 'remove',
    spec: 'test/api/fair-queues.spec.ts',
    test: 'a fair queue over HTTP › says that other keys have their turn before the one of a job',
  },
  {
    id: 'explain-reads-some-jobs',
    name: 'explain: a bounded number of jobs is read to count those before one',
    off: { with: 'most' },
    spec: 'test/engine/extended-time.spec.ts',
    test: 'scripts of the extended path › hold Redis only briefly: %s',
  },
  {
    id: 'unread-dependencies-are-not-hidden',
    name: 'explain: dependencies that were not read are not called hidden',
    off: { with: 'job.dependsOn.length + failed.length - seen.size' },
    spec: SPEC,
    test: 'an explanation › calls no dependency hidden that it has not read',
  },
  {
    id: 'own-requests-are-no-workers',
    name: 'explain: lease requests of the server for its own pushes are not those of workers',
    off: 'true',
    spec: 'test/api/push.spec.ts',
    test: 'HTTP push › an explanation of a job that is to be pushed › does not name the lease requests of the server for its own pushes among those of workers',
  },
  {
    id: 'missing-handler-before-its-delay',
    name: 'explain: a missing handler is the cause, not the delay that it brings',
    off: { replace: 'return null;' },
    spec: SPEC,
    test: 'an explanation › says how often workers without a handler released the job; remedy %d',
  },
  {
    id: 'explain-checks-queue',
    name: 'explain: a job is explained to tokens of its queue only',
    off: 'false',
    spec: SPEC,
    test: RIGHTS,
  },
  {
    id: 'explain-checks-recurring',
    name: 'explain: a recurring job is explained to tokens of its queue only',
    off: 'false',
    spec: SPEC,
    test: 'an explanation › a recurring job › is 404 for one that is not there, or whose queue the token may not see',
  },
  {
    id: 'explain-hides-foreign-jobs',
    name: 'explain: dependencies in other queues are not named',
    off: 'true',
    spec: SPEC,
    test: RIGHTS,
  },
  {
    id: 'explain-hides-foreign-queues',
    name: 'explain: lease requests for other queues are not named',
    off: 'true',
    spec: SPEC,
    test: RIGHTS,
  },
  {
    id: 'lease-requests-bounded',
    name: 'explain: a namespace remembers the lease requests of so many queues at most',
    off: 'false',
    spec: SPEC,
    test: 'an explanation › remembers the lease requests of 10,000 queues at most',
  },
  {
    id: 'explain-hides-answers',
    name: 'explain: an answer that opened a breaker is shown to those who see all data',
    off: 'true',
    spec: 'test/api/redaction.spec.ts',
    test: 'places that a queue withholds › are withheld in the answer that opened the circuit breaker of a push target',
  },
];
