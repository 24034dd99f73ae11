const QLESS = 'test/engine/regressions.spec.ts';

/**
 * What keeps the defects of qless (docs/how-to/from-qless.md) away.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const QLESS_DEFECTS = [
  {
    id: 'scripts-set-no-global',
    name: 'scripts: no script sets a global',
    off: { replace: 'stray = 1\n$&' },
    spec: QLESS,
    test: 'defects of qless › Q1: runs on a Redis later than 6.2.7, where a script may set no global',
  },
  {
    id: 'accepted-late-holder-has-a-lease',
    name: 'leases: a late holder that is accepted has a lease again',
    off: { with: 'was_late and READY or $&' },
    spec: QLESS,
    test: 'defects of qless › Q2: a late owner who is heard has a whole lease again, and may be late again',
  },
  {
    id: 'moved-job-is-in-its-next-queue',
    name: 'leases: a job that moves on is in its next queue',
    off: { with: 'job.queue' },
    spec: QLESS,
    test: 'defects of qless › Q8: a job that went to another queue, by whatever call, says so everywhere',
  },
  {
    id: 'pump-runs-by-itself',
    name: 'pump: the pump runs by itself',
    off: 'remove',
    spec: QLESS,
    test: 'defects of qless › Q12: what is due moves by itself, without any lease request',
  },
  {
    id: 'scripts-ask-redis-for-the-time',
    name: 'time: scripts ask Redis for the time',
    off: { with: 'String(Date.now())' },
    spec: QLESS,
    test: 'defects of qless › Q13: the time is that of Redis, whatever the clock of a server or a worker says',
  },
  {
    id: 'retention-in-bounded-steps',
    name: 'retention: what was kept too long is removed in bounded steps',
    off: { with: '1_024' },
    spec: QLESS,
    test: 'defects of qless › Q14: an acknowledgement clears nothing away; what is kept too long goes in steps that are bounded',
  },
  {
    id: 'recurring-jobs-emit-events',
    name: 'events: jobs of recurring jobs emit events',
    off: 'remove',
    spec: QLESS,
    test: 'defects of qless › Q16: a job of a recurring one is told of as any other, and waits for what it depends on',
  },
  {
    id: 'recurring-jobs-have-dependencies',
    name: 'dependencies: jobs of recurring jobs wait for others',
    off: { with: 'options.due_ms and $&' },
    spec: QLESS,
    test: 'defects of qless › Q16: a job of a recurring one is told of as any other, and waits for what it depends on',
  },
  {
    id: 'lease-number-proves-holder',
    name: 'leases: the lease number proves ownership',
    off: 'remove',
    spec: QLESS,
    test: 'defects of qless › Q17: the name of a worker proves nothing: each lease has a number of its own',
  },
];
