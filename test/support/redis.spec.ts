import { rmSync } from 'node:fs';
import { Redis } from 'ioredis';
import { randomNamespace, startRedis, testRedisUrl } from './redis.js';

describe('the Redis of the tests', () => {
  it('has maxmemory-policy noeviction, and an append-only file with fsync everysec', async () => {
    const redis = new Redis(testRedisUrl());
    const [policy, aof, fsync] = await Promise.all(
      ['maxmemory-policy', 'appendonly', 'appendfsync'].map((name) => redis.call('CONFIG', 'GET', name)),
    );
    await redis.quit();
    expect(JSON.stringify([policy, aof, fsync])).toMatch(/noeviction.*yes.*everysec/);
  });

  it('keeps its data in its folder over kill9', async () => {
    const first = await startRedis();
    const key = randomNamespace();
    const client = new Redis(first.url, { retryStrategy: () => null });
    client.on('error', () => undefined);
    await client.set(key, 'kept');
    await first.kill9();
    client.disconnect();

    const second = await startRedis({ dir: first.dir });
    const reader = new Redis(second.url);
    expect(await reader.get(key)).toBe('kept');
    await reader.quit();
    await second.stop();
    rmSync(first.dir, { recursive: true });
  });
});
