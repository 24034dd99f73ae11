import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';
import type { Completion, JobFailure } from '../../src/domain/job/extended-job.js';
import { type JobState, EXTENDED_TRANSITIONS } from '../../src/domain/job/states.js';
import type { JobChange } from '../../src/engine/jobs/job-updater.js';
import type { Verb } from '../../src/engine/settle/settler.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob, type ExtendedJob } from './fixture.js';

describe('extended jobs', () => {
  let f: EngineFixture;
  const redis = new Redis(testRedisUrl(), { protocol: 2 });
  afterAll(() => redis.quit());
  beforeEach(async () => (f = await EngineFixture.withClock()));
  afterEach(async () => {
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    await f.close();
  });

  const extended = () => f.engine.components;

  const put = (queue: string, job?: ExtendedJob): Promise<string> => f.put(queue, job);

  async function lease(queue: string, count = 1, worker = '') {
    return f.engine.lease(f.ns, { queues: queue.split(','), count, ttrMs: 10_000, waitMs: 0, worker });
  }

  it('are leased as published, and acknowledged', async () => {
    const id = await put('q', { text: 'hello', type: 'mail', tags: ['a', 'b'] });

    const [job] = await lease('q', 1, 'w1');

    expect(job).toMatchObject({
      id,
      lease: 1,
      triesLeft: 4,
      attempts: 1,
      extended: { type: 'mail', tags: ['a', 'b'] },
    });
    expect(job?.body.toString()).toBe('hello');
    expect(await f.engine.ack(f.ns, 'q', id, 1)).toBe(true);
    expect(await extended().jobReader.find(f.ns, id)).toBeNull();
  });

  describe('a chosen id', () => {
    const publishLeased = async (isSimple = false) => {
      if (isSimple) await f.publish('q', { id: 'order-17' });
      else
        await extended().extendedPublisher.publish(f.ns, [
          { queue: 'q', id: 'order-17', body: Buffer.from('x') },
        ]);
      const [job] = await lease('q');
      return { id: 'order-17', lease: job!.lease };
    };

    it.each([
      ['plain', true, true],
      ['rich', false, false],
      ['rich, after a plain one', true, false],
      ['plain, after a rich one', false, true],
    ])('is not settled by the lease holder of a former job: %s', async (_name, wasSimple, isSimple) => {
      const late = await publishLeased(wasSimple);
      await f.engine.ack(f.ns, 'q', 'order-17', late.lease);
      f.nowMs += 1;
      const present = await publishLeased(isSimple);

      expect(present.lease).toBeGreaterThan(late.lease);
      await expect(extended().leaseOperations.heartbeat(f.ns, late)).rejects.toMatchObject({
        code: 'lease_lost',
      });
      expect(await extended().leaseOperations.complete(f.ns, [late])).toEqual(['lease_lost']);
      expect(await f.engine.ackMany(f.ns, [{ queue: 'q', ...late }])).toEqual(['lease_lost']);
      expect(await f.engine.ackMany(f.ns, [{ queue: 'q', ...present }])).toEqual(['acked']);
    });

    it.each([
      ['simple', true],
      ['extended', false],
    ])(
      'is not settled by the lease holder of a former job before its first lease: %s',
      async (_name, isSimple) => {
        const late = await publishLeased(isSimple);
        await f.engine.ack(f.ns, 'q', 'order-17', late.lease);
        // The number that leases count from is the one that the former job ended with.
        f.nowMs += 1;
        if (isSimple) await f.publish('q', { id: 'order-17' });
        else
          await extended().extendedPublisher.publish(f.ns, [
            { queue: 'q', id: 'order-17', body: Buffer.from('x') },
          ]);

        expect(await f.engine.ackMany(f.ns, [{ queue: 'q', ...late }])).toEqual(['lease_lost']);
        expect(await extended().leaseOperations.complete(f.ns, [late])).toEqual(['lease_lost']);
        expect(await f.counts()).toMatchObject({ ready: 1 });
      },
    );

    it('has no lease number before its first lease', async () => {
      await extended().extendedPublisher.publish(f.ns, [{ queue: 'q', id: 'mine', body: Buffer.from('x') }]);

      expect(await extended().jobReader.find(f.ns, 'mine')).toMatchObject({ attempts: 0, lease: 0 });
      const [job] = await lease('q');
      expect(await extended().jobReader.find(f.ns, 'mine')).toMatchObject({ attempts: 1, lease: job!.lease });
    });

    it('has lease numbers up to 31 bits, which begin at 1 again when the clock passes that range', async () => {
      f.nowMs = Math.ceil(f.nowMs / 2 ** 31) * 2 ** 31 - 1;
      const { lease: last } = await publishLeased();

      expect(last).toBe(2 ** 31);
      await f.engine.ack(f.ns, 'q', 'order-17');
      f.nowMs += 1;
      expect(await publishLeased()).toMatchObject({ lease: 1 });
    });
  });

  it('are leased by priority, equal ones in publish order', async () => {
    const ids: string[] = [];
    for (const priority of [5, 0, -3, 0, -3, 5]) ids.push(await put('q', { priority }));

    const jobs = await lease('q', 6);

    expect(jobs.map(({ id }) => ids.indexOf(id))).toEqual([2, 4, 1, 3, 0, 5]);
  });

  it('are leased and acknowledged by lmstfy consumers of an extended queue', async () => {
    const id = await put('q', { priority: 1 });
    const simple = await f.publish('q');

    const jobs = await f.lease('q', { count: 2 });

    expect(jobs.map((job) => job.id)).toEqual([simple, id]);
    expect(
      await f.engine.ackMany(
        f.ns,
        jobs.map((job) => ({ queue: 'q', id: job.id, lease: job.lease })),
      ),
    ).toEqual(['acked', 'acked']);
  });

  it('return when their lease expires, count it as a crash, and die without tries', async () => {
    const id = await put('q', { tries: 2, type: 't' });
    await lease('q');
    f.nowMs += 10_001;
    await f.engine.pumpNow(f.ns);
    expect(await extended().jobReader.find(f.ns, id)).toMatchObject({
      state: 'ready',
      crashes: 1,
      triesLeft: 1,
    });
    await lease('q');
    f.nowMs += 10_001;
    await f.engine.pumpNow(f.ns);

    const job = await extended().jobReader.find(f.ns, id);

    expect(job).toMatchObject({ state: 'dead', crashes: 2, triesLeft: 0 });
    expect(job?.timeline.map(({ what }) => what)).toEqual([
      'published',
      'leased',
      'timed_out',
      'leased',
      'timed_out',
      'died',
    ]);
    expect((await f.engine.queues.counts(f.ns, ['q']))[0]).toMatchObject({ ready: 0, leased: 0, dead: 1 });
  });

  it('are scheduled, and ready in time, by priority', async () => {
    await put('q', { delayMs: 1_000, priority: 2 });
    const first = await put('q', { delayMs: 2_000, priority: -2 });
    expect(await lease('q')).toEqual([]);
    f.nowMs += 2_000;
    await f.engine.pumpNow(f.ns);

    expect((await lease('q'))[0]?.id).toBe(first);
  });

  it('are removed when they expire, in any state', async () => {
    const ids = [
      await put('q', { ttlMs: 500 }),
      await put('q', { ttlMs: 500, delayMs: 400 }),
      await put('q', { ttlMs: 500, priority: 3 }),
    ];
    await lease('q');
    f.nowMs += 501;
    await f.engine.pumpNow(f.ns);

    expect(await extended().jobReader.findMany(f.ns, ids)).toEqual([null, null, null]);
    expect(await f.engine.tidyNow(f.ns)).toBe(1);
  });

  it('are retried by their policy, and die without tries', async () => {
    const id = await put('q', { tries: 3, retry: { kind: 'exponential', delayMs: 1_000, factor: 3 } });
    const settle = (leaseNumber: number) =>
      extended().settler.settle(f.ns, [
        { verb: 'retry', id, lease: leaseNumber, options: { group: 'g', message: 'm' } },
      ]);
    const due: (number | null | undefined)[] = [];
    for (let i = 0; i < 3; i++) {
      const [job] = await lease('q');
      const [settled] = await settle(job?.lease ?? 0);
      due.push(settled?.state === 'scheduled' ? settled.atMs - f.nowMs : null);
      f.nowMs += 10_000;
      await f.engine.pumpNow(f.ns);
    }

    expect(due).toEqual([1_000, 3_000, null]);
    expect(await extended().jobReader.find(f.ns, id)).toMatchObject({
      state: 'dead',
      failures: 3,
      crashes: 0,
      failure: { group: 'g', message: 'm' },
    });
  });

  it('refuse a stale lease, which changes nothing', async () => {
    const id = await put('q', { type: 't' });
    const [first] = await lease('q');
    await extended().settler.settle(f.ns, [{ verb: 'release', id, lease: first?.lease ?? 0 }]);
    const before = await extended().jobReader.find(f.ns, id);

    for (const verb of ['ack', 'release', 'retry', 'fail', 'heartbeat'] as const) {
      const [settled] = await extended().settler.settle(f.ns, [
        { verb, id, lease: first?.lease ?? 0, options: { group: 'g' } },
      ]);
      expect(settled?.code).toBe(2);
    }
    expect(await extended().jobReader.find(f.ns, id)).toEqual(before);
    expect(before).toMatchObject({ state: 'ready', triesLeft: 5 });
  });

  it('accept the heartbeat of an expired lease until the job is leased again', async () => {
    const id = await put('q', { type: 't' });
    const [job] = await lease('q');
    f.nowMs += 10_001;
    await f.engine.pumpNow(f.ns);
    const heartbeat = {
      verb: 'heartbeat',
      id,
      lease: job?.lease ?? 0,
      options: { ttr_ms: 5_000, progress: '{"done":1}' },
    } as const;

    const [late] = await extended().settler.settle(f.ns, [heartbeat]);

    expect(late).toMatchObject({ code: 1, state: 'leased', atMs: f.nowMs + 5_000 });
    expect(await lease('q')).toEqual([]);
    f.nowMs += 5_001;
    await f.engine.pumpNow(f.ns);
    expect(await lease('q')).toHaveLength(1);
    expect((await extended().settler.settle(f.ns, [heartbeat]))[0]?.code).toBe(2);
  });

  describe.each(['a simple', 'an extended'] as const)('the last lease holder of %s job', (kind) => {
    const OPERATIONS = [
      ['ack', { code: 1, state: null }],
      ['retry', { code: 1, state: 'ready' }],
      ['fail', { code: 1, state: 'dead' }],
      ['release', { code: 1, state: 'ready' }],
      ['heartbeat', { code: 1, state: 'leased' }],
    ] as const;
    const settle = async (verb: Verb, id: string, number: number) =>
      (await extended().settler.settle(f.ns, [{ verb, id, lease: number, options: { group: 'g' } }]))[0];
    const publish = (tries: number): Promise<string> =>
      kind === 'a simple' ? f.publish('q', { tries }) : put('q', { tries, type: 't' });
    const runOut = async (): Promise<{ id: string; number: number }> => {
      const id = await publish(3);
      const [job] = await lease('q');
      await f.pass(10_001);
      expect(await f.find(id)).toMatchObject({ state: 'ready', attempts: 1 });
      return { id, number: job!.lease };
    };

    it.each(OPERATIONS)('is accepted after the lease expired: %s', async (verb, expected) => {
      const { id, number } = await runOut();
      const behind = await publish(1);

      expect(await settle(verb, id, number)).toMatchObject(expected);
      expect(await Audit.of(redis, f.ns)).toEqual([]);
      // The job is in one place: it is not leased twice.
      const next = (await lease('q', 9)).map((job) => job.id);
      const inOrder = { release: [id, behind], retry: [behind, id] } as Partial<Record<Verb, string[]>>;
      expect(next).toEqual(inOrder[verb] ?? [behind]);
    });

    it.each(OPERATIONS)('is refused after the lease was revoked: %s', async (verb) => {
      const id = await publish(3);
      const behind = await publish(1);
      const [job] = await lease('q', 1, 'w');

      expect(await extended().leaseOperations.revoke(f.ns, id)).toEqual({
        ...{ state: 'ready', dueAtMs: null, triesLeft: 3 },
      });

      // As after a release: the try is given back, and the job stands at the front of its line.
      expect(await f.find(id)).toMatchObject({ state: 'ready', triesLeft: 3, attempts: 0 });
      expect(await settle(verb, id, job!.lease)).toMatchObject({ code: 2, state: 'ready' });
      expect((await lease('q', 9)).map((one) => one.id)).toEqual([id, behind]);
      expect(await settle(verb, id, job!.lease)).toMatchObject({ code: 2, state: 'leased' });
    });

    it('is refused after a revoke of the expired lease, before the pump has run', async () => {
      const id = await publish(1);
      const [job] = await lease('q');
      f.nowMs += 10_001;

      await extended().leaseOperations.revoke(f.ns, id);

      expect(await f.find(id)).toMatchObject({ state: 'ready', triesLeft: 1 });
      expect(await settle('heartbeat', id, job!.lease)).toMatchObject({ code: 2, state: 'ready' });
    });

    it('is accepted for a batch ack after the lease expired', async () => {
      const { id, number } = await runOut();

      expect(await f.engine.ackMany(f.ns, [{ queue: 'q', id, lease: number }])).toEqual(['acked']);
      expect(await lease('q')).toEqual([]);
    });

    it.each(OPERATIONS)('is refused after the next lease: %s', async (verb) => {
      const { id, number } = await runOut();
      const [next] = await lease('q');

      expect(await settle(verb, id, number)).toMatchObject({ code: 2, state: 'leased' });
      expect(await f.engine.ackMany(f.ns, [{ queue: 'q', id, lease: number }])).toEqual(['lease_lost']);
      expect(await f.engine.ackMany(f.ns, [{ queue: 'q', id, lease: next!.lease }])).toEqual(['acked']);
    });

    it('is refused after a later lease whose answer was not sent', async () => {
      const { id, number } = await runOut();
      const [undone] = await lease('q');
      await f.engine.undo(f.ns, [undone!]);

      expect(await settle('ack', id, number)).toMatchObject({ code: 2, state: 'ready' });
      expect(await settle('undo', id, undone!.lease)).toMatchObject({ code: 2, state: 'ready' });
    });

    it('is refused for the heartbeat of a dead job, and for an ack after the respawn', async () => {
      const id = await publish(1);
      const [job] = await lease('q');
      await f.pass(10_001);

      expect(await settle('heartbeat', id, job!.lease)).toMatchObject({ code: 2, state: 'dead' });
      expect(await f.find(id)).toMatchObject({ state: 'dead' });
      await f.engine.deadLetter.respawn(f.ns, 'q', 1, 0);
      expect(await settle('ack', id, job!.lease)).toMatchObject({ code: 2, state: 'ready' });
      expect(await f.engine.ackMany(f.ns, [{ queue: 'q', id, lease: job!.lease }])).toEqual(['lease_lost']);
    });
  });

  describe('a revoke', () => {
    const revoke = (id: string) => extended().leaseOperations.revoke(f.ns, id);
    const notLeased = (state: JobState) => ({ code: 'not_leased', state });

    it('is refused with the state of a job that is not leased, and changes nothing', async () => {
      await extended().queueControls.change(f.ns, 'held', { maxRunningPerKey: 1 });
      const end = async (queue: string, how: 'complete' | 'fail') => {
        const [job] = await lease(queue);
        if (how === 'complete') await extended().leaseOperations.complete(f.ns, [job!]);
        else await extended().leaseOperations.fail(f.ns, { ...job!, group: 'g', message: 'm' });
      };
      const jobs: [JobState, string][] = [
        ['ready', await f.publish('q0')],
        ['ready', await put('q1', { type: 't' })],
        ['scheduled', await f.publish('q2', { delayMs: 60_000 })],
        ['scheduled', await f.publish('q2', { delayMs: 86_400_000 })],
        ['scheduled', await put('q2', { type: 't', delayMs: 60_000 })],
        ['dead', await f.publish('q3')],
        ['done', await put('q4', { retentionMs: 60_000 })],
        ['cancelled', await put('q5', { retentionMs: 60_000 })],
      ];
      jobs.push(['blocked', await put('q6', { dependsOn: [jobs[0]![1]] })]);
      await put('held', { concurrencyKey: 'k' });
      jobs.push(['held', await put('held', { concurrencyKey: 'k' })]);
      await end('q3', 'fail');
      await end('q4', 'complete');
      await extended().jobCanceller.cancel(f.ns, jobs[7]![1]);
      await lease('held', 2);
      for (const [state, id] of jobs) {
        const before = await extended().jobReader.find(f.ns, id);
        await expect(revoke(id)).rejects.toMatchObject(notLeased(state));
        expect(await extended().jobReader.find(f.ns, id)).toEqual(before);
      }
    });

    it('finds no job that is gone, expired or of another namespace', async () => {
      const missing = { code: 'job_not_found' };
      for (const id of ['never', '', 'no id']) await expect(revoke(id)).rejects.toMatchObject(missing);
      const gone = await f.publish('q');
      await f.engine.ack(f.ns, 'q', gone, (await lease('q'))[0]!.lease);
      await expect(revoke(gone)).rejects.toMatchObject(missing);
      const expired = await f.publish('q', { ttlMs: 5_000 });
      const [job] = await lease('q');
      await expect(extended().leaseOperations.revoke(`${f.ns}-other`, expired)).rejects.toMatchObject(
        missing,
      );
      expect(await f.find(expired)).toMatchObject({ state: 'leased' });
      f.nowMs += 5_001;
      await expect(revoke(expired)).rejects.toMatchObject(missing);
      expect(job).toMatchObject({ id: expired });
      await f.engine.pumpNow(f.ns);
    });

    it('frees the slot of a limit, and releases the next job of the key', async () => {
      await extended().queueControls.change(f.ns, 'q', { maxRunning: 1, maxRunningPerKey: 1 });
      const [id, next] = [await put('q', { concurrencyKey: 'k' }), await put('q', { concurrencyKey: 'k' })];
      expect(await lease('q', 2)).toMatchObject([{ id }]);

      await revoke(id);

      expect(await lease('q', 2)).toMatchObject([{ id: next }]);
      await revoke(next);
      expect(await lease('q', 2)).toMatchObject([{ id }]);
    });

    it('cancels a job whose cancellation was requested', async () => {
      const id = await put('q', { retentionMs: 60_000 });
      await lease('q');
      await extended().jobCanceller.cancel(f.ns, id, { graceMs: 60_000 });

      expect(await revoke(id)).toMatchObject({ state: 'cancelled' });
      await expect(revoke(id)).rejects.toMatchObject(notLeased('cancelled'));
    });

    it('does not restore the lease of the former job with the id', async () => {
      await f.publish('q', { id: 'order-17' });
      const [first] = await lease('q');
      await f.engine.ack(f.ns, 'q', 'order-17', first!.lease);
      await f.publish('q', { id: 'order-17' });
      const [second] = await lease('q');
      await revoke('order-17');
      const [third] = await lease('q');

      for (const { lease: number } of [first!, second!]) {
        const stale = { id: 'order-17', lease: number };
        await expect(extended().leaseOperations.release(f.ns, stale)).rejects.toMatchObject({
          code: 'lease_lost',
        });
      }
      expect(await f.engine.ack(f.ns, 'q', 'order-17', third!.lease)).toBe(true);
    });

    it('ends one lease once, by many concurrent calls', async () => {
      const id = await put('q', { tries: 3 });
      await lease('q');

      const ends = await Promise.allSettled(Array.from({ length: 8 }, () => revoke(id)));

      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await f.find(id)).toMatchObject({ state: 'ready', triesLeft: 3, attempts: 0 });
    });
  });

  it.each(['held', 'scheduled'])(
    'accept the ack of the last lease holder of a job that is now %s',
    async (state) => {
      await extended().queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
      const id = await put('q', { concurrencyKey: 'k', tries: 3 });
      const [job] = await lease('q');
      await f.pass(10_001);
      if (state === 'held') {
        await put('q', { concurrencyKey: 'k', priority: -1 });
        await lease('q', 2);
      } else await extended().jobUpdater.change(f.ns, id, { delayMs: 5_000 });
      expect(await f.find(id)).toMatchObject({ state });

      const heartbeat = extended().leaseOperations.heartbeat(f.ns, { id, lease: job!.lease });
      // A heartbeat lets the job run again: it needs a free slot.
      if (state === 'held') await expect(heartbeat).rejects.toMatchObject({ code: 'lease_lost' });
      else expect(await heartbeat).toMatchObject({ cancelRequested: false });
      expect(await extended().leaseOperations.complete(f.ns, [{ id, lease: job!.lease }])).toEqual(['done']);
      expect(await f.find(id)).toBeNull();
    },
  );

  it('keep a done job with its result', async () => {
    const id = await put('q', { retentionMs: 60_000 });
    const [job] = await lease('q', 1, 'w');
    await extended().settler.settle(f.ns, [
      {
        verb: 'ack',
        id,
        lease: job?.lease ?? 0,
        options: { has_result: true, rtype: 'text/plain' },
        bytes: Buffer.from('42'),
      },
    ]);

    const done = await extended().jobReader.find(f.ns, id);

    expect(done).toMatchObject({ state: 'done', result: { contentType: 'text/plain' } });
    expect(done?.result?.body.toString()).toBe('42');
  });

  it('move to another queue', async () => {
    const id = await put('q', { tries: 2 });
    const [job] = await lease('q', 1, 'w');
    await extended().settler.settle(f.ns, [
      { verb: 'ack', id, lease: job?.lease ?? 0, options: { next: { queue: 'next', delay_ms: 0 } } },
    ]);

    expect((await lease('next'))[0]).toMatchObject({ id, triesLeft: 1, attempts: 1, queue: 'next' });
    expect((await extended().jobReader.find(f.ns, id))?.timeline.map(({ what }) => what)).toEqual([
      'published',
      'leased',
      'moved',
      'leased',
    ]);
  });

  it('are replaced by a simple job at a republish, which then takes no idempotency key', async () => {
    const old = await put('q', { type: 't', delayMs: 5_000 });

    const id = await f.engine.republish(f.ns, 'q', old, newJob());

    expect(await extended().jobReader.findMany(f.ns, [old, id])).toMatchObject([
      null,
      { id, state: 'ready' },
    ]);
    const again = f.engine.republish(f.ns, 'q', id, newJob(), { idempotencyKey: 'k' });
    await expect(again).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it.each([
    ['a simple queue', 'p', {}],
    ['an extended queue', 'e', { type: 't' }],
  ])('store no worker name with a simple job, in %s', async (_name, queue, first) => {
    await f.put(queue, { ...first, priority: -1 });
    const id = await f.publish(queue);
    const jobs = await lease(queue, 2, 'w');
    const [, job] = jobs;

    expect(jobs.map((one) => one.id)[1]).toBe(id);
    expect(await extended().jobReader.find(f.ns, id)).toMatchObject({ state: 'leased', worker: null });
    expect(await extended().workers.find(f.ns, 'w')).toMatchObject({ leased: 1 });
    await f.engine.undo(f.ns, job ? [job] : []);
    expect(await extended().jobReader.find(f.ns, id)).toMatchObject({ state: 'ready', attempts: 0 });
    expect((await f.lease(queue))[0]?.id).toBe(id);
  });
});

describe('settings of extended queues', () => {
  /** Settings of a namespace apply to its extended jobs, on every server. */
  describe('a namespace with settings', () => {
    let f: EngineFixture;
    beforeEach(async () => (f = await EngineFixture.withClock()));
    afterEach(() => f.close());

    const put = (job?: ExtendedJob): Promise<string> => f.put('q', { type: 't', ...job });

    async function lease(): Promise<LeasedJob> {
      const [job] = await f.lease('q', { ttrMs: 0, worker: 'w' });
      if (!job) throw new Error('there was no job');
      return job;
    }

    const find = (id: string) => f.find(id);

    it('sets the length of leases and heartbeats by default', async () => {
      await f.engine.settings.set(f.ns, 'ttr_ms', 7_000);
      await put();
      await put({ ttrMs: 9_000 });
      const first = await lease();

      expect([first.leaseEndsAtMs, (await lease()).leaseEndsAtMs]).toEqual([
        f.nowMs + 7_000,
        f.nowMs + 9_000,
      ]);
      const heartbeat = () => f.engine.settle.heartbeat(f.ns, first);
      expect(await heartbeat()).toMatchObject({ leaseEndsAtMs: f.nowMs + 7_000 });
      await f.engine.settings.set(f.ns, 'heartbeat_ms', 3_000);
      expect(await heartbeat()).toMatchObject({ leaseEndsAtMs: f.nowMs + 3_000 });
    });

    it('limits retention in time and number', async () => {
      await f.engine.settings.set(f.ns, 'retention_ms', 50_000);
      await f.engine.settings.set(f.ns, 'retention_count', 2);
      const ids = [];
      for (let i = 0; i < 3; i++) {
        ids.push(await put());
        await f.engine.settle.complete(f.ns, [await lease()]);
        f.nowMs += 1_000;
      }
      await f.engine.pumpNow(f.ns);

      const kept = await f.engine.components.jobReader.findMany(f.ns, ids);
      expect(kept.map((job) => job?.state ?? 'gone')).toEqual(['gone', 'done', 'done']);
      f.nowMs += 50_000;
      await f.engine.pumpNow(f.ns);
      expect(await f.engine.components.jobReader.findMany(f.ns, ids)).toEqual([null, null, null]);
    });

    it('keeps the first entry and the last ones of a short timeline', async () => {
      await f.engine.settings.set(f.ns, 'max_history', 3);
      const id = await put({ tries: 9 });
      for (let i = 0; i < 4; i++) {
        await f.engine.settle.retry(f.ns, {
          ...(await lease()),
          group: `g${String(i)}`,
          message: 'm',
        });
      }

      expect((await find(id))?.timeline.map(({ what }) => what)).toEqual(['published', 'leased', 'retried']);
      expect((await find(id))?.timeline.at(-1)).toMatchObject({ group: 'g3' });
    });

    it('forgets workers after the configured time', async () => {
      await f.engine.settings.set(f.ns, 'max_worker_age_ms', 20_000);
      await put();
      await lease();
      const workers = async () => (await f.engine.sessions.list(f.ns, { limit: 10 })).items.length;
      expect(await workers()).toBe(1);
      f.nowMs += 20_001;
      await f.engine.pumpNow(f.ns);

      expect(await workers()).toBe(0);
    });
  });
});

describe('states of extended jobs', () => {
  const STORAGE_PAGE = join(import.meta.dirname, '..', '..', 'docs', 'storage.md');
  const KEPT_MS = 60_000;
  const TTL_MS = 200_000;

  let f: EngineFixture;
  beforeEach(async () => (f = await EngineFixture.withClock()));
  afterEach(() => f.close());

  const put = ({ queue = 'q', ...job }: ExtendedJob = {}): Promise<string> =>
    f.put(queue, { type: 't', retentionMs: KEPT_MS, ttlMs: TTL_MS, ...job });

  async function lease(queue = 'q', count = 1): Promise<LeasedJob[]> {
    return f.engine.lease(f.ns, { queues: [queue], count, ttrMs: 10_000, waitMs: 0, worker: 'w' });
  }

  const later = (ms: number): Promise<void> => f.pass(ms);

  async function numberOf(id: string): Promise<number> {
    return (await f.find(id))?.lease ?? 0;
  }

  const operations = () => f.engine.settle;
  const failure = (id: string, held: number): JobFailure => ({ id, lease: held, group: 'g', message: 'm' });

  /** A job in another queue that ends once another job depends on it. */
  async function other(): Promise<string> {
    return put({ queue: 'other', retentionMs: 0, tries: 1 });
  }

  async function end(how: 'done' | 'dead'): Promise<void> {
    const [job] = await lease('other');
    const { id = '', lease: number = 0 } = job ?? {};
    if (how === 'done') await f.engine.settle.complete(f.ns, [{ id, lease: number }]);
    else await f.engine.settle.fail(f.ns, { id, lease: number, group: 'g', message: 'm' });
    await f.engine.pumpNow(f.ns);
  }

  /** Has the lease of a ready job run out; that of a scheduled one has. @returns its number */
  async function lateLease(id: string, from: JobState | 'start'): Promise<number> {
    if (from === 'scheduled') return numberOf(id);
    await lease();
    const number = await numberOf(id);
    await later(10_001);
    expect((await f.find(id))?.state).toBe('ready');
    return number;
  }

  async function complete(id: string, more: Partial<Completion> = {}): Promise<void> {
    const lease = await numberOf(id);
    expect(await f.engine.settle.complete(f.ns, [{ id, lease, ...more }])).toEqual(['done']);
  }

  const change = (id: string, what: JobChange) => f.engine.jobs.change(f.ns, id, what);
  const cancel = (id: string, graceMs = 0) => f.engine.jobs.cancel(f.ns, id, { graceMs });
  const purge = (state: JobState) => f.engine.components.queuePurger.purge(f.ns, 'q', [state]);

  const limitKey = () => f.engine.components.queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
  const keyFor = (by: string) => (/its key|its slot/.test(by) ? { concurrencyKey: 'k' } : {});

  /** Has a job take the only slot of the key, or wait for it. */
  async function fillKey(): Promise<void> {
    await limitKey();
    await put({ concurrencyKey: 'k', ttlMs: 0, id: 'first' });
  }

  /** Publishes a job that is not ready at once. */
  async function publishFor(by: string): Promise<string> {
    if (!by.startsWith('publish, but')) return put({ dependsOn: [await other()] });
    await fillKey();
    return put(keyFor(by));
  }

  /** Brings a job into a state. */
  const ENTER: Record<JobState, (by: string) => Promise<string>> = {
    ready: async (by) => {
      if (by.includes('its slot')) await limitKey();
      return put(keyFor(by));
    },
    scheduled: async (by) => {
      if (!by.includes('after the lease ran out')) return put({ delayMs: 50_000, ...keyFor(by) });
      const id = await put({ retry: { kind: 'fixed', delayMs: 50_000 } });
      await lease();
      await later(10_001);
      return id;
    },
    leased: async (by) => {
      const id = await put({
        ...keyFor(by),
        tries: by === 'retry, no try left' ? 1 : 3,
        ...(by.endsWith('its policy says when') ? { retry: { kind: 'fixed', delayMs: 5_000 } } : {}),
      });
      await lease();
      return id;
    },
    dead: async (by) => {
      const id = await put({ tries: 1, ...keyFor(by) });
      await lease();
      if (by.startsWith('ack')) {
        await later(10_001);
        return id;
      }
      await f.engine.settle.fail(f.ns, {
        id,
        lease: await numberOf(id),
        group: 'g',
        message: 'm',
      });
      return id;
    },
    blocked: async (by) => {
      const on = await other();
      const policy = by.endsWith('policy fail') ? 'fail' : by.endsWith('policy cancel') ? 'cancel' : 'block';
      const delayMs = by.endsWith('before its time') ? 90_000 : 0;
      return put({ dependsOn: [on], onDependencyFailure: policy, delayMs, ...keyFor(by) });
    },
    held: async () => {
      await fillKey();
      const id = await put({ concurrencyKey: 'k' });
      await lease('q', 2);
      return id;
    },
    done: async () => {
      const id = await put();
      await lease();
      await complete(id);
      return id;
    },
    cancelled: async () => {
      const id = await put();
      await cancel(id);
      return id;
    },
  };

  /** Takes a step with a job. */
  const TAKE: Record<string, (id: string, from: JobState | 'start') => Promise<unknown>> = {
    'its dependencies are done': () => end('done'),
    'its dependencies are done before its time': () => end('done'),
    'a dependency died, policy fail': () => end('dead'),
    'a dependency died, policy cancel': () => end('dead'),
    'it is due, but its key is full': async () => {
      await fillKey();
      await later(50_001);
    },
    'its dependencies are done, but its key is full': async () => {
      await fillKey();
      await end('done');
    },
    'respawn, but its key is full': async (id) => {
      await fillKey();
      await f.engine.components.deadJobs.respawnIds(f.ns, [id], { ttlMs: 0, tries: 'reset' });
    },
    'it goes back, but others of its key are held': async (id) => {
      await fillKey();
      await operations().release(f.ns, { id, lease: await numberOf(id) });
    },
    'a more urgent job takes its slot': () => put({ concurrencyKey: 'k', priority: -1 }),
    'a lease meets the limit of its key': async () => {
      await limitKey();
      await put({ concurrencyKey: 'k', priority: -1 });
      await lease('q', 2);
    },
    'a slot of its key gets free': () => complete('first'),
    release: async (id) => operations().release(f.ns, { id, lease: await numberOf(id) }),
    revoke: (id) => operations().revoke(f.ns, id),
    'release with a delay': async (id) =>
      operations().release(f.ns, { id, lease: await numberOf(id), delayMs: 5_000 }),
    retry: async (id) => operations().retry(f.ns, failure(id, await numberOf(id))),
    'retry with a delay': async (id) =>
      operations().retry(f.ns, { ...failure(id, await numberOf(id)), delayMs: 1 }),
    'retry, no try left': async (id) => operations().retry(f.ns, failure(id, await numberOf(id))),
    fail: async (id) => operations().fail(f.ns, failure(id, await numberOf(id))),
    'heartbeat after the lease ran out': async (id, from) =>
      operations().heartbeat(f.ns, { id, lease: await lateLease(id, from) }),
    'release after the lease ran out': async (id, from) =>
      operations().release(f.ns, { id, lease: await lateLease(id, from) }),
    'ack after the lease ran out, to be kept': async (id, from) => {
      const done = await operations().complete(f.ns, [{ id, lease: await lateLease(id, from) }]);
      expect(done).toEqual(['done']);
    },
    'retry with a delay after the lease ran out': async (id, from) =>
      operations().retry(f.ns, { ...failure(id, await lateLease(id, from)), delayMs: 1 }),
    'fail after the lease ran out': async (id, from) =>
      operations().fail(f.ns, failure(id, await lateLease(id, from))),
    'the lease runs out, and its policy says when': () => later(10_001),
    'ack after the last lease ran out, to be kept': (id) => complete(id),
    'ack, to be kept': (id) => complete(id),
    'ack, and on to a next queue': (id) => complete(id, { next: { queue: 'next' } }),
    'ack, and on to a next queue with a delay': (id) =>
      complete(id, { next: { queue: 'next', delayMs: 5_000 } }),
    'ack, and on to a next queue after other jobs': async (id) =>
      complete(id, { next: { queue: 'next', dependsOn: [await other()] } }),
    cancel: (id) => cancel(id),
    'cancel, and the end of its grace': async (id) => {
      await cancel(id, 5_000);
      expect((await f.find(id))?.state).toBe('leased');
      await later(5_001);
    },
    'change of its time': (id, from) => change(id, from === 'ready' ? { delayMs: 5_000 } : { dueMs: 1 }),
    'a dependency is added': async (id) => change(id, { moreDependencies: [await other()] }),
    'its dependencies are taken away': (id) => change(id, { dependsOn: [] }),
    'its retention ends': () => later(KEPT_MS + 1),
    'the ttl ends': () => later(TTL_MS + 1),
    purge: (_id, from) => purge(from as JobState),
  };

  describe('an extended job', () => {
    it.each(EXTENDED_TRANSITIONS)('goes from $from to $to: $by', async ({ from, to, by }) => {
      const id = from === 'start' ? await publishFor(by) : await ENTER[from](by);
      if (from !== 'start') expect((await f.find(id))?.state).toBe(from);

      await TAKE[by]?.(id, from);

      expect((await f.find(id))?.state ?? 'gone').toBe(to);
    });

    it('has exactly the transitions of docs/storage.md', () => {
      const [, diagram = ''] = readFileSync(STORAGE_PAGE, 'utf8').split('## The extended path');
      const steps = [...diagram.matchAll(/^ {4}(\S+) --> (\S+) : (.+)$/gm)].map(
        ([, from = '', to = '', by = '']) => ({ from, to, by }),
      );

      expect(steps).toEqual(
        EXTENDED_TRANSITIONS.map(({ from, to, by }) => ({
          from: from === 'start' ? '[*]' : from,
          to: to === 'gone' ? '[*]' : to,
          by,
        })),
      );
    });
  });
});
