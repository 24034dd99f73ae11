import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { Audit } from '../engine/audit.js';
import { BuiltServer } from '../support/built-server.js';
import { randomFrom } from '../support/random.js';
import { randomNamespace, startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { ROUNDS, SEED, SLOWNESS } from '../support/scale.js';
import { SteppedClock } from '../support/stepped-clock.js';

const KILLS = 6 * ROUNDS;
const QUEUE = 'ticks';
/** Seconds that the clock of a server is off. */
const STEPS = [0, 5_400, -5_400];
jest.setTimeout((60_000 + KILLS * 8_000) * SLOWNESS);

interface Job {
  readonly id: string;
  readonly published_at: string;
}

describe('recurring jobs by cron on three servers', () => {
  let redis: RedisProcess;
  const servers: BuiltServer[] = [];
  const clocks: SteppedClock[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    for (let i = 0; i < 3; i++) {
      const clock = await SteppedClock.create();
      if (clock) clocks.push(clock);
      servers.push(await BuiltServer.create({ PUMPHOUSE_POOLS__DEFAULT__URL: redis.url, ...clock?.env }));
    }
    await Promise.all(servers.map((server) => server.start()));
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.remove()));
    for (const clock of clocks) clock.remove();
    await redis.stop();
  });

  it('T30, T55: make one job for each slot while servers are killed and their clocks are wrong', async () => {
    const random = randomFrom(SEED);
    const namespace = randomNamespace('cron');
    const token = await servers[0]!.token(namespace);
    const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
      for (;;) {
        for (const { url } of servers) {
          const answer = await fetch(`${url}/v1/${namespace}/${path}`, {
            ...{ method, headers: { 'x-token': token, 'content-type': 'application/json' } },
            ...(body ? { body: JSON.stringify(body) } : {}),
          }).catch(() => undefined);
          if (answer?.ok) return (await answer.json()) as T;
        }
        await sleep(50);
      }
    };
    const schedule = { cron: '* * * * * *', tz: 'Europe/Berlin' };
    await call('PUT', 'recurring/tick', { schedule, job: { queue: QUEUE }, max_catch_up: 1_000 });

    for (let i = 0; i < KILLS; i++) {
      const { made } = await call<{ made: number }>('GET', 'recurring/tick');
      const server = servers[i % servers.length]!;
      await sleep(random() * 1_000);
      await server.end('SIGKILL');
      clocks[i % servers.length]?.step(STEPS[Math.floor(random() * STEPS.length)]!);
      await server.start();
      await waitFor(async () => (await call<{ made: number }>('GET', 'recurring/tick')).made > made, 20_000);
    }
    const { made, skipped } = await call<{ made: number; skipped: number }>('POST', 'recurring/tick/pause');

    const jobs: Job[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const more: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: { items: Job[]; next_cursor: string | null } = await call(
        'GET',
        `jobs?state=ready&queue=${QUEUE}&limit=1000${more}`,
      );
      jobs.push(...page.items);
      cursor = page.next_cursor;
    }
    const seconds = jobs.map((job) => Date.parse(job.published_at) / 1_000).sort((a, b) => a - b);
    console.log(`${String(made)} slots, ${String(KILLS)} kills`);
    expect(skipped).toBe(0);
    expect(seconds).toEqual(Array.from({ length: made }, (_, i) => seconds[0]! + i));
    expect(made).toBeGreaterThan(KILLS);
    const client = new Redis(redis.url, { protocol: 2 });
    expect(await Audit.of(client, namespace)).toEqual([]);
    client.disconnect();
  });
});
