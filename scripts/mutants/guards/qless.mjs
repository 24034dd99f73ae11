const QLESS = 'test/redis/qless-defects.spec.ts';

/**
 * What keeps the defects of qless (docs/qless.md) away.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const QLESS_DEFECTS = [
  {
    name: 'qless: no script sets a global',
    file: 'lua/lib/full/retry.lua',
    from: 'local delay = policy.delayMs',
    to: 'delay = policy.delayMs',
    spec: QLESS,
    test: 'Q1:',
  },
  {
    name: 'qless: a late owner who is heard has a lease again',
    file: 'lua/lib/full/beat.lua',
    from: 'go(job, LEASED, ends)',
    to: 'go(job, is_late and READY or LEASED, ends)',
    spec: QLESS,
    test: 'Q2:',
  },
  {
    name: 'qless: a job that moves on is in its next queue',
    file: 'lua/lib/full/go_on.lua',
    from: '= number_of(next.queue), tonumber',
    to: '= job.queue, tonumber',
    spec: QLESS,
    test: 'Q8:',
  },
  {
    name: 'qless: the pump runs by itself',
    file: 'src/engine/pump.ts',
    from: 'this.sweeper = setTimeout(() => void this.sweep(), inMs);',
    to: 'this.sweeper = undefined;',
    spec: QLESS,
    test: 'Q12:',
  },
  {
    name: 'qless: scripts ask Redis for the time',
    file: 'src/engine/script-runner.ts',
    from: ": { clock_ms: '', deadline_ms",
    to: ': { clock_ms: String(Date.now()), deadline_ms',
    spec: QLESS,
    test: 'Q13:',
  },
  {
    name: 'qless: what was kept too long goes in bounded steps',
    file: 'src/engine/pump.ts',
    from: 'const TICK_STEP = 64;',
    to: 'const TICK_STEP = 1_024;',
    spec: QLESS,
    test: 'Q14:',
  },
  {
    name: 'qless: jobs of recurring ones are told of',
    file: 'lua/lib/full/new.lua',
    from: 'tell("published", job',
    to: 'note(job, "published"',
    spec: QLESS,
    test: 'Q16:',
  },
  {
    name: 'qless: jobs of recurring ones wait for others',
    file: 'lua/lib/full/new.lua',
    from: 'wait_for(job, options.needs or {})',
    to: 'wait_for(job, options.due_ms and options.needs or {})',
    spec: QLESS,
    test: 'Q16:',
  },
  {
    name: 'qless: the number of a lease proves whose a job is',
    file: 'lua/lib/full/claim.lua',
    from: 'return job.lease == lease and (job.state == LEASED or is_late) and 1 or 2',
    to: 'return (job.state == LEASED or is_late) and 1 or 2',
    spec: QLESS,
    test: 'Q17:',
  },
];
