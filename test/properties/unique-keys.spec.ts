import fc from 'fast-check';
import { Redis } from 'ioredis';
import { QueueError } from '../../src/domain/errors.js';
import type { JobDetails } from '../../src/contract/job/extended-job.js';
import type { UniqueKey } from '../../src/domain/job/extended-job.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from '../engine/audit.js';
import { EngineFixture } from '../engine/fixture.js';
import { propertyRuns, SEED } from '../support/scale.js';

/** Sequences, each of up to 60 operations. */
const RUNS = propertyRuns(10);
const KEYS = ['k1', 'k2'];
const QUEUES = ['p', 'q'];
const LIVE: ReadonlySet<string> = new Set(['ready', 'scheduled', 'leased', 'blocked', 'held']);
const TTR_MS = 400;

let redis: Redis;
beforeAll(() => (redis = new Redis(testRedisUrl())));
afterAll(() => redis.disconnect());

/** A namespace, and what a careful observer of it knows. */
class World {
  readonly leases: { readonly id: string; readonly queue: string; readonly lease: number }[] = [];
  private readonly ids = new Set<string>();

  constructor(readonly f: EngineFixture) {}

  get extended() {
    return this.f.engine.components;
  }

  /** Every job that there is or was, those that are gone left out. */
  async jobs(): Promise<JobDetails[]> {
    const ids = [...this.ids];
    const found: JobDetails[] = [];
    for (let i = 0; i < ids.length; i += 64) {
      const some = await this.extended.jobReader.findMany(this.f.ns, ids.slice(i, i + 64));
      found.push(...some.filter((job) => job !== null));
    }
    return found;
  }

  async holderOf(key: string): Promise<JobDetails | undefined> {
    const live = (await this.jobs()).filter(({ uniqueKey, state }) => uniqueKey === key && LIVE.has(state));
    expect(live.length).toBeLessThanOrEqual(1);
    return live[0];
  }

  /** Publishes jobs, and holds the answer against what was there. */
  async publish(jobs: readonly Publish[]): Promise<void> {
    const expected: (string | null)[] = [];
    let isRefused = false;
    const taken = new Map<string, string>();
    for (const [i, { key, mode }] of jobs.entries()) {
      const own = taken.get(key);
      const holder = own === undefined ? await this.holderOf(key) : undefined;
      const isTaken = own !== undefined || holder !== undefined;
      if (isTaken && (mode === 'reject' || (mode !== 'existing' && (own ?? holder?.state) === 'leased')))
        isRefused = true;
      if (own !== undefined && mode !== 'existing') isRefused = true;
      const stands = isTaken && (mode === 'existing' || mode === 'debounce');
      expected.push(stands ? (holder?.id ?? own ?? '') : null);
      if (!stands) taken.set(key, String(i));
    }
    try {
      const published = await this.extended.extendedPublisher.publish(
        this.f.ns,
        jobs.map(({ key, mode, ...job }) => ({ ...job, body: Buffer.from('x'), unique: { key, mode } })),
      );
      expect(isRefused).toBe(false);
      published.forEach(({ id, existing }, i) => {
        const holder = expected[i] ?? null;
        expect(existing).toBe(holder !== null);
        if (holder !== null) expect(id).toBe(published[Number(holder)]?.id ?? holder);
        this.ids.add(id);
      });
    } catch (error) {
      if (!(error instanceof QueueError)) throw error;
      expect([error.code, isRefused]).toEqual(['unique_key_taken', true]);
    }
  }

  async lease(queue: string): Promise<void> {
    const [job] = await this.f.engine.lease(this.f.ns, {
      queues: [queue],
      count: 1,
      ttrMs: TTR_MS,
      waitMs: 0,
    });
    if (job) this.leases.push({ id: job.id, queue, lease: job.lease });
  }

  async settle(pick: number, way: Way): Promise<void> {
    const at = this.leases.length === 0 ? -1 : pick % this.leases.length;
    const [held] = at < 0 ? [] : this.leases.splice(at, 1);
    if (!held) return;
    const { leaseOperations } = this.extended;
    const given = { ...held, group: 'g', message: 'm' };
    if (way === 'ack') await leaseOperations.complete(this.f.ns, [held]);
    if (way === 'plain ack') await this.f.engine.ack(this.f.ns, held.queue, held.id);
    if (way === 'retry') await leaseOperations.retry(this.f.ns, given).catch(ignored);
    if (way === 'fail') await leaseOperations.fail(this.f.ns, given).catch(ignored);
    if (way === 'release') await leaseOperations.release(this.f.ns, held).catch(ignored);
    if (way === 'move')
      await leaseOperations.complete(this.f.ns, [
        { ...held, next: { queue: held.queue === 'p' ? 'q' : 'p' } },
      ]);
  }

