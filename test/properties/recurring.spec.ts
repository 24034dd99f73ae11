import fc from 'fast-check';
import type { IntervalSchedule, Recurring } from '../../src/contract/job/recurring.js';
import { Redis } from 'ioredis';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from '../engine/audit.js';
import { EngineFixture } from '../engine/fixture.js';
import { propertyRuns, SEED } from '../support/scale.js';

/** Lives of a recurring job, each of up to 25 operations. */
const RUNS = propertyRuns(10);

let redis: Redis;
beforeAll(() => (redis = new Redis(testRedisUrl())));
afterAll(() => redis.disconnect());

/** What makes up for no slot makes a job for one that is later than this no more. */
const LATE_MS = 60_000;

/** A recurring job as it should be, slot by slot. */
class Model {
  readonly due: number[] = [];
  skipped = 0;
  isPaused = false;
  maxCatchUp = 1_000;
  private last = 0;
  private next: number;

  constructor(
    private everyMs: number,
    private firstAtMs: number,
  ) {
    this.next = firstAtMs;
  }

  get nextAtMs(): number | null {
    return this.isPaused ? null : this.next;
  }

  /** The clock comes by. */
  pump(nowMs: number): void {
    if (this.isPaused) return;
    const slots: number[] = [];
    for (; this.next <= nowMs; this.next += this.everyMs) slots.push(this.next);
    const isLate = this.maxCatchUp === 0 && nowMs - (slots.at(-1) ?? 0) > LATE_MS;
    const made = isLate ? [] : slots.slice(-Math.max(this.maxCatchUp, 1));
    this.due.push(...made);
    this.skipped += slots.length - made.length;
    this.last = slots.at(-1) ?? this.last;
  }

  resume(nowMs: number): void {
    if (this.isPaused) this.seek(nowMs);
    this.isPaused = false;
  }

  reschedule(nowMs: number, everyMs: number, firstAtMs = this.firstAtMs): void {
    [this.everyMs, this.firstAtMs] = [everyMs, firstAtMs];
    this.seek(nowMs);
  }

  /** The first slot of the row that has neither passed nor been served. */
  private seek(nowMs: number): void {
    this.next = this.firstAtMs;
    while (this.next < nowMs || this.next <= this.last) this.next += this.everyMs;
  }
}

interface World {
  readonly servers: readonly EngineFixture[];
  readonly model: Model;
}
type Act = (world: World, first: EngineFixture) => Promise<void>;
function step(name: string, args: unknown, act: Act): { act: Act; [fc.toStringMethod]: () => string } {
  return { act, [fc.toStringMethod]: () => `\n  ${name} ${fc.stringify(args)}` };
}

const intervalOf = ({ schedule }: Recurring): IntervalSchedule => schedule as IntervalSchedule;
const everyMs = fc.constantFrom(1_000, 1_500, 7_000);
const recurrings = (f: EngineFixture) => f.engine.recurring;
const passOf = (ms: number) =>
  step('pass', ms, async ({ servers, model }, f) => {
    f.nowMs += ms;
    await Promise.all(servers.map(({ engine }) => engine.pumpNow(f.ns)));
    model.pump(f.nowMs);
  });
const pass = fc.constantFrom(0, 1, 499, 500, 1_000, 3_000, 21_000, 60_000).map(passOf);
/** Longer than a thousand slots of any pace. */
const gap = fc.constant(8_000_000).map(passOf);
const changes = fc.oneof(
  fc.constant(
    step('pause', '', async ({ model }, f) => {
      await recurrings(f).pause(f.ns, 'r');
      model.isPaused = true;
    }),
  ),
  fc.constant(
    step('resume', '', async ({ model }, f) => {
      await recurrings(f).resume(f.ns, 'r');
      model.resume(f.nowMs);
    }),
  ),
  fc.constantFrom(0, 1, 3, 1_000).map((maxCatchUp) =>
    step('maxCatchUp', maxCatchUp, async ({ model }, f) => {
      await recurrings(f).change(f.ns, 'r', { maxCatchUp });
      model.maxCatchUp = maxCatchUp;
    }),
  ),
  everyMs.map((ms) =>
    step('pace', ms, async ({ model }, f) => {
      const before = await recurrings(f).get(f.ns, 'r');
      const after = await recurrings(f).change(f.ns, 'r', {
        schedule: { everyMs: ms, firstAtMs: intervalOf(before).firstAtMs + 1 },
      });
      model.reschedule(f.nowMs, ms, intervalOf(after).firstAtMs);
    }),
  ),
);

it(
  'T31: a recurring job makes exactly one job for each slot with changes and several servers',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        everyMs,
        fc.array(
          fc.oneof(
            { weight: 30, arbitrary: pass },
            { weight: 20, arbitrary: changes },
            { weight: 1, arbitrary: gap },
          ),
          {
            minLength: 1,
            maxLength: 25,
          },
        ),
        async (ms, acts) => {
          const f = await EngineFixture.withClock();
          const other = await EngineFixture.open({ clock: () => f.nowMs });
          try {
            const model = new Model(ms, f.nowMs);
            const template = { queue: 'q', body: Buffer.from('x') };
            await recurrings(f).set(f.ns, {
              id: 'r',
              schedule: { everyMs: ms },
              template,
              maxCatchUp: 1_000,
            });
            for (const { act } of acts) {
              await act({ servers: [f, other], model }, f);
              const { made, skipped, nextAtMs } = await recurrings(f).get(f.ns, 'r');
              expect({ made, skipped, nextAtMs }).toEqual({
                made: model.due.length,
                skipped: model.skipped,
                nextAtMs: model.nextAtMs,
              });
            }
            expect(await dueTimes(f, model.due.length)).toEqual(model.due);
            expect(await Audit.of(redis, f.ns)).toEqual([]);
          } finally {
            await Promise.all([f.close(), other.close()]);
          }
        },
      ),
      { numRuns: RUNS, seed: SEED },
    );
  },
  60_000 + RUNS * 2_000,
);

/** When its jobs were due, as they say themselves. */
async function dueTimes(f: EngineFixture, count: number): Promise<(number | null | undefined)[]> {
  const times: (number | null | undefined)[] = [];
  for (let n = 1; n <= count; n += 64) {
    const ids = Array.from({ length: Math.min(64, count - n + 1) }, (_, i) => `r-${String(n + i)}`);
    const jobs = await f.engine.components.jobReader.findMany(f.ns, ids);
    times.push(...jobs.map((job) => job?.publishedAtMs));
  }
  return times;
}
