import { Redis } from 'ioredis';
import { testRedisUrl } from '../support/redis.js';
import { Audit, LEAD_MS, SLOT_MS } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';

const HOUR_MS = 3_600_000;
/** What is due later than this is kept in the list of its slot, as lua/lib/schedule.lua has it. */
const FAR_MS = 600_000;

describe('a job far ahead', () => {
  let f: EngineFixture;
  let redis: Redis;
  beforeEach(async () => {
    redis = new Redis(testRedisUrl(), { protocol: 2 });
    f = await EngineFixture.withClock();
    // So that every run finds slots at the same distance.
    f.nowMs = Math.floor(f.nowMs / SLOT_MS) * SLOT_MS + 1_000;
  });
  afterEach(async () => {
    redis.disconnect();
    await f.close();
  });

  /** Moves the clock and what is due by then. Nothing may be wrong with the namespace, whatever the moment. */
  async function at(ms: number): Promise<void> {
    f.nowMs = ms;
    await f.engine.pumpNow(f.ns);
    expect(await Audit.of(redis, f.ns)).toEqual([]);
  }

  /** Where the scheduled jobs of the first queue are: in the zset, and in the lists of slots. */
  async function places(): Promise<{ near: number; far: number }> {
    const slots = (await f.keys()).filter((key) => key.startsWith(`{${f.ns}}:f1:`));
    const lengths = await Promise.all(slots.map((key) => redis.llen(key)));
    return { near: await redis.zcard(`{${f.ns}}:s1`), far: lengths.reduce((sum, length) => sum + length, 0) };
  }

  async function counts(): Promise<{ ready: number; scheduled: number }> {
    const [{ ready, scheduled } = { ready: -1, scheduled: -1 }] = await f.engine.counts(f.ns, ['q']);
    return { ready, scheduled };
  }

  it.each([
    ['at the begin of its slot', 0],
    ['in the midst of it', 100_000],
    ['in its last millisecond', SLOT_MS - 1],
  ])('is ready on time and never early, its time being %s', async (_where, intoMs) => {
    const beginMs = Math.floor((f.nowMs + HOUR_MS) / SLOT_MS) * SLOT_MS;
    const dueMs = beginMs + intoMs;
    const id = await f.publish('q', { delayMs: dueMs - f.nowMs, attributes: { a: 'b' } });
    const moments = [f.nowMs, beginMs - LEAD_MS - 1, beginMs - LEAD_MS, beginMs - 1, beginMs, dueMs - 1];

    for (const moment of moments.filter((ms) => ms < dueMs)) {
      await at(moment);
      const isFar = moment < beginMs - LEAD_MS;
      expect(await places()).toEqual(isFar ? { near: 0, far: 1 } : { near: 1, far: 0 });
      expect(await counts()).toEqual({ ready: 0, scheduled: 1 });
      expect(await f.engine.peekJob(f.ns, 'q', id)).toMatchObject({ id, state: 'scheduled' });
      expect(await f.drain('q')).toEqual([]);
    }
    await at(dueMs);
    expect(await counts()).toEqual({ ready: 1, scheduled: 0 });
    expect(await f.reserve('q')).toMatchObject([{ id, lease: 1, attributes: { a: 'b' } }]);
  });

  it('begins a millisecond after what is kept by its due time', async () => {
    await f.publish('q', { delayMs: FAR_MS });
    expect(await places()).toEqual({ near: 1, far: 0 });
    await f.publish('q', { delayMs: FAR_MS + 1 });
    expect(await places()).toEqual({ near: 1, far: 1 });
    expect(await counts()).toEqual({ ready: 0, scheduled: 2 });
  });

  it('is found in time by a server that nobody tells, also when its clock jumps', async () => {
    await f.publish('q', { delayMs: HOUR_MS });
    f.engine.start();
    const got = f.reserve('q', { waitMs: 20_000 });
    f.nowMs += HOUR_MS;

    expect(await got).toHaveLength(1);
  });

  it('is counted exactly in each moment of its life', async () => {
    const ids = await f.engine.publishMany(
      f.ns,
      'q',
      Array.from({ length: 5 }, () => newJob({ delayMs: HOUR_MS, ttlMs: 2 * HOUR_MS })),
    );
    await f.publish('q', { delayMs: 1_000 });
    await f.publish('q', { id: 'mine', delayMs: HOUR_MS });
    expect(await counts()).toEqual({ ready: 0, scheduled: 7 });

    expect(await f.engine.ack(f.ns, 'q', ids[0] ?? '')).toBe(true);
    expect(await f.engine.ack(f.ns, 'q', ids[0] ?? '')).toBe(false);
    expect(await counts()).toEqual({ ready: 0, scheduled: 6 });
    await at(f.nowMs + 1_000);
    expect(await counts()).toEqual({ ready: 1, scheduled: 5 });
    await f.engine.republish(f.ns, 'q', ids[1] ?? '', newJob({ delayMs: 3 * HOUR_MS }));
    expect(await counts()).toEqual({ ready: 1, scheduled: 5 });
    await at(f.nowMs + HOUR_MS);
    expect(await counts()).toEqual({ ready: 5, scheduled: 1 });
    expect(await places()).toEqual({ near: 0, far: 1 });
    await at(f.nowMs + 2 * HOUR_MS);
    expect(await counts()).toEqual({ ready: 6, scheduled: 0 });
    await f.engine.tidyNow(f.ns);
    expect(await counts()).toEqual({ ready: 3, scheduled: 0 });
  });

  it('leaves nothing but its entry when it is acknowledged, and that goes when its slot is opened', async () => {
    const id = await f.publish('q', { delayMs: HOUR_MS, attributes: { a: 'b' } });
    await f.publish('q', { delayMs: HOUR_MS, text: 'other' });
    expect(await f.engine.ack(f.ns, 'q', id)).toBe(true);

    expect(await f.engine.peekJob(f.ns, 'q', id)).toBeNull();
    expect(await places()).toEqual({ near: 0, far: 2 });
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    await at(f.nowMs + HOUR_MS);
    expect(await places()).toEqual({ near: 0, far: 0 });
    expect(await f.drain('q')).toEqual(['other']);
  });

  it('is replaced by what is published in its place, whenever that is due', async () => {
    const old = await f.publish('q', { delayMs: HOUR_MS, text: 'old' });
    const sooner = await f.engine.republish(f.ns, 'q', old, newJob({ delayMs: 1_000 }));
    expect(await counts()).toEqual({ ready: 0, scheduled: 1 });
    await f.engine.republish(f.ns, 'q', sooner, newJob({ delayMs: HOUR_MS, body: Buffer.from('new') }));
    expect(await counts()).toEqual({ ready: 0, scheduled: 1 });

    await at(f.nowMs + HOUR_MS);
    expect(await f.drain('q')).toEqual(['new']);
    expect(await counts()).toEqual({ ready: 0, scheduled: 0 });
  });

  it.each([
    ['near', 300_000],
    ['far', 2 * HOUR_MS],
  ])('is gone when its ttl ends, though it were due later (%s)', async (_name, ttlMs) => {
    await f.publish('q', { delayMs: 10 * HOUR_MS, ttlMs, attributes: { a: 'b' } });
    const endMs = f.nowMs + ttlMs;
    await at(endMs - 1);
    expect(await counts()).toEqual({ ready: 0, scheduled: 1 });

    await at(endMs);
    expect(await counts()).toEqual({ ready: 0, scheduled: 0 });
    expect((await f.keys()).filter((key) => /\}[jx]/.test(key))).toEqual([]);
    await f.engine.tidyNow(f.ns);
    expect(await f.keys()).toEqual([]);
  });

  it('has an id that the server made: under a chosen one it may have lived before', async () => {
    await f.publish('q', { id: 'mine', delayMs: HOUR_MS, text: 'first' });
    expect(await places()).toEqual({ near: 1, far: 0 });
    await f.engine.ack(f.ns, 'q', 'mine');
    await f.publish('q', { id: 'mine', delayMs: 2 * HOUR_MS, text: 'second' });
    expect(await places()).toEqual({ near: 1, far: 0 });

    await at(f.nowMs + HOUR_MS);
    expect(await f.drain('q')).toEqual([]);
    await at(f.nowMs + HOUR_MS);
    expect(await f.drain('q')).toEqual(['second']);
  });

  it.each(['q', 'p'])(
    'leaves an entry that is not taken for a later job of that name, in queue %s',
    async (queue) => {
      const id = await f.publish('q', { delayMs: HOUR_MS, text: 'first' });
      await f.publish('q', { delayMs: HOUR_MS, text: 'other' });
      await f.engine.ack(f.ns, 'q', id);
      await f.publish(queue, { id, delayMs: 2 * HOUR_MS, text: 'second' });
      expect(await Audit.of(redis, f.ns)).toEqual([]);

      await at(f.nowMs + HOUR_MS);
      expect(await counts()).toEqual({ ready: 1, scheduled: queue === 'q' ? 1 : 0 });
      expect(await f.drain('q')).toEqual(['other']);
      await at(f.nowMs + HOUR_MS);
      expect(await f.drain(queue)).toEqual(['second']);
    },
  );
});
