const SPEC = 'test/engine/extended-properties.spec.ts';
const TEST = 'on the extended path end where a model in memory ends';

/**
 * Mutants of the extended path that only random sequences beside the model in memory find. Some are found rarely, so
 * the sequences are the same ones each time.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const EXTENDED_MODEL = [
  {
    name: 'who comes back with his tries kept has been given out as often as before',
    file: 'lua/modules/extended/dead_jobs.lua',
    from: 'job.attempts = is_new and 0 or job.attempts',
    to: 'job.attempts = 0',
  },
  {
    name: 'a job that leaves a place that it got by a change of priority stands by it no more',
    file: 'lua/modules/extended/moves.lua',
    from: 'put(job, "aside", nil)',
    to: '',
  },
  {
    name: 'a simple job that becomes extended has the tries that it was published with',
    file: 'lua/modules/extended/conversion.lua',
    from: 'job.x.tries or job.tries + job.attempts - job.free_retries',
    to: 'job.x.tries or job.tries',
  },
  {
    name: 'a simple job with a ttl that becomes extended is known to the clock',
    file: 'lua/modules/extended/conversion.lua',
    from: 'if job.expires > 0 and job.state ~= DEAD then',
    to: 'if false then',
  },
  {
    name: 'a failure stays behind when a job moves on to its next queue',
    file: 'lua/modules/leases/move_on.lua',
    from: '"leased", "worker", "fgroup", "fmessage"',
    to: '"leased", "worker", "fmessage"',
  },
  {
    name: 'nothing expires in the dead letter',
    file: 'lua/modules/extended/dead_jobs.lua',
    from: 'job.expires, job.free_retries = 0, 0',
    to: 'job.free_retries = 0',
  },
  {
    name: 'a cancelled job that is kept fails later dependents',
    file: 'lua/modules/extended/dependencies.lua',
    from: 'on.state == CANCELLED and "cancelled"',
    to: 'false',
  },
  {
    name: 'a heartbeat gives no lease beyond the end of its job',
    file: 'lua/modules/leases/give_back.lua',
    from: 'ends = job.expires > 0 and math.min(ends, job.expires) or ends',
    to: '',
  },
  {
    name: 'a queue with blocked jobs is not drained yet',
    file: 'lua/modules/limits/queue_settings.lua',
    from: 'count_jobs(number, "slpSLbh")',
    to: 'count_jobs(number, "slpSLh")',
  },
].map((guard) => ({ ...guard, spec: SPEC, test: TEST, env: { PUMPHOUSE_CHAOS_SEED: '7' } }));
