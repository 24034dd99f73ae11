import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';
import type { SessionHeartbeatResult, WorkerInfo } from '../../src/contract/workers.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { startRedis, testRedisUrl, waitFor } from '../support/redis.js';
import { Listening } from './events-fixture.js';
import { ExtendedFixture } from './extended-fixture.js';
import { EngineFixture } from './fixture.js';
import { auditIndexes } from './index-audit.js';

const TTR_MS = 30_000;
const DAY_MS = 86_400_000;
const INFO: WorkerInfo = { name: 'mailer' };

describe('worker sessions', () => {
  let f: EngineFixture;
  let extended: ExtendedFixture;
  let redis: Redis;
  /** What the observer was told. */
  const changes: string[] = [];
  beforeAll(() => {
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterAll(() => redis.disconnect());
  beforeEach(async () => {
    changes.length = 0;
    const sessions = (_ns: string, what: string, count: number): void =>
      void changes.push(`${what} ${String(count)}`);
    f = await EngineFixture.withClock({ observer: { ...silentObserver, sessions } });
    extended = new ExtendedFixture(f);
  });
  afterEach(async () => {
    expect(await f.audit()).toEqual([]);
    expect(await auditIndexes(redis, f.ns)).toEqual([]);
    await f.close();
  });

  const beat = (
    id: string,
    leases: readonly Pick<LeasedJob, 'id' | 'lease'>[] = [],
    info?: WorkerInfo,
  ): Promise<SessionHeartbeatResult> =>
    extended.components.workers.heartbeat(f.ns, id, { ttrMs: TTR_MS, leases, ...(info && { info }) });
  /** The worker has been recorded when this ends: the engine does it in the background, and the test moves its clock. */
  const lease = async (
    queue: string,
    count: number,
    worker: string,
    ttrMs?: number,
  ): Promise<LeasedJob[]> => {
    const jobs = await extended.lease(queue, count, worker, ttrMs);
    await waitFor(() => find(worker));
    return jobs;
  };
  const find = (id: string) => extended.components.workers.find(f.ns, id);
  const statuses = ({ jobs }: SessionHeartbeatResult): string[] => jobs.map(({ status }) => status);
  const record = (id: string) => redis.hgetall(f.pool.keys.session(f.ns, id));

  it('begin with the first heartbeat that describes them, also in a namespace without a job', async () => {
    await expect(beat('mailer-1')).rejects.toMatchObject({ code: 'worker_not_found' });
    expect(await f.keys()).toEqual([]);

    const startedAtMs = f.nowMs - 5_000;
    const info = { name: 'mailer', host: 'h', pid: 7, queues: ['mail'], concurrency: 8, startedAtMs };
    expect(await beat('mailer-1', [], info)).toEqual({
      leaseEndsAtMs: f.nowMs + TTR_MS,
      jobs: [],
      quiet: false,
      stop: false,
    });
    await beat('mailer-2', [], INFO);
    f.nowMs += 1_000;
    await beat('mailer-1');

    expect(await find('mailer-1')).toEqual({
      ...{ name: 'mailer-1', seenAtMs: f.nowMs, leased: 0, stalled: 0 },
      session: {
        ...{ info, startedAtMs, heartbeatAtMs: f.nowMs, jobsAtHand: 0 },
        ...{ quiet: false, stop: false, isLost: false },
      },
    });
    // Nothing said: it started when it was heard of first.
    expect((await find('mailer-2'))?.session).toMatchObject({ info: INFO, startedAtMs: f.nowMs - 1_000 });
  });

  it('keep their namespace as long as they are known', async () => {
    await beat('mailer-1', [], INFO);
    await f.engine.tidyNow(f.ns);
    expect((await find('mailer-1'))?.session).not.toBeNull();

    await f.pass(DAY_MS + 1);
    await f.engine.tidyNow(f.ns);
    expect(await record('mailer-1')).toEqual({});
    expect((await f.keys()).filter((key) => !key.endsWith(':meta'))).toEqual([]);
  });

  it('extend the leases of simple and extended jobs, and make no simple job extended', async () => {
    const simple = await f.publish('plain', { tries: 3 });
    const withType = await extended.put('rich');
    const leases = [...(await f.lease('plain')), ...(await lease('rich', 1, 'mailer-1'))];
    f.nowMs += 9_000;
    expect(statuses(await beat('mailer-1', leases, INFO))).toEqual(['extended', 'extended']);

    const ends = f.nowMs + TTR_MS;
    expect(await f.find(simple)).toMatchObject({ state: 'leased', leaseEndsAtMs: ends });
    expect(await f.find(withType)).toMatchObject({ state: 'leased', leaseEndsAtMs: ends });
    // A queue of the extended path has a number below zero, a job of it a hash.
    expect(Number((await redis.hgetall(`{${f.ns}}:queues`))['plain'])).toBeGreaterThan(0);
    expect((await f.keys()).filter((key) => key.startsWith(`{${f.ns}}x`))).toHaveLength(1);
  });

  it('return only their own jobs when they are lost', async () => {
    await f.publish('q', { tries: 3 });
    await extended.put('q');
    await extended.put('q');
    const [a1, a2] = await lease('q', 2, 'mailer-a', TTR_MS);
    const b = await lease('q', 1, 'mailer-b', TTR_MS);
    await beat('mailer-a', [a1!, a2!], INFO);
    await beat('mailer-b', b, INFO);
    expect((await find('mailer-a'))?.session).toMatchObject({ jobsAtHand: 2, isLost: false });

    await f.pass(TTR_MS - 10_000);
    await beat('mailer-b', b);
    await f.pass(9_999);
    expect((await find('mailer-a'))?.session).toMatchObject({ isLost: false });
    await f.pass(1);
    expect((await find('mailer-a'))?.session).toMatchObject({ isLost: true });
    expect((await find('mailer-b'))?.session).toMatchObject({ isLost: false });
    expect(await f.find(a1!.id)).toMatchObject({ state: 'ready' });
    expect(await f.find(a2!.id)).toMatchObject({ state: 'ready' });
    expect(await f.find(b[0]!.id)).toMatchObject({ state: 'leased' });

    // It comes back in time for one of them.
    const [again] = await lease('q', 1, 'mailer-b', TTR_MS);
    const lateOne = again!.id === a1!.id ? a2! : a1!;
    const { jobs } = await beat('mailer-a', [a1!, a2!]);
    expect(new Map(jobs.map(({ id, status }) => [id, status]))).toEqual(
      new Map([
        [again!.id, 'lease_lost'],
        [lateOne.id, 'extended'],
      ]),
    );
    expect((await find('mailer-a'))?.session).toMatchObject({ isLost: false });
  });

  it('report each lease separately: lost, gone, cancelled, twice, or of another session', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await extended.put('q', { tries: 5 }));
    const held = await lease('q', 5, 'mailer-a', TTR_MS);
    const [kept, revoked, acked, cancelled, other] = held.map(({ id, lease }) => ({ id, lease }));
    const { leaseOperations, jobCanceller } = extended.components;
    await leaseOperations.revoke(f.ns, revoked!.id);
    await f.engine.ack(f.ns, 'q', acked!.id, acked!.lease);
    await jobCanceller.cancel(f.ns, cancelled!.id, { graceMs: 60_000 });

    const stale = { ...kept!, lease: kept!.lease + 1 };
    const leases = [kept!, revoked!, acked!, cancelled!, stale, kept!, { id: 'never', lease: 1 }];
    const { jobs } = await beat('mailer-a', leases, INFO);
    expect(jobs.map(({ id, status, cancelRequested }) => [id, status, cancelRequested])).toEqual([
      [kept!.id, 'extended', false],
      [revoked!.id, 'lease_lost', false],
      [acked!.id, 'not_found', false],
      [cancelled!.id, 'extended', true],
      [kept!.id, 'lease_lost', false],
      [kept!.id, 'extended', false],
      ['never', 'not_found', false],
    ]);
    // The lease number is the proof; the job is still listed under the session that leased it.
    expect(statuses(await beat('mailer-b', [other!], INFO))).toEqual(['extended']);
    expect(await f.find(other!.id)).toMatchObject({ state: 'leased', worker: 'mailer-a' });
    // The end of the grace of a cancel takes the job.
    await f.pass(60_001);
    expect(statuses(await beat('mailer-a', [cancelled!]))).toEqual(['lease_lost']);
  });

  it('extend 1,000 leases in one call, and refuse 1,001', async () => {
    const leases: LeasedJob[] = [];
    for (let i = 0; i < 10; i++) {
      await f.engine.publishMany(
        f.ns,
        'q',
        Array.from({ length: 50 }, () => ({ body: Buffer.from('x'), delayMs: 0, ttlMs: 0, tries: 3 })),
      );
      await Promise.all(Array.from({ length: 50 }, () => extended.put('rich')));
      leases.push(...(await f.lease('q', { count: 100 })), ...(await lease('rich', 100, 'mailer-1')));
    }
    expect(leases).toHaveLength(1_000);
    const result = await beat('mailer-1', leases, INFO);
    expect(result.jobs.map(({ id }) => id)).toEqual(leases.map(({ id }) => id));
    expect(new Set(statuses(result))).toEqual(new Set(['extended']));
    expect((await find('mailer-1'))?.session).toMatchObject({ jobsAtHand: 1_000 });
    await expect(beat('mailer-1', [...leases, leases[0]!])).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    await f.pass(TTR_MS - 1);
    expect(await f.counts('rich')).toMatchObject({ leased: 500 });
    await f.pass(1_001);
    expect(await f.counts('rich')).toMatchObject({ leased: 0 });
  });

  it.each([
    ['an id with a brace', '{x}', {}],
    ['an empty id', '', {}],
    ['an id that is too long', 'x'.repeat(129), {}],
    ['no time', 'ok', { ttrMs: 0 }],
  ])('refuse %s', async (_what, id, more) => {
    const call = extended.components.workers.heartbeat(f.ns, id, {
      ttrMs: 1,
      leases: [],
      info: INFO,
      ...more,
    });
    await expect(call).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await f.keys()).toEqual([]);
  });

  it('get quiet and stop in their heartbeats, whatever they report', async () => {
    const { workers } = extended.components;
    for (const id of ['gone', 'by-name']) {
      await expect(workers.quiet(f.ns, id)).rejects.toMatchObject({ code: 'worker_not_found' });
      await expect(workers.stop(f.ns, id)).rejects.toMatchObject({ code: 'worker_not_found' });
      await extended.put('q');
      await lease('q', 1, 'by-name');
    }
    await beat('mailer-1', [], INFO);
    await beat('mailer-2', [], INFO);
    for (let i = 0; i < 2; i++) await workers.quiet(f.ns, 'mailer-1');
    expect(await beat('mailer-1', [], INFO)).toMatchObject({ quiet: true, stop: false });
    for (let i = 0; i < 2; i++) await workers.stop(f.ns, 'mailer-1');
    expect(await beat('mailer-1', [], INFO)).toMatchObject({ quiet: true, stop: true });
    expect((await find('mailer-1'))?.session).toMatchObject({ quiet: true, stop: true });
    expect(await beat('mailer-2')).toMatchObject({ quiet: false, stop: false });
    expect((await find('by-name'))?.session).toBeNull();
  });

  it('end when they are deleted, and their jobs stay', async () => {
    await extended.put('q');
    const leases = await lease('q', 1, 'mailer-1', TTR_MS);
    await beat('mailer-1', leases, INFO);
    await extended.components.workers.stop(f.ns, 'mailer-1');
    expect(await extended.components.workers.deregister(f.ns, 'mailer-1')).toBe(true);
    expect(await record('mailer-1')).toEqual({});
    expect(await f.engine.sessions.countSessions(f.ns)).toBe(0);
    await expect(beat('mailer-1', leases)).rejects.toMatchObject({ code: 'worker_not_found' });
    await expect(extended.components.workers.quiet(f.ns, 'mailer-1')).rejects.toMatchObject({
      code: 'worker_not_found',
    });
    // It says all again, and is a new session.
    expect(await beat('mailer-1', leases, INFO)).toMatchObject({
      jobs: [{ status: 'extended' }],
      stop: false,
    });
  });

  it('cost a list of queues few calls for 10,000 sessions', async () => {
    const calls: string[] = [];
    const observer = { ...silentObserver, script: (name: string) => void calls.push(name) };
    const many = await EngineFixture.withClock({ observer });
    await many.put('q', { type: 't' });
    await many.engine.lease(many.ns, {
      ...{ queues: ['q'], count: 1, ttrMs: 1_000, waitMs: 0, worker: 'w-stalled' },
    });
    const { workers } = many.pool.keys.namespace(many.ns);
    for (let i = 0; i < 10_000; i += 500) {
      const names = Array.from({ length: 500 }, (_, n) => [many.nowMs - i, `w-${String(i + n)}`]).flat();
      await many.pool.read('ZADD', workers, ...names);
    }
    many.nowMs += 2_000;
    calls.length = 0;
    const { queues: admin } = many.engine;
    const { queues } = await admin.list(many.ns, { after: '', limit: 100 });

    expect(queues).toMatchObject([{ stalled: 1, counts: { queue: 'q' } }]);
    // Each of these looks at 500 workers; none reads a session.
    expect(calls.filter((name) => name === 'queries_stalled_workers').length).toBe(20);
    expect(calls.length).toBeLessThan(30);
    await many.close();
  });

  it('are removed with their worker, a day after their last heartbeat', async () => {
    await extended.put('q');
    await beat('mailer-1', [], INFO);
    await f.pass(DAY_MS / 2);
    await beat('mailer-2', [], INFO);
    await f.pass(DAY_MS / 2);
    expect(await find('mailer-1')).toBeNull();
    expect(await record('mailer-1')).toEqual({});
    expect((await find('mailer-2'))?.session).toMatchObject({ isLost: true });
    // An older server forgets the worker alone: then Redis removes its session.
    const ttlMs = await redis.pttl(f.pool.keys.session(f.ns, 'mailer-2'));
    expect(ttlMs).toBeGreaterThan(DAY_MS - 60_000);
    expect(ttlMs).toBeLessThanOrEqual(DAY_MS + TTR_MS);
  });

  it('have events: started, quieted, stopping, ended, each once, also for repeated requests', async () => {
    const { workers } = extended.components;
    const listening = await Listening.to(f.engine, f.ns);
    await beat('mailer-1', [], INFO);
    await beat('mailer-1', [], INFO);
    for (let i = 0; i < 2; i++) await workers.quiet(f.ns, 'mailer-1');
    for (let i = 0; i < 2; i++) await workers.stop(f.ns, 'mailer-1');
    for (let i = 0; i < 2; i++) await workers.deregister(f.ns, 'mailer-1');
    await beat('mailer-1', [], { name: 'again' });
    await listening.received(5);
    listening.leave();
    expect(listening.events.map(({ name, queue, id, facts }) => [name, queue, id, facts])).toEqual([
      ...['worker_started', 'worker_quieted', 'worker_stopping', 'worker_ended'].map((name) => [
        ...[name, '', ''],
        { worker: 'mailer-1', name: 'mailer' },
      ]),
      ['worker_started', '', '', { worker: 'mailer-1', name: 'again' }],
    ]);
    expect(changes).toEqual(['started 1', 'ended 1', 'started 1']);
  });

  it('have an event when they are lost, and when they return', async () => {
    await extended.put('q');
    const leases = await lease('q', 1, 'mailer-1', TTR_MS);
    await beat('mailer-1', leases, INFO);
    await beat('mailer-2', [], INFO);
    const listening = await Listening.to(f.engine, f.ns);
    const ofWorkers = () => listening.events.filter(({ name }) => name.startsWith('worker_'));
    await f.pass(TTR_MS - 1);
    await beat('mailer-2');
    expect(await f.engine.sessions.countSessions(f.ns)).toBe(2);
    await f.pass(1);
    expect(await f.engine.sessions.countSessions(f.ns)).toBe(1);
    await beat('mailer-1', leases);
    await waitFor(() => ofWorkers().length === 2, 5_000);
    // Once.
    await f.pass(TTR_MS - 2);
    listening.leave();
    expect(ofWorkers().map(({ name, facts }) => [name, facts])).toEqual([
      ['worker_lost', { queue: '', worker: 'mailer-1', name: 'mailer', jobs_at_hand: 1 }],
      ['worker_started', { worker: 'mailer-1', name: 'mailer', returned: true }],
    ]);
    expect(changes).toEqual(['started 1', 'started 1', 'lost 1', 'returned 1']);
  });

  it('are counted by queue, all of more than one script reads, without those that are lost', async () => {
    const ids = Array.from({ length: 450 }, (_, i) => `mailer-${String(i)}`);
    const queuesOf = (i: number): string[] => (i % 3 === 0 ? ['mail', 'sms'] : ['mail']);
    await Promise.all(ids.map((id, i) => beat(id, [], { ...INFO, queues: queuesOf(i) })));
    await beat('describes-no-queues', [], INFO);
    expect(await f.engine.sessions.sessionsByQueue(f.ns)).toEqual(
      new Map([
        ['mail', 450],
        ['sms', 150],
      ]),
    );

    f.nowMs += TTR_MS;
    // Lost, though their timer has not run yet.
    await beat('mailer-1');
    expect(await f.engine.sessions.sessionsByQueue(f.ns)).toEqual(new Map([['mail', 1]]));
  });

  it('are lost a bounded number at a time, all of them in the end', async () => {
    const ids = Array.from({ length: 150 }, (_, i) => `mailer-${String(i)}`);
    await Promise.all(ids.map((id) => beat(id, [], INFO)));
    await f.pass(TTR_MS);
    const lost = changes.filter((change) => change.startsWith('lost'));
    expect(lost.map((change) => Number(change.slice('lost '.length)))).toEqual([64, 64, 22]);
    expect(await f.engine.sessions.countSessions(f.ns)).toBe(0);
  });

  it('are removed after a day without being counted as lost, if their ttr is two days', async () => {
    const heartbeat = { ttrMs: 2 * DAY_MS, leases: [], info: INFO };
    await extended.components.workers.heartbeat(f.ns, 'mailer-1', heartbeat);
    await f.pass(DAY_MS);
    expect(await record('mailer-1')).toEqual({});
    expect(await f.engine.sessions.countSessions(f.ns)).toBe(0);
    await f.pass(DAY_MS);
    expect(changes).toEqual(['started 1']);
  });

  it('are purged with their namespace', async () => {
    await extended.put('q');
    await beat('mailer-1', await lease('q', 1, 'mailer-1'), INFO);
    await beat('mailer-2', [], INFO);
    await f.engine.purge.run(f.ns);
    expect(await f.keys()).toEqual([]);
    await expect(beat('mailer-1')).rejects.toMatchObject({ code: 'worker_not_found' });
    expect(await f.keys()).toEqual([]);
  });
});

