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
    test: 'qless defects that the engine does not have › Q1: a script sets no global and runs on a Redis later than 6.2.7',
  },
  {
    id: 'accepted-late-holder-has-a-lease',
    name: 'leases: a late holder that is accepted has a lease again',
    off: { with: 'was_late and READY or $&' },
    spec: QLESS,
    test: 'qless defects that the engine does not have › Q2: a late lease holder that is accepted has a whole lease again, and may be late again',
  },
  {
    id: 'moved-job-is-in-its-next-queue',
    name: 'leases: a job that moves on is in its next queue',
    off: { with: 'job.queue' },
    spec: QLESS,
    test: 'qless defects that the engine does not have › Q8: a job moved by any call shows its new queue everywhere',
  },
  {
    id: 'pump-runs-by-itself',
    name: 'pump: the pump runs by itself',
    off: 'remove',
    spec: QLESS,
    test: 'qless defects that the engine does not have › Q12: a due job moves by itself without a lease request',
  },
  {
    id: 'scripts-ask-redis-for-the-time',
    name: 'time: scripts ask Redis for the time',
    off: { with: 'String(Date.now())' },
    spec: QLESS,
    test: 'qless defects that the engine does not have › Q13: time is that of Redis, not of a server or worker',
  },
  {
    id: 'retention-in-bounded-steps',
    name: 'retention: what was kept too long is removed in bounded steps',
    off: { with: '1_024' },
    spec: QLESS,
    test: 'qless defects that the engine does not have › Q14: an ack removes nothing old; retention is applied in bounded steps',
  },
  {
    id: 'recurring-jobs-emit-events',
    name: 'events: jobs of recurring jobs emit events',
    off: 'remove',
    spec: QLESS,
    test: 'qless defects that the engine does not have › Q16: a job of a recurring job has events and dependencies as any other',
  },
  {
    id: 'recurring-jobs-have-dependencies',
    name: 'dependencies: jobs of recurring jobs wait for others',
    off: { with: 'options.due_ms and $&' },
    spec: QLESS,
    test: 'qless defects that the engine does not have › Q16: a job of a recurring job has events and dependencies as any other',
  },
  {
    id: 'lease-number-proves-holder',
    name: 'leases: the lease number proves ownership',
    off: 'remove',
    spec: QLESS,
    test: 'qless defects that the engine does not have › Q17: a worker name proves nothing: each lease has its own number',
  },
];
