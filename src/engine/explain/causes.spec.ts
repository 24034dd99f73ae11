import type { JobDetails } from '../../contract/job/extended-job.js';
import { CAUSES } from '../../contract/explain.js';
import type { Recurring } from '../../contract/job/recurring.js';
import type { TypeSeen } from '../../contract/queue-settings.js';
import { settingsIn } from '../queues/stored-settings.js';
import { causesOfEnd, causesOfJob, causesOfQueue, causesOfRecurring, explanationOf } from './causes.js';
import type { CountsSeen, JobReasons, QueueReasons } from './reasons.js';

const NOW_MS = Date.parse('2026-01-01T12:00:00.000Z');
const SERVER = { namespace: 'shop', isPushing: true, isMoving: false };
const SETTINGS = settingsIn(new Map());
const NO_JOBS: CountsSeen = {
  ...{ ready: 0, scheduled: 0, blocked: 0, held: 0, leased: 0, nextDueMs: null },
};
const QUEUE: QueueReasons = {
  ...{ nowMs: NOW_MS, queue: 'mail', exists: true, isStoreFull: false, settings: SETTINGS },
  ...{ counts: { ...NO_JOBS, ready: 1 }, rateAtMs: null, isAwaited: false, requests: [], target: null },
  pace: { leased: 0, withinMs: 45_000 },
  lastRequest: { queue: 'mail', atMs: NOW_MS - 1_000, worker: null },
  ...{ isByType: false, types: [], hasMoreTypes: false, readyOfPausedKeys: 0 },
};
const JOB = {
  ...{ id: 'order-1', queue: 'mail', state: 'ready', type: null, attempts: 0, worker: null, failure: null },
  ...{ leaseEndsAtMs: null, dueAtMs: null, endedAtMs: null, cancelRequested: false, uniqueKey: null },
  ...{ dependsOn: [], failedDependencies: {}, noHandler: null, concurrencyKey: null, timeline: [] },
  publishedAtMs: NOW_MS - 60_000,
} as unknown as JobDetails;

function reasonsOf(job: Partial<JobDetails>, more: Partial<JobReasons>): JobReasons {
  return {
    ...{ nowMs: NOW_MS, queue: QUEUE, front: { urgent: 0, older: 0, isExact: true, isOfType: false } },
    ...{ keyRateAtMs: null, dependencies: [], isStuck: false, hiddenDependencies: 0, origin: null },
    deadDependencies: [],
    ...{
      slots: null,
      heldBefore: 0,
      typeRequestMs: NOW_MS - 1_000,
      isTypeAwaited: false,
      typedRequestMs: NOW_MS,
    },
    ...{ session: null, leasedAtMs: null, runEndsAtMs: null, loops: [], turn: null },
    job: { ...JOB, ...job },
    ...more,
  };
}

