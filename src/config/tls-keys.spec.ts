import { loadConfig } from './load.js';
import { ConfigError } from './problems.js';

/** Problems of some settings, without their origin. */
function problems(overrides: object): string[] {
  try {
    loadConfig({ env: {}, overrides });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) => problem.replace(/ \([^)]*\)$/, ''));
  }
}

const PAIR = { tls_cert: 'c', tls_key: 'k' };

describe('the keys for TLS', () => {
  it.each<[object, string]>([
    [{ server: { tls_cert: 'c' } }, 'server.tls_cert needs tls_key beside it'],
    [{ admin: { tls_key: 'k' } }, 'admin.tls_key needs tls_cert beside it'],
    [{ server: { tls_client_ca: 'ca' } }, 'server.tls_client_ca needs tls_cert and tls_key'],
    [
      { pools: { default: { url: 'redis://h', tls_ca: 'ca' } } },
      'pools.default.tls_ca goes with a rediss:// url only',
    ],
    [{ pools: { default: { tls_ca: 'ca' } } }, 'pools.default.tls_ca goes with a rediss:// url only'],
    [{ tokens: { url: 'redis://h', ...PAIR } }, 'tokens.tls_cert goes with a rediss:// url only'],
    [{ tokens: { url: 'rediss://h', tls_key: 'k' } }, 'tokens.tls_key needs tls_cert beside it'],
  ])('are refused in the combination %j', (settings, problem) => {
    expect(problems(settings)).toEqual([problem]);
  });

  it.each<[object]>([
    [{ server: { ...PAIR, tls_client_ca: 'ca' }, admin: PAIR }],
    [{ pools: { default: { url: 'rediss://h', tls_ca: 'ca', ...PAIR } } }],
    [{ pools: { default: { url: 'REDISS://h', tls_ca: 'ca' } } }],
    [{ pools: { default: { sentinels: ['h'], master_name: 'm', tls_ca: 'ca' } } }],
    [{ tokens: { cluster: ['h'], tls_ca: 'ca' } }],
  ])('are accepted in the combination %j', (settings) => {
    expect(problems(settings)).toEqual([]);
  });
});
