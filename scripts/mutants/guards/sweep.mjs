const SWEEP = 'test/engine/expiry.spec.ts';

/**
 * How what is due is found wherever it is.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const SWEEPS = [
  {
    id: 'sweep-last-step-complete',
    name: 'sweep: the last step goes on to the end',
    off: { with: '1' },
    spec: SWEEP,
    test: "the janitor's sweep › the sweep over all namespaces › moves due jobs of a server that is gone, in any namespace, repeatedly",
  },
  {
    id: 'spoilt-key-stops-no-sweep',
    name: 'sweep: a key that is no sorted set does not stop the others',
    off: { with: '(function(reply) if reply.err then error(reply) end return reply end)($&)' },
    spec: SWEEP,
    test: "the janitor's sweep › the sweep over all namespaces › moves due jobs of a server that is gone, in any namespace, repeatedly",
  },
  {
    id: 'due-soon-only',
    name: 'pump: work that is due later is not reported',
    off: 'true',
    spec: SWEEP,
    test: "the janitor's sweep › the sweep over all namespaces › visits each namespace with something due soon, and no other",
  },
];
