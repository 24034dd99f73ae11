import fc from 'fast-check';
import { Redis } from 'ioredis';
import { QueueError } from '../../src/domain/errors.js';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from '../engine/audit.js';
import { EngineFixture } from '../engine/fixture.js';
import { ExtendedFixture } from '../engine/extended-fixture.js';
import { auditIndexes } from '../engine/index-audit.js';
import { SEED, SLOWNESS, propertyRuns } from '../support/scale.js';

/** Sequences, each of up to 50 operations. */
const RUNS = Math.ceil(propertyRuns(40) / 4);
const LIMIT_MS = (60_000 + RUNS * 2_000) * SLOWNESS;

/** A namespace under test: what was published, and what is leased as far as consumers know. */
interface World {
  readonly f: EngineFixture;
  readonly extended: ExtendedFixture;
  readonly ids: string[];
  readonly leases: LeasedJob[];
}
interface Step {
  readonly act: (world: World) => Promise<unknown>;
  readonly [fc.toStringMethod]: () => string;
}

const QUEUES = ['p', 'q'] as const;
const queue = fc.constantFrom(...QUEUES);
const tags = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 });
const group = fc.constantFrom('g', 'h');
const pick = fc.nat({ max: 1_000 });

function step<T extends object>(
  name: string,
  args: fc.Arbitrary<T>,
  act: (world: World, args: T) => Promise<unknown>,
): fc.Arbitrary<Step> {
  return args.map((given) => ({
    act: (world: World) => act(world, given),
    [fc.toStringMethod]: () => `\n  ${name} ${fc.stringify(given)}`,
  }));
}

/** A lease operation; one that came too late is no error. */
function settle(
  name: string,
  operation: (
    world: World,
    lease: LeasedJob,
    given: { readonly group: string; readonly delayMs: number },
  ) => Promise<unknown>,
): fc.Arbitrary<Step> {
  const args = fc.record({ pick, group, delayMs: fc.constantFrom(0, 500) });
  return step(name, args, async (world, given) => {
    const lease = world.leases[given.pick % Math.max(world.leases.length, 1)];
    if (!lease) return;
    await operation(world, lease, given).catch((error: unknown) => {
      const isUsual = error instanceof QueueError && ['lease_lost', 'job_not_found'].includes(error.code);
      if (!isUsual) throw error;
    });
  });
}

function tag(
  name: string,
  operation: (world: World, id: string, given: readonly string[]) => Promise<unknown>,
): fc.Arbitrary<Step> {
  return step(name, fc.record({ pick, tags }), async (world, given) => {
    const id = world.ids[given.pick % Math.max(world.ids.length, 1)];
    if (id === undefined) return;
    await operation(world, id, given.tags).catch((error: unknown) => {
      if (!String(error).includes('no job')) throw error;
    });
  });
}

const publish = step(
  'publish',
  fc.record({
    queue,
    tags,
    type: fc.constantFrom('x', 'y'),
    priority: fc.constantFrom(0, 0, -1, 3),
    delayMs: fc.constantFrom(0, 0, 700),
    ttlMs: fc.constantFrom(0, 0, 1_500),
    retentionMs: fc.constantFrom(0, 60_000),
    tries: fc.integer({ min: 1, max: 3 }),
  }),
  async ({ extended, ids }, { queue: name, ...job }) => ids.push(await extended.put(name, job)),
);
// Some so far off that they wait in the list of a slot.
const simpleJob = fc.record({
  queue,
  delayMs: fc.constantFrom(0, 0, 900_000),
  ttlMs: fc.constantFrom(0, 2_000_000),
});
const publishSimple = step('publishPlain', simpleJob, async ({ f, ids }, { queue: name, ...job }) =>
  ids.push(await f.publish(name, { tries: 2, ...job })),
);
const lease = step(
  'lease',
  fc.record({ queue, count: fc.integer({ min: 1, max: 3 }), worker: fc.constantFrom('', 'v', 'w') }),
  async ({ extended, leases }, { queue: name, count, worker }) =>
    leases.push(...(await extended.lease(name, count, worker, 1_000))),
);
const pause = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 1, max: 1_200 }) },
  { arbitrary: fc.constant(450_000), weight: 1 },
);
const pass = step('pass', fc.record({ ms: pause }), ({ f }, { ms }) => f.pass(ms));
const respawn = step(
  'respawn',
  fc.record({
    filter: fc.oneof(fc.record({ group }), fc.record({ queue }), fc.constant({})),
    to: fc.option(queue),
  }),
  ({ extended, f }, { filter, to }) =>
    extended.components.deadJobs.respawn(f.ns, filter, {
      ttlMs: 2_000,
      tries: 'reset',
      ...(to === null ? {} : { queue: to }),
    }),
);
const setTags = step('indexTags', fc.record({ queue, indexTags: fc.boolean() }), ({ extended, f }, given) =>
  extended.components.queueControls.change(f.ns, given.queue, { indexTags: given.indexTags }),
);
const change = step('change', fc.record({ pick, tags, to: fc.option(queue) }), async (world, given) => {
  const id = world.ids[given.pick % Math.max(world.ids.length, 1)];
  if (id === undefined) return;
  const where = given.to === null ? {} : { queue: given.to };
  await world.extended.components.jobUpdater
    .change(world.f.ns, id, { tags: given.tags, ...where })
    .catch((error: unknown) => {
      if (!(error instanceof QueueError)) throw error;
    });
});
const drop = step('delete', fc.record({ group }), ({ extended, f }, filter) =>
  extended.components.deadJobs.delete(f.ns, filter, 2),
);

