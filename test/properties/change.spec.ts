import fc from 'fast-check';
import { Redis } from 'ioredis';
import { QueueError } from '../../src/domain/errors.js';
import type { DependencyFailure } from '../../src/domain/job/extended-job.js';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { JobChange } from '../../src/engine/jobs/job-updater.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from '../engine/audit.js';
import { edgeProblems } from '../engine/edge-audit.js';
import { ExtendedPathFixture } from '../engine/extended-path-fixture.js';
import { propertyRuns, SEED } from '../support/scale.js';

/** Sequences of up to 60 operations. */
const RUNS = propertyRuns(8);
const QUEUES = ['q', 'other'];
/** Refusals that a change or a cancel by chance may meet. */
const EXPECTED = [
  ...['job_not_found', 'not_waiting', 'dependency_cycle', 'due_unknown', 'has_dependents', 'job_done'],
  'lease_lost',
];

type Step = (world: World) => Promise<unknown>;

/** Jobs by chance, and what was leased of them. */
class World {
  readonly ids: string[] = [];
  private readonly leases: { id: string; lease: number }[] = [];

  constructor(readonly f: ExtendedPathFixture) {}

  pick(chance: number): string {
    return this.ids[chance % Math.max(this.ids.length, 1)] ?? 'missing';
  }

  async publish(job: Omit<NewExtendedJob, 'body' | 'id'>): Promise<void> {
    const id = `j${String(this.ids.length)}`;
    this.ids.push(id);
    await this.f.put(id, job);
  }

  async publishSimple(queue: string, delayMs: number): Promise<void> {
    this.ids.push(await this.f.fixture.publish(queue, { delayMs, tries: 2 }));
  }

  async lease(queue: string): Promise<void> {
    for (const { id, lease } of await this.f.lease(queue, 3)) {
      expect(this.leases.filter((one) => one.id === id && one.lease === lease)).toEqual([]);
      this.leases.push({ id, lease });
    }
  }

  async end(how: 'complete' | 'fail' | 'release' | 'retry', chance: number): Promise<void> {
    const [lease] = this.leases.splice(chance % Math.max(this.leases.length, 1), 1);
    if (lease === undefined) return;
    const { leaseOperations } = this.f.components;
    if (how === 'complete') await leaseOperations.complete(this.f.ns, [lease]);
    else if (how === 'release') await leaseOperations.release(this.f.ns, lease);
    else await leaseOperations[how](this.f.ns, { ...lease, group: 'g', message: '' });
  }

  async revive(): Promise<void> {
    const found = await this.f.components.jobReader.findMany(this.f.ns, this.ids.slice(-60));
    await this.f.revive(...found.flatMap((job) => (job?.state === 'dead' ? [job.id] : [])));
  }
}

const chance = fc.nat({ max: 10_000 });
const queue = fc.constantFrom(...QUEUES);
const delayMs = fc.constantFrom(0, 0, 1_000, 700_000);
const policy = fc.constantFrom<DependencyFailure[]>('block', 'ignore', 'fail', 'cancel');
const priority = fc.constantFrom(-3, 0, 0, 4);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(queue, delayMs, priority, policy, fc.array(chance, { maxLength: 3 })).map(publish),
  },
  fc.tuple(queue, delayMs).map(
    ([to, ms]): Step =>
      (world) =>
        world.publishSimple(to, ms),
  ),
  {
    weight: 3,
    arbitrary: queue.map(
      (from): Step =>
        (world) =>
          world.lease(from),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom('complete', 'complete', 'fail', 'release', 'retry'), chance).map(
      ([how, which]): Step =>
        (world) =>
          world.end(how, which),
    ),
  },
  { weight: 5, arbitrary: fc.tuple(chance, fc.array(chance, { maxLength: 2 }), changes()).map(change) },
  {
    weight: 2,
    arbitrary: fc.tuple(chance, fc.boolean(), fc.constantFrom(0, 3_000)).map(
      ([which, cascade, graceMs]): Step =>
        (world) =>
          world.f.components.jobCanceller.cancel(world.f.ns, world.pick(which), { cascade, graceMs }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(1, 1_000, 11_000, 700_000).map(
      (ms): Step =>
        (world) =>
          world.f.pass(ms),
    ),
  },
  fc.constant<Step>((world) => world.revive()),
);

function publish([to, ms, of, onDependencyFailure, needs]: [
  string,
  number,
  number,
  DependencyFailure,
  number[],
]): Step {
  return (world) =>
    world.publish({
      ...{ queue: to, delayMs: ms, priority: of, onDependencyFailure, tries: 2 },
      dependsOn: needs.map((need) => world.pick(need)),
    });
}

function changes(): fc.Arbitrary<(ids: readonly string[]) => JobChange> {
  return fc.oneof(
    priority.map((to) => () => ({ priority: to })),
    queue.map((to) => () => ({ queue: to })),
    delayMs.map((ms) => () => ({ delayMs: ms })),
    fc.constantFrom(0, 2_000).map((ms) => () => ({ ttlMs: ms })),
    fc.constant(() => ({ data: { body: Buffer.from('changed') }, tags: ['t'] })),
    fc.constant((ids: readonly string[]) => ({ moreDependencies: ids })),
    fc.constant((ids: readonly string[]) => ({ lessDependencies: ids })),
    fc.constant((ids: readonly string[]) => ({ dependsOn: ids, priority: 2 })),
  );
}

function change([which, others, of]: [number, number[], (ids: readonly string[]) => JobChange]): Step {
  return (world) => {
    const ids = others.map((other) => world.pick(other));
    return world.f.components.jobUpdater.change(world.f.ns, world.pick(which), of(ids));
  };
}

let redis: Redis;
beforeAll(() => {
  redis = new Redis(testRedisUrl(), { protocol: 2 });
});
afterAll(() => redis.quit());

it('any changes and cancels leave every job in one place and every dependency at both ends', async () => {
  console.log(`seed ${String(SEED)}, ${String(RUNS)} sequences`);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
      const f = await ExtendedPathFixture.open();
      try {
        const world = new World(f);
        for (const [i, take] of steps.entries()) {
          await take(world).catch(mayBe);
          if (i % 5 === 4) expect(await Audit.of(redis, f.ns)).toEqual([]);
        }
        await f.pump();
        expect(await Audit.of(redis, f.ns)).toEqual([]);
        expect(await edgeProblems(redis, f.ns)).toEqual([]);
      } finally {
        await f.close();
      }
    }),
    { numRuns: RUNS, seed: SEED },
  );
}, 600_000);

function mayBe(error: unknown): void {
  if (!(error instanceof QueueError) || !EXPECTED.includes(error.code)) throw error;
}
