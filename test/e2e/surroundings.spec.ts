import { createServer, type AddressInfo } from 'node:net';
import { loadConfig } from '../../src/config/load.js';
import { poolsOf } from '../../src/server/embedded-pools.js';
import { checkSurroundings } from '../../src/server/surroundings.js';
import { testRedisUrl, testTargetEnv, waitFor } from '../support/redis.js';

/** A Redis that lets nobody of that name in. */
const shut = (): string => testRedisUrl().replace('redis://', 'redis://nobody:wrong@');

function check(env: Record<string, string> = {}): Promise<void> {
  const config = loadConfig({ env: { PUMPHOUSE_ADMIN__PORT: '0', ...testTargetEnv(), ...env } });
  return checkSurroundings(config, poolsOf(config, {}));
}

describe('what a server stands on', () => {
  it('is looked at before workers begin', async () => {
    await expect(check()).resolves.toBeUndefined();
    await expect(check({ PUMPHOUSE_POOLS__OTHER__URL: shut() })).rejects.toThrow(/pool other at .*WRONGPASS/);
    await expect(check({ PUMPHOUSE_TOKENS__URL: shut() })).rejects.toThrow(/pool tokens at .*WRONGPASS/);
  });

  it('has an admin port that nobody else has', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await waitFor(() => other.listening);
      const { port } = other.address() as AddressInfo;
      await expect(check({ PUMPHOUSE_ADMIN__PORT: String(port) })).rejects.toThrow('EADDRINUSE');
    } finally {
      other.close();
    }
  });
});
