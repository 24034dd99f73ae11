const SPEC = 'test/redis/full-properties.spec.ts';
const TEST = 'on the full lane end where a model in memory ends';

/**
 * What of the native lane only random sequences beside the model in memory miss. They meet some of it seldom: so they are the same ones
 * each time.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const FULL_MODEL = [
  {
    name: 'who comes back with his tries kept has been given out as often as before',
    file: 'lua/lib/full/raise.lua',
    from: 'job.attempts = is_new and 0 or job.attempts',
    to: 'job.attempts = 0',
  },
  {
    name: 'a job that leaves a place that it got by a change of priority stands by it no more',
    file: 'lua/lib/full/leave.lua',
    from: 'put(job, "aside", nil)',
    to: '',
  },
  {
    name: 'a plain job that becomes a rich one has the tries that it was published with',
    file: 'lua/lib/full/rich.lua',
    from: 'put(job, "tries", job.x.tries or job.tries + job.attempts)',
    to: 'put(job, "tries", job.x.tries or job.tries)',
  },
  {
    name: 'a plain job with a ttl that becomes a rich one is known to the clock',
    file: 'lua/lib/full/rich.lua',
    from: 'if job.expires > 0 and job.state ~= DEAD then',
    to: 'if false then',
  },
  {
    name: 'a failure stays behind when a job moves on to its next queue',
    file: 'lua/lib/full/go_on.lua',
    from: '"leased", "worker", "fgroup", "fmessage"',
    to: '"leased", "worker", "fmessage"',
  },
  {
    name: 'nothing expires in the dead letter',
    file: 'lua/lib/full/die.lua',
    from: 'job.expires, job.spared = 0, 0',
    to: 'job.spared = 0',
  },
  {
    name: 'a job that was cancelled, and is kept, has failed whoever is to wait for it',
    file: 'lua/lib/full/tie.lua',
    from: 'on.state == CANCELLED and "cancelled"',
    to: 'false',
  },
  {
    name: 'a heartbeat gives no lease beyond the end of its job',
    file: 'lua/lib/full/beat.lua',
    from: 'ends = job.expires > 0 and math.min(ends, job.expires) or ends',
    to: '',
  },
  {
    name: 'a blocked job that is debounced goes on waiting',
    file: 'lua/lib/full/debounce.lua',
    from: 'if job.state ~= BLOCKED then\n        go(',
    to: 'if true then\n        go(',
  },
  {
    name: 'a queue with blocked jobs is not drained yet',
    file: 'lua/lib/draining.lua',
    from: 'jobs_in(number, "slpSLbh")',
    to: 'jobs_in(number, "slpSLh")',
  },
].map((guard) => ({ ...guard, spec: SPEC, test: TEST, env: { PUMPHOUSE_PROPERTY_SEED: '7' } }));