const operation = fc.oneof(
  { weight: 6, arbitrary: publish },
  { weight: 2, arbitrary: publishSimple },
  { weight: 6, arbitrary: lease },
  { weight: 4, arbitrary: pass },
  { weight: 2, arbitrary: respawn },
  { weight: 1, arbitrary: drop },
  { weight: 2, arbitrary: setTags },
  { weight: 2, arbitrary: change },
  settle('complete', ({ extended, f }, { id, lease: n }) =>
    extended.components.leaseOperations.complete(f.ns, [{ id, lease: n }]),
  ),
  settle('move', ({ extended, f }, { id, lease: n }) =>
    extended.components.leaseOperations.complete(f.ns, [{ id, lease: n, next: { queue: 'p' } }]),
  ),
  settle('fail', ({ extended, f }, { id, lease: n }, { group: g }) =>
    extended.components.leaseOperations.fail(f.ns, { id, lease: n, group: g, message: 'm' }),
  ),
  settle('retry', ({ extended, f }, { id, lease: n }, { group: g, delayMs }) =>
    extended.components.leaseOperations.retry(f.ns, { id, lease: n, group: g, message: 'm', delayMs }),
  ),
  settle('release', ({ extended, f }, { id, lease: n }, { delayMs }) =>
    extended.components.leaseOperations.release(f.ns, { id, lease: n, delayMs }),
  ),
  settle('heartbeat', ({ extended, f }, { id, lease: n }) =>
    extended.components.leaseOperations.heartbeat(f.ns, { id, lease: n }),
  ),
  tag('tag', ({ extended, f }, id, given) => extended.components.tags.addTags(f.ns, id, given)),
  tag('untag', ({ extended, f }, id, given) => extended.components.tags.removeTags(f.ns, id, given)),
  tag('track', ({ extended, f }, id) => extended.components.tags.track(f.ns, id)),
  tag('untrack', ({ extended, f }, id) => extended.components.tags.untrack(f.ns, id)),
);

it(
  `every index is right after any sequence of calls (seed ${String(SEED)})`,
  async () => {
    const redis = new Redis(testRedisUrl());
    const run = async (steps: readonly Step[]): Promise<void> => {
      const f = await EngineFixture.withClock();
      const world: World = { f, extended: new ExtendedFixture(f), ids: [], leases: [] };
      try {
        for (const { act } of steps) await act(world);
        expect([...(await auditIndexes(redis, f.ns)), ...(await Audit.of(redis, f.ns))]).toEqual([]);
        f.nowMs += 10_000;
        await f.engine.pumpNow(f.ns);
        expect(await auditIndexes(redis, f.ns)).toEqual([]);
      } finally {
        await f.close();
      }
    };
    try {
      await fc.assert(fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 50 }), run), {
        numRuns: RUNS,
        seed: SEED,
        plugins: [fc.interruptAfterTimeLimit(LIMIT_MS)],
      });
    } finally {
      await redis.quit();
    }
  },
  LIMIT_MS + 30_000,
);
