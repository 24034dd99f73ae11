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

describe('the address of a pool', () => {
  it('is a URL with the username, password and db of other keys', () => {
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

  it('is a list of sentinels, with port 26379 by default', () => {
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

  it('is a list of nodes of a Cluster, with port 6379 by default', () => {
    expect(poolOptions('x', load({ pools: { x: { cluster: ['a', 'b:2'] } } }))).toEqual({
      ...POOL_USAGE,
      clusterNodes: [
        { host: 'a', port: 6379 },
        { host: 'b', port: 2 },
      ],
    });
  });

  it('has a map of the addresses that nodes announce, also from the environment', () => {
    const natMap = {
      '10.0.0.1:6379': { host: '127.0.0.1', port: 7001 },
      '::1:7': { host: 'node-2', port: 6379 },
    };
    const nat_map = ['10.0.0.1=127.0.0.1:7001', '[::1]:7=node-2'];
    expect(poolOptions('x', load({ pools: { x: { cluster: ['a'], nat_map } } }))).toMatchObject({ natMap });
    const env = {
      PUMPHOUSE_POOLS__DEFAULT__CLUSTER: 'a',
      PUMPHOUSE_POOLS__DEFAULT__NAT_MAP: nat_map.join(','),
    };
    expect(poolOptions('default', loadConfig({ env }))).toMatchObject({ natMap });
  });

  it('is the socket of the embedded Redis, and an error if there is no socket', () => {
    const config = load({});

    expect(poolOptions('default', config, '/tmp/s')).toEqual({ ...POOL_USAGE, socketPath: '/tmp/s' });
    expect(() => poolOptions('default', config)).toThrow('has no socket');
    expect(() => poolOptions('toString', config)).toThrow('no pool has the name');
  });
});

describe('the address of the token store', () => {
  it('is absent by default', () => {
    expect(tokenOptions(load({}))).toBeUndefined();
  });

  it.each([
    [{ url: 'redis://h' }, { url: 'redis://h' }],
    [{ cluster: ['h'] }, { clusterNodes: [{ host: 'h', port: 6379 }] }],
  ])('is read from the settings of tokens: %j', (tokens, target) => {
    expect(tokenOptions(load({ tokens }))).toEqual({ ...USAGE, ...target });
  });
});
