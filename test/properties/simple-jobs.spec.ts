import fc from 'fast-check';
import { Redis } from 'ioredis';
import { encodeId } from '../../src/engine/core/ids.js';
import { testRedisUrl } from '../support/redis.js';
import { EngineFixture } from '../engine/fixture.js';
import type { LeaseCall } from '../engine/model.js';
import { QUEUES, Twin, type Publish } from '../engine/twin.js';
import { SEED, SLOWNESS, propertyRuns } from '../support/scale.js';

/** Sequences, each of up to 140 operations. */
const RUNS = propertyRuns(40);
/** What they may take, in ms. */
const LIMIT_MS = (150_000 + RUNS * 500) * SLOWNESS;
type Step = (twin: Twin) => Promise<void>;

/** An operation that prints as what it is, so that a counterexample can be read. */
function step(name: string, args: object, act: Step): { act: Step; [fc.toStringMethod]: () => string } {
  return { act, [fc.toStringMethod]: () => `\n  ${name} ${fc.stringify(args)}` };
}

const queue = fc.constantFrom(...QUEUES);
const queues = fc.uniqueArray(queue, { minLength: 1, maxLength: 3 });
const newJob = fc.record({
  body: fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  delayMs: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 3_000 }) },
    // So far off that it waits in the list of a slot.
    { weight: 1, arbitrary: fc.integer({ min: 500_000, max: 1_500_000 }) },
  ),
  ttlMs: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 5_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 700_000, max: 2_000_000 }) },
  ),
  tries: fc.integer({ min: 1, max: 3 }),
});
const published: fc.Arbitrary<Publish> = fc.record({
  queue,
  id: fc.oneof(
    { weight: 2, arbitrary: fc.constant(null) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('one', 'two', 'fifteen-letters', 'sixteen-letters_', 'x'.repeat(128)),
    },
  ),
  job: fc.oneof(
    { weight: 4, arbitrary: newJob },
    { weight: 1, arbitrary: newJob.map((job) => ({ ...job, attributes: { color: 'red' } })) },
  ),
});
const leaseCall: fc.Arbitrary<LeaseCall> = fc.record({
  queues,
  count: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 100 })),
  ttrMs: fc.integer({ min: 0, max: 3_000 }),
});
const pick = fc.nat({ max: 1_000 });
const pause = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 0, max: 2_500 }) },
  { weight: 1, arbitrary: fc.integer({ min: 100_000, max: 800_000 }) },
);

const operation = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .array(published, { minLength: 1, maxLength: 6 })
      .map((batch) => step('publish', batch, (twin) => twin.publish(batch))),
  },
  {
    weight: 8,
    arbitrary: fc
      .array(leaseCall, { minLength: 1, maxLength: 3 })
      .map((batch) => step('lease', batch, (twin) => twin.lease(batch))),
  },
  {
    weight: 5,
    arbitrary: fc
      .record({ pick, how: fc.constantFrom('lease' as const, 'none' as const, 'wrong' as const) })
      .map((args) =>
        step('ack a lease', args, async (twin) => {
          const lease = twin.leases.at(-1 - (args.pick % Math.max(Math.min(twin.leases.length, 8), 1)));
          if (!lease) return;
          const number = { lease: lease.lease, none: 0, wrong: lease.lease + 1 }[args.how];
          await twin.ack(lease.queue, lease.id, number);
        }),
      ),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ pick, queue })
      .map((args) =>
        step('ack any', args, (twin) => twin.ack(args.queue, twin.ids[args.pick % twin.ids.length]!, 0)),
      ),
  },
  {
    weight: 4,
    arbitrary: fc.record({ pick, length: fc.integer({ min: 1, max: 4 }) }).map((args) =>
      step('undo', args, async (twin) => {
        const end = twin.leases.length - (args.pick % Math.max(Math.min(twin.leases.length, 8), 1));
        await twin.undo(twin.leases.slice(Math.max(end - args.length, 0), end));
      }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ pick, queue, fresh: published })
      .map((args) =>
        step('republish', args, (twin) =>
          twin.republish(args.queue, twin.ids[args.pick % twin.ids.length]!, args.fresh),
        ),
      ),
  },
  {
    weight: 6,
    arbitrary: fc.record({ ms: pause, pumps: fc.boolean() }).map((args) =>
      step('advance', args, async (twin) => {
        twin.advance(args.ms);
        if (args.pumps) await twin.pump();
      }),
    ),
  },
  { weight: 2, arbitrary: fc.constant(step('tidy', {}, (twin) => twin.tidy())) },
  { weight: 1, arbitrary: queue.map((name) => step('destroy', { name }, (twin) => twin.destroy(name))) },
  {
    weight: 2,
    arbitrary: fc
      .record({ queue, limit: fc.integer({ min: 1, max: 5 }), ttlMs: fc.constantFrom(0, 500) })
      .map((args) => step('respawn', args, (twin) => twin.respawn(args.queue, args.limit, args.ttlMs))),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ queue, limit: fc.integer({ min: 1, max: 3 }) })
      .map((args) => step('deleteDead', args, (twin) => twin.deleteDead(args.queue, args.limit))),
  },
);

