import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { NewRichJob, RetryPolicy } from '../../src/domain/rich-job.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';
import { FullModel } from './full-model.js';

/** Sequences of up to 100 operations. `PUMPHOUSE_PROPERTY_RUNS` asks for more, `PUMPHOUSE_PROPERTY_SEED` for the same. */
const RUNS = Number(process.env['PUMPHOUSE_PROPERTY_RUNS'] ?? 160);
const SEED = Number(process.env['PUMPHOUSE_PROPERTY_SEED'] ?? Date.now() % 2 ** 31);
const LIMIT_MS = 120_000 + RUNS * 500;
const QUEUES = ['a', 'b'];

/** The same steps on a real engine and on the model. */
class Pair {
  readonly model: FullModel;
  readonly ids: string[] = [];
  readonly leases: { id: string; lease: number }[] = [];

  constructor(
    readonly f: EngineFixture,
    readonly ns: string,
    private readonly redis: Redis,
  ) {
    this.model = new FullModel(() => f.nowMs);
  }

  async publish(job: Omit<NewRichJob, 'body'>): Promise<void> {
    const body = Buffer.from('x');
    const [made] = await this.f.engine.full.publishing.publish(this.ns, [{ ...job, body }]);
    this.remember(made?.id ?? '', job, true);
  }

  async publishPlain(queue: string): Promise<void> {
    const id = await this.f.engine.publish(this.ns, queue, newJob({ tries: 2 }));
    this.remember(id, { queue, tries: 2 }, false);
  }

  async lease(queues: readonly string[], count: number, ttrMs: number): Promise<void> {
    const jobs = await this.f.engine.reserve(this.ns, { queues, count, ttrMs, waitMs: 0, worker: 'w' });
    expect(jobs.map(({ id }) => id)).toEqual(this.model.lease(queues, count, ttrMs));
    for (const job of jobs) {
      const known = this.model.jobs.get(job.id);
      expect(job).toMatchObject({
        lease: known?.lease,
        triesLeft: known?.triesLeft,
        leaseEndsAtMs: known?.atMs,
        queue: known?.queue,
      });
      this.leases.push({ id: job.id, lease: job.lease });
    }
  }

  async say(word: Word, pick: number, wrong: boolean): Promise<void> {
    const lease = this.leases.at(-1 - (pick % Math.max(Math.min(this.leases.length, 4), 1)));
    if (!lease) return;
    const number = wrong ? lease.lease + 1 : lease.lease;
    const claim = this.model.claim(lease.id, number, word.verb === 'beat');
    const [settled] = await this.f.engine.full.settling.say(this.ns, [
      { verb: word.verb, id: lease.id, lease: number, options: word.options },
    ]);
    expect(settled?.code).toBe({ missing: 0, ours: 1, lost: 2 }[claim]);
    if (claim !== 'ours') return;
    word.model(this.model, lease.id);
    const known = this.model.jobs.get(lease.id);
    expect(settled?.state).toBe(known?.state ?? null);
    if (known?.state === 'scheduled') expect(settled?.atMs).toBe(known.atMs);
    // Some stay, to be stale.
    if (pick % 5 > 0 && word.verb !== 'beat') this.leases.splice(this.leases.indexOf(lease), 1);
  }

  async advance(ms: number): Promise<void> {
    this.f.nowMs += ms;
    await this.f.engine.pumpNow(this.ns);
    this.model.pump();
  }

  /** Every job, and every raw key. */
  async compare(): Promise<void> {
    const found = await this.f.engine.full.looking.findMany(this.ns, this.ids.slice(-60));
    for (const [i, job] of found.entries()) {
      const known = this.model.jobs.get(this.ids.slice(-60)[i] ?? '');
      const isGone = known === undefined || (known.expiresMs > 0 && known.expiresMs <= this.f.nowMs);
      expect(job === null).toBe(isGone);
      if (job === null || isGone) continue;
      const { state, queue, triesLeft, attempts, lease, crashes, failures, priority } = known;
      const times = { dueAtMs: state === 'scheduled' ? known.atMs : null };
      const ends = { leaseEndsAtMs: state === 'leased' ? known.atMs : null };
      expect(job).toMatchObject({
        state,
        queue,
        triesLeft,
        attempts,
        lease,
        crashes,
        failures,
        priority,
        ...times,
        ...ends,
      });
      expect(job.failure?.group ?? null).toBe(known.group);
    }
    expect(await Audit.of(this.redis, this.ns)).toEqual([]);
  }

  private remember(id: string, job: Omit<NewRichJob, 'body'>, isRich: boolean): void {
    this.ids.push(id);
    this.model.publish({
      id,
      queue: job.queue,
      isRich,
      priority: job.priority ?? 0,
      tries: job.tries ?? 3,
      retry: job.retry,
      keepMs: job.retentionMs ?? 0,
      delayMs: job.delayMs ?? 0,
      ttlMs: job.ttlMs ?? 0,
    });
  }
}

