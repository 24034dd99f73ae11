import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { decodeId } from '../../src/engine/core/ids.js';
import { BuiltServer } from '../support/built-server.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { Trial } from './trial.js';
import { ROUNDS, SLOWNESS } from '../support/scale.js';

/** Replies of Redis to the server that is killed are so slow that its leases of that moment have not reached any client. */
const REPLY_DELAY_MS = 15;
const CUT_MS = 150;
/** Fewer meet no reply that is under way. */
const KILLS = Math.max(ROUNDS, 2);
const CUTS = Math.max(ROUNDS, 3) * 4;
jest.setTimeout((120_000 + ROUNDS * 15_000) * SLOWNESS);

describe('jobs with one try', () => {
  const trial = new Trial();
  let redis: RedisProcess;
  let client: Redis;
  let proxy: TcpProxy;
  let servers: BuiltServer[];
  beforeEach(async () => {
    redis = await startRedis();
    client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    proxy = await TcpProxy.start(redis.port);
    servers = await Promise.all(
      [proxy.url, redis.url].map((url) => BuiltServer.create({ PUMPHOUSE_POOLS__DEFAULT__URL: url })),
    );
    await Promise.all(servers.map((server) => server.start()));
  });
  afterEach(async () => {
    await trial.end();
    await Promise.all(servers.map((server) => server.remove()));
    await proxy.stop();
    client.disconnect();
    await redis.stop();
  });

  const load = async (ttrS: number): Promise<void> => {
    const token = await servers[1]!.token(trial.namespace);
    const urls = servers.map(({ url }) => url);
    trial.start({ urls, token, jobs: CUTS * 1_250, producers: 16, pauseMs: 2, ttrS, tries: 1 });
  };

  it(`are dead only if a client got them, over ${KILLS} × kill -9 of one of two servers`, async () => {
    const { journal } = trial;
    proxy.replyDelayMs = REPLY_DELAY_MS;
    await load(2);
    let undelivered = 0;
    for (let round = 0; round < KILLS; round++) {
      const before = journal.count('delivered');
      await waitFor(() => journal.count('delivered') > before + 200, 20_000);
      await sleep(trial.random() * 200);
      journal.add({ op: 'fault', what: `round ${round}` });
      await servers[0]!.end('SIGKILL');
      await sleep(600);
      // The other one's records are gone by now, but for what is under way.
      undelivered += await client.hlen(`{${trial.namespace}}:sending`);
      await servers[0]!.start();
    }
    await trial.judge({ port: redis.port });
    const seen = new Set(journal.entries.flatMap((entry) => (entry.op === 'delivered' ? [entry.id] : [])));
    const dead = (await client.zrangeBuffer(`{${trial.namespace}}:d1`, '0', '-1')).map(decodeId);
    console.log(`records left by the dead: ${undelivered}; dead ${dead.length}`);
    expect(dead.filter((id) => !seen.has(id))).toEqual([]);
    expect(undelivered).toBeGreaterThan(0);
  });

  it('return, and none is dead, when connections to Redis are cut between script and reply', async () => {
    const { journal } = trial;
    proxy.replyDelayMs = REPLY_DELAY_MS;
    // A lease outlives the test: only what is given back can be delivered again.
    await load(3_600);
    // On a busy machine few cuts meet a reply that is under way: then there are more of them.
    for (let cuts = 0; cuts < CUTS || (cuts < 5 * CUTS && (await undone()) === 0); cuts++) {
      await sleep(CUT_MS * (0.5 + trial.random()));
      journal.add({ op: 'fault', what: `cut ${cuts}` });
      proxy.cut();
    }
    await trial.judge({ port: redis.port }, true);
    expect(await client.zcard(`{${trial.namespace}}:d1`)).toBe(0);
    expect(await undone()).toBeGreaterThan(0);
  });

  /** Leases of the first server that were given back. */
  async function undone(): Promise<number> {
    const metrics = await (await fetch(`${servers[0]!.adminUrl}/metrics`)).text();
    const counts = metrics.matchAll(/^pumphouse_leases_undone_total\{.*\} (\d+)/gm);
    return Array.from(counts, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0);
  }
});
