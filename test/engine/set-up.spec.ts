import { Redis } from 'ioredis';
import type { PoolOptions } from '../../src/domain/pool.js';
import { LmstfySource } from '../../packages/cli/src/import/source.js';
import { RedisPool } from '../../src/redis/pool.js';
import { MasterFinder } from '../../src/redis/sentinel.js';
import { connect } from '../../packages/engine/src/index.js';
import { TestApp } from '../support/app.js';
import { TestCluster } from '../support/cluster.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { newJob, silentLog, testPoolOptions } from './fixture.js';

/** What a connection needs before its first command: who it is, its database, its name. */
describe('the set-up of a connection', () => {
  let redis: RedisProcess;
  let admin: Redis;
  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    await admin.call('ACL', 'SETUSER', 'nameless', 'on', '>pw', '~*', '&*', '+@all', '-client|setname');
  });
  afterAll(async () => {
    admin.disconnect();
    await redis.stop();
  });

  const address = (): string => `127.0.0.1:${String(redis.port)}`;

  it.each<[string, () => Partial<PoolOptions>, RegExp]>([
    [
      'a database that Redis does not have, in the URL',
      () => ({ url: `${redis.url}/99` }),
      /SELECT 99 was refused: ERR DB index is out of range/,
    ],
    [
      'a database that Redis does not have, as an option',
      () => ({ url: redis.url, db: 99 }),
      /SELECT 99 was refused: ERR DB/,
    ],
    [
      'a password that Redis does not have',
      () => ({ url: redis.url, password: 'pw' }),
      /AUTH was refused: this Redis has no password, but one is configured/,
    ],
    [
      'a user that Redis does not have',
      () => ({ url: redis.url, username: 'x', password: 'pw' }),
      /AUTH was refused: WRONGPASS/,
    ],
    [
      'a user that may not name its connection',
      () => ({ url: redis.url, username: 'nameless', password: 'pw' }),
      /CLIENT SETNAME was refused: .*no permissions/,
    ],
  ])('stops the start with pool and reason: %s', async (_title, options, reason) => {
    const opening = RedisPool.connect('fresh', testPoolOptions({ url: redis.url, ...options() }), silentLog);
    await expect(opening).rejects.toThrow(reason);
    await expect(opening).rejects.toThrow(`the Redis of pool fresh at ${address()} cannot be used`);
    expect(await admin.dbsize()).toBe(0);
  });

  it('is checked for the engine in a process, the import, and sentinels', async () => {
    const own = connect({ redis: `${redis.url}/99`, namespace: 'ns' });
    await expect(own).rejects.toThrow(/SELECT 99 was refused/);
    await expect(LmstfySource.open(`${redis.url}/99`)).rejects.toThrow(/SELECT 99 was refused/);
    const sentinels = [{ host: '127.0.0.1', port: redis.port }];
    const finder = new MasterFinder({ sentinels, masterName: 'mymaster', sentinelPassword: 'pw' });
    await expect(finder.find()).rejects.toThrow(/AUTH was refused: this Redis has no password/);
  });

  it('is checked for each node of a Cluster', async () => {
    const cluster = await TestCluster.start();
    try {
      const [node] = cluster.masters;
      await node!.redis.call('ACL', 'SETUSER', 'default', '-client|setname');
      const options = {
        allowUnsafe: false,
        keyPrefix: '',
        commandTimeoutMs: 2_000,
        clusterNodes: cluster.addresses,
      };
      await expect(RedisPool.connect('default', options, silentLog)).rejects.toThrow(
        /pool default at .*CLIENT SETNAME was refused/,
      );
    } finally {
      await cluster.stop();
    }
  });
});

describe('a server whose Redis returns and refuses the set-up', () => {
  it('has an unusable pool, which `/readyz` names, does nothing in another database, and recovers', async () => {
    const first = await startRedis();
    let redis = first;
    const { port, dir } = first;
    const url = `${redis.url}/9`;
    const app = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: url });
    const restart = async (...args: string[]): Promise<void> => {
      await redis.kill9();
      redis = await startRedis({ port, dir, args });
    };
    try {
      await app.publish('q');
      await restart('--databases', '8', '--appendonly', 'no');
      const down = await waitFor(async () => {
        const answer = await app.get('/readyz');
        return answer.text.includes('SELECT') ? answer : undefined;
      }, 10_000);
      expect(down).toMatchObject({ status: 503, json: { status: 'unavailable' } });
      expect(down.text).toContain('default: down (SELECT 9 was refused: ERR DB index is out of range)');
      expect((await app.put('q')).status).toBe(503);
      const other = new Redis(port, '127.0.0.1', { protocol: 2 });
      expect(await other.dbsize()).toBe(0);
      other.disconnect();

      await restart('--appendonly', 'no');
      await waitFor(async () => (await app.get('/readyz')).status === 200, 10_000);
      await app.engine.publish(app.namespace, 'q', newJob());
    } finally {
      await app.stop();
      await redis.kill9();
      await first.stop();
    }
  });
});
