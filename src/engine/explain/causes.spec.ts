import type { JobDetails } from '../../contract/job/extended-job.js';
import { CAUSES } from '../../contract/explain.js';
import type { JobReasons, QueueReasons } from './explainer.js';
import { causesOfJob, causesOfQueue } from './causes.js';

const NOW_MS = Date.parse('2026-01-01T12:00:00.000Z');
const SERVER = { namespace: 'shop', isPushing: true, isMoving: false };
const QUEUE: QueueReasons = {
  ...{ nowMs: NOW_MS, queue: 'mail', exists: true, pausedAtMs: null, drainingAtMs: null, maxRunning: null },
  ...{ maxRunningPerKey: null, running: 0, rateAtMs: null, isAwaited: false, requests: [], target: null },
  lastRequest: { queue: 'mail', atMs: NOW_MS - 1_000, worker: null },
};
const JOB = {
  ...{ id: 'order-1', queue: 'mail', state: 'ready', type: null, attempts: 0, worker: null, failure: null },
  ...{ leaseEndsAtMs: null, dueAtMs: null, endedAtMs: null, cancelRequested: false, uniqueKey: null },
  ...{ dependsOn: [], failedDependencies: {}, noHandler: null, concurrencyKey: null, timeline: [] },
  publishedAtMs: NOW_MS - 60_000,
} as unknown as JobDetails;

/** The first cause of a job. */
function causeOf(job: Partial<JobDetails>, more: Partial<JobReasons> = {}) {
  const reasons: JobReasons = {
    ...{ nowMs: NOW_MS, queue: QUEUE, front: { urgent: 0, older: 0, isExact: true }, slots: null },
    ...{ keyRateAtMs: null, dependencies: [], origin: null, session: null },
    job: { ...JOB, ...job },
    ...more,
  };
  const [first] = causesOfJob(reasons, SERVER);
  if (first === undefined) throw new Error('there is no cause');
  return first;
}

describe('the sentence of a cause', () => {
  it('changes with the time that it names', () => {
    const due = (ms: number): string => causeOf({ state: 'scheduled', dueAtMs: NOW_MS + ms }).message;
    expect(due(5_000)).toBe('The job is scheduled: it is due at 2026-01-01T12:00:05.000Z (in 5 seconds).');
    expect(due(3_900_000)).toBe(
      'The job is scheduled: it is due at 2026-01-01T13:05:00.000Z (in 1 hour 5 minutes).',
    );
  });

  it('says how late the return of a job is whose lease has ended', () => {
    const late = causeOf({ state: 'leased', attempts: 2, leaseEndsAtMs: NOW_MS - 90_000 });
    expect(late).toMatchObject({ cause: 'lease_ended', facts: { late_ms: 90_000 } });
    expect(late.message).toContain(
      'The lease of attempt 2 ended 2026-01-01T11:58:30.000Z (1 minute 30 seconds ago)',
    );
    expect(causeOf({ state: 'leased', leaseEndsAtMs: NOW_MS + 1 }).cause).toBe('leased');
  });

  it('calls a worker silent from half of the time to run of its session on', () => {
    const leased = { state: 'leased', leaseEndsAtMs: NOW_MS + 9_000, worker: 'w1' } as const;
    const silent = (ms: number): string =>
      causeOf(leased, { session: { heartbeatAtMs: NOW_MS - ms, ttrMs: 10_000 } }).cause;
    expect([silent(4_999), silent(5_000)]).toEqual(['leased', 'lease_silent']);
  });

  it('counts the jobs in front, one and many', () => {
    const behind = (urgent: number, older: number, isExact = true): string =>
      causeOf({}, { front: { urgent, older, isExact } }).message;
    expect(behind(0, 0)).toBe('The job is ready, and the next one that the queue mail gives.');
    expect(behind(0, 1)).toBe('The job is ready, behind 1 job of the queue mail: 1 older.');
    expect(behind(2, 1_000, false)).toBe(
      'The job is ready, behind at least 1002 jobs of the queue mail: 2 of a higher priority and at least 1000 older.',
    );
  });

  it('names five of the jobs that a blocked job waits for, and how many others there are', () => {
    const dependencies = Array.from({ length: 7 }, (_, i) => ({
      id: `j${String(i)}`,
      state: null,
      queue: null,
    }));
    const dependsOn = dependencies.map(({ id }) => id);
    expect(causeOf({ state: 'blocked', dependsOn }, { dependencies }).message).toBe(
      'The job is blocked by its dependencies. It waits for 7 jobs: j0 (not known), j1 (not known), j2 (not known), j3 (not known), j4 (not known) and 2 others.',
    );
  });
});

describe('the causes of a queue', () => {
  const names = (queue: Partial<QueueReasons>, server = SERVER): string[] =>
    causesOfQueue({ ...QUEUE, ...queue }, server).map(({ cause }) => cause);

  it('are all that hold, in one order', () => {
    const target = { name: 't', exists: true, pausedAtMs: 1, pauseReason: 'gone', openUntilMs: null };
    const limits = { maxRunning: 1, running: 1, rateAtMs: NOW_MS + 1 };
    expect(
      names({ pausedAtMs: 1, drainingAtMs: 1, target, ...limits }, { ...SERVER, isMoving: true }),
    ).toEqual([...['pool_moving', 'paused', 'draining', 'target_paused', 'max_running', 'rate']]);
    expect(names({})).toEqual([]);
  });

  it('are only those that an answer declares', () => {
    for (const cause of names({ lastRequest: null })) expect(CAUSES).toContain(cause);
  });

  it('have no_worker only while no lease request waits and none is known from the last minute', () => {
    const requested = (ms: number) => ({ lastRequest: { queue: 'mail', atMs: NOW_MS - ms, worker: null } });
    expect([names(requested(59_999)), names(requested(60_000))]).toEqual([[], ['no_worker']]);
    expect(names({ ...requested(60_000), isAwaited: true })).toEqual([]);
    expect(names({ lastRequest: null })).toEqual(['no_worker']);
  });
});
