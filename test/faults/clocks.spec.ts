import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { BuiltServer } from '../support/built-server.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { SteppedClock } from '../support/stepped-clock.js';
import { Trial } from './trial.js';
import { IS_LONG, ROUNDS, SLOWNESS } from '../support/scale.js';

/** Seconds that a server's clock is off, one after the other. */
const STEPS = [600, -600, 0, -86_400, 3_600];
jest.setTimeout((120_000 + ROUNDS * 10_000) * SLOWNESS);

const clocks = (await Promise.all([SteppedClock.create(), SteppedClock.create()])).filter(
  (clock) => clock !== null,
);

(clocks.length === 2 ? describe : describe.skip)(
  'two servers whose clocks are wrong, each in its own way',
  () => {
    let redis: RedisProcess;
    const servers: BuiltServer[] = [];
    beforeAll(async () => {
      redis = await startRedis();
      for (const [i, clock] of clocks.entries()) {
        clock.step(i === 0 ? 600 : -600);
        servers.push(await BuiltServer.create({ PUMPHOUSE_POOLS__DEFAULT__URL: redis.url, ...clock.env }));
      }
      await Promise.all(servers.map((server) => server.start()));
    });
    afterAll(async () => {
      await Promise.all(servers.map((server) => server.remove()));
      for (const clock of clocks) clock.remove();
      await redis.stop();
    });

    it('the clocks of the test servers are off as configured', () => {
      const [clock] = clocks;
      const reported = (seconds: number): number => {
        clock!.step(seconds);
        const env = { ...process.env, ...clock!.env };
        return Number(execFileSync(process.execPath, ['-p', 'Date.now()'], { env }).toString());
      };
      expect(reported(600) - Date.now()).toBeGreaterThan(590_000);
      expect(reported(-600) - Date.now()).toBeLessThan(-590_000);
    });

    it('T11: servers lease nothing early or twice, and lose nothing, while their clocks step ahead and back', async () => {
      const trial = new Trial();
      const { journal, random } = trial;
      const token = await servers[0]!.token(trial.namespace);
      trial.start({ urls: servers.map(({ url }) => url), token, jobs: Infinity, maxDelayS: 2 });
      for (let i = 0; i < (IS_LONG ? ROUNDS * 5 : STEPS.length); i++) {
        const seconds = STEPS[Math.floor(random() * STEPS.length)]!;
        journal.add({ op: 'fault', what: `clock ${i % 2} off by ${seconds} s` });
        clocks[i % 2]!.step(seconds);
        const before = journal.count('delivered');
        await sleep(300 + random() * 400);
        await waitFor(() => journal.count('delivered') > before, 10_000);
      }
      const { entries } = await trial.judge({ port: redis.port });
      // No lease runs out here: each job comes once, and no more.
      const ids = entries.flatMap((entry) => (entry.op === 'delivered' ? [entry.id] : []));
      expect(new Set(ids).size).toBe(ids.length);
      // How many depends on the machine, but each step of a clock had one.
      expect(ids.length).toBeGreaterThanOrEqual(STEPS.length);
    });
  },
);
