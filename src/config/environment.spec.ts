import { Config } from './config.js';
import { readEnvironment } from './environment.js';
import type { Tree } from './tree.js';

function read(env: NodeJS.ProcessEnv, known: Tree = {}): { tree: unknown; problems: string[] } {
  const problems: string[] = [];
  const { tree } = readEnvironment(env, Config, known, problems);
  return { tree: JSON.parse(JSON.stringify(tree)) as unknown, problems };
}

describe('the environment', () => {
  it('sets no keys by names other than PUMPHOUSE_SECTION__KEY, and ignores such names', () => {
    const env = {
      PUMPHOUSE_PORT: 'tcp://10.0.0.1:7777',
      PUMPHOUSE_PORT_7777_TCP_ADDR: '10.0.0.1',
      PUMPHOUSE_SERVICE_HOST: '10.0.0.1',
      PUMPHOUSE__NO_INSTALL: '1',
      PUMPHOUSE__A__B: '1',
      MY_PUMPHOUSE_SERVER__PORT: '1',
      SERVER__PORT: '1',
    };

    expect(read(env)).toEqual({ tree: {}, problems: [] });
  });

  it('converts texts to the types of their keys: number, boolean, list', () => {
    const env = {
      PUMPHOUSE_SERVER__PORT: '080',
      PUMPHOUSE_LOG__ACCESS: 'TRUE',
      PUMPHOUSE_METRICS__PUBLIC: 'false',
      PUMPHOUSE_DATA__DIR: ' 7 ',
      PUMPHOUSE_TOKENS__CLUSTER: 'a:1, b:2,',
      PUMPHOUSE_POOLS__DEFAULT__DB: '3',
      PUMPHOUSE_ADMIN__ACCOUNTS__ALICE: '123',
    };

    expect(read(env).tree).toEqual({
      server: { port: 80 },
      log: { access: true },
      metrics: { public: false },
      data: { dir: ' 7 ' },
      tokens: { cluster: ['a:1', 'b:2'] },
      pools: { default: { db: 3 } },
      admin: { accounts: { alice: '123' } },
    });
  });

  it.each(['abc', '', ' 80', '+80', '8e1', '0x50', '80.0', '1_000', '８０'])(
    'keeps %j as text for a key that is a number',
    (text) => {
      expect(read({ PUMPHOUSE_SERVER__PORT: text }).tree).toEqual({ server: { port: text } });
    },
  );

  it.each(['1', 'yes', '', 'True '])('keeps %j as text for a key that is a boolean', (text) => {
    expect(read({ PUMPHOUSE_LOG__ACCESS: text }).tree).toEqual({ log: { access: text } });
  });

  it('ignores case in names, and uses the spelling that a pool or an account has in the file', () => {
    const known = { pools: { BigJobs: {} }, admin: { accounts: { Bob: 'x' } } };
    const env = {
      PUMPHOUSE_server__Port: '1',
      PUMPHOUSE_POOLS__BIGJOBS__URL: 'redis://h',
      PUMPHOUSE_POOLS__Small__URL: 'redis://i',
      PUMPHOUSE_ADMIN__ACCOUNTS__BOB: 'y',
    };

    expect(read(env, known).tree).toEqual({
      server: { port: 1 },
      pools: { BigJobs: { url: 'redis://h' }, small: { url: 'redis://i' } },
      admin: { accounts: { Bob: 'y' } },
    });
  });

  it('sets keys of a pool and an account with __ in their names', () => {
    const env = { PUMPHOUSE_POOLS__A__B__ALLOW_UNSAFE: 'true', PUMPHOUSE_ADMIN__ACCOUNTS__A__B: 'x' };

    expect(read(env).tree).toEqual({
      pools: { a__b: { allow_unsafe: true } },
      admin: { accounts: { a__b: 'x' } },
    });
  });

  it.each([
    'PUMPHOUSE_SERVER__PROT',
    'PUMPHOUSE_SERVR__PORT',
    'PUMPHOUSE_SERVER__PORT__X',
    'PUMPHOUSE_SERVER__',
    'PUMPHOUSE_POOLS__URL',
    'PUMPHOUSE_POOLS__DEFAULT__URI',
    'PUMPHOUSE_ADMIN__ACCOUNTS',
    'PUMPHOUSE_ADMIN__ACCOUNTS__',
    'PUMPHOUSE_CONSTRUCTOR__NAME',
  ])('refuses the unknown name %s', (name) => {
    expect(read({ [name]: 'x' })).toEqual({ tree: {}, problems: [`${name} names no known key`] });
  });

  it('refuses two variables of one key that differ in case', () => {
    expect(read({ PUMPHOUSE_SERVER__PORT: '1', PUMPHOUSE_Server__Port: '2' }).problems).toEqual([
      'PUMPHOUSE_Server__Port and PUMPHOUSE_SERVER__PORT are the same key',
    ]);
  });
});
