import { QueueError } from '../../src/domain/errors.js';
import { EngineFixture, newJob } from './fixture.js';

describe('the engine', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
  });
  afterEach(() => f.close());

  it('leases jobs in publish order', async () => {
    for (const text of ['a', 'b', 'c']) await f.publish('q', { text });

    expect(await f.drain('q')).toEqual(['a', 'b', 'c']);
  });

  it('shows a leased job with tries, attempts, lease, ttl, age', async () => {
    const id = await f.publish('q', { tries: 3, ttlMs: 60_000 });
    f.nowMs += 1_000;

    const [job] = await f.lease('q', { ttrMs: 5_000 });

    expect(job).toEqual({
      id,
      queue: 'q',
      body: Buffer.from('body'),
      attributes: null,
      triesLeft: 2,
      tries: 3,
      attempts: 1,
      lease: 1,
      ttlLeftMs: 59_000,
      elapsedMs: 1_000,
      leaseEndsAtMs: f.nowMs + 5_000,
      publishedAtMs: f.nowMs - 1_000,
      expiresAtMs: f.nowMs + 59_000,
    });
  });

  it('keeps bytes and attributes unchanged', async () => {
    const body = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    await f.publish('q', { body, attributes: { color: 'rød', '': 'empty key' } });

    const [job] = await f.lease('q');

    expect(job?.body.equals(body)).toBe(true);
    expect(job?.attributes).toEqual({ color: 'rød', '': 'empty key' });
  });

  it('serves several queues in order, and many requests of one turn in one call', async () => {
    await f.publish('low', { text: 'low' });
    await f.publish('high', { text: 'high' });
    const request = { queues: ['high', 'low'], count: 1, ttrMs: 1_000, waitMs: 0 };

    const got = await Promise.all([1, 2, 3].map(() => f.engine.lease(f.ns, request)));

    expect(got.map(([job]) => job?.queue)).toEqual(['high', 'low', undefined]);
  });

  it('makes a delayed job ready at its time, to the millisecond', async () => {
    await f.publish('q', { delayMs: 1_500 });
    expect(await f.size('q')).toBe(0);

    f.nowMs += 1_499;
    await f.engine.pumpNow(f.ns);
    expect(await f.drain('q')).toEqual([]);

    f.nowMs += 1;
    await f.engine.pumpNow(f.ns);
    expect(await f.drain('q')).toEqual(['body']);
  });

  it('returns a job when its lease expires, and moves it to the dead-letter queue without tries', async () => {
    const id = await f.publish('q', { tries: 2, ttlMs: 100_000 });
    await f.lease('q', { ttrMs: 1_000 });
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);

    const [second] = await f.lease('q', { ttrMs: 1_000 });
    expect(second).toMatchObject({ id, triesLeft: 0, attempts: 2, lease: 2 });
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);

    expect(await f.drain('q')).toEqual([]);
    expect(await f.engine.deadLetter.head(f.ns, 'q')).toEqual({ id, size: 1 });
    f.nowMs += 1_000_000_000;
    expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toMatchObject({ state: 'dead', ttlLeftMs: 0 });
  });

  it.each(['respawn', 'delete'] as const)(
    'keeps the limit of a %s during which its queue becomes an extended one',
    async (verb) => {
      for (let i = 0; i < 8; i++)
        await f.engine.publishMany(
          f.ns,
          'q',
          Array.from({ length: 50 }, () => newJob()),
        );
      for (let i = 0; i < 4; i++) await f.lease('q', { count: 100, ttrMs: 0 });
      await f.engine.pumpNow(f.ns);
      const { deadLetter } = f.engine;
      const run = f.pool.run.bind(f.pool);
      const spy = jest.spyOn(f.pool, 'run').mockImplementationOnce(async (...args) => {
        const reply = await run(...args);
        await f.put('q', { id: 'extended', type: 't', delayMs: 60_000 });
        return reply;
      });
      const done =
        verb === 'delete' ? deadLetter.delete(f.ns, 'q', 300) : deadLetter.respawn(f.ns, 'q', 300, 0);
      expect(await done).toBe(300);
      expect((await deadLetter.head(f.ns, 'q')).size).toBe(100);
      spy.mockRestore();
    },
  );

  it('respawns the oldest dead jobs with one try and a new ttl, and deletes others', async () => {
    for (const text of ['a', 'b', 'c']) await f.publish('q', { text });
    await f.lease('q', { count: 3, ttrMs: 0 });
    await f.engine.pumpNow(f.ns);

    expect(await f.engine.deadLetter.respawn(f.ns, 'q', 2, 5_000)).toBe(2);
    expect(await f.engine.deadLetter.delete(f.ns, 'q', 9)).toBe(1);
    expect(await f.engine.deadLetter.respawn(f.ns, 'q', 2, 5_000)).toBe(0);

    const jobs = await f.lease('q', { count: 5 });
    expect(jobs.map((job) => [job.body.toString(), job.triesLeft, job.ttlLeftMs])).toEqual([
      ['a', 0, 5_000],
      ['b', 0, 5_000],
    ]);
  });

  it('acknowledges a job in every state, and leaves nothing of it', async () => {
    const ready = await f.publish('q', { attributes: { a: 'b' } });
    const scheduled = await f.publish('q', { delayMs: 9_000 });
    const [leased] = await f.lease('q');
    expect(leased?.id).toBe(ready);
    const second = await f.publish('q');
    const third = await f.publish('q');
    expect(await f.size('q')).toBe(2);

    for (const id of [ready, scheduled, second]) expect(await f.engine.ack(f.ns, 'q', id)).toBe(true);
    expect(await f.engine.ack(f.ns, 'q', ready)).toBe(false);
    expect(await f.engine.ack(f.ns, 'other', third)).toBe(false);
    expect(await f.engine.ack(f.ns, 'q', 'no such id!')).toBe(false);

    expect(await f.engine.queues.counts(f.ns, ['q'])).toEqual([
      {
        queue: 'q',
        ready: 1,
        scheduled: 0,
        leased: 0,
        dead: 0,
        blocked: 0,
        stuck: 0,
        held: 0,
        done: 0,
        cancelled: 0,
        oldestReadyAgeMs: 0,
        oldestReadyAtMs: f.nowMs,
      },
    ]);
    expect(await f.engine.queues.peek(f.ns, 'q')).toMatchObject({ id: third });
    expect((await f.lease('q')).map((job) => job.id)).toEqual([third]);
  });

  it('D8: refuses a stale owner, whose acknowledgement changes nothing', async () => {
    const id = await f.publish('q', { tries: 3 });
    const [stale] = await f.lease('q', { ttrMs: 1_000 });
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);
    const [present] = await f.lease('q', { ttrMs: 1_000 });

    await expect(f.engine.ack(f.ns, 'q', id, stale?.lease)).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toMatchObject({ state: 'leased' });
    expect(await f.engine.ack(f.ns, 'q', id, present?.lease)).toBe(true);
  });

  it('undoes leases to the front, in order, without using a try or lowering the lease number', async () => {
    for (const text of ['a', 'b', 'c']) await f.publish('q', { text, tries: 1 });
    const taken = await f.lease('q', { count: 2 });

    await f.engine.undo(f.ns, taken);
    await f.engine.undo(f.ns, taken);

    expect(await f.size('q')).toBe(3);
    const again = await f.lease('q', { count: 5 });
    expect(again.map((job) => [job.body.toString(), job.triesLeft, job.lease])).toEqual([
      ['a', 0, 2],
      ['b', 0, 2],
      ['c', 0, 1],
    ]);
  });

  it('does not undo the lease of a job that has changed since', async () => {
    const id = await f.publish('q', { tries: 2 });
    const [old] = await f.lease('q', { ttrMs: 0 });
    await f.engine.pumpNow(f.ns);
    const [present] = await f.lease('q');

    await f.engine.undo(f.ns, [old!]);

    expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toMatchObject({ state: 'leased' });
    expect(await f.engine.ack(f.ns, 'q', id, present?.lease)).toBe(true);
  });

  it('D4: finds the live job behind expired ones in one call', async () => {
    for (let i = 0; i < 2_500; i += 64) {
      await f.engine.publishMany(
        f.ns,
        'q',
        Array.from({ length: 64 }, () => newJob({ ttlMs: 1_000 })),
      );
    }
    const id = await f.publish('q');
    f.nowMs += 1_000;

    expect((await f.lease('q')).map((job) => job.id)).toEqual([id]);
    expect(await f.size('q')).toBe(0);
  });

  it('D4: does not end a batch at an expired job', async () => {
    for (const [text, ttlMs] of [
      ['a', 0],
      ['b', 10],
      ['c', 0],
    ] as const)
      await f.publish('q', { text, ttlMs });
    f.nowMs += 10;

    expect(await f.drain('q')).toEqual(['a', 'c']);
  });

  it('D9: republishes in one step: the old job is gone, the new one is stored', async () => {
    const old = await f.publish('q', { text: 'old' });
    const id = await f.engine.republish(f.ns, 'q', old, newJob({ body: Buffer.from('new') }));

    expect(await f.engine.jobs.peekJob(f.ns, 'q', old)).toBeNull();
    expect(await f.size('q')).toBe(1);
    expect((await f.lease('q', { count: 5 })).map((job) => job.id)).toEqual([id]);
    expect(await f.engine.republish(f.ns, 'q', 'doesnotexist', newJob())).toHaveLength(26);
  });

  it('refuses an id in use, and changes nothing', async () => {
    await f.publish('q', { id: 'mine', text: 'first' });

    await expect(f.publish('q', { id: 'mine', text: 'second' })).rejects.toMatchObject({
      code: 'job_exists',
    });
    expect(await f.drain('q')).toEqual(['first']);
    await expect(f.publish('q', { id: 'not an id' })).rejects.toBeInstanceOf(QueueError);
  });

  it('destroys ready jobs only', async () => {
    await f.publish('q', { tries: 2 });
    await f.lease('q', { ttrMs: 5_000 });
    await f.publish('q', { delayMs: 5_000, text: 'later' });
    for (let i = 0; i < 20; i++) {
      await f.engine.publishMany(
        f.ns,
        'q',
        Array.from({ length: 64 }, () => newJob()),
      );
    }

    expect(await f.engine.queues.destroy(f.ns, 'q')).toBe(1_280);

    expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, scheduled: 1, leased: 1 }]);
    f.nowMs += 5_000;
    await f.engine.pumpNow(f.ns);
    expect(await f.drain('q')).toEqual(['later', 'body']);
  });

  it('removes an expired job in any place', async () => {
    const scheduled = await f.publish('q', { delayMs: 1_000, ttlMs: 1_000 });
    const leased = await f.publish('q', { ttlMs: 2_000, tries: 5 });
    await f.lease('q', { ttrMs: 600_000 });
    f.nowMs += 2_000;
    await f.engine.pumpNow(f.ns);

    for (const id of [scheduled, leased]) expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toBeNull();
    expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([
      { ready: 0, scheduled: 0, leased: 0, dead: 0 },
    ]);
  });

  it('sweeps expired jobs out of the middle of a ready list, so that sizes are right', async () => {
    for (let i = 0; i < 10; i++) {
      const jobs = Array.from({ length: 60 }, (_, k) => newJob({ ttlMs: k % 3 === 0 ? 1_000 : 0 }));
      await f.engine.publishMany(f.ns, 'q', jobs);
    }
    expect(await f.size('q')).toBe(600);
    f.nowMs += 1_000;

    await f.engine.tidyNow(f.ns);

    expect(await f.size('q')).toBe(400);
    expect((await Promise.all([1, 2, 3, 4, 5].map(() => f.drain('q')))).flat()).toHaveLength(400);
    expect(await f.size('q')).toBe(0);
  });

  it('shows the age of the oldest ready job, past stale entries and tombstones', async () => {
    const gone = await f.publish('q', { text: 'withdrawn' });
    await f.publish('q', { text: 'expired', ttlMs: 500 });
    f.nowMs += 1_000;
    await f.publish('q');
    f.nowMs += 2_000;
    await f.engine.ack(f.ns, 'q', gone);
    await f.engine.tidyNow(f.ns);

    expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 1, oldestReadyAgeMs: 2_000 }]);
  });

  it('shows the age of a job of a recurring job', async () => {
    const template = { queue: 'q', body: Buffer.from('x') };
    const { recurrings } = f.engine.components;
    await recurrings.set(f.ns, {
      id: 'r',
      schedule: { everyMs: 60_000 },
      template,
    });
    await f.pass(0);
    f.nowMs += 2_000;

    expect(await f.counts()).toMatchObject({ ready: 1, oldestReadyAgeMs: 2_000 });
  });

  it('shows the age of the oldest job of all priorities', async () => {
    await f.put('q', { priority: 3 });
    f.nowMs += 1_000;
    for (const priority of [-7, 0, 3, -7]) await f.put('q', { priority });
    f.nowMs += 1_000;
    expect(await f.counts()).toMatchObject({ ready: 5, oldestReadyAgeMs: 2_000 });

    for (const [first] of [await f.lease('q'), await f.lease('q'), await f.lease('q')])
      await f.engine.ack(f.ns, 'q', first!.id, first!.lease);
    expect(await f.counts()).toMatchObject({ ready: 2, oldestReadyAgeMs: 2_000 });
    await f.lease('q');
    f.nowMs += 500;
    expect(await f.counts()).toMatchObject({ ready: 1, oldestReadyAgeMs: 1_500 });
  });

  it('ignores the age of a job that was published again in another queue', async () => {
    const id = await f.publish('q');
    await f.engine.ack(f.ns, 'q', id);
    await f.publish('other', { id });
    f.nowMs += 2_000;
    await f.publish('q');
    f.nowMs += 1_000;

    expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 1, oldestReadyAgeMs: 1_000 }]);
  });

  it('D17: removes every trace of empty queues and namespaces', async () => {
    for (let i = 0; i < 150; i++) {
      const id = await f.publish(`reply-${i}`);
      await f.lease(`reply-${i}`);
      await f.engine.ack(f.ns, `reply-${i}`, id);
    }
    await f.publish('kept', { delayMs: 5_000 });
    expect(await f.engine.tidyNow(f.ns)).toBe(150);
    expect(await f.engine.queues.names(f.ns)).toEqual(['kept']);
    expect(await f.engine.namespaces()).toContain(f.ns);

    f.nowMs += 5_000;
    await f.engine.pumpNow(f.ns);
    await f.engine.queues.destroy(f.ns, 'kept');
    await f.engine.tidyNow(f.ns);

    expect(await f.keys()).toEqual([]);
    expect(await f.engine.namespaces()).not.toContain(f.ns);
    await f.publish('again');
    expect(await f.drain('again')).toEqual(['body']);
  });
});
