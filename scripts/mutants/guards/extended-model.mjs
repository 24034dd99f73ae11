const SPEC = 'test/properties/extended-jobs.spec.ts';
const TEST = 'the extended path ends ${RUNS} random sequences where a model in memory does';

/**
 * Mutants of the extended path that only random sequences beside the model in memory find. Some are found rarely, so
 * the sequences are the same ones each time.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const EXTENDED_MODEL = [
  {
    id: 'respawn-keep-tries-attempts',
    name: 'dead letter: a respawn that keeps tries keeps the attempts',
    off: { with: '0' },
  },
  {
    id: 'converted-job-keeps-its-tries',
    name: 'conversion: a simple job that becomes extended has the tries of its publish',
    off: { with: 'job.tries' },
  },
  {
    id: 'conversion-registers-ttl',
    name: 'expiry: a simple job with a ttl that becomes extended is registered',
    off: 'false',
  },
  {
    id: 'move-on-clears-failure',
    name: 'acks: a failure is removed when a job moves to its next queue',
    off: 'remove',
  },
  {
    id: 'dead-jobs-do-not-expire',
    name: 'dead letter: nothing expires there',
    off: { with: 'job.expires' },
  },
  {
    id: 'kept-cancelled-job-fails-dependents',
    name: 'dependencies: a cancelled job that is kept fails later dependents',
    off: 'false',
  },
  {
    id: 'heartbeat-within-ttl',
    name: 'leases: a heartbeat grants no lease beyond the ttl of its job',
    off: 'remove',
  },
  {
    id: 'blocked-jobs-keep-a-queue-draining',
    name: 'queue limits: a queue with blocked jobs is not drained yet',
    off: { with: '"slpSLh"' },
  },
].map((guard) => ({ ...guard, spec: SPEC, test: TEST, env: { PUMPHOUSE_CHAOS_SEED: '7' } }));
