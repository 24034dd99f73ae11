import fc from 'fast-check';
import { Redis } from 'ioredis';
import { TestApp } from '../support/app.js';
import { startRedis } from '../support/redis.js';
import { type PublishCall, HttpTwin, type Published, QUEUES } from '../api/http-twin.js';
import { SEED, SLOWNESS, propertyRuns } from '../support/scale.js';

/** Sequences, each of up to 140 calls. */
const RUNS = propertyRuns(4);
/** What they may take, in ms. */
const LIMIT_MS = (60_000 + RUNS * 1_500) * SLOWNESS;

/** A call that prints as what it is, so that a counterexample can be read. */
interface Step {
  readonly act: (twin: HttpTwin) => Promise<void>;
  [fc.toStringMethod](): string;
}

function step<T>(
  weight: number,
  name: string,
  args: fc.Arbitrary<T>,
  act: (twin: HttpTwin, args: T) => Promise<void>,
): fc.WeightedArbitrary<Step> {
  const arbitrary = args.map((chosen) => ({
    act: (twin: HttpTwin) => act(twin, chosen),
    [fc.toStringMethod]: () => `\n  ${name} ${fc.stringify(chosen)}`,
  }));
  return { weight, arbitrary };
}

const queue = fc.constantFrom(...QUEUES);
const published: fc.Arbitrary<Published> = fc.record(
  {
    // The longest of them wait in the list of a slot.
    delayS: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) },
      { weight: 1, arbitrary: fc.integer({ min: 500, max: 1_500 }) },
    ),
    ttlS: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 2, arbitrary: fc.integer({ min: 1, max: 5 }) },
      { weight: 1, arbitrary: fc.integer({ min: 700, max: 2_000 }) },
    ),
    tries: fc.integer({ min: 1, max: 3 }),
    color: fc.constantFrom('red', 'green'),
  },
  { requiredKeys: ['delayS', 'ttlS', 'tries'] },
);
const lease: fc.Arbitrary<PublishCall> = fc.record({
  queues: fc.uniqueArray(queue, { minLength: 1, maxLength: 3 }),
  count: fc.oneof(fc.constant(2), fc.integer({ min: 1, max: 100 })),
  ttrS: fc.integer({ min: 0, max: 3 }),
});
const pick = fc.nat({ max: 1_000 });
/** How an acknowledgement names its lease. */
const how = fc.constantFrom<readonly number[]>([1, 0], [0, 0], [1, 1]);

/** One of the last leases, with its number multiplied and added to. */
function leaseOf({ leases }: HttpTwin, at: number, [times = 1, plus = 0]: readonly number[] = [1, 0]) {
  const lease = leases.at(-1 - (at % Math.max(Math.min(leases.length, 8), 1)));
  return lease && { ...lease, lease: lease.lease * times + plus };
}
const idOf = ({ ids }: HttpTwin, at: number): string => ids[at % ids.length]!;

const call = fc.oneof(
  step(8, 'PUT', fc.record({ queue, published }), (twin, one) => twin.publish(one.queue, one.published)),
  step(3, 'PUT bulk', fc.record({ queue, size: fc.integer({ min: 1, max: 9 }), published }), (twin, one) =>
    twin.publishMany(one.queue, one.size, one.published),
  ),
  step(2, 'PUT job', fc.record({ queue, pick, published }), (twin, one) =>
    twin.publish(one.queue, one.published, idOf(twin, one.pick)),
  ),
  // With a TTR of 0 the lease is over at once, and the server's pump may end it before or after the clock moves.
  step(6, 'GET', lease, (twin, one) => twin.consume({ ...one, ttrS: Math.max(one.ttrS, 1) })),
  step(4, 'POST leases', lease, (twin, one) => twin.lease(one)),
  step(4, 'DELETE job', fc.record({ queue, pick }), async (twin, one) => {
    const lease = leaseOf(twin, one.pick);
    await twin.ack(lease?.queue ?? one.queue, lease?.id ?? 'never-seen');
  }),
  step(1, 'DELETE any job', fc.record({ queue, pick }), (twin, one) =>
    twin.ack(one.queue, idOf(twin, one.pick)),
  ),
  step(
    3,
    'POST acks',
    fc.uniqueArray(fc.record({ pick, how }), { minLength: 1, maxLength: 4, selector: (one) => one.pick % 8 }),
    async (twin, all) => {
      const leases = all.flatMap((one) => leaseOf(twin, one.pick, one.how) ?? []);
      if (leases.length > 0) await twin.ackMany(leases);
    },
  ),
  step(3, 'POST ack', fc.record({ pick, plus: fc.constantFrom(0, 0, 1) }), async (twin, one) => {
    const lease = leaseOf(twin, one.pick, [1, one.plus]);
    if (lease) await twin.complete(lease);
  }),
  step(
    6,
    'time goes by',
    fc.oneof(
      { weight: 12, arbitrary: fc.integer({ min: 1, max: 2_500 }) },
      { weight: 1, arbitrary: fc.integer({ min: 100_000, max: 800_000 }) },
    ),
    (twin, ms) => twin.advance(ms),
  ),
  step(1, 'DELETE queue', queue, (twin, name) => twin.destroy(name)),
  step(
    2,
    'PUT deadletter',
    fc.record({ queue, limit: fc.integer({ min: 1, max: 5 }), ttlS: fc.constantFrom(0, 1) }),
    (twin, one) => twin.respawn(one.queue, one.limit, one.ttlS),
  ),
  step(1, 'DELETE deadletter', fc.record({ queue, limit: fc.integer({ min: 1, max: 3 }) }), (twin, one) =>
    twin.deleteDead(one.queue, one.limit),
  ),
);

it(
  `T47: ${RUNS} random sequences of calls over HTTP end where a model in memory ends`,
  async () => {
    const clock = { nowMs: Date.now() };
    // Its own: the server's loops would move what is due by this clock in the namespaces of other tests, and theirs in ours.
    const store = await startRedis();
    const app = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: store.url }, () => clock.nowMs);
    const redis = new Redis(store.url, { protocol: 2 });
    let calls = 0;
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(call, { minLength: 20, maxLength: 140, size: 'max' }), async (plan) => {
          const twin = new HttpTwin(app, clock, redis);
          try {
            for (const [i, { act }] of plan.entries()) {
              await act(twin);
              calls++;
              if (i % 10 === 9) await twin.compare();
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
      console.log(`seed ${SEED}, ${calls} calls`);
      redis.disconnect();
      await app.stop();
      await store.stop();
    }
    expect(calls).toBeGreaterThanOrEqual(RUNS * 20);
  },
  LIMIT_MS + 30_000,
);
