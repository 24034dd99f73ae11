import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit, SLOT_MS } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';

/** Around every length at which scripts take another way: values of 512 and 1,024 bytes, each with 24 of header. */
const SIZES = [0, 1, 300, 487, 488, 489, 512, 513, 999, 1_000, 1_001, 1_024, 5_000, 65_536];
const LONGEST = 65_536;

describe('bodies of every length', () => {
  let f: EngineFixture;
  let redis: Redis;
  const bodies = new Map<string, Buffer>();
  beforeEach(async () => {
    bodies.clear();
    redis = new Redis(testRedisUrl(), { protocol: 2 });
    f = await EngineFixture.withClock();
  });
  afterEach(async () => {
    redis.disconnect();
    await f.close();
  });

  /** One turn: these jobs travel together, so far as a script takes them. */
  async function publish(sizes: readonly number[], job = {}): Promise<void> {
    await Promise.all(
      sizes.map(async (size) => {
        const body = randomBytes(size);
        bodies.set(await f.engine.publish(f.ns, 'q', newJob({ ...job, body })), body);
      }),
    );
  }

  /** Leases all, 100 at a time, and holds their bodies to what was published. */
  async function reserveAll(): Promise<LeasedJob[]> {
    const all: LeasedJob[] = [];
    for (;;) {
      const jobs = await f.reserve('q', { count: 100, ttrMs: 1_000 });
      if (jobs.length === 0) break;
      all.push(...jobs);
    }
    expect(all.map(({ id }) => id).sort()).toEqual([...bodies.keys()].sort());
    for (const { id, body } of all)
      if (!body.equals(bodies.get(id)!)) throw new Error(`${id} has another body`);
    return all;
  }

  async function later(ms: number): Promise<void> {
    f.nowMs += ms;
    await f.engine.pumpNow(f.ns);
    expect(await Audit.of(redis, f.ns)).toEqual([]);
  }

  /** Everything that may happen to a job between its publish and its end. */
  async function wholeLife(): Promise<void> {
    const first = await reserveAll();
    await later(1_000);
    const second = await reserveAll();
    expect(second.map(({ lease }) => lease)).toEqual(first.map(() => 2));
    for (let i = 0; i < second.length; i += 50) await f.engine.undo(f.ns, second.slice(i, i + 50));
    await reserveAll();
    await later(1_000);
    expect(await f.engine.deadLetterHead(f.ns, 'q')).toMatchObject({ size: bodies.size });
    expect(await f.engine.respawn(f.ns, 'q', bodies.size, 60_000)).toBe(bodies.size);
    const last = await reserveAll();
    const results = await f.engine.ackMany(
      f.ns,
      last.map(({ id, lease }) => ({ queue: 'q', id, lease })),
    );
    expect(new Set(results)).toEqual(new Set(['acked']));
    await f.engine.tidyNow(f.ns);
    expect(await f.keys()).toEqual([]);
  }

  it.each(SIZES)('come back byte for byte from every step: %i', async (size) => {
    await publish([size], { tries: 2 });
    await wholeLife();
  });

  it.each([
    ['short ones first', (i: number) => (i < 75 ? 100 : 5_000)],
    ['long ones first', (i: number) => (i < 75 ? 5_000 : 100)],
    ['mixed', (i: number) => SIZES[(i * 5) % SIZES.length]!],
    ['a long one among short ones', (i: number) => (i % 50 === 30 ? LONGEST : 100)],
  ])('come back byte for byte when 150 go together: %s', async (_name, sizeOf) => {
    await publish(
      Array.from({ length: 150 }, (_, i) => sizeOf(i)),
      { tries: 2 },
    );
    await wholeLife();
  });

  it('come back byte for byte when 100 of the longest are asked for: more than one answer may hold', async () => {
    await publish(new Array<number>(100).fill(LONGEST), { tries: 2 });
    const part = await f.reserve('q', { count: 100, ttrMs: 1_000 });
    expect(part.length).toBeGreaterThan(60);
    expect(part.length).toBeLessThan(100);
    await f.engine.undo(f.ns, part);
    const all = await reserveAll();
    expect(all.map(({ id }) => id)).toEqual([...bodies.keys()]);
  });

  it('come back byte for byte from the list of a far slot', async () => {
    await publish([...SIZES, ...SIZES], { delayMs: 3_600_000, tries: 2 });
    await later(3_600_000 - 30_000 - SLOT_MS);
    await later(30_000 + SLOT_MS);
    await wholeLife();
  });

  it('are acknowledged together, 64 in a call, whatever else is under way', async () => {
    await publish(Array.from({ length: 64 }, (_, i) => SIZES[i % SIZES.length]!));
    const leased = await f.reserve('q', { count: 40 });
    const results = await Promise.all([...bodies.keys()].map((id) => f.engine.ack(f.ns, 'q', id)));

    expect(results.every(Boolean)).toBe(true);
    expect(leased.length).toBeGreaterThan(0);
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    expect((await f.keys()).filter((key) => key.startsWith(`{${f.ns}}j`))).toEqual([]);
  });
});
