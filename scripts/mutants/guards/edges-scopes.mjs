const FULL = 'test/faults/full-store.spec.ts';
const CALLS = 'T57: a full Redis with %s › %s %s (%s)';

/**
 * What a full Redis refuses, and what a token, a password or a clock may not do.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const SCOPES = [
  {
    id: 'script-runs-when-full',
    name: 'full store: a script that frees memory or stops load runs in a full Redis',
    off: 'false',
    spec: FULL,
    test: CALLS,
  },
  {
    id: 'recurring-store-full',
    name: 'full store: a recurring job makes no job in a full Redis',
    off: 'false',
    spec: FULL,
    test: 'T57: a full Redis with %s › skips the slots of recurring jobs, no loop fails, and it goes on when there is room',
  },
  ...[
    ['recurring-run-store-full', 'a recurring job is not run now'],
    ['recurring-set-store-full', 'a recurring job is neither new nor longer'],
    ['queue-made-store-full', 'a setting makes no queue'],
    ['target-made-store-full', 'a target is not new'],
    ['job-change-store-full', 'a change adds nothing to a job'],
    ['tags-store-full', 'a job gets no more tags'],
    ['tracking-store-full', 'a job is not tracked'],
  ].map(([id, what]) => ({
    ...{ id, name: `full store: ${what} in a full Redis`, off: 'false', spec: FULL, test: CALLS },
  })),
];
