import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { DependencyFailure } from '../../src/domain/job/extended-job.js';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from '../engine/audit.js';
import { ExtendedPathFixture } from '../engine/extended-path-fixture.js';
import { propertyRuns, SEED } from '../support/scale.js';

const RUNS = propertyRuns(4);

/** What a worker does with a job, or what else becomes of it, once it is ready. */
type Fate = 'done' | 'failed' | 'crashed' | 'expired';
type Outcome = 'done' | 'dead' | 'cancelled' | 'gone' | 'blocked';

interface Node {
  readonly fate: Fate;
  readonly policy: DependencyFailure;
  /** Places of earlier nodes: a graph without circles. */
  readonly needs: readonly number[];
  readonly isSimple: boolean;
  readonly delayMs: number;
}

const ENDS = { done: 'done', failed: 'dead', crashed: 'dead', expired: 'gone' } as const;

const graph = fc
  .array(
    fc.record({
      fate: fc.constantFrom<Fate[]>('done', 'done', 'done', 'failed', 'crashed', 'expired'),
      policy: fc.constantFrom<DependencyFailure[]>('block', 'ignore', 'fail', 'cancel'),
      needs: fc.uniqueArray(fc.nat({ max: 1_000 }), { maxLength: 4 }),
      isSimple: fc.boolean(),
      delayMs: fc.constantFrom(0, 0, 0, 5_000),
    }),
    { minLength: 2, maxLength: 25 },
  )
  .map((nodes) =>
    nodes.map((node, i): Node => ({
      ...node,
      needs: i === 0 ? [] : [...new Set(node.needs.map((need) => need % i))],
      isSimple: node.isSimple && i % 3 === 0,
    })),
  )
  .map((nodes) => nodes.map((node) => (node.isSimple ? { ...node, needs: [], delayMs: 0 } : node)));

/** How each job ends, reckoned from the graph alone. */
function expectedOf(nodes: readonly Node[]): Outcome[] {
  const outcomes: Outcome[] = [];
  for (const { fate, policy, needs } of nodes) {
    const hasFailed = needs.some((need) => ['dead', 'cancelled', 'gone'].includes(outcomes[need] ?? ''));
    const isBlocked = needs.some((need) => outcomes[need] === 'blocked');
    if (hasFailed && policy === 'fail') outcomes.push('dead');
    else if (hasFailed && policy === 'cancel') outcomes.push('cancelled');
    else outcomes.push(isBlocked || (hasFailed && policy === 'block') ? 'blocked' : ENDS[fate]);
  }
  return outcomes;
}

/** The jobs of a graph on a Redis. */
class Run {
  /** How often each was leased. */
  leases: number[];
  /** From then on all that is leased is done. */
  isHappy = false;
  readonly ids: readonly string[];

  constructor(
    readonly f: ExtendedPathFixture,
    private readonly nodes: readonly Node[],
  ) {
    this.ids = nodes.map((_node, i) => `job-${String(i)}`);
    this.leases = nodes.map(() => 0);
  }

  /** In one call the order means nothing; one by one, what is depended on must be there first, or it counts as done. */
  async publish(order: readonly number[] | null): Promise<void> {
    const jobs = this.nodes.map(({ policy, needs, delayMs }, i): NewExtendedJob => ({
      ...{ queue: 'q', id: this.ids[i]!, body: Buffer.from(String(i)), delayMs, tries: 1 },
      ...{ dependsOn: needs.map((need) => this.ids[need]!), onDependencyFailure: policy, retentionMs: 1e9 },
    }));
    for (const [i, id] of this.ids.entries()) {
      if (this.nodes[i]?.isSimple === true) await this.f.fixture.publish('q', { id, tries: 1 });
      else if (order === null) await this.f.components.extendedPublisher.publish(this.f.ns, [jobs[i]!]);
    }
    const together = (order ?? []).filter((i) => this.nodes[i]?.isSimple !== true);
    if (together.length > 0)
      await this.f.components.extendedPublisher.publish(
        this.f.ns,
        together.map((i) => jobs[i]!),
      );
  }

  /** Until nothing moves any more. */
  async work(): Promise<void> {
    for (let idle = 0; idle < 3;) {
      const jobs = await this.f.lease();
      for (const { id, lease } of jobs) await this.end(this.ids.indexOf(id), lease);
      await this.f.pass(6_000);
      idle = jobs.length === 0 ? idle + 1 : 0;
    }
  }

  async outcomes(): Promise<Outcome[]> {
    const found = await this.f.components.jobReader.findMany(this.f.ns, this.ids);
    // A simple job that is done is not kept.
    return found.map((job, i) => {
      const isGoneAsDone = job === null && this.nodes[i]?.isSimple === true && this.fateOf(i) === 'done';
      return isGoneAsDone ? 'done' : ((job?.state ?? 'gone') as Outcome);
    });
  }