/** The first cause of a job. */
function causeOf(job: Partial<JobDetails>, more: Partial<JobReasons> = {}) {
  const [first] = causesOfJob(reasonsOf(job, more), SERVER);
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

  it('says why no server has returned a job whose lease has ended', () => {
    const loop = { name: 'pump', durationMs: 1, moved: 0, lagMs: 0, lastRunMs: null };
    const late = (more: object): string =>
      causeOf(
        { state: 'leased', attempts: 1, leaseEndsAtMs: NOW_MS - 9_000 },
        { loops: [{ ...loop, nextRunMs: null, lastError: null, ...more }] },
      ).message;
    expect(late({})).toContain('the pump of this server does not run.');
    expect(late({ lastRunMs: NOW_MS - 20_000 })).toContain(
      'the pump of this server has stopped; it ran last 2026-01-01T11:59:40.000Z.',
    );
    expect(late({ nextRunMs: NOW_MS, lastError: { message: 'x', atMs: NOW_MS } })).toContain(
      'the loop pump of this server failed 2026-01-01T12:00:00.000Z',
    );
    expect(late({ nextRunMs: NOW_MS })).toContain('the pump is late');
  });

  it('says of a job that is being cancelled when its lease ends: with the grace, or before', () => {
    const endOf = (leaseEndsAtMs: number, ...revokedAtMs: number[]): number | null => {
      const timeline = revokedAtMs.map((ms) => ({ what: 'cancel_requested', atMs: NOW_MS, revokedAtMs: ms }));
      const found = causeOf({ state: 'leased', cancelRequested: true, leaseEndsAtMs, timeline });
      const [at] = / \(in .*\)/.exec(found.message) ?? [];
      expect([found.cause, at]).toEqual(['cancel_requested', expect.any(String)]);
      return found.nextAtMs && found.nextAtMs - NOW_MS;
    };
    expect(endOf(NOW_MS + 9_000, NOW_MS + 5_000)).toBe(5_000);
    expect(endOf(NOW_MS + 9_000, NOW_MS + 5_000, NOW_MS + 2_000)).toBe(2_000);
    expect(endOf(NOW_MS + 1_000, NOW_MS + 5_000)).toBe(1_000);
    expect(endOf(NOW_MS + 9_000)).toBe(9_000);
  });

  it('calls a worker silent from half of the time to run of its session on', () => {
    const leased = { state: 'leased', leaseEndsAtMs: NOW_MS + 9_000, worker: 'w1' } as const;
    const silent = (ms: number): string =>
      causeOf(leased, { session: { heartbeatAtMs: NOW_MS - ms, ttrMs: 10_000 } }).cause;
    expect([silent(4_999), silent(5_000)]).toEqual(['leased', 'lease_silent']);
  });

  it('counts the jobs in front, one and many', () => {
    const behind = (urgent: number, older: number, isExact = true, isOfType = false): string =>
      causeOf({ type: 'fax' }, { front: { urgent, older, isExact, isOfType } }).message;
    expect(behind(0, 0)).toContain('The job is ready, and the next one that the queue mail gives.');
    expect(behind(0, 1)).toContain('The job is ready, behind 1 job of the queue mail: 1 older.');
    expect(behind(2, 1_000, false)).toContain(
      'The job is ready, behind at least 1002 jobs of the queue mail: 2 of a higher priority and at least 1000 older.',
    );
    expect(behind(0, 0, true, true)).toContain('and the next one of its type that the queue mail gives.');
    expect(behind(0, 2, true, true)).toContain('behind 2 jobs of its type in the queue mail: 2 older.');
  });

  it('names what gave a scheduled job its due time last', () => {
    const job = { state: 'scheduled', uniqueKey: 'k', dueAtMs: NOW_MS + 5_000, attempts: 1 } as const;
    const failure = { group: 'smtp', message: 'no', atMs: NOW_MS - 500, worker: null };
    const after = (...events: string[]): string => {
      const timeline = events.map((what, i) => ({ what, atMs: NOW_MS - 1_000 + i }));
      return causeOf({ ...job, failure, timeline }).cause;
    };
    expect(after('published', 'debounced')).toBe('debounce');
    expect(after('published', 'debounced', 'leased', 'retried')).toBe('backoff');
    expect(after('published', 'debounced', 'changed')).toBe('backoff');
    expect(after('published', 'retried', 'debounced')).toBe('debounce');
  });

  it('says which pause holds a job, its author and its end', () => {
    const pause = { pausedAtMs: NOW_MS - 60_000, pausedBy: 'ops', note: 'down', endsAtMs: NOW_MS + 60_000 };
    const why =
      'paused since 2026-01-01T11:59:00.000Z (1 minute ago) by "ops", until 2026-01-01T12:01:00.000Z (in 1 minute): down.';
    const causeWith = (job: Partial<JobDetails>, settings: Partial<typeof SETTINGS>) =>
      causeOf(job, { queue: { ...QUEUE, settings: { ...SETTINGS, ...settings } } });
    const { pausedAtMs, pausedBy, note: pauseNote, endsAtMs: pauseEndsAtMs } = pause;
    expect(causeWith({}, { pausedAtMs, pausedBy, pauseNote, pauseEndsAtMs })).toMatchObject({
      ...{ cause: 'paused', message: `The queue mail is ${why}`, nextAtMs: pauseEndsAtMs },
    });
    const ofType = { pauses: [{ ...pause, type: 'fax' }] };
    expect(causeWith({ type: 'fax' }, ofType)).toMatchObject({
      cause: 'type_paused',
      message: `The job is not leased: in the queue mail the type fax is ${why}`,
    });
    expect(causeWith({ type: 'sms' }, ofType).cause).toBe('behind');
    const withoutType = { pauses: [{ ...pause, type: null }] };
    expect(causeWith({ type: null }, withoutType).message).toContain('jobs without a type are paused');
    expect(causeWith({ type: 'fax' }, withoutType).cause).toBe('behind');
    const ofKey = { pauses: [{ ...pause, fairKey: 'a' }] };
    const byKey = { concurrencyKey: 'a' };
    expect(causeWith(byKey, ofKey).cause).toBe('behind');
    // In a fair queue, a job without a fair key is served by its concurrency key.
    expect(causeWith(byKey, { ...ofKey, fair: true }).cause).toBe('key_paused');
    expect(causeWith({ ...byKey, fairKey: 'b' }, { ...ofKey, fair: true }).cause).toBe('behind');
  });

  it('names the type that no worker asks for, unless a request waits or was made in the last minute', () => {
    const causeAt = (typeRequestMs: number | null, isTypeAwaited = false) =>
      causeOf({ type: 'fax' }, { typeRequestMs, isTypeAwaited });
    expect([causeAt(NOW_MS - 59_999).cause, causeAt(null, true).cause]).toEqual(['behind', 'behind']);
    expect(causeAt(NOW_MS - 60_000)).toMatchObject({
      ...{ cause: 'no_worker_for_type', sinceMs: NOW_MS - 60_000 },
      facts: { queue: 'mail', type: 'fax', last_request_at: '2026-01-01T11:59:00.000Z' },
    });
    expect(causeOf({}, { typeRequestMs: null, typedRequestMs: NOW_MS - 60_000 }).cause).toBe('behind');
    expect(causeAt(null).message).toBe(
      'No worker asks for jobs of the type fax of the queue mail, but for other types of its jobs: no lease request that takes them is known.',
    );
  });

  it('says how many jobs the queue gave lately, and when the turn of the job comes at that rate', () => {
    const behind = (leased: number, isExact = true): string =>
      causeOf(
        {},
        {
          front: { urgent: 0, older: 59, isExact, isOfType: false },
          queue: { ...QUEUE, pace: { leased, withinMs: 60_000 } },
        },
      ).message;
    expect(behind(0)).toContain('No job of the queue was leased in the last 1 minute.');
    expect(behind(1)).toContain(
      '1 job of the queue was leased in the last 1 minute: at this rate its turn comes in about 1 hour.',
    );
    expect(behind(20, false)).toContain(
      '20 jobs of the queue were leased in the last 1 minute: at this rate its turn comes in at least 3 minutes.',
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

describe('the sentence about a failure', () => {
  const message = '\n  TypeError: total is undefined \r\n    at pay (file:///srv/pay.js:1:2)\u2028    at run';
  const failure = { group: 'TypeError', message, atMs: NOW_MS, worker: null };

  it.each([
    ['dead', 'It died, after attempt 1: TypeError, TypeError: total is undefined. It runs'],
    ['scheduled', 'failed with TypeError (TypeError: total is undefined); attempt 2'],
  ] as const)('has the first line of its message, and the facts have all of it: %s', (state, part) => {
    const found = causeOf({ state, failure, attempts: 1 });
    expect(found.message).toContain(part);
    expect(found.message).not.toContain('file:');
    expect(found.facts).toMatchObject({ failure_message: message });
  });

  it('says of a dead job that it had no attempt', () => {
    const group = 'dependency_failed';
    const found = causeOf({ state: 'dead', failure: { ...failure, group }, attempts: 0 });
    expect(found.message).toContain('It died, before its first attempt: dependency_failed, TypeError');
  });

  it('has the first line of the answer that opened a breaker', () => {
    const breaker = { openUntilMs: NOW_MS + 1, lastAnswer: 'HTTP 503: no\n<html>' };
    const target = { name: 't', exists: true, pausedAtMs: null, pauseReason: null, breaker };
    const found = causeOf({}, { queue: { ...QUEUE, target } });
    expect(found.message).toContain('(the last one: HTTP 503: no)');
    expect(found.facts).toMatchObject({ last_answer: breaker.lastAnswer });
  });
});

describe('the sentence about jobs that are dead', () => {
  it.each([
    [1, 'Through other jobs it waits for d0, which is dead.', 'job'],
    [2, 'Through other jobs it waits for d0 and d1, which are dead.', 'jobs'],
  ])('names those of other jobs, and the first remedy runs them again: %d', (number, part, noun) => {
    const deadDependencies = Array.from({ length: number }, (_, i) => ({ id: `d${String(i)}`, queue: 'q' }));
    const found = causeOf({ state: 'blocked', dependsOn: ['b'] }, { deadDependencies });
    expect(found.message).toContain(part);
    expect(found.facts).toMatchObject({ dead_dependencies: deadDependencies });
    const ids = deadDependencies.map(({ id }) => id);
    expect(found.remedies[0]).toEqual({
      about: `run the dead ${noun} again that it waits for`,
      call: `POST /v1/shop/dead-letter/respawn ${JSON.stringify({ ids })}`,
      command: `pumphouse job retry ${ids.join(' ')} --namespace shop`,
    });
  });

  it('names a dependency of its own once', () => {
    const one = { dependsOn: ['a'], failedDependencies: { b: 'died' } };
    const deadDependencies = ['a', 'b'].map((id) => ({ id, queue: 'q' }));
    expect(causeOf({ state: 'blocked', ...one }, { deadDependencies }).message).not.toContain('Through');
  });
});

describe('the sentence about a queue that is pushed', () => {
  const target = { name: 'billing', exists: true, pausedAtMs: null, pauseReason: null, breaker: null };
  const queue = { ...QUEUE, target };

  it('names the target, and no lease request', () => {
    const [flows] = causesOfQueue(queue, SERVER);
    expect(flows).toMatchObject({ cause: 'flowing', facts: { queue: 'mail', target: 'billing' } });
    expect(flows!.message).toBe(
      'Nothing holds the jobs of the queue mail back: they are pushed to its target billing.',
    );
    const next = causeOf({}, { queue });
    expect(next).toMatchObject({ cause: 'behind', remedies: [] });
    expect(next.message).toContain('the next one that the queue mail gives to its target billing.');
    const noHandler = { count: 1, worker: null, atMs: NOW_MS };
    expect(causeOf({ noHandler }, { queue }).remedies.map(({ about }) => about)).toEqual(['cancel it']);
  });
});

describe('the causes of a job', () => {
  const names = (job: Partial<JobDetails>, more: Partial<JobReasons>): string[] => {
    const causes = causesOfJob(reasonsOf(job, more), { ...SERVER, isMoving: true });
    return causes.map(({ cause }) => cause);
  };
  const settings = { ...SETTINGS, pausedAtMs: 1, drainingSinceMs: 1, maxRunning: 1, maxRunningPerKey: 1 };
  const target = { name: 't', exists: false, pausedAtMs: null, pauseReason: null, breaker: null };
  const queue = {
    ...{ ...QUEUE, isStoreFull: true, settings, target, rateAtMs: NOW_MS + 1 },
    counts: { ...NO_JOBS, leased: 1 },
  };

  it('are all that hold, in one order, for a job that is ready', () => {
    const noHandler = { count: 1, worker: null, atMs: NOW_MS };
    expect(names({ noHandler }, { queue })).toEqual([
      ...['store_full', 'pool_moving', 'paused', 'target_missing', 'max_running', 'rate', 'no_handler'],
      ...['behind', 'draining'],
    ]);
  });

  it('are all that hold, in one order, for a job that is held', () => {
    const slots = { taken: 1, holders: [] };
    const held = { state: 'held', concurrencyKey: 'k' } as const;
    expect(names(held, { queue, slots, keyRateAtMs: NOW_MS + 1 })).toEqual([
      ...['store_full', 'concurrency_key', 'pool_moving', 'paused', 'target_missing', 'rate', 'draining'],
    ]);
  });

  it('have the full store not before what a lease or an end says', () => {
    expect(names({ state: 'leased' }, { queue })).toEqual(['leased']);
    expect(names({ state: 'done' }, { queue })).toEqual(['done']);
  });

  it('count a ready job of the key only where the rate of the key allows more', () => {
    const holder = { id: 'first', state: 'ready', worker: null, leasedAtMs: null } as const;
    const held = (settings: Partial<typeof SETTINGS>, keyRateAtMs: number | null) =>
      names(
        { state: 'held', concurrencyKey: 'k' },
        {
          queue: { ...QUEUE, settings: { ...SETTINGS, ...settings } },
          slots: { taken: 1, holders: [holder] },
          keyRateAtMs,
        },
      );
    const ratePerKey = { rate: 1, periodMs: 1, burst: 1 };
    expect(held({ ratePerKey }, null)).toEqual(['concurrency_key', 'pool_moving']);
    expect(held({ ratePerKey }, NOW_MS + 1)).toEqual(['pool_moving', 'rate']);
    expect(held({ maxRunningPerKey: 1 }, null)).toEqual(['concurrency_key', 'pool_moving']);
  });

  it('say of a held job that nothing holds any more that it becomes ready', () => {
    const held = causeOf({ state: 'held', concurrencyKey: 'k' }, { slots: { taken: 0, holders: [] } });
    expect(held.message).toContain('concurrency key k, which has room by now');
  });

  it('have a sentence in one line, however long a message is', () => {
    const failure = { group: 'smtp', message: `a\tb${'x'.repeat(5_000)}`, atMs: NOW_MS, worker: null };
    const { message } = explanationOf([causeOf({ state: 'dead', failure })]);
    expect(message).toContain('smtp, a bx');
    expect(message).toHaveLength(2_000);
  });
});

describe('the cause of a tracked job that is gone', () => {
  it.each([
    ['done', 'it was acknowledged'],
    ['cancelled', 'it was cancelled'],
    ['expired', 'its ttl_ms was over before it was done'],
    ['replaced', 'another publish replaced it'],
    ['deleted', 'it was deleted'],
  ] as const)('says that it is %s', (outcome, how) => {
    const end = { id: 'a', queue: 'mail', nowMs: NOW_MS, goneAtMs: NOW_MS - 5_000, outcome };
    expect(causesOfEnd(end)).toMatchObject([{ cause: outcome, sinceMs: NOW_MS - 5_000 }]);
    expect(causesOfEnd(end)[0]!.message).toContain(`(5 seconds ago): ${how}.`);
  });
});

describe('the causes of a recurring job', () => {
  const explained = (recurring: Partial<Recurring>, queue: Partial<QueueReasons> = {}) =>
    causesOfRecurring(
      {
        ...{ nowMs: NOW_MS, queue: { ...QUEUE, ...queue } },
        recurring: {
          ...{ id: 'nightly', template: { queue: 'mail' }, paused: false, note: null, made: 3, skipped: 1 },
          ...{ nextAtMs: NOW_MS + 5_000, lastAtMs: NOW_MS - 60_000, lastSkip: null },
          ...recurring,
        } as Recurring,
      },
      SERVER,
    );

  it('name the next slot, the last one, and why a slot made no job', () => {
    expect(explained({})[0]!.message).toBe(
      'The next slot of the recurring job nightly is 2026-01-01T12:00:05.000Z (in 5 seconds). Its last slot was 2026-01-01T11:59:00.000Z (1 minute ago).',
    );
    const [skipped] = explained({ lastSkip: { atMs: NOW_MS - 60_000, reason: 'overlap' } });
    expect(skipped!.message).toContain('(1 minute ago): the job of an earlier slot had not ended');
  });

  it('begin with a full store, a pause, or the end of the schedule', () => {
    const first = (...given: Parameters<typeof explained>): string => explained(...given)[0]!.cause;
    expect(first({}, { isStoreFull: true })).toBe('store_full');
    expect(first({ paused: true, nextAtMs: null })).toBe('paused');
    expect(first({ nextAtMs: null })).toBe('done');
  });

  it('have what holds back the jobs of its queue', () => {
    const settings = { ...SETTINGS, pausedAtMs: 1 };
    expect(explained({}, { settings }).map(({ cause }) => cause)).toEqual(['scheduled', 'paused']);
  });
});

describe('the causes of a queue', () => {
  const names = (queue: Partial<QueueReasons>, server = SERVER): string[] =>
    causesOfQueue({ ...QUEUE, ...queue }, server).map(({ cause }) => cause);

  it('are all that hold, in one order', () => {
    const target = { name: 't', exists: true, pausedAtMs: 1, pauseReason: 'gone', breaker: null };
    const settings = { ...SETTINGS, pausedAtMs: 1, drainingSinceMs: 1, maxRunning: 1 };
    const limits = { settings, rateAtMs: NOW_MS + 1, counts: { ...NO_JOBS, leased: 1 } };
    expect(names({ isStoreFull: true, target, ...limits }, { ...SERVER, isMoving: true })).toEqual([
      ...['store_full', 'pool_moving', 'paused', 'draining', 'target_paused', 'max_running', 'rate'],
      'empty',
    ]);
    expect(names({})).toEqual(['flowing']);
  });

  it('are only those that an answer declares', () => {
    for (const cause of names({ lastRequest: null, counts: NO_JOBS })) expect(CAUSES).toContain(cause);
  });

  it('have no_worker only while no lease request waits and none is known from the last minute', () => {
    const requested = (ms: number) => ({ lastRequest: { queue: 'mail', atMs: NOW_MS - ms, worker: null } });
    expect([names(requested(59_999)), names(requested(60_000))]).toEqual([['flowing'], ['no_worker']]);
    expect(names({ ...requested(60_000), isAwaited: true })).toEqual(['flowing']);
    expect(names({ lastRequest: null })).toEqual(['no_worker']);
  });
});

describe('the causes of a queue that is leased by type', () => {
  const names = (queue: Partial<QueueReasons>): string[] =>
    causesOfQueue({ ...QUEUE, ...queue }, SERVER).map(({ cause }) => cause);
  const typeOf = (type: string | null, lastRequestAtMs: number | null): TypeSeen => ({
    ...{ type, ready: 2, lastRequestAtMs },
    firstReadyAtMs: type === null ? null : NOW_MS - 5_000,
  });

  it('have the types that no worker asks for behind the flow of the others', () => {
    const types = [typeOf('mail', NOW_MS - 59_999), typeOf('fax', NOW_MS - 60_000), typeOf(null, null)];
    const [flows, missing] = causesOfQueue({ ...QUEUE, types }, SERVER);
    expect(flows!.message).toContain('Nothing holds the jobs of other types of the queue mail back');
    expect(missing).toMatchObject({ cause: 'no_worker_for_type', sinceMs: NOW_MS - 5_000 });
    expect(missing!.message).toBe(
      'No worker asks for jobs of 2 types of the queue mail, but for other types of its jobs: fax (2 ready) and no type (2 ready).',
    );
    const fax = { type: 'fax', ready: 2, first_ready_at: '2026-01-01T11:59:55.000Z' };
    expect(missing!.facts).toEqual({
      ...{ queue: 'mail', types_without_worker: 2, at_least: false },
      types: [
        { ...fax, last_request_at: '2026-01-01T11:59:00.000Z' },
        { type: null, ready: 2, first_ready_at: null, last_request_at: null },
      ],
    });
  });

  it('begin with the types that no worker asks for if no ready job is of another one', () => {
    const types = [typeOf('fax', null)];
    expect(names({ types })).toEqual(['no_worker_for_type']);
    expect(names({ types: [typeOf('fax', NOW_MS)] })).toEqual(['flowing']);
    expect(names({ types, lastRequest: null })).toEqual(['no_worker']);
    expect(names({ types, rateAtMs: NOW_MS + 1 })).toEqual(['rate', 'no_worker_for_type']);
  });

  it('begin with a pause if no ready job is of a type that is leased', () => {
    const pause = { pausedAtMs: NOW_MS, pausedBy: null, note: null, endsAtMs: null };
    const pauses = [
      { ...pause, type: 'other' },
      { ...pause, type: 'fax' },
      { ...pause, type: null },
    ];
    const settings = { ...SETTINGS, pauses };
    const types = [typeOf('fax', NOW_MS), typeOf(null, NOW_MS)];
    expect(names({ settings, types })).toEqual(['type_paused']);
    const [first] = causesOfQueue({ ...QUEUE, settings, types }, SERVER);
    expect(first?.facts).toMatchObject({ type: 'fax' });
    expect(names({ settings, types: [...types, typeOf('sms', NOW_MS)] })).toEqual(['flowing', 'type_paused']);
    expect(names({ settings, types, hasMoreTypes: true })).toEqual(['flowing', 'type_paused']);
    expect(names({ settings, types: [...types, typeOf('sms', null)] })).toEqual([
      ...['type_paused', 'no_worker_for_type'],
    ]);
  });

  it('begin with a pause if all ready jobs are of paused fair keys', () => {
    const pause = { pausedAtMs: NOW_MS, pausedBy: null, note: null, endsAtMs: null, fairKey: 'a' };
    const paused = { settings: { ...SETTINGS, pauses: [pause] }, readyOfPausedKeys: 2 };
    expect(names({ ...paused, counts: { ...NO_JOBS, ready: 2 } })).toEqual(['key_paused']);
    expect(names({ ...paused, counts: { ...NO_JOBS, ready: 3 } })).toEqual(['flowing', 'key_paused']);
  });

  it('name 16 types, and say that there may be more', () => {
    const types = Array.from({ length: 64 }, (_, i) => typeOf(`t${String(i)}`, null));
    const [first] = causesOfQueue({ ...QUEUE, types, hasMoreTypes: true }, SERVER);
    expect(first!.message).toContain('jobs of at least 64 types of the queue mail');
    expect(first!.facts).toMatchObject({ types_without_worker: 64, at_least: true });
    expect(first!.facts['types']).toHaveLength(16);
  });
});
