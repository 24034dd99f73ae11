const SPEC = 'test/engine/pauses.spec.ts';
const PAUSE = 'pauses of some jobs';

/**
 * Pauses by type, fair key and concurrency key.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const PAUSES = [
  {
    id: 'paused-type-is-passed',
    name: 'pauses: no job of a paused type is leased',
    off: 'false',
    spec: SPEC,
    test: `${PAUSE} › the pause of a type › leases no job of the type to a request that names it`,
  },
  {
    id: 'paused-fair-key-is-passed',
    name: 'pauses: no job of a paused fair key is leased',
    off: 'remove',
    spec: SPEC,
    test: `${PAUSE} › the pause of a fair key › pauses jobs that come later, and long keys`,
  },
  {
    id: 'paused-key-is-passed',
    name: 'pauses: no job of a paused concurrency key is leased',
    off: 'false',
    spec: SPEC,
    test: `${PAUSE} › the pause of a concurrency key › holds its jobs in a queue %s, and resumes them`,
  },
  {
    id: 'paused-key-gets-no-credit',
    name: 'pauses: a fair key has no credit for the time of its pause',
    off: 'false',
    spec: SPEC,
    test: `${PAUSE} › the pause of a fair key › leases jobs of other keys, and no credit is left for the paused one`,
  },
  {
    id: 'pauses-are-bounded',
    name: 'pauses: a queue has at most 100',
    off: 'false',
    spec: SPEC,
    test: `${PAUSE} › are refused for two kinds of jobs in one call, and beyond 100`,
  },
  {
    id: 'pauses-of-some-need-their-format',
    name: 'pauses: none of some jobs is set in a store that older servers use',
    off: 'false',
    spec: 'test/engine/data-format.spec.ts',
    test: 'data formats › a server › raises the format when it is told to, and not while a server of an older version is connected',
  },
  {
    id: 'pause-end-reads-held-jobs-again',
    name: 'pauses: the walk over held jobs begins anew when one has ended',
    off: { with: 'set.last_held' },
    spec: SPEC,
    test: `${PAUSE} › a queue whose held jobs are looked at, eight in each step › calls those that were passed before their pause ended`,
  },
  {
    id: 'paused-key-has-no-rate-timer',
    name: 'pauses: the rate of a paused key sets no timer',
    off: 'true',
    spec: 'test/engine/pauses.spec.ts',
    test: 'pauses of some jobs › let the timers of a queue come to an end, whatever rate its keys have',
  },
];
