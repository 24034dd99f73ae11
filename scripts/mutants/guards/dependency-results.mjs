const ACCESS = 'test/api/dependency-results.spec.ts';
const SPEC = 'test/engine/dependency-results.spec.ts';

/**
 * Results of dependencies: they are there until the last dependent has ended, and reach it, and no other job.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const DEPENDENCY_RESULTS = [
  {
    id: 'dependencies-stay-in-list',
    name: 'dependency results: a job keeps the list of its dependencies',
    off: 'remove',
    spec: SPEC,
    test: 'results of dependencies › come with the leased job, in the order in which it names its dependencies',
  },
  {
    id: 'dependents-read-results',
    name: 'dependency results: a dependent may read the result of a job that has ended',
    off: 'remove',
    spec: SPEC,
    test: 'results of dependencies › come with the leased job, in the order in which it names its dependencies',
  },
  {
    id: 'result-of-another-job-hidden',
    name: 'dependency results: a later job with the id of a dependency is another one',
    off: 'true',
    spec: SPEC,
    test: 'results of dependencies › are never those of a later job with the same id',
  },
  {
    id: 'result-kept-for-dependents',
    name: 'dependency results: the result of a job without a retention is stored for its dependents',
    off: 'false',
    spec: SPEC,
    test: 'results of dependencies › are kept without a retention, until the last dependent has ended',
  },
  {
    id: 'done-job-kept-for-dependents',
    name: 'dependency results: a done job without a retention is kept for its dependents',
    off: 'false',
    spec: SPEC,
    test: 'results of dependencies › are kept without a retention, until the last dependent has ended',
  },
  {
    id: 'needed-result-outlives-retention',
    name: 'dependency results: a result that a dependent needs outlives its retention',
    off: 'nil',
    spec: SPEC,
    test: 'results of dependencies › outlive a retention, and stay with a dead dependent until it is done',
  },
  {
    id: 'needed-result-outlives-count',
    name: 'dependency results: a result that a dependent needs is none too many',
    off: 'false',
    spec: SPEC,
    test: 'results of dependencies › do not count among the jobs that a queue keeps',
  },
  {
    id: 'unneeded-result-goes-at-once',
    name: 'dependency results: a result goes when the last dependent has ended',
    off: 'remove',
    spec: SPEC,
    test: 'results of dependencies › are kept without a retention, until the last dependent has ended',
  },
  {
    id: 'results-of-a-job-are-bounded',
    name: 'dependency results: the results of one job have up to 64 KiB',
    off: 'false',
    spec: SPEC,
    test: 'results of dependencies › have up to 64 KiB in all, and smaller ones follow one that is left out',
  },
  {
    id: 'results-count-in-an-answer',
    name: 'dependency results: results count in the size of an answer',
    off: 'remove',
    spec: SPEC,
    test: 'results of dependencies › count in the size of an answer, as payloads do',
  },
  {
    id: 'lists-of-a-script-are-bounded',
    name: 'dependency results: a script reads the dependencies of few jobs that have many',
    off: 'true',
    spec: SPEC,
    test: 'results of dependencies › are read for few jobs with many dependencies in one step',
  },
  {
    id: 'changed-dependencies-in-list',
    name: 'dependency results: added and removed dependencies change the list',
    off: 'remove',
    spec: SPEC,
    test: 'results of dependencies › follow a change of the dependencies',
  },
  {
    id: 'next-dependencies-in-list',
    name: 'dependency results: the next step of a job has its own list',
    off: 'job.x.deps',
    spec: SPEC,
    test: 'results of dependencies › are those of the present step of a job that moves on',
  },
  {
    id: 'results-of-other-queues-hidden',
    name: 'dependency results: a job gets no result from queues that its token may not read',
    off: 'true',
    spec: SPEC,
    test: 'results of dependencies › are only of queues that the token may read, wherever a dependency is by then',
  },
  {
    id: 'second-token-reads-no-results',
    name: 'dependency results: a second token that names dependencies gets no results for the first',
    off: 'remove',
    spec: SPEC,
    test: 'results of dependencies › are only of queues that the token may read, wherever a dependency is by then',
  },
  {
    id: 'restored-job-reads-its-own-dependencies',
    name: 'dependency results: a restored job reads the results of its dependencies again',
    off: 'false',
    spec: SPEC,
    test: 'results of dependencies › come back with a job that an operation had ended',
  },
  {
    id: 'dependencies-need-consume',
    name: 'dependency results: a token names dependencies only with the permission consume',
    off: 'remove',
    spec: ACCESS,
    test: 'the permission to read results › is needed to name dependencies, whether there are such jobs or not',
  },
  {
    id: 'results-within-rights',
    name: 'dependency results: a token for some queues gets no results of others',
    off: '{}',
    spec: ACCESS,
    test: 'the permission to read results › holds for jobs that get the name of a dependency later',
  },
  {
    id: 'dependency-results-redacted',
    name: 'dependency results: an account sees no results from queues that withhold data',
    off: 'true',
    spec: 'test/api/redaction.spec.ts',
    test: 'places that a queue withholds › are withheld from the dependents of a job in other queues',
  },
];
