import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { BuiltServer } from '../support/built-server.js';
import { startRedis, type RedisProcess } from '../support/redis.js';
import { Trial } from './trial.js';
import { ROUNDS, SLOWNESS } from '../support/scale.js';

const ROUND_MS = 2_000;
jest.setTimeout((120_000 + ROUNDS * 15_000) * SLOWNESS);

describe('two servers on one Redis, one of them killed repeatedly', () => {
  const trial = new Trial();
  let redis: RedisProcess;
  let servers: BuiltServer[];
  beforeEach(async () => {
    redis = await startRedis();
    const env = { PUMPHOUSE_POOLS__DEFAULT__URL: redis.url };
    servers = [await BuiltServer.create(env), await BuiltServer.create(env)];
    await Promise.all(servers.map((server) => server.start()));
  });
  afterEach(async () => {
    await trial.end();
    await Promise.all(servers.map((server) => server.remove()));
    await redis.stop();
  });

  it(`T1: lose no accepted job over ${ROUNDS} × kill -9, under 24 consumers and 8 producers`, async () => {
    const { journal } = trial;
    const token = await servers[0]!.token(trial.namespace);
    trial.start({ urls: servers.map(({ url }) => url), token, jobs: ROUNDS * 1_000 });
    for (let round = 0; round < ROUNDS; round++) {
      await sleep(ROUND_MS * (0.25 + trial.random() / 2));
      const [beganMs, before] = [performance.now(), journal.count('accepted')];
      const server = servers[round % 2]!;
      journal.add({ op: 'fault', what: `kill -9 of server ${round % 2}` });
      await server.end('SIGKILL');
      await server.start();
      await sleep(Math.max(ROUND_MS / 2 - (performance.now() - beganMs), 0));
      // The other one served on.
      expect(journal.count('accepted')).toBeGreaterThan(before);
    }
    await trial.judge({ port: redis.port });
    expect(journal.count('failed')).toBeGreaterThan(0);
  });
});