describe('a worker session in a full Redis', () => {
  it('keeps its leases, although nothing of it can be recorded', async () => {
    const store = await startRedis();
    const changes: string[] = [];
    const sessions = (_ns: string, what: string): void => void changes.push(what);
    const observer = { ...silentObserver, sessions };
    const f = await EngineFixture.open({ observer }, { url: store.url });
    const admin = new Redis(store.port, '127.0.0.1');
    try {
      await f.publish('q', { tries: 3 });
      const leases = await f.lease('q');
      const heartbeat = { ttrMs: TTR_MS, leases };
      const { workers } = f.engine.components;
      await workers.heartbeat(f.ns, 'mailer-1', { ...heartbeat, info: INFO });
      await admin.config('SET', 'maxmemory', '1');
      for (const info of [INFO, undefined])
        expect(
          await workers.heartbeat(f.ns, 'mailer-1', { ...heartbeat, ...(info && { info }) }),
        ).toMatchObject({ jobs: [{ status: 'extended' }] });
      expect(await workers.heartbeat(f.ns, 'mailer-2', { ...heartbeat, info: INFO })).toMatchObject({
        jobs: [{ status: 'extended' }],
      });
      expect(changes).toEqual(['started']);
    } finally {
      admin.disconnect();
      await f.close();
      await store.stop();
    }
  });
});
