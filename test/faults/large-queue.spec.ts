import type { Redis } from 'ioredis';
import { EngineFixture, newJob } from '../engine/fixture.js';
import { waitFor } from '../support/redis.js';
import { IS_LONG } from '../support/scale.js';
import { scriptCost } from '../support/script-cost.js';

const JOBS = IS_LONG ? 1_000_000 : 20_000;
/** Of a script, in microseconds of CPU. */
const LIMIT_US = 5_000;
/** Of the memory before: what the allocator keeps, and Redis for its clients, is no job's. */
const KEPT_BYTES = 4_000_000;

describe(`a queue of ${JOBS} jobs`, () => {
  let admin: Redis;
  let f: EngineFixture;
  beforeEach(async () => ({ client: admin, f } = await EngineFixture.alone()));
  afterEach(() => f.close());

  const usedBytes = async (): Promise<number> =>
    Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1]);

  const cost = (name: string, work: () => Promise<unknown>): Promise<number> => scriptCost(name, admin, work);

  async function fill(job: Partial<Parameters<typeof newJob>[0]>): Promise<void> {
    const jobs = Array.from({ length: 64 }, () => newJob({ body: Buffer.alloc(100, 'x'), ...job }));
    for (let i = 0; i < JOBS; i += 640)
      await Promise.all(
        Array.from({ length: Math.min(10, Math.ceil((JOBS - i) / 64)) }, (_, k) =>
          f.engine.publishMany(f.ns, 'q', jobs.slice(0, Math.min(64, JOBS - i - k * 64))),
        ),
      );
  }

  it('T35: is listed, counted, peeked, leased and destroyed in short steps, and its memory is freed', async () => {
    await f.publish('q', { delayMs: 3_600_000 });
    const before = await usedBytes();
    const fills = await cost('fill', () => fill({ ttlMs: 0 }));
    expect(await f.size('q')).toBe(JOBS);
    const reads = await cost('look', async () => {
      for (let i = 0; i < 50; i++) {
        await f.size('q');
        await f.engine.queues.peek(f.ns, 'q');
        await f.engine.queues.names(f.ns);
        await f.engine.deadLetter.head(f.ns, 'q');
      }
    });
    const takes = await cost('take and acknowledge', async () => {
      for (let i = 0; i < 20; i++) {
        const jobs = await f.lease('q', { count: 50 });
        await Promise.all(jobs.map(({ id, lease }) => f.engine.ack(f.ns, 'q', id, lease)));
      }
    });
    const cleans = await cost('clean', () => f.engine.tidyNow(f.ns));
    const ends = await cost('destroy', () => f.engine.queues.destroy(f.ns, 'q'));

    for (const micros of [fills, reads, takes, cleans, ends]) expect(micros).toBeLessThan(LIMIT_US);
    expect(await f.size('q')).toBe(0);
    await waitFor(async () => (await usedBytes()) - before < KEPT_BYTES, 10_000);
  }, 240_000);
});
