import type { Config } from './config.js';
import { loadConfig } from './load.js';
import { poolOptions, tokenOptions } from './pool-options.js';

const USAGE = { allowUnsafe: false, keyPrefix: 'p:', commandTimeoutMs: 100 };
const POOL_USAGE = { ...USAGE, durability: 'memory', waitTimeoutMs: 500 };

function load(overrides: object): Config {
  return loadConfig({
    env: {},
    overrides: { redis: { key_prefix: 'p:', command_timeout_ms: 100 }, ...overrides },
  });
}

describe('how to reach a pool', () => {
  it('is a URL with what it does not say', () => {
    const config = load({
      pools: { default: { url: 'redis://h', username: 'u', password: 'p', db: 1, allow_unsafe: true } },
    });

    expect(poolOptions('default', config)).toEqual({
      ...POOL_USAGE,
      allowUnsafe: true,
      url: 'redis://h',
      username: 'u',
      password: 'p',
      db: 1,
    });
  });

  it('is a group of sentinels, on their usual port', () => {
    const sentinels = { sentinels: ['a', '[::1]:2'], master_name: 'm', sentinel_password: 's' };

    expect(poolOptions('x', load({ pools: { x: sentinels } }))).toEqual({
      ...POOL_USAGE,
      sentinels: [
        { host: 'a', port: 26_379 },
        { host: '::1', port: 2 },
      ],
      masterName: 'm',
      sentinelPassword: 's',
    });
  });

  it('is the nodes of a Cluster', () => {
    expect(poolOptions('x', load({ pools: { x: { cluster: ['a', 'b:2'] } } }))).toEqual({
      ...POOL_USAGE,
      clusterNodes: [
        { host: 'a', port: 6379 },
        { host: 'b', port: 2 },
      ],
    });
  });

  it('is the socket of an embedded Redis, and nothing without one', () => {
    const config = load({});

    expect(poolOptions('default', config, '/tmp/s')).toEqual({ ...POOL_USAGE, socketPath: '/tmp/s' });
    expect(() => poolOptions('default', config)).toThrow('has no socket');
    expect(() => poolOptions('toString', config)).toThrow('no pool has the name');
  });
});

describe('how to reach the tokens', () => {
  it('is nothing of its own by default', () => {
    expect(tokenOptions(load({}))).toBeUndefined();
  });

  it.each([
    [{ url: 'redis://h' }, { url: 'redis://h' }],
    [{ cluster: ['h'] }, { clusterNodes: [{ host: 'h', port: 6379 }] }],
  ])('is what the tokens say: %j', (tokens, target) => {
    expect(tokenOptions(load({ tokens }))).toEqual({ ...USAGE, ...target });
  });
});
