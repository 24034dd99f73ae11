const ACKS = 'test/engine/batches.spec.ts';

/**
 * What a script reads once for many jobs, and what travels together.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const BATCHES = [
  {
    name: 'batches: a job that is acknowledged twice in one batch is there once',
    file: 'lua/commands/simple/ack.lua',
    from: '(seen[id] or ',
    to: '(',
    spec: ACKS,
    test: 'stands there twice count once',
  },
  {
    name: 'batches: acknowledgements under another lease are a run of their own',
    file: 'src/engine/settle/ack-runs.ts',
    from: 'its !== lease || ',
    to: '',
    spec: ACKS,
    test: 'have a result each, in order',
  },
  {
    name: 'batches: acknowledgements of another queue are a run of their own',
    file: 'src/engine/settle/ack-runs.ts',
    from: ' || ack.queue !== queue',
    to: '',
    spec: ACKS,
    test: 'of two queues in turn',
  },
  {
    name: 'batches: an index of which all jobs have expired is left alone',
    file: 'lua/modules/jobs/removal.lua',
    from: 'elseif #index.members > 0 then',
    to: 'else',
    spec: 'test/engine/expiry.spec.ts',
    test: 'cannot be acknowledged',
  },
];