  private fateOf(i: number): Fate {
    return this.isHappy ? 'done' : (this.nodes[i]?.fate ?? 'done');
  }

  private async end(i: number, lease: number): Promise<void> {
    this.leases[i] = (this.leases[i] ?? 0) + 1;
    const ref = { id: this.ids[i]!, lease };
    const fate = this.fateOf(i);
    if (fate === 'done') await this.f.components.leaseOperations.complete(this.f.ns, [ref]);
    if (fate === 'failed')
      await this.f.components.leaseOperations.fail(this.f.ns, { ...ref, group: 'g', message: '' });
    if (fate !== 'expired') return;
    await this.f.components.leaseOperations.release(this.f.ns, ref);
    await this.f.components.jobUpdater.change(this.f.ns, ref.id, { ttlMs: 1 });
    await this.f.pass(1);
  }
}

let redis: Redis;
beforeAll(() => {
  redis = new Redis(testRedisUrl(), { protocol: 2 });
});
afterAll(() => redis.quit());

it('T32: every job of any dependency graph ends as its policies say or is explained, and runs once', async () => {
  console.log(`seed ${String(SEED)}, ${String(RUNS)} graphs`);
  await fc.assert(
    fc.asyncProperty(graph, fc.boolean(), fc.nat(), async (nodes, isAtOnce, chance) => {
      const f = await ExtendedPathFixture.open();
      try {
        const run = new Run(f, nodes);
        const order = nodes
          .map((_node, i) => i)
          .sort((a, b) => ((a * 7 + chance) % 11) - ((b * 7 + chance) % 11));
        await run.publish(isAtOnce ? order : null);
        await run.work();
        await compare(run, nodes);
        await reviveAll(run);
      } finally {
        await f.close();
      }
    }),
    { numRuns: RUNS, seed: SEED },
  );
}, 600_000);

async function compare(run: Run, nodes: readonly Node[]): Promise<void> {
  const expected = expectedOf(nodes);
  expect(await run.outcomes()).toEqual(expected);
  expect(await Audit.of(redis, run.f.ns)).toEqual([]);
  nodes.forEach(({ fate, needs, policy }, i) => {
    const isByPolicy = needs.some((need) => expected[need] !== 'done') && policy !== 'ignore';
    const ran = expected[i] === 'blocked' || (isByPolicy && expected[i] !== ENDS[fate]) ? 0 : 1;
    if (!isByPolicy) expect([i, run.leases[i]]).toEqual([i, ran]);
    else expect(run.leases[i]).toBeLessThanOrEqual(1);
  });
  const stuck = await stuckOnes(run);
  const blocked = expected.filter((outcome) => outcome === 'blocked').length;
  expect(await run.f.counts()).toMatchObject({ blocked, stuck: stuck.length });
}

/** Blocked jobs, each with what it waits for in vain. All others wait for blocked ones. */
async function stuckOnes(run: Run): Promise<[string, string[]][]> {
  const jobs = (await run.f.components.jobReader.findMany(run.f.ns, run.ids)).flatMap((job) => job ?? []);
  const blocked = new Set(jobs.filter(({ state }) => state === 'blocked').map(({ id }) => id));
  const stuck: [string, string[]][] = [];
  for (const { id, state, dependsOn, failedDependencies } of jobs) {
    if (state !== 'blocked') continue;
    const failed = Object.keys(failedDependencies);
    if (failed.length > 0) stuck.push([id, failed]);
    else expect([id, dependsOn.some((other) => blocked.has(other))]).toEqual([id, true]);
  }
  return stuck;
}

/** The dead are brought back and done: what waited for them goes on. What waits for those that are gone is told not to. */
async function reviveAll(run: Run): Promise<void> {
  const { f } = run;
  run.isHappy = true;
  for (let left = run.ids.length; left >= 0; left--) {
    const dead = (await f.components.jobReader.findMany(f.ns, run.ids)).filter(
      (job) => job?.state === 'dead',
    );
    await f.revive(...dead.flatMap((job) => job?.id ?? []));
    await run.work();
    for (const [id, failed] of await stuckOnes(run))
      await f.components.jobUpdater.change(f.ns, id, { lessDependencies: failed });
    if ((await f.counts())?.blocked === 0 && dead.length === 0) break;
  }
  await run.work();
  expect(await f.counts()).toMatchObject({
    ready: 0,
    scheduled: 0,
    leased: 0,
    dead: 0,
    blocked: 0,
    stuck: 0,
  });
  expect(await Audit.of(redis, f.ns)).toEqual([]);
  expect((await f.fixture.keys()).filter((key) => /\}([nufmv]|:ended)/.test(key))).toEqual([]);
}
