import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture } from './fixture.js';
import { FullFixture } from './full-fixture.js';
import { auditIndexes } from './index-audit.js';

/** Sequences, each of up to 50 operations. `PUMPHOUSE_PROPERTY_RUNS` asks for more, `PUMPHOUSE_PROPERTY_SEED` for the same. */
const RUNS = Math.ceil(Number(process.env['PUMPHOUSE_PROPERTY_RUNS'] ?? 160) / 4);
const SEED = Number(process.env['PUMPHOUSE_PROPERTY_SEED'] ?? Date.now() % 2 ** 31);
const LIMIT_MS = 60_000 + RUNS * 2_000;

/** A namespace under test: what was published, and what is leased as far as consumers know. */
interface World {
  readonly f: EngineFixture;
  readonly full: FullFixture;
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

/** A word of an owner; what came too late is no error. */
function say(
  name: string,
  word: (
    world: World,
    lease: LeasedJob,
    given: { readonly group: string; readonly delayMs: number },
  ) => Promise<unknown>,
): fc.Arbitrary<Step> {
  const args = fc.record({ pick, group, delayMs: fc.constantFrom(0, 500) });
  return step(name, args, async (world, given) => {
    const lease = world.leases[given.pick % Math.max(world.leases.length, 1)];
    if (!lease) return;
    await word(world, lease, given).catch((error: unknown) => {
      if (!/lease is not|no job/.test(String(error))) throw error;
    });
  });
}

function mark(
  name: string,
  word: (world: World, id: string, given: readonly string[]) => Promise<unknown>,
): fc.Arbitrary<Step> {
  return step(name, fc.record({ pick, tags }), async (world, given) => {
    const id = world.ids[given.pick % Math.max(world.ids.length, 1)];
    if (id === undefined) return;
    await word(world, id, given.tags).catch((error: unknown) => {
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
  async ({ full, ids }, { queue: name, ...job }) => ids.push(await full.put(name, job)),
);
// Some so far off that they wait in the list of a slot.
const plainOne = fc.record({
  queue,
  delayMs: fc.constantFrom(0, 0, 900_000),
  ttlMs: fc.constantFrom(0, 2_000_000),
});
const publishPlain = step('publishPlain', plainOne, async ({ f, ids }, { queue: name, ...job }) =>
  ids.push(await f.publish(name, { tries: 2, ...job })),
);
const lease = step(
  'lease',
  fc.record({ queue, count: fc.integer({ min: 1, max: 3 }), worker: fc.constantFrom('', 'v', 'w') }),
  async ({ full, leases }, { queue: name, count, worker }) =>
    leases.push(...(await full.lease(name, count, worker, 1_000))),
);
const pause = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 1, max: 1_200 }) },
  { arbitrary: fc.constant(450_000), weight: 1 },
);
const pass = step('pass', fc.record({ ms: pause }), ({ f }, { ms }) => f.pass(ms));
const raise = step(
  'respawn',
  fc.record({
    filter: fc.oneof(fc.record({ group }), fc.record({ queue }), fc.constant({})),
    to: fc.option(queue),
  }),
  ({ full, f }, { filter, to }) =>
    full.lane.dead.respawn(f.ns, filter, {
      ttlMs: 2_000,
      tries: 'reset',
      ...(to === null ? {} : { queue: to }),
    }),
);
const drop = step('delete', fc.record({ group }), ({ full, f }, filter) =>
  full.lane.dead.delete(f.ns, filter, 2),
);

const operation = fc.oneof(
  { weight: 6, arbitrary: publish },
  { weight: 2, arbitrary: publishPlain },
  { weight: 6, arbitrary: lease },
  { weight: 4, arbitrary: pass },
  { weight: 2, arbitrary: raise },
  { weight: 1, arbitrary: drop },
  say('complete', ({ full, f }, { id, lease: n }) => full.lane.owners.complete(f.ns, [{ id, lease: n }])),
  say('move', ({ full, f }, { id, lease: n }) =>
    full.lane.owners.complete(f.ns, [{ id, lease: n, next: { queue: 'p' } }]),
  ),
  say('fail', ({ full, f }, { id, lease: n }, { group: g }) =>
    full.lane.owners.fail(f.ns, { id, lease: n, group: g, message: 'm' }),
  ),
  say('retry', ({ full, f }, { id, lease: n }, { group: g, delayMs }) =>
    full.lane.owners.retry(f.ns, { id, lease: n, group: g, message: 'm', delayMs }),
  ),
  say('release', ({ full, f }, { id, lease: n }, { delayMs }) =>
    full.lane.owners.release(f.ns, { id, lease: n, delayMs }),
  ),
  say('beat', ({ full, f }, { id, lease: n }) => full.lane.owners.heartbeat(f.ns, { id, lease: n })),
  mark('tag', ({ full, f }, id, given) => full.lane.marks.addTags(f.ns, id, given)),
  mark('untag', ({ full, f }, id, given) => full.lane.marks.removeTags(f.ns, id, given)),
  mark('track', ({ full, f }, id) => full.lane.marks.track(f.ns, id)),
  mark('untrack', ({ full, f }, id) => full.lane.marks.untrack(f.ns, id)),
);

it(
  `keeps every index true, whatever happens (seed ${String(SEED)})`,
  async () => {
    const redis = new Redis(testRedisUrl());
    const run = async (steps: readonly Step[]): Promise<void> => {
      const f = await EngineFixture.withClock();
      const world: World = { f, full: new FullFixture(f), ids: [], leases: [] };
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
    await fc
      .assert(fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 50 }), run), {
        numRuns: RUNS,
        seed: SEED,
        interruptAfterTimeLimit: LIMIT_MS,
      })
      .finally(() => redis.quit());
  },
  LIMIT_MS + 30_000,
);