  /** Removes any of its jobs, as a plain client does. */
  async delete(pick: number): Promise<void> {
    const jobs = await this.jobs();
    const job = jobs[pick % Math.max(jobs.length, 1)];
    if (job && job.state !== 'done') await this.f.engine.ack(this.f.ns, job.queue, job.id);
  }

  async cancel(pick: number, graceMs: number): Promise<void> {
    const jobs = await this.jobs();
    const job = jobs[pick % Math.max(jobs.length, 1)];
    // One that has ended already is told so.
    if (job) await this.extended.jobCanceller.cancel(this.f.ns, job.id, { graceMs }).catch(ignored);
  }

  async respawn(): Promise<void> {
    await this.extended.deadJobs.respawn(this.f.ns, {}, { ttlMs: 0, tries: 'reset' });
  }

  /** No key has two live jobs; one that is there in Redis belongs to the one that lives. */
  async check(): Promise<void> {
    for (const key of KEYS) await this.holderOf(key);
    await this.f.engine.pumpNow(this.f.ns);
    for (const key of KEYS) {
      const isHeld = (await redis.exists(this.f.pool.keys.uniqueKey(this.f.ns, key))) === 1;
      expect(isHeld).toBe((await this.holderOf(key)) !== undefined);
    }
    expect(await Audit.of(redis, this.f.ns)).toEqual([]);
  }
}

/** What was refused, a lost lease for one, has changed nothing: the next look says so. */
function ignored(error: unknown): void {
  if (!(error instanceof QueueError)) throw error;
}

const WAYS = ['ack', 'plain ack', 'retry', 'fail', 'release', 'move'] as const;
type Way = (typeof WAYS)[number];
interface Publish {
  readonly queue: string;
  readonly key: string;
  readonly mode: UniqueKey['mode'];
  readonly delayMs: number;
  readonly ttlMs: number;
  readonly tries: number;
  readonly retentionMs: number;
  readonly priority: number;
}

const published: fc.Arbitrary<Publish> = fc.record({
  queue: fc.constantFrom(...QUEUES),
  key: fc.constantFrom(...KEYS),
  mode: fc.constantFrom('reject' as const, 'existing' as const, 'replace' as const, 'debounce' as const),
  delayMs: fc.constantFrom(0, 0, 300),
  ttlMs: fc.constantFrom(0, 0, 700),
  tries: fc.integer({ min: 1, max: 2 }),
  retentionMs: fc.constantFrom(0, 500),
  priority: fc.constantFrom(0, 0, -1, 3),
});

type Act = (world: World) => Promise<void>;
function step(name: string, args: unknown, act: Act): { act: Act; [fc.toStringMethod]: () => string } {
  return { act, [fc.toStringMethod]: () => `\n  ${name} ${fc.stringify(args)}` };
}

const steps = fc.oneof(
  { weight: 4, arbitrary: published.map((job) => step('publish', job, (w) => w.publish([job]))) },
  {
    weight: 1,
    arbitrary: fc
      .array(published, { minLength: 2, maxLength: 4 })
      .map((jobs) => step('publish many', jobs, (w) => w.publish(jobs))),
  },
  { weight: 4, arbitrary: fc.constantFrom(...QUEUES).map((q) => step('lease', q, (w) => w.lease(q))) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.nat({ max: 100 }), fc.constantFrom(...WAYS))
      .map(([pick, way]) => step('settle', [pick, way], (w) => w.settle(pick, way))),
  },
  { weight: 1, arbitrary: fc.constant(step('respawn', '', (w) => w.respawn())) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.nat({ max: 100 }), fc.constantFrom(0, 300))
      .map(([n, ms]) => step('cancel', [n, ms], (w) => w.cancel(n, ms))),
  },
  { weight: 1, arbitrary: fc.nat({ max: 100 }).map((n) => step('delete', n, (w) => w.delete(n))) },
  {
    weight: 3,
    arbitrary: fc.integer({ min: 1, max: 800 }).map((ms) =>
      step('pass', ms, async (w) => {
        w.f.nowMs += ms;
        await Promise.resolve();
      }),
    ),
  },
);

it(
  'T29: a unique key never has two live jobs, and is freed by every end of its job',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 60 }), async (acts) => {
        const world = new World(await EngineFixture.withClock());
        try {
          for (const { act } of acts) {
            await act(world);
            await world.check();
          }
        } finally {
          await world.f.close();
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
  },
  60_000 + RUNS * 2_000,
);
