const ACKS = 'test/engine/batches.spec.ts';
const MANY_ACKS = 'batch ack › many acknowledgements in one call';

/**
 * What a script reads once for many jobs, and what travels together.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const BATCHES = [
  {
    id: 'ack-once-in-a-batch',
    name: 'batches: a job that is acknowledged twice in one batch is there once',
    off: 'remove',
    spec: ACKS,
    test: `${MANY_ACKS} › acknowledge a job once that is listed twice`,
  },
  {
    id: 'ack-runs-by-lease',
    name: 'batches: acknowledgements under another lease are a run of their own',
    off: 'remove',
    spec: ACKS,
    test: `${MANY_ACKS} › have a result each, in order, and change no job if they fail`,
  },
  {
    id: 'ack-runs-by-queue',
    name: 'batches: acknowledgements of another queue are a run of their own',
    off: 'remove',
    spec: ACKS,
    test: `${MANY_ACKS} › look for each job in its own queue if two queues alternate`,
  },
  {
    id: 'removal-skips-empty-index',
    name: 'batches: an index of which all jobs have expired is left alone',
    off: 'true',
    spec: 'test/engine/expiry.spec.ts',
    test: 'expiry › a job whose ttl has ended › cannot be acknowledged',
  },
];