it(
  `T47: ${RUNS} random sequences end where a model in memory ends`,
  async () => {
    const f = await EngineFixture.withClock();
    const redis = new Redis(testRedisUrl(), { protocol: 2 });
    let steps = 0;
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 140, size: 'max' }), async (plan) => {
          const twin = new Twin(f, redis);
          try {
            for (const [i, { act }] of plan.entries()) {
              await act(twin);
              steps++;
              if (i % 5 === 4) await twin.compare();
            }
            await twin.compare();
          } finally {
            await twin.clear();
          }
        }),
        {
          numRuns: RUNS,
          seed: SEED,
          plugins: [fc.interruptAfterTimeLimit(LIMIT_MS, { failOnInterrupt: true })],
        },
      );
    } finally {
      console.log(`seed ${SEED}, ${steps} operations`);
      redis.disconnect();
      await f.close();
    }
    expect(steps).toBeGreaterThanOrEqual(RUNS * 25);
  },
  LIMIT_MS + 60_000,
);

describe('a job created again under its own id', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
  });
  afterEach(() => f.close());

  it('is in its new place, not in its old one', async () => {
    await f.publish('q', { id: 'same', text: 'first life' });
    await f.publish('q', { text: 'other' });
    await f.engine.ack(f.ns, 'q', 'same');
    await f.publish('q', { id: 'same', text: 'second life' });

    expect(await f.size('q')).toBe(2);
    expect((await f.engine.queues.peek(f.ns, 'q'))?.body.toString()).toBe('other');
    expect(await f.drain('q')).toEqual(['other', 'second life']);
  });

  it('has a stale entry in another queue after it expires, whose ready list is not empty', async () => {
    await f.publish('old', { id: 'same' });
    await f.engine.ack(f.ns, 'old', 'same');
    await f.publish('new', { id: 'same', ttlMs: 2_000 });
    await f.publish('old', { ttlMs: 2_000 });
    f.nowMs += 2_000;
    await f.engine.tidyNow(f.ns);
    await f.publish('old', { text: 'kept' });
    await f.engine.tidyNow(f.ns);
    expect(await f.size('old')).toBe(1);
    expect(await f.drain('old')).toEqual(['kept']);
  });

  /** As Redis does ten minutes after the ttl, when no server has come by. */
  async function collectGarbage(id: string): Promise<void> {
    const redis = new Redis(testRedisUrl(), { protocol: 2 });
    expect(await redis.del(f.pool.keys.job(f.ns, encodeId(id)!))).toBe(1);
    redis.disconnect();
  }

  it('is not moved by the due time of a former job that Redis removed', async () => {
    await f.publish('old', { id: 'same', delayMs: 60_000, ttlMs: 1_000 });
    await collectGarbage('same');
    f.nowMs += 30_000;
    await f.publish('new', { id: 'same', text: 'ready' });
    f.nowMs += 30_000;
    await f.engine.pumpNow(f.ns);

    expect(await f.engine.queues.counts(f.ns, ['old', 'new'])).toMatchObject([
      { ready: 0, scheduled: 0 },
      { ready: 1, scheduled: 0 },
    ]);
    expect(await f.drain('new')).toEqual(['ready']);
  });

  it('keeps its lease at the due time of a former job', async () => {
    await f.publish('q', { id: 'same', delayMs: 60_000, ttlMs: 1_000 });
    await collectGarbage('same');
    await f.publish('q', { id: 'same', tries: 2 });
    await f.lease('q', { ttrMs: 600_000 });
    f.nowMs += 60_000;
    await f.engine.pumpNow(f.ns);

    expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, leased: 1 }]);
  });

  it('is leased once although its stale entry has the same id', async () => {
    await f.publish('q', { id: 'same', ttlMs: 1_000 });
    await collectGarbage('same');
    await f.publish('q', { id: 'same', tries: 2 });

    expect(await f.lease('q', { count: 5 })).toHaveLength(1);
    expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, leased: 1 }]);
  });
});
