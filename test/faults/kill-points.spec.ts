import { jest } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { Redis } from 'ioredis';
import { scriptLibrary } from '../../src/redis/scripts/texts.js';
import { Audit } from '../engine/audit.js';
import { startRedis, type RedisProcess } from '../support/redis.js';
import type { DeathPoint } from '../support/step-proxy.js';
import { KILL_OPERATIONS, type KillOperation } from './kill-operations.js';
import { KillWorld, MortalServer } from './kill-world.js';
import { randomFrom } from '../support/random.js';
import { IS_LONG, SEED, SLOWNESS } from '../support/scale.js';

const SCRIPTS = new URL('../../lua/commands/', import.meta.url);
const DEATHS: readonly DeathPoint[] = ['before', 'after'];
jest.setTimeout((IS_LONG ? 300_000 : 60_000) * SLOWNESS);

/** What came of a play. */
interface Play {
  /** Steps of the request. */
  readonly steps: number;
  /** The request was answered at the first attempt. */
  readonly wasAnswered: boolean;
  /** What was left to be worked on. */
  readonly left: readonly string[];
}

/** In `npm test` a few of them, each time others, each killed once; at every step, before it and after it, in `npm run chaos`. */
const FEW = 2;
const random = randomFrom(SEED);
const OPERATIONS = IS_LONG ? KILL_OPERATIONS : shuffled(KILL_OPERATIONS).slice(0, FEW);

describe('T2: a server process killed at a kill point', () => {
  let redis: RedisProcess;
  let client: Redis;
  let mortal: MortalServer;
  let kills = 0;
  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    // Redis has them all: so each step is sent once.
    for (const file of readdirSync(SCRIPTS, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.lua')) continue;
      const library = scriptLibrary(file.replace('.lua', ''));
      if (library) await client.call('FUNCTION', 'LOAD', library.text);
    }
    mortal = await MortalServer.start(redis.port);
  });
  afterAll(async () => {
    console.log(`PUMPHOUSE_CHAOS_SEED=${SEED}: ${kills} × kill -9`);
    await mortal.stop();
    client.disconnect();
    await redis.stop();
  });

  /** Plays a request whose server is killed at a step, starts the server again, and sends the request once more, as a client would. */
  async function play(operation: KillOperation, step: number, when: DeathPoint): Promise<Play> {
    const world = await KillWorld.create(mortal, client);
    await operation.seed?.(world);
    await world.isQuiet();
    const death = world.dieAt(step, when).then(() => 0);
    const first = await Promise.race([death, operation.run(world).catch(() => death)]);
    const { seen } = mortal.proxy;
    let left = operation.left;
    if (first === 0) {
      kills++;
      expect(await Audit.of(client, world.namespace)).toEqual([]);
      const fresh = left.at(-1) ?? '';
      if (operation.doubles && (await world.stored()).includes(fresh)) left = [...left, fresh];
      expect(await mortal.restart()).toBeNull();
    } else {
      // It had fewer steps this time: the calls that follow are not to be its end.
      mortal.proxy.revive();
    }
    expect(operation.answers).toContain(first === 0 ? await operation.run(world) : first);
    expect(await operation.finish?.(world)).not.toBe(false);
    expect(await world.drain(left.length)).toEqual(left);
    expect(await Audit.of(client, world.namespace)).toEqual([]);
    return { steps: seen, wasAnswered: first !== 0, left };
  }

  it.each(OPERATIONS)('loses nothing if it is killed within: $name', async (operation) => {
    const whole = await play(operation, Number.POSITIVE_INFINITY, 'before');
    expect(whole).toMatchObject({ wasAnswered: true });
    const points = Array.from({ length: whole.steps }, (_, step) =>
      DEATHS.map((when) => ({ step, when })),
    ).flat();
    expect(points.length).toBeGreaterThan(0);
    const chosen = IS_LONG ? points : [points[Math.floor(random() * points.length)]!];
    for (const { step, when } of chosen) {
      const played = await play(operation, step, when);
      if (operation.isTimed !== true) expect(played).toMatchObject({ wasAnswered: false });
      // Only its last step can have done it.
      const isDone = when === 'after' && step === whole.steps - 1;
      if (operation.doubles) expect(played.left.length > whole.left.length).toBe(isDone);
    }
  });
});

function shuffled<T>(all: readonly T[]): T[] {
  const keyed = all.map((one) => ({ one, key: random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ one }) => one);
}
