import { Redis } from 'ioredis';
import { TestApp } from '../support/app.js';
import { startRedis, waitFor } from '../support/redis.js';

it('a server that cannot open all of its pools leaves no connection to the others', async () => {
  const redis = await startRedis();
  const client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
  const connections = async (): Promise<number> =>
    String(await client.call('CLIENT', 'LIST', 'TYPE', 'normal'))
      .trim()
      .split('\n').length;
  const env = {
    PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
    PUMPHOUSE_POOLS__OTHER__URL: 'redis://127.0.0.1:1',
  };
  await expect(TestApp.start(env)).rejects.toThrow('pool other');
  await waitFor(async () => (await connections()) === 1, 5_000);
  client.disconnect();
  await redis.stop();
});
