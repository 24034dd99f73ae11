import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';
import type { JobDetails, NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { Verb } from '../../src/engine/settle/settler.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from '../engine/audit.js';
import { EngineFixture } from '../engine/fixture.js';
import { SEED, SLOWNESS, propertyRuns } from '../support/scale.js';

const RUNS = Math.ceil(propertyRuns(40) / 4);
const LIMIT_MS = (150_000 + RUNS * 1_000) * SLOWNESS;
const KEYS = ['a', 'b'] as const;
const TTR_MS = 1_000;

let redis: Redis;
beforeAll(() => (redis = new Redis(testRedisUrl())));
afterAll(() => redis.quit());

/** What is limited and who runs, as the store tells it after each step. */
class Trial {
  private readonly ids: string[] = [];
  private readonly leases: LeasedJob[] = [];
  private max = Number.POSITIVE_INFINITY;
  private perKey = Number.POSITIVE_INFINITY;
  private isPaused = false;
  private running = new Set<string>();

  constructor(private readonly f: EngineFixture) {}

  async publish(job: Partial<NewExtendedJob>): Promise<void> {
    const jobs = [{ queue: 'q', body: Buffer.from('x'), tries: 3, ...job }];
    const [published] = await this.f.engine.components.extendedPublisher.publish(this.f.ns, jobs);
    if (published) this.ids.push(published.id);
  }

  async publishSimple(): Promise<void> {
    this.ids.push(await this.f.publish('q', { tries: 3 }));
  }

  async lease(count: number, worker: boolean): Promise<void> {
    const request = { queues: ['q'], count, ttrMs: TTR_MS, waitMs: 0, ...(worker ? { worker: 'w' } : {}) };
    const jobs = await this.f.engine.lease(this.f.ns, request);
    if (this.isPaused) expect(jobs).toEqual([]);
    this.leases.push(...jobs);
  }

  /** Sends a lease operation for a job that is or was leased. */
  async settle(verb: Verb, pick: number, next: boolean): Promise<void> {
    const job = this.leases[pick % Math.max(this.leases.length, 1)];
    if (!job) return;
    const options = {
      group: 'g',
      delay_ms: 0,
      ttr_ms: TTR_MS,
      ...(next ? { next: { queue: 'r', delay_ms: 0 } } : {}),
    };
    await this.f.engine.components.settler.settle(this.f.ns, [
      { verb, id: job.id, lease: job.lease, options },
    ]);
  }

  async remove(pick: number): Promise<void> {
    const id = this.ids[pick % Math.max(this.ids.length, 1)];
    if (id !== undefined) await this.f.engine.ack(this.f.ns, 'q', id);
  }

  async limit(max: number | null, perKey: number | null): Promise<void> {
    await this.f.engine.components.queueControls.change(this.f.ns, 'q', {
      maxRunning: max,
      maxRunningPerKey: perKey,
    });
    this.max = max ?? Number.POSITIVE_INFINITY;
    this.perKey = perKey ?? Number.POSITIVE_INFINITY;
  }

  async pause(isPaused: boolean): Promise<void> {
    const { queueControls: controls } = this.f.engine.components;
    await (isPaused ? controls.pause(this.f.ns, 'q') : controls.resume(this.f.ns, 'q'));
    this.isPaused = isPaused;
  }

  async pass(ms: number, pumps: boolean): Promise<void> {
    this.f.nowMs += ms;
    if (pumps) await this.f.engine.pumpNow(this.f.ns);
  }

  /** No job starts beyond a limit. */
  async check(): Promise<void> {
    const running = (await this.readJobs()).filter(({ state }) => state === 'leased');
    const begun = running.filter(({ id, lease }) => !this.running.has(`${id} ${String(lease)}`));
    if (begun.length > 0) expect(running.length).toBeLessThanOrEqual(this.max);
    for (const key of KEYS) {
      const ofKey = ({ concurrencyKey }: JobDetails): boolean => concurrencyKey === key;
      if (begun.some(ofKey)) expect(running.filter(ofKey).length).toBeLessThanOrEqual(this.perKey);
    }
    this.running = new Set(running.map(({ id, lease }) => `${id} ${String(lease)}`));
  }

  /** After the timers have run: slots are held by running or called jobs, and no job is held without a reason. */
  async checkSlots(): Promise<void> {
    await this.f.engine.pumpNow(this.f.ns);
    expect(await Audit.of(redis, this.f.ns)).toEqual([]);
    const jobs = await this.readJobs();
    for (const key of KEYS) {
      const count = (wanted: string): number =>
        jobs.filter(({ state, concurrencyKey }) => state === wanted && concurrencyKey === key).length;
      const running = await this.read('ZCOUNT', 'c', key, '0', '0');
      const called = await this.read('ZCOUNT', 'c', key, '1', '1');
      const held = await this.read('ZCARD', 'w', key);
      expect({ running, held }).toEqual({ running: count('leased'), held: count('held') });
      expect(called).toBeLessThanOrEqual(count('ready'));
      if (held > 0) expect(running + called).toBeGreaterThanOrEqual(this.perKey);
    }
  }

  /** All work is done without limits: then nothing is left of any slot. */
  async finish(): Promise<void> {
    await this.limit(null, null);
    await this.pause(false);
    for (let round = 0; round < 40; round++) {
      await this.pass(TTR_MS, true);
      const jobs = await this.f.lease('q', { count: 100 });
      await Promise.all(jobs.map(({ id, lease }) => this.f.engine.ack(this.f.ns, 'q', id, lease)));
    }
    const [counts] = await this.f.engine.queues.counts(this.f.ns, ['q']);
    expect(counts).toMatchObject({ ready: 0, scheduled: 0, leased: 0, held: 0 });
    expect((await this.f.keys()).filter(isOfSlots)).toEqual([]);
  }

  private async readJobs(): Promise<JobDetails[]> {
    const found: (JobDetails | null)[] = [];
    for (let i = 0; i < this.ids.length; i += 64)
      found.push(
        ...(await this.f.engine.components.jobReader.findMany(this.f.ns, this.ids.slice(i, i + 64))),
      );
    return found.filter((job): job is JobDetails => job !== null && job.queue === 'q');
  }

  private async read(command: string, kind: string, key: string, ...args: string[]): Promise<number> {
    const number = Math.abs(
      Number(await this.f.pool.read('HGET', this.f.pool.keys.namespace(this.f.ns).queues, 'q')),
    );
    const digest = createHash('sha1').update(key).digest('hex');
    return Number(
      await this.f.pool.read(command, `{${this.f.ns}}:${kind}${String(number)}:${digest}`, ...args),
    );
  }
}

type Step = (trial: Trial) => Promise<void>;

/** An operation that prints as what it is, so that a counterexample can be read. */
function step(name: string, args: object, act: Step): { act: Step; [fc.toStringMethod]: () => string } {
  return { act, [fc.toStringMethod]: () => `\n  ${name} ${fc.stringify(args)}` };
}

const pick = fc.nat({ max: 1_000 });
const most = fc.option(fc.integer({ min: 1, max: 3 }));
const extendedJob = fc.record(
  {
    concurrencyKey: fc.constantFrom(...KEYS),
    priority: fc.integer({ min: -1, max: 1 }),
    delayMs: fc.integer({ min: 0, max: 2_000 }),
    ttlMs: fc.integer({ min: 2_000, max: 4_000 }),
  },
  { requiredKeys: ['concurrencyKey'] },
);
const verb = fc.constantFrom<Verb[]>('ack', 'release', 'retry', 'fail', 'heartbeat', 'heartbeat', 'undo');
const steps = fc.oneof(
  { weight: 6, arbitrary: extendedJob.map((job) => step('publish', job, (t) => t.publish(job))) },
  { weight: 1, arbitrary: fc.constant(step('publishPlain', {}, (t) => t.publishSimple())) },
  {
    weight: 6,
    arbitrary: fc
      .record({ count: fc.integer({ min: 1, max: 4 }), worker: fc.boolean() })
      .map((args) => step('lease', args, (t) => t.lease(args.count, args.worker))),
  },
  {
    weight: 5,
    arbitrary: fc
      .record({ verb, pick, next: fc.boolean() })
      .map((args) =>
        step('say', args, (t) => t.settle(args.verb, args.pick, args.next && args.verb === 'ack')),
      ),
  },
  { weight: 1, arbitrary: pick.map((which) => step('remove', { which }, (t) => t.remove(which))) },
  {
    weight: 2,
    arbitrary: fc
      .record({ max: most, perKey: most })
      .map((args) => step('limit', args, (t) => t.limit(args.max, args.perKey))),
  },
  { weight: 2, arbitrary: fc.constant(step('checkSlots', {}, (t) => t.checkSlots())) },
  { weight: 1, arbitrary: fc.boolean().map((is) => step('pause', { is }, (t) => t.pause(is))) },
  {
    weight: 3,
    arbitrary: fc
      .record({ ms: fc.integer({ min: 1, max: 1_500 }), pumps: fc.boolean() })
      .map((args) => step('pass', args, (t) => t.pass(args.ms, args.pumps))),
  },
);

it(
  'T23: queue limits hold at every instant and leak no slot after any change of jobs',
  async () => {
    const property = fc.asyncProperty(fc.array(steps, { minLength: 10, maxLength: 60 }), async (plan) => {
      const f = await EngineFixture.withClock();
      try {
        const trial = new Trial(f);
        await trial.limit(3, 1);
        for (const { act } of plan) {
          await act(trial);
          await trial.check();
        }
        await trial.checkSlots();
        await trial.finish();
      } finally {
        await f.close();
      }
    });
    await fc.assert(property, { numRuns: RUNS, seed: SEED, verbose: false });
  },
  LIMIT_MS,
);

it('T23: queue limits leak no slot in ten thousand crashes', async () => {
  const f = await EngineFixture.withClock();
  const jobs = Array.from({ length: 50 }, (_, i) => ({
    queue: 'q',
    body: Buffer.from('x'),
    tries: 1_000,
    retry: { kind: 'fixed', delayMs: 0 } as const,
    concurrencyKey: `k${String(i % 5)}`,
  }));
  await f.engine.components.extendedPublisher.publish(f.ns, jobs);
  await f.engine.components.queueControls.change(f.ns, 'q', { maxRunning: 38, maxRunningPerKey: 8 });
  try {
    for (let crashes = 0; crashes < 10_000;) {
      const leased = await f.lease('q', { count: 100, ttrMs: TTR_MS });
      expect(leased).toHaveLength(38);
      crashes += leased.length;
      f.nowMs += TTR_MS;
      await f.engine.pumpNow(f.ns);
    }
    for (let left = 50; left > 0;) {
      const leased = await f.lease('q', { count: 100 });
      await Promise.all(leased.map(({ id, lease }) => f.engine.ack(f.ns, 'q', id, lease)));
      expect(leased.length).toBeGreaterThan(0);
      left -= leased.length;
    }
    expect((await f.keys()).filter(isOfSlots)).toEqual([]);
  } finally {
    await f.close();
  }
});

function isOfSlots(key: string): boolean {
  return /:[cw]\d+:/.test(key);
}
