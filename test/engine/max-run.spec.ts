import type { LeasedJob } from '../../src/domain/job/job.js';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import { Redis } from 'ioredis';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture } from './fixture.js';

const TTR_MS = 10_000;
const RUN_MS = 15_000;
/** The time of the grant is stored in whole milliseconds; a run is rounded up to the next one. */
const END_MS = RUN_MS + 1;
const AT_ONCE = { kind: 'fixed', delayMs: 0 } as const;

describe('`max_run_ms` of a job', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
  });
  afterEach(async () => {
    const redis = new Redis(testRedisUrl());
    try {
      expect(await Audit.of(redis, f.ns)).toEqual([]);
    } finally {
      redis.disconnect();
      await f.close();
    }
  });

  const publish = async (job: Partial<NewExtendedJob> = {}): Promise<string> => {
    const one = { queue: 'q', body: Buffer.from('x'), maxRunMs: RUN_MS, ...job };
    return (await f.engine.jobs.publish(f.ns, [one]))[0]!.id;
  };
  const publishSimple = () => f.engine.jobs.publish(f.ns, [{ queue: 'q', body: Buffer.from('x') }]);
  const setDefault = async (maxRunMs: number | null): Promise<void> => {
    await f.engine.components.queueControls.change(f.ns, 'q', { defaults: maxRunMs ? { maxRunMs } : null });
  };
  const lease = async (ttrMs = TTR_MS): Promise<LeasedJob> =>
    (await f.lease('q', { ttrMs, worker: 'w1' }))[0]!;
  const heartbeat = (job: LeasedJob, ttrMs = TTR_MS) => f.engine.settle.heartbeat(f.ns, job, { ttrMs });
  const verbs = {
    ack: async (job: LeasedJob) => {
      const [status] = await f.engine.ackMany(f.ns, [{ queue: job.queue, id: job.id, lease: job.lease }]);
      if (status === 'lease_lost') throw Object.assign(new Error(status), { code: status });
    },
    complete: async (job: LeasedJob) => {
      const { id, lease: number } = job;
      const [done] = await f.engine.settle.complete(f.ns, [{ id, lease: number, retentionMs: 1_000 }]);
      if (done === 'lease_lost') throw Object.assign(new Error(done), { code: done });
    },
    heartbeat: (job: LeasedJob) => heartbeat(job),
    release: (job: LeasedJob) => f.engine.settle.release(f.ns, job),
    retry: (job: LeasedJob) => f.engine.settle.retry(f.ns, { ...job, group: 'g', message: 'm' }),
    fail: (job: LeasedJob) => f.engine.settle.fail(f.ns, { ...job, group: 'g', message: 'm' }),
  };
  const allVerbs = Object.keys(verbs) as (keyof typeof verbs)[];

  it('cuts a longer lease, and leaves a shorter one as it is', async () => {
    const id = await publish();
    const job = await lease(3_600_000);
    expect(job.leaseEndsAtMs).toBe(f.nowMs + END_MS);
    expect(await f.find(id)).toMatchObject({ leaseEndsAtMs: f.nowMs + END_MS, maxRunMs: RUN_MS });
    await publish();
    expect((await lease()).leaseEndsAtMs).toBe(f.nowMs + TTR_MS);
  });

  it('cuts heartbeats at the end of the run', async () => {
    await publish();
    const job = await lease();
    const endsMs = f.nowMs + END_MS;
    await f.pass(4_000);
    expect(await heartbeat(job)).toMatchObject({ leaseEndsAtMs: f.nowMs + TTR_MS });
    await f.pass(4_000);
    expect(await heartbeat(job)).toMatchObject({ leaseEndsAtMs: endsMs });
    const [many] = await f.engine.settle.heartbeatMany(f.ns, [job], TTR_MS);
    expect(many).toMatchObject({ status: 'extended', leaseEndsAtMs: endsMs });
    expect(await f.find(job.id)).toMatchObject({ leaseEndsAtMs: endsMs });
  });

  it('fails the job at the end of the run, under its retry policy', async () => {
    const id = await publish({ retry: { kind: 'fixed', delayMs: 3_000 }, leaseGraceMs: 10 });
    const job = await lease(3_600_000);
    await f.pass(END_MS - 1);
    expect(await f.find(id)).toMatchObject({ state: 'leased', lease: job.lease });
    await f.pass(1);
    const found = (await f.find(id))!;
    const failure = { group: 'max_run_exceeded', worker: 'w1', atMs: f.nowMs };
    expect(found).toMatchObject({ state: 'scheduled', dueAtMs: f.nowMs + 3_000, crashes: 1, failure });
    expect(found.lease).toBeGreaterThan(job.lease);
    expect(found.failure?.message).toContain(String(RUN_MS));
    expect(found.timeline).toContainEqual(
      expect.objectContaining({ what: 'timed_out', group: 'max_run_exceeded', worker: 'w1' }),
    );
  });

  it.each([
    ['names its group as final', { kind: 'fixed', delayMs: 0, nonRetryable: ['max_run_exceeded'] }, 5],
    ['allows no further attempt', { kind: 'none' }, 5],
    ['has no try left', AT_ONCE, 1],
  ] as const)('makes the job dead if its policy %s', async (_name, retry, tries) => {
    const id = await publish({ retry, tries });
    const job = await lease(3_600_000);
    await f.pass(END_MS);
    expect(await f.find(id)).toMatchObject({ state: 'dead', failure: { group: 'max_run_exceeded' } });
    await expect(verbs.ack(job)).rejects.toMatchObject({ code: 'lease_lost' });
  });

  it('gives each attempt the whole time', async () => {
    await publish({ retry: AT_ONCE });
    const first = await lease(3_600_000);
    await f.pass(END_MS);
    const second = await lease(3_600_000);
    expect(second).toMatchObject({ id: first.id, attempts: 2, leaseEndsAtMs: f.nowMs + END_MS });
    await f.pass(END_MS - 1);
    await verbs.ack(second);
  });

  describe.each(allVerbs)('the holder of an ended run with %s', (verb) => {
    const expectRefused = async (job: LeasedJob, state: string): Promise<void> => {
      await expect(verbs[verb](job)).rejects.toMatchObject({ code: 'lease_lost' });
      expect(await f.find(job.id)).toMatchObject({ state });
    };

    it('is accepted a millisecond before', async () => {
      await publish();
      const job = await lease(3_600_000);
      f.nowMs += END_MS - 1;
      await verbs[verb](job);
    });

    it('is refused, also if the timer of the lease is late', async () => {
      await publish();
      const job = await lease(3_600_000);
      f.nowMs += END_MS;
      await expectRefused(job, 'leased');
      await f.pass(0);
      await expectRefused(job, 'scheduled');
    });

    it('is refused when the lease had expired before', async () => {
      await publish({ retry: { kind: 'fixed', delayMs: 60_000 } });
      const job = await lease();
      await f.pass(TTR_MS);
      expect(await f.find(job.id)).toMatchObject({ failure: { group: 'lease_expired' }, lease: job.lease });
      f.nowMs += END_MS - TTR_MS;
      await expectRefused(job, 'scheduled');
    });

    it('is refused when the job died of its last expired lease', async () => {
      await publish({ tries: 1 });
      const job = await lease();
      await f.pass(TTR_MS);
      f.nowMs += END_MS - TTR_MS;
      await expectRefused(job, 'dead');
    });
  });

  it('accepts the ack of a job that died of its last expired lease until the run ends', async () => {
    await publish({ tries: 1 });
    const job = await lease();
    await f.pass(TTR_MS);
    f.nowMs += END_MS - TTR_MS - 1;
    await verbs.ack(job);
  });

  it('goes on with the same run after a late heartbeat', async () => {
    const id = await publish({ retry: { kind: 'fixed', delayMs: 60_000 } });
    const job = await lease();
    const endsMs = f.nowMs + END_MS;
    await f.pass(TTR_MS + 2_000);
    expect(await heartbeat(job)).toMatchObject({ leaseEndsAtMs: endsMs });
    await f.pass(endsMs - f.nowMs);
    expect(await f.find(id)).toMatchObject({ crashes: 2, failure: { group: 'max_run_exceeded' } });
  });

  it('ends no later than the ttl of the job', async () => {
    await publish({ ttlMs: 5_000 });
    expect((await lease(3_600_000)).leaseEndsAtMs).toBe(f.nowMs + 5_000);
  });

  it('ends as cancelled when a cancel was requested', async () => {
    const id = await publish({ retentionMs: 60_000 });
    await lease(3_600_000);
    await f.engine.jobs.cancel(f.ns, id, { graceMs: 3_600_000 });
    await f.pass(END_MS);
    expect(await f.find(id)).toMatchObject({ state: 'cancelled' });
  });

  describe('a default of a queue', () => {
    beforeEach(() => setDefault(3_000));

    it.each<[string, Partial<NewExtendedJob>]>([
      ['without options', {}],
      ['with a type', { type: 't' }],
      ['with attributes', { attributes: { a: 'b' } }],
      ['with a priority', { priority: 2 }],
      ['with a ttl', { ttlMs: 60_000 }],
    ])('applies to a native job %s', async (_name, options) => {
      const [one] = await f.engine.jobs.publish(f.ns, [{ queue: 'q', body: Buffer.from('x'), ...options }]);
      expect(await f.find(one!.id)).toMatchObject({ maxRunMs: 3_000 });
      expect((await lease()).leaseEndsAtMs).toBe(f.nowMs + 3_001);
    });

    it('gives way to that of the job', async () => {
      expect(await f.find(await publish())).toMatchObject({ maxRunMs: RUN_MS });
      expect(await f.find(await publish({ priority: 1 }))).toMatchObject({ maxRunMs: RUN_MS });
    });

    it.each<[string, () => Promise<unknown>]>([
      ['was published by lmstfy’s API', () => f.publish('q', { tries: 2 })],
      [
        'was published before there was one',
        async () => {
          await setDefault(null);
          await publishSimple();
          await setDefault(3_000);
        },
      ],
    ])('counts from the lease of a job that %s', async (_name, store) => {
      await store();
      const job = await lease();
      expect(job).toMatchObject({ leaseEndsAtMs: f.nowMs + 3_001, extended: { maxRunMs: 3_000 } });
      expect(await f.find(job.id)).toMatchObject({ maxRunMs: null, leaseEndsAtMs: f.nowMs + 3_001 });
      f.nowMs += 3_001;
      await expect(verbs.ack(job)).rejects.toMatchObject({ code: 'lease_lost' });
      await f.pass(0);
      const found = (await f.find(job.id))!;
      expect(found).toMatchObject({ failure: { group: 'max_run_exceeded' }, crashes: 1 });
      expect(found.failure!.message).toContain('3000');
      // A number that was never granted.
      await expect(heartbeat({ ...job, lease: found.lease })).rejects.toMatchObject({ code: 'lease_lost' });
    });

    it('stays as it was when a lease was granted', async () => {
      await f.publish('q', { tries: 2 });
      const job = await lease();
      await setDefault(1_000);
      f.nowMs += 2_000;
      expect(await heartbeat(job)).toMatchObject({ leaseEndsAtMs: f.nowMs + 1_001 });
      await setDefault(null);
      expect(await heartbeat(job)).toMatchObject({ leaseEndsAtMs: f.nowMs + 1_001 });
      await f.pass(1_001);
      expect((await lease()).leaseEndsAtMs).toBe(f.nowMs + TTR_MS);
    });

    it('leaves a job simple that is not leased', async () => {
      await f.publish('q');
      await f.publish('q');
      await lease();
      const redis = new Redis(testRedisUrl());
      try {
        expect(await redis.keysBuffer(`*{${f.ns}}x*`)).toHaveLength(1);
      } finally {
        redis.disconnect();
      }
    });
  });

  describe('a handler that begins', () => {
    const begin = (job: LeasedJob, maxRunMs?: number) =>
      f.engine.settle.heartbeat(f.ns, job, { ttrMs: TTR_MS, begin: true, ...(maxRunMs && { maxRunMs }) });

    it('restarts the run of its lease', async () => {
      await publish();
      const job = await lease();
      f.nowMs += 9_000;
      expect(await begin(job)).toMatchObject({ leaseEndsAtMs: f.nowMs + TTR_MS });
      f.nowMs += 9_000;
      expect(await heartbeat(job)).toMatchObject({ leaseEndsAtMs: f.nowMs + END_MS - 9_000 });
      f.nowMs += END_MS - 9_000 - 1;
      await verbs.ack(job);
    });

    it('restarts it once in a lease', async () => {
      await publish();
      const job = await lease();
      f.nowMs += 1_000;
      await begin(job);
      const endsMs = f.nowMs + END_MS;
      f.nowMs += 9_000;
      expect(await begin(job)).toMatchObject({ leaseEndsAtMs: endsMs });
      expect(await begin(job, 1)).toMatchObject({ leaseEndsAtMs: endsMs });
      f.nowMs = endsMs;
      await expect(verbs.ack(job)).rejects.toMatchObject({ code: 'lease_lost' });
      await expect(begin(job)).rejects.toMatchObject({ code: 'lease_lost' });
    });

    it('restarts it in each lease again', async () => {
      await publish({ retry: AT_ONCE });
      await begin(await lease());
      await f.pass(TTR_MS);
      const job = await lease();
      f.nowMs += 9_000;
      await begin(job);
      const endsMs = f.nowMs + END_MS;
      f.nowMs += 9_000;
      expect(await heartbeat(job)).toMatchObject({ leaseEndsAtMs: endsMs });
    });

    it.each([
      ['is cut by a shorter one of the handler', 15_000, 4_000, 4_001],
      ['is not extended by a longer one of the handler', 4_000, 15_000, 4_001],
    ])('has a limit that %s', async (_name, ofJobMs, ofHandlerMs, endMs) => {
      await publish({ maxRunMs: ofJobMs });
      const job = await lease();
      expect(await begin(job, ofHandlerMs)).toMatchObject({ leaseEndsAtMs: f.nowMs + endMs });
      f.nowMs += endMs;
      await expect(verbs.ack(job)).rejects.toMatchObject({ code: 'lease_lost' });
    });

    it.each<[string, () => Promise<unknown>]>([
      ['of the native API', () => publishSimple()],
      ['of lmstfy’s API', () => f.publish('q')],
    ])('limits a simple job %s', async (_name, store) => {
      await store();
      const job = await lease();
      f.nowMs += 2_000;
      expect(await begin(job, 4_000)).toMatchObject({ leaseEndsAtMs: f.nowMs + 4_001 });
      await f.pass(4_001);
      expect(await f.find(job.id)).toMatchObject({ failure: { group: 'max_run_exceeded' }, crashes: 1 });
    });

    it('limits only its own lease', async () => {
      await publish({ retry: AT_ONCE });
      await begin(await lease(), 2_000);
      await f.pass(2_001);
      const job = await lease(3_600_000);
      expect(job).toMatchObject({ leaseEndsAtMs: f.nowMs + END_MS, extended: { maxRunMs: RUN_MS } });
      f.nowMs += END_MS - 1;
      await verbs.ack(job);
    });

    it('changes nothing in a job without a limit', async () => {
      await publishSimple();
      const job = await lease();
      expect(await begin(job)).toMatchObject({ leaseEndsAtMs: f.nowMs + TTR_MS });
      await verbs.ack(job);
    });

    it('begins after its lease expired, while the run goes on', async () => {
      await publish({ retry: { kind: 'fixed', delayMs: 60_000 } });
      const job = await lease();
      await f.pass(TTR_MS + 2_000);
      await begin(job);
      const endsMs = f.nowMs + END_MS;
      f.nowMs += 9_000;
      expect(await heartbeat(job)).toMatchObject({ leaseEndsAtMs: endsMs });
    });

    it('ends the row of releases without a handler', async () => {
      const id = await publish();
      await f.engine.settle.release(f.ns, { ...(await lease()), delayMs: 0, reason: 'no_handler' });
      expect(await f.find(id)).toMatchObject({ noHandler: { count: 1 } });
      await begin(await lease());
      expect(await f.find(id)).toMatchObject({ noHandler: null });
    });
  });
});
