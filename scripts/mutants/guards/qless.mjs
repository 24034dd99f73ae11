const QLESS = 'test/engine/regressions.spec.ts';

/**
 * What keeps the defects of qless (docs/how-to/from-qless.md) away.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const QLESS_DEFECTS = [
  {
    name: 'qless: no script sets a global',
    file: 'lua/modules/jobs/retry_delay.lua',
    from: 'local delay = policy.delayMs',
    to: 'delay = policy.delayMs',
    spec: QLESS,
    test: 'Q1:',
  },
  {
    name: 'qless: a late lease holder that is accepted has a lease again',
    file: 'lua/modules/leases/give_back.lua',
    from: 'go(job, LEASED, ends)',
    to: 'go(job, was_late and READY or LEASED, ends)',
    spec: QLESS,
    test: 'Q2:',
  },
  {
    name: 'qless: a job that moves on is in its next queue',
    file: 'lua/modules/leases/move_on.lua',
    from: '= number_of(next.queue), tonumber',
    to: '= job.queue, tonumber',
    spec: QLESS,
    test: 'Q8:',
  },
  {
    name: 'qless: the pump runs by itself',
    file: 'src/engine/timers/pump.ts',
    from: '    this.isStarted = true;\n',
    to: '',
    spec: QLESS,
    test: 'Q12:',
  },
  {
    name: 'qless: scripts ask Redis for the time',
    file: 'src/engine/core/scripts.ts',
    from: ": { clock_ms: '', deadline_ms",
    to: ': { clock_ms: String(Date.now()), deadline_ms',
    spec: QLESS,
    test: 'Q13:',
  },
  {
    name: 'qless: what was kept too long goes in bounded steps',
    file: 'src/engine/timers/pump.ts',
    from: 'const TICK_STEP = 64;',
    to: 'const TICK_STEP = 1_024;',
    spec: QLESS,
    test: 'Q14:',
  },
  {
    name: 'qless: jobs of recurring jobs emit events',
    file: 'lua/modules/extended/timeline.lua',
    from: '  emit_event(what, job, facts)\n',
    to: '',
    spec: QLESS,
    test: 'Q16:',
  },
  {
    name: 'qless: jobs of recurring ones wait for others',
    file: 'lua/modules/extended/new_jobs.lua',
    from: 'local needs = options.needs or {}',
    to: 'local needs = options.due_ms and options.needs or {}',
    spec: QLESS,
    test: 'Q16:',
  },
  {
    name: 'qless: the number of a lease proves whose a job is',
    file: 'lua/modules/leases/claims.lua',
    from: 'return job.lease == lease and (job.state == LEASED or is_late(job, verb)) and 1 or 2',
    to: 'return (job.state == LEASED or is_late(job, verb)) and 1 or 2',
    spec: QLESS,
    test: 'Q17:',
  },
];