interface Word {
  readonly verb: 'ack' | 'release' | 'retry' | 'fail' | 'beat';
  readonly options: Readonly<Record<string, unknown>>;
  readonly model: (model: FullModel, id: string) => void;
}

type Step = { act: (pair: Pair) => Promise<void>; [fc.toStringMethod]: () => string };
function step(name: string, args: object, act: (pair: Pair) => Promise<void>): Step {
  return { act, [fc.toStringMethod]: () => `\n  ${name} ${fc.stringify(args)}` };
}

const queue = fc.constantFrom(...QUEUES);
const delay = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2_000 }));
const policy = fc.constantFrom<RetryPolicy | undefined>(
  undefined,
  { kind: 'none' },
  { kind: 'fixed', delayMs: 700 },
  { kind: 'linear', delayMs: 300, maxMs: 500 },
  { kind: 'exponential', delayMs: 100, factor: 3, maxMs: 5_000 },
  { kind: 'list', delaysMs: [0, 1_000] },
  { kind: 'list', delaysMs: [0, 1_000] },
);
const job = fc.record({
  queue,
  priority: fc.constantFrom(0, 0, -128, 5, 5),
  delayMs: delay,
  tries: fc.integer({ min: 1, max: 5 }),
  ttlMs: fc.constantFrom(0, 0, 0, 1_500, 4_000),
  retentionMs: fc.constantFrom(0, 0, 600_000),
  retry: policy,
});
const word: fc.Arbitrary<Word> = fc.oneof(
  fc.constant<Word>({ verb: 'ack', options: {}, model: (model, id) => model.ack(id) }),
  queue.map<Word>((next) => ({
    verb: 'ack',
    options: { next: { queue: next, delay_ms: 0 } },
    model: (model, id) => model.move(id, next),
  })),
  {
    weight: 3,
    arbitrary: fc.constantFrom(0, 0, 800).map<Word>((delayMs) => ({
      verb: 'release',
      options: { delay_ms: delayMs },
      model: (model, id) => model.release(id, delayMs),
    })),
  },
  {
    weight: 3,
    arbitrary: fc.constant<Word>({
      verb: 'retry',
      options: { group: 'g', message: 'm' },
      model: (model, id) => model.retry(id, 'g'),
    }),
  },
  fc.constant<Word>({ verb: 'fail', options: { group: 'f' }, model: (model, id) => model.fail(id, 'f') }),
  fc.constant<Word>({
    verb: 'beat',
    options: { ttr_ms: 1_200 },
    model: (model, id) => void model.beat(id, 1_200),
  }),
);
const operation = fc.oneof(
  {
    weight: 3,
    arbitrary: job.map((args) => step('publish', args, (pair) => pair.publish(args as NewRichJob))),
  },
  {
    weight: 1,
    arbitrary: queue.map((name) => step('publish plain', { name }, (pair) => pair.publishPlain(name))),
  },
  {
    weight: 9,
    arbitrary: fc
      .record({
        queues: fc.shuffledSubarray(QUEUES, { minLength: 1 }),
        count: fc.integer({ min: 1, max: 4 }),
        ttrMs: fc.integer({ min: 1_000, max: 8_000 }),
      })
      .map((args) => step('lease', args, (pair) => pair.lease(args.queues, args.count, args.ttrMs))),
  },
  {
    weight: 12,
    arbitrary: fc
      .record({ word, pick: fc.nat({ max: 100 }), wrong: fc.integer({ min: 0, max: 5 }).map((n) => n === 0) })
      .map((args) =>
        step('say', { ...args.word, ...args }, (pair) => pair.say(args.word, args.pick, args.wrong)),
      ),
  },
  {
    weight: 4,
    arbitrary: fc
      .integer({ min: 0, max: 2_500 })
      .map((ms) => step('advance', { ms }, (pair) => pair.advance(ms))),
  },
);

it(
  `${RUNS} random sequences on the full lane end where a model in memory ends`,
  async () => {
    const f = await EngineFixture.withClock();
    const redis = new Redis(testRedisUrl(), { protocol: 2 });
    let steps = 0;
    let runs = 0;
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 100, size: 'max' }), async (plan) => {
          const pair = new Pair(f, `${f.ns}-${runs++}`, redis);
          // Both queues, in this order: their numbers are known then.
          for (const name of QUEUES) await pair.publish({ queue: name, delayMs: 0 });
          for (const [i, { act }] of plan.entries()) {
            await act(pair);
            steps++;
            if (i % 10 === 9) await pair.compare();
          }
          await pair.compare();
        }),
        { numRuns: RUNS, seed: SEED, interruptAfterTimeLimit: LIMIT_MS, markInterruptAsFailure: true },
      );
    } finally {
      console.log(`seed ${SEED}, ${steps} operations`);
      redis.disconnect();
      await f.close();
    }
    expect(steps).toBeGreaterThanOrEqual(RUNS * 30);
  },
  LIMIT_MS + 60_000,
);
