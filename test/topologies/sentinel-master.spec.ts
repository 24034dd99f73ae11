import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { RedisPool } from '../../src/redis/pool.js';
import { MasterFinder } from '../../src/redis/sentinel.js';
import { freePort, startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { startSentinel, type SentinelProcess } from '../support/sentinel-process.js';
import { EngineFixture, newJob, silentLog } from '../engine/fixture.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { TcpProxy } from '../support/tcp-proxy.js';

describe('the master of a Sentinel group', () => {
  let first: RedisProcess;
  let second: RedisProcess;
  const sentinels: SentinelProcess[] = [];
  beforeAll(async () => {
    [first, second] = await Promise.all([startRedis(), startRedis()]);
  });
  afterAll(() => Promise.all([first.stop(), second.stop()]));
  afterEach(() => Promise.all(sentinels.splice(0).map((sentinel) => sentinel.stop())));

  /** A sentinel that knows no other one. */
  async function sentinel(master: RedisProcess, epoch: number, port?: number): Promise<SentinelProcess> {
    const started = await startSentinel({
      masterPort: master.port,
      epoch,
      ...(port === undefined ? {} : { port }),
    });
    sentinels.push(started);
    return started;
  }

  it("is that of the newest election, in any order of the sentinels' answers", async () => {
    const [stale, fresh] = [await sentinel(first, 3), await sentinel(second, 4)];
    for (const both of [
      [stale, fresh],
      [fresh, stale],
    ]) {
      const finder = new MasterFinder({ sentinels: both.map(({ address }) => address) });
      expect(await finder.find()).toEqual({ host: '127.0.0.1', port: second.port, epoch: 4 });
    }
  });

  it('is reached where the map of addresses says, if the one that sentinels tell is good only elsewhere', async () => {
    const group = [(await sentinel(first, 3)).address];
    const natMap = { [`127.0.0.1:${String(first.port)}`]: { host: '127.0.0.1', port: second.port } };
    const finder = new MasterFinder({ sentinels: group, natMap });
    expect(await finder.find()).toEqual({ host: '127.0.0.1', port: second.port, epoch: 3 });
    const target = { sentinels: group, masterName: 'mymaster', natMap };
    const witness = await EngineFixture.open({}, { url: second.url });
    const usual = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 2_000 };
    const pool = await RedisPool.connect('default', { ...usual, ...target }, silentLog);
    const engine = new PoolEngine(pool);
    try {
      await engine.publish(witness.ns, 'q', newJob());
      expect(await witness.size('q')).toBe(1);
    } finally {
      await engine.stop();
      await pool.close();
      await witness.close();
    }
  });

  it('is found while a sentinel hangs, and another one is down', async () => {
    const [hung, well] = [await sentinel(first, 3), await sentinel(second, 4)];
    process.kill(hung.pid, 'SIGSTOP');
    const down = { host: '127.0.0.1', port: await freePort() };
    const finder = new MasterFinder({ sentinels: [hung.address, down, well.address] });
    expect(await finder.find()).toMatchObject({ port: second.port });
    await expect(new MasterFinder({ sentinels: [hung.address, down] }).find()).rejects.toThrow(
      'All sentinels are unreachable',
    );
  });

  it('is left after a newer election although it answers', async () => {
    const later = await freePort();
    const group = [(await sentinel(first, 3)).address, { host: '127.0.0.1', port: later }];
    const target = {
      sentinels: group,
      masterName: 'mymaster',
      allowUnsafe: false,
      keyPrefix: '',
      commandTimeoutMs: 2_000,
    };
    const pool = await RedisPool.connect('default', target, silentLog);
    const engine = new PoolEngine(pool);
    const witness = await EngineFixture.open({}, { url: second.url });
    try {
      await engine.publish(witness.ns, 'q', newJob());
      expect(await witness.size('q')).toBe(0);
      await sentinel(second, 4, later);
      await waitFor(async () => {
        await engine.publish(witness.ns, 'q', newJob());
        return (await witness.size('q')) > 0;
      });
      // Wake-ups come from there too.
      const waiting = engine.lease(witness.ns, {
        queues: ['wake'],
        count: 1,
        ttrMs: 1_000,
        waitMs: 20_000,
      });
      await witness.publish('wake');
      expect(await waiting).toHaveLength(1);
    } finally {
      await engine.stop();
      await pool.close();
      await witness.close();
    }
  });
});

describe('the connection to a Redis', () => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  it('is opened again if the Redis became a replica', async () => {
    const [client, f] = [
      new Redis(redis.port, '127.0.0.1', { protocol: 2 }),
      await EngineFixture.open({}, { url: redis.url, commandTimeoutMs: 500 }),
    ];
    const ids = async (): Promise<string[]> =>
      [
        ...String(await client.call('CLIENT', 'LIST')).matchAll(
          /^id=(\d+) .*name=pumphouse-\d+ .*cmd=fcall/gm,
        ),
      ].map(([, id = '']) => id);
    try {
      await f.publish('q');
      const before = await ids();
      await client.replicaof('127.0.0.1', await freePort());
      await expect(f.publish('q')).rejects.toMatchObject({ code: 'pool_unavailable' });
      await client.replicaof('NO', 'ONE');
      await waitFor(() => f.publish('q'), 10_000);
      const after = await waitFor(async () => {
        const now = await ids();
        return now.length > 0 && now;
      });
      expect(before).toHaveLength(1);
      expect(after).not.toEqual(before);
    } finally {
      await f.close();
      client.disconnect();
    }
  });

  it('is opened again if the Redis accepts connections and never answers', async () => {
    const proxy = await TcpProxy.start(redis.port);
    const f = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 500 });
    try {
      await f.publish('q');
      proxy.dropsReplies = true;
      const greeting = proxy.request('setname');
      proxy.cut();
      await greeting;
      // Its answer is swallowed.
      await sleep(200);
      await waitFor(() => !f.pool.status.up);
      proxy.dropsReplies = false;
      await waitFor(() => f.publish('q'), 15_000);
      await waitFor(() => f.pool.status.up, 15_000);
    } finally {
      await f.close();
      await proxy.stop();
    }
  });
});
