import crypto from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { jest } from '@jest/globals';
import { Accounts } from '../../src/admin/accounts.js';
import { Admission } from '../../src/auth/admission.js';
import { tokenDigest } from '../../src/auth/credentials.js';
import type { Throttle } from '../../src/auth/throttle.js';
import { TokenCache } from '../../src/auth/token-cache.js';
import type { TokenRecord } from '../../src/auth/token-store.js';
import type { Config } from '../../src/config/config.js';
import type { RequestContext } from '../../src/http/request/request-context.js';
import type { PoolRegistry } from '../../src/redis/redis.module.js';
import { testAccounts } from '../support/accounts.js';

/** Of the way that a secret takes through the code, not of a clock: that would say more about the machine. */
describe('the comparison of secrets', () => {
  /** Lengths of what was compared, in the order of comparison. */
  const compared: [number, number][] = [];
  const { timingSafeEqual } = crypto;
  beforeEach(() => {
    compared.length = 0;
    jest.spyOn(crypto, 'timingSafeEqual').mockImplementation((a, b) => {
      compared.push([a.byteLength, b.byteLength]);
      return timingSafeEqual(a, b);
    });
    syncBuiltinESMExports();
  });
  afterEach(() => {
    jest.restoreAllMocks();
    syncBuiltinESMExports();
  });

  it.each([
    ['the first account', 'a:secret-of-a', 'a'],
    ['the last account', 'c:secret-of-c', 'c'],
    ['a password that is wrong at its end', 'a:secret-of-b', null],
    ['a password that is wrong at its start', 'a:x', null],
    ['an unknown user', 'unknown:x', null],
    ['an empty name', ':', null],
    ['something very long', `a:${'x'.repeat(10_000)}`, null],
  ])('compares digests of one length with every account, for %s', (_what, sent, name) => {
    const accounts = new Accounts({ a: 'secret-of-a', b: 'secret-of-b', c: 'secret-of-c' });
    expect(accounts.whose(`Basic ${Buffer.from(sent).toString('base64')}`)).toEqual(
      name === null ? null : accounts.named(name),
    );
    expect(compared).toEqual([
      [32, 32],
      [32, 32],
      [32, 32],
    ]);
  });

  it('compares a digest with every account, without a header or with a malformed one', () => {
    const accounts = new Accounts({ a: 'secret-of-a', b: 'secret-of-b' });
    for (const header of [undefined, '', 'Basic', 'Basic !', 'Bearer x'])
      expect(accounts.whose(header)).toBeNull();
    expect(compared).toHaveLength(10);
  });

  it.each([
    ['a wrong password', 'vera:x'],
    ['the password of another account', 'vera:secret-of-olga'],
    ['an unknown user', 'unknown:x'],
    ['an account without a hash', 'ops:x'],
    ['an empty name', ':'],
    ['no colon', 'vera'],
  ])('computes one hash of the same cost before it refuses %s', async (_what, sent) => {
    const costs: unknown[] = [];
    const { scrypt } = crypto;
    jest.spyOn(crypto, 'scrypt').mockImplementation((...args) => {
      costs.push([args[2], args[3]]);
      scrypt(...args);
    });
    syncBuiltinESMExports();
    const accounts = new Accounts({ ops: 'secret', ...testAccounts() });
    expect(await accounts.whose(`Basic ${Buffer.from(sent).toString('base64')}`)).toBeNull();
    expect(costs).toEqual([[32, { N: 16_384, r: 8, p: 1, maxmem: 33_554_432 }]]);
    expect(compared).toEqual([
      [32, 32],
      [32, 32],
    ]);
  });

  it('finds a token by its digest, and compares it once', async () => {
    const token = 'a-token-of-a-namespace';
    const record: TokenRecord = {
      pool: 'default',
      namespace: 'ns',
      token,
      description: '',
      limit: null,
      rights: null,
    };
    const sent: string[] = [];
    const cache = new TokenCache((digest) => {
      sent.push(digest);
      return Promise.resolve(digest === tokenDigest('default', 'ns', token) ? record : null);
    });
    const admission = new Admission(
      { lmstfy: { public_sizes: false } } as unknown as Config,
      { get: () => ({}) } as unknown as PoolRegistry,
      cache,
      {} as unknown as Throttle,
    );
    const admit = async (token: string): Promise<boolean> => {
      const request = { socket: {}, headers: { 'x-token': token } } as unknown as IncomingMessage;
      const acquire = (): void => undefined;
      const parts = { request, server: {}, namespace: 'ns', queue: 'q', query: {}, acquire };
      const context = parts as unknown as RequestContext;
      try {
        await admission.admit(context, { queues: 'one' });
        return true;
      } catch {
        return false;
      }
    };
    expect(await admit(token)).toBe(true);
    expect(compared).toEqual([[token.length, token.length]]);
    // However much of it is right, nothing is compared: a wrong token has another digest, under which nothing stands.
    for (const wrong of ['x', token.slice(0, -1), `${token}x`, token.toUpperCase()])
      expect(await admit(wrong)).toBe(false);
    expect(compared).toHaveLength(1);
    expect(new Set(sent).size).toBe(5);
    for (const digest of sent) expect(digest).toMatch(/^[0-9a-f]{64}$/);
  });
});
