import fc from 'fast-check';
import { Redis } from 'ioredis';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from '../engine/audit.js';
import { EngineFixture } from '../engine/fixture.js';
import { type Command, COMMANDS } from '../engine/model/commands.js';
import { Pair } from '../engine/model/pair.js';
import { SEED, SLOWNESS, propertyRuns } from '../support/scale.js';

/** Sequences of up to 140 operations. */
const RUNS = propertyRuns(40);
/** Sequences that are under way at once, each in a namespace and on an engine of its own. */
const PARALLEL = 4;
const LIMIT_MS = (30_000 + RUNS * 1_500) * SLOWNESS;

let steps = 0;
/** A difference was found: the other sequences can stop. */
let isOver = false;

async function compare(f: EngineFixture, redis: Redis, plan: Iterable<Command>): Promise<void> {
  const pair = new Pair(f, redis);
  await pair.open();
  await fc.asyncModelRun(() => ({ model: pair.space, real: pair }), plan);
  steps += pair.steps;
  expect(await Audit.of(redis, pair.ns)).toEqual([]);
  expect(await pair.clear()).toEqual([]);
}

/** One sequence after the other, until one of them differs; then the shortest one that does. */
async function follow(stream: number, redis: Redis): Promise<void> {
  const f = await EngineFixture.withClock();
  const plans = fc.commands(COMMANDS, { maxCommands: 140, size: 'max' });
  let isOurs = false;
  const property = fc.asyncProperty(plans, async (plan) => {
    if (isOver && !isOurs) return;
    try {
      await compare(f, redis, plan);
    } catch (difference) {
      isOver = isOurs = true;
      throw difference;
    }
  });
  try {
    const numRuns = Math.ceil(RUNS / PARALLEL);
    await fc.assert(property, {
      numRuns,
      seed: SEED + stream,
      plugins: [fc.interruptAfterTimeLimit(LIMIT_MS, { failOnInterrupt: true })],
    });
  } finally {
    await f.close();
  }
}

it(
  `the extended path ends ${RUNS} random sequences where a model in memory does`,
  async () => {
    const redis = new Redis(testRedisUrl(), { protocol: 2 });
    try {
      const ends = await Promise.allSettled(
        Array.from({ length: PARALLEL }, (_, stream) => follow(stream, redis)),
      );
      const differences = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as Error] : []));
      expect(differences.map(({ message, cause }) => `${message}\n${String(cause)}`).join('\n\n')).toBe('');
    } finally {
      console.log(`seed ${SEED}, ${steps} operations`);
      redis.disconnect();
    }
    expect(steps).toBeGreaterThanOrEqual(RUNS * 40);
  },
  LIMIT_MS + 60_000,
);
