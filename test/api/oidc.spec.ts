import { jest } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OidcStore } from '../../src/auth/oidc-store.js';
import { TokenKeys } from '../../src/auth/token-keys.js';
import type { AdminConfig } from '../../src/config/config.js';
import type { RedisPool } from '../../src/redis/pool.js';
import { basicOf, testAccounts } from '../support/accounts.js';
import {
  type BrowserAnswer,
  CookieBrowser,
  foreignKey,
  PathProxy,
  TestProvider,
  type TokenAnswer,
} from '../support/oidc.js';
import { type RedisProcess, startRedis, waitFor } from '../support/redis.js';
import { type LogLine, request, startAdmin, testParts, testPools } from './admin-fixture.js';

const CONSOLE = { 'x-pumphouse-console': '1' };
const FROM_PROVIDER = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
const SESSION = 'pumphouse_session';
const ATTEMPT = 'pumphouse_sign_in';

type Admin = Awaited<ReturnType<typeof startAdmin>>;

describe('sign-in by OpenID Connect', () => {
  let folder: string;
  let proxy: PathProxy;
  let provider: TestProvider;
  let admin: Admin;
  let log: LogLine[];
  let pools: ReturnType<typeof testPools>;
  const started: Admin[] = [];
  let own: RedisProcess | undefined;

  async function start(change: (admin: AdminConfig) => void = () => undefined): Promise<Admin> {
    const made = testParts(pools, (config) => {
      config.admin.public_url = proxy.url;
      Object.assign(config.admin.oidc, {
        ...{ issuer: provider.issuer, client_id: 'pumphouse', name: 'Example' },
        client_secret_file: join(folder, 'secret'),
        groups: {
          'queue-admins': 'admin',
          shop: { role: 'operator', namespaces: ['shop'] },
          mail: { role: 'operator', namespaces: ['mail-*'] },
          everyone: { role: 'viewer' },
        },
      });
      change(config.admin);
    });
    log = made.log;
    const one = await startAdmin(made.parts);
    started.push(one);
    proxy.target = one.server.port;
    return one;
  }

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'pumphouse-oidc-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeEach(async () => {
    pools = testPools(undefined, 10_000);
    proxy = await PathProxy.start('/queues');
    provider = await TestProvider.start(`${proxy.url}/sign-in/oidc/callback`);
    writeFileSync(join(folder, 'secret'), `${provider.secret}\n`);
    admin = await start();
  });
  afterEach(async () => {
    for (const { server } of started.splice(0)) await server.stop();
    await provider.down();
    await proxy.stop();
    await own?.stop();
    own = undefined;
  });

  const callbackUrl = (): string => `${proxy.url}/sign-in/oidc/callback`;
  /** Signs in at the provider. @returns the address to which the provider sends the browser back */
  const atProvider = (browser: CookieBrowser, route = ''): Promise<string> =>
    browser.until(`${proxy.url}/sign-in/oidc${route}`, callbackUrl());
  const signIn = async (browser: CookieBrowser, route = ''): Promise<BrowserAnswer> =>
    browser.get(await atProvider(browser, route), FROM_PROVIDER);
  const identity = async (browser: CookieBrowser): Promise<unknown> => {
    const { status, text } = await browser.get(`${proxy.url}/session`, CONSOLE);
    return status === 200 ? (JSON.parse(text) as unknown) : status;
  };
  const redis = (): RedisPool =>
    Reflect.get(admin.server.app.get(OidcStore, { strict: false }), 'redis') as RedisPool;
  const checkedKey = (account: string): string => new TokenKeys(redis().options.keyPrefix).checked(account);
  /** What Redis has of the sessions of an account, by digest; and of the account itself. */
  async function storedChecks(account: string): Promise<Record<string, string>> {
    const key = checkedKey(account);
    const names = (await redis().read('HKEYS', key)) as string[];
    const values = names.map(async (name) => [name, String(await redis().read('HGET', key, name))] as const);
    return Object.fromEntries(await Promise.all(values));
  }
  /** The last checks of an account were so long ago, and no server checks it now. */
  async function passTime(account: string, ms: number): Promise<void> {
    for (const [name, value] of Object.entries(await storedChecks(account))) {
      const [, at = '', rest = ''] = /^(\d+)( .*)$/.exec(value) ?? [];
      await redis().read('HSET', checkedKey(account), name, `${String(Number(at) - ms)}${rest}`);
      await redis().read('DEL', new TokenKeys(redis().options.keyPrefix).claim(`check:${name}`));
    }
  }
  const timesAsked = (path: string): number => provider.requested.filter((one) => one === path).length;
  /** Expects a page that says so, and no session. */
  async function expectRefused(
    browser: CookieBrowser,
    answer: BrowserAnswer,
    status: number,
    sentence: RegExp,
  ): Promise<void> {
    expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(sentence)]);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect([...browser.cookies.keys()]).not.toContain(SESSION);
    expect([...browser.cookies.keys()]).not.toContain(ATTEMPT);
    expect(await identity(browser)).toBe(401);
  }

  it('begins a session with the role of the group, behind a proxy that adds a path', async () => {
    const browser = new CookieBrowser();
    const answer = await signIn(browser, '?route=%2Fn%2Fshop%2Fjobs%3Fstate%3Ddead');
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      `${proxy.url}/ui/#/n/shop/jobs?state=dead`,
    ]);
    const [session, attempt] = answer.headers.getSetCookie();
    expect(session).toMatch(
      /^pumphouse_session=[-\w]+\.[-\w]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(attempt).toMatch(/^pumphouse_sign_in=; Max-Age=0;/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await identity(browser)).toMatchObject({
      ...{ account: 'oidc:u-1', role: 'admin', namespaces: null, session: true },
    });
  });

  it('begins a session also while Redis is full, and again after a restore; a page says that Redis is away', async () => {
    own = await startRedis();
    pools = testPools(own.url);
    admin = await start();
    const [early, late] = [new CookieBrowser(), new CookieBrowser()];
    await signIn(early);
    await redis().read('CONFIG', 'SET', 'maxmemory', '1');
    await signIn(late);
    for (const browser of [early, late])
      expect(await identity(browser)).toMatchObject({ account: 'oidc:u-1', session: true });
    await redis().read('CONFIG', 'SET', 'maxmemory', '0');

    // As a backup from before the sessions.
    await redis().read('FLUSHALL');
    for (const browser of [early, late]) {
      expect(await identity(browser)).toBe(401);
      await signIn(browser);
      expect(await identity(browser)).toMatchObject({ account: 'oidc:u-1', session: true });
    }

    const browser = new CookieBrowser();
    const back = await atProvider(browser);
    await own.stop();
    const refused = await browser.get(back, FROM_PROVIDER);
    expect([refused.status, refused.headers.get('content-type')]).toEqual([
      ...[503, 'text/html; charset=utf-8'],
    ]);
    expect(refused.text).toContain('Redis does not answer');
  });

  it('asks the provider with PKCE, state and nonce, and keeps them in a cookie of the browser', async () => {
    const begun = await new CookieBrowser().get(`${proxy.url}/sign-in/oidc`);
    const url = new URL(begun.headers.get('location') ?? '');
    expect(url.origin).toBe(provider.issuer);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      ...{ response_type: 'code', client_id: 'pumphouse', code_challenge_method: 'S256' },
      ...{ redirect_uri: callbackUrl(), scope: 'openid profile email offline_access' },
      code_challenge: expect.stringMatching(/^[-\w]{43}$/) as unknown,
      state: expect.stringMatching(/^[-\w]{43}$/) as unknown,
      nonce: expect.stringMatching(/^[-\w]{43}$/) as unknown,
    });
    expect(begun.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^pumphouse_sign_in=[-\w]+\.[-\w]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
      ),
    ]);
  });

  it('takes the redirect URL from the configuration, whatever the Host header says', async () => {
    await start(({ hosts }) => void hosts.push('evil.example'));
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    const { status, headers: sent } = await request(`${started.at(-1)!.url}/sign-in/oidc`, { headers });
    const location = new URL(sent.get('location') ?? '');
    expect([status, location.searchParams.get('redirect_uri')]).toEqual([303, callbackUrl()]);
  });

  it('has a cookie that only this host can set, over TLS, where browsers come by TLS', async () => {
    await start((one) => {
      one.public_url = 'https://queue.example/admin';
    });
    const { headers } = await request(`${started.at(-1)!.url}/sign-in/oidc`);
    expect(headers.get('set-cookie')).toMatch(
      /^__Host-pumphouse_sign_in=.*; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(new URL(headers.get('location') ?? '').searchParams.get('redirect_uri')).toBe(
      'https://queue.example/admin/sign-in/oidc/callback',
    );
  });

  it.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
    '/n/shop\r\nSet-Cookie: a=b',
    `/${'a'.repeat(1_001)}`,
  ])('leads to the console only, when it is told to return to %j', async (route) => {
    const browser = new CookieBrowser();
    const { status, headers } = await signIn(browser, `?route=${encodeURIComponent(route)}`);
    const location = headers.get('location') ?? '';
    expect([status, location.startsWith(`${proxy.url}/ui/#/`)]).toEqual([303, true]);
    expect(new URL(location).origin).toBe(new URL(proxy.url).origin);
  });

  it('gives the highest role of several groups, in the namespaces of those that give it', async () => {
    const identities: unknown[] = [];
    for (const groups of [['shop', 'everyone'], ['mail', 'shop', 'none'], ['everyone'], 'everyone']) {
      provider.user = { sub: 'u-2', groups };
      const browser = new CookieBrowser();
      expect((await signIn(browser)).status).toBe(303);
      identities.push(await identity(browser));
    }
    expect(identities).toMatchObject([
      { account: 'oidc:u-2', role: 'operator', namespaces: ['shop'] },
      { role: 'operator', namespaces: ['shop', 'mail-*'] },
      { role: 'viewer', namespaces: null },
      { role: 'viewer', namespaces: null },
    ]);
  });

  it.each<[string, unknown]>([
    ['no group of the configuration', ['others', '<b>']],
    ['no groups', undefined],
    ['groups of another form', { 'queue-admins': true }],
    ['a group in another case', ['Queue-Admins']],
  ])('gives a user with %s no access, and says what to ask for', async (_what, groups) => {
    provider.user = { sub: '<i>u-3', groups };
    const browser = new CookieBrowser();
    await expectRefused(browser, await signIn(browser), 403, /none of your groups has access/);
    const { text } = await signIn(browser);
    expect(text).toContain('queue-admins, shop, mail, everyone');
    expect(text).toContain('oidc:&#60;i&#62;u-3');
    expect(log).toContainEqual({
      level: 'warn',
      message: 'audit',
      details: expect.objectContaining({
        audit: 'oidc.refused',
        account: 'oidc:<i>u-3',
        reason: 'no_group',
      }) as unknown,
    });
  });

  it.each<[string, (url: URL) => void]>([
    ['a wrong state', (url) => url.searchParams.set('state', 'A'.repeat(43))],
    ['no state', (url) => url.searchParams.delete('state')],
    ['two states', (url) => url.searchParams.append('state', url.searchParams.get('state') ?? '')],
    ['another issuer', (url) => url.searchParams.set('iss', 'https://evil.example')],
    ['a guessed code', (url) => url.searchParams.set('code', 'guess')],
    ['no code', (url) => url.searchParams.delete('code')],
  ])('refuses an answer with %s', async (_what, change) => {
    const browser = new CookieBrowser();
    const url = new URL(await atProvider(browser));
    change(url);
    await expectRefused(browser, await browser.get(url.href), 400, /failed a check/);
  });

  it.each<[string, Record<string, unknown>]>([
    ['a wrong nonce', { nonce: 'A'.repeat(43) }],
    ['no nonce', { nonce: undefined }],
    ['a wrong audience', { aud: 'another-client' }],
    ['another authorized party', { aud: ['pumphouse', 'another-client'], azp: 'another-client' }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['an expiry in the past', { exp: 1_000_000_000 }],
  ])('refuses an ID token with %s', async (_what, claims) => {
    provider.tamper = (answer) => {
      answer.id_token = provider.sign(answer.id_token ?? '', claims);
    };
    const browser = new CookieBrowser();
    await expectRefused(browser, await signIn(browser), 400, /failed a check/);
  });

  it('refuses an ID token that another key has signed, and one without a signature', async () => {
    const foreign = foreignKey();
    const tampers: ((token: string) => string | undefined)[] = [
      (token) => provider.sign(token, { groups: ['queue-admins'] }, foreign),
      (token) => {
        const [, body = ''] = token.split('.');
        return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`;
      },
      () => undefined,
    ];
    for (const tamper of tampers) {
      provider.tamper = (answer) => {
        const token = tamper(answer.id_token ?? '');
        if (token === undefined) delete answer.id_token;
        else answer.id_token = token;
      };
      const browser = new CookieBrowser();
      await expectRefused(browser, await signIn(browser), 400, /failed a check/);
    }
  });

  it('accepts signing keys that were rotated a moment ago', async () => {
    expect((await signIn(new CookieBrowser())).status).toBe(303);
    provider.rotateKeys();
    const browser = new CookieBrowser();
    expect((await signIn(browser)).status).toBe(303);
    expect(await identity(browser)).toMatchObject({ role: 'admin' });
  });

  it('refuses a code that has expired', async () => {
    const browser = new CookieBrowser();
    const url = await atProvider(browser);
    await provider.expireCode(new URL(url).searchParams.get('code') ?? '');
    await expectRefused(browser, await browser.get(url), 400, /is too old/);
  });

  it('is usable once, and only in the browser that has begun it', async () => {
    const [browser, other] = [new CookieBrowser(), new CookieBrowser()];
    const url = await atProvider(browser);
    await expectRefused(other, await other.get(url), 400, /has not begun the sign-in/);
    await atProvider(other);
    await expectRefused(other, await other.get(url), 400, /failed a check/);
    const copied = new Map(browser.cookies);
    expect((await browser.get(url)).status).toBe(303);
    for (const [name, value] of copied) other.cookies.set(name, value);
    await expectRefused(other, await other.get(url), 400, /failed a check/);
  });

  it('is usable once also for a provider that accepts a code twice', async () => {
    const browser = new CookieBrowser();
    const url = await atProvider(browser);
    const copied = new Map(browser.cookies);
    provider.isLenient = true;
    expect((await browser.get(url)).status).toBe(303);
    const other = new CookieBrowser();
    for (const [name, value] of copied) other.cookies.set(name, value);
    await expectRefused(other, await other.get(url), 400, /was used already/);
  });

  it.each<[string, (value: string) => string]>([
    ['changed', (value) => `A${value}`],
    ['unsigned', (value) => value.split('.')[0] ?? ''],
    ['signed by another', (value) => `${value.slice(0, -43)}${'A'.repeat(43)}`],
    ['doubled', (value) => `${value}; ${ATTEMPT}=${value}`],
  ])('refuses a cookie that is %s', async (_what, change) => {
    const browser = new CookieBrowser();
    const url = await atProvider(browser);
    browser.cookies.set(ATTEMPT, change(browser.cookies.get(ATTEMPT) ?? ''));
    await expectRefused(browser, await browser.get(url), 400, /has not begun the sign-in/);
  });

  it('ends ten minutes after it was begun', async () => {
    const [browser, begunAt] = [new CookieBrowser(), Date.now()];
    const url = await atProvider(browser);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => begunAt + 601_000);
    try {
      await expectRefused(browser, await browser.get(url), 400, /has not begun the sign-in/);
    } finally {
      clock.mockRestore();
    }
  });

  it('says that the user was not signed in, when the provider says so', async () => {
    const browser = new CookieBrowser();
    const { searchParams } = new URL(await atProvider(browser));
    const query = new URLSearchParams({
      ...{ error: 'access_denied', error_description: '<b>', state: searchParams.get('state') ?? '' },
      iss: provider.issuer,
    });
    const answer = await browser.get(`${callbackUrl()}?${query.toString()}`);
    await expectRefused(browser, answer, 403, /has not signed you in/);
    expect(answer.text).not.toContain('<b>');
  });

  it('says that the provider is away, and works again when it is back', async () => {
    await provider.down();
    await start(({ accounts }) => void Object.assign(accounts, testAccounts()));
    const browser = new CookieBrowser();
    const answer = await browser.get(`${proxy.url}/sign-in/oidc`);
    await expectRefused(browser, answer, 503, /Example does not answer/);
    expect(answer.headers.get('retry-after')).toBe('60');
    const headers = basicOf('olga');
    expect(await request(`${started.at(-1)!.url}/session`, { headers })).toMatchObject({ status: 200 });
    await provider.up();
    await waitFor(async () => (await browser.get(`${proxy.url}/sign-in/oidc`)).status === 303);
    expect((await signIn(browser)).status).toBe(303);
  });

  it('says that the provider is away, when only its token endpoint is', async () => {
    const browser = new CookieBrowser();
    const url = await atProvider(browser);
    provider.failing = /token/;
    await expectRefused(browser, await browser.get(url), 503, /Example does not answer/);
  });

  it('tells a client without an account only that it is there, and how it is called', async () => {
    expect(await request(`${admin.url}/sign-in`)).toMatchObject({
      status: 200,
      body: { oidc: { name: 'Example' } },
    });
    expect((await request(`${admin.url}/sign-in`)).text).toBe('{"oidc":{"name":"Example"}}');
    expect(await request(`${admin.url}/pools`)).toMatchObject({ status: 401 });
    const body = JSON.stringify({ account: 'oidc:u-1', password: '' });
    expect(await request(`${admin.url}/session`, { method: 'POST', body })).toMatchObject({ status: 401 });
  });

  it('takes browsers of other sites at the address of the provider alone', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' };
    const statuses = ['/sign-in', '/sign-in/oidc', '/sign-in/oidc/callback/', '/session'].map(
      async (path) => (await request(admin.url + path, { headers })).status,
    );
    expect(await Promise.all(statuses)).toEqual([403, 403, 403, 403]);
    const { status } = await request(`${admin.url}/sign-in/oidc/callback`, { headers });
    expect(status).toBe(400);
  });

  it('names the account by a claim, also one of the userinfo', async () => {
    const named = async (claims: object, claim = 'email'): Promise<unknown> => {
      await start(({ oidc }) => void (oidc.account_claim = claim));
      provider.user = { sub: 'u-4', groups: ['everyone'], ...claims };
      const browser = new CookieBrowser();
      const { status, text } = await signIn(browser);
      if (status !== 303) return /<p>[^<]*no usable name/.test(text) ? 'no name' : status;
      return ((await identity(browser)) as { account: string }).account;
    };
    const email = 'alice@example.com';
    expect(await named({ email, email_verified: true })).toBe(`oidc:${email}`);
    expect(await named({ email, email_verified: false })).toBe('no name');
    expect(await named({ email })).toBe('no name');
    expect(await named({})).toBe('no name');
    expect(await named({ name: 'Alice\u202e\n' }, 'name')).toBe('no name');
    expect(await named({ name: 'ä'.repeat(128) }, 'name')).toBe('no name');
    expect(await named({ name: 'Alice Ä' }, 'name')).toBe('oidc:Alice Ä');
  });

  it('is in the list of accounts and in the audit log, and all its sessions can be ended', async () => {
    const [browser, viewer] = [new CookieBrowser(), new CookieBrowser()];
    await signIn(browser);
    provider.user = { sub: 'u-5', groups: ['everyone'] };
    await signIn(viewer);
    const list = async (by: CookieBrowser): Promise<unknown> =>
      JSON.parse((await by.get(`${proxy.url}/accounts`, CONSOLE)).text) as unknown;
    const second = { name: 'oidc:u-5', role: 'viewer', namespaces: null, sessions: 1 };
    expect(await list(browser)).toEqual({
      accounts: [{ name: 'oidc:u-1', role: 'admin', namespaces: null, sessions: 1 }, second],
    });
    expect(await list(viewer)).toEqual({ accounts: [second] });
    const { text } = await browser.get(`${proxy.url}/audit`, CONSOLE);
    expect(JSON.parse(text)).toMatchObject({
      entries: [
        { account: 'oidc:u-5', action: 'GET /sign-in/oidc/callback', status: 303 },
        { account: 'oidc:u-1' },
      ],
    });
    const cookie = `${SESSION}=${browser.cookies.get(SESSION) ?? ''}`;
    const end = (name: string) =>
      request(`${admin.url}/accounts/${encodeURIComponent(name)}/sessions`, {
        ...{ method: 'DELETE', headers: { cookie, ...CONSOLE } },
      });
    expect(await end('oidc:none')).toMatchObject({ status: 404 });
    expect(await end('oidc:u-5')).toMatchObject({ status: 200, body: { ended: 1 } });
    expect([await identity(viewer), await list(browser)]).toEqual([
      401,
      { accounts: [expect.objectContaining({ name: 'oidc:u-1' })] },
    ]);
  });

  it('ends with a sign-out, and is not valid for another issuer or client', async () => {
    const browser = new CookieBrowser();
    await signIn(browser);
    await start(({ oidc }) => void (oidc.client_id = 'another'));
    expect(await identity(browser)).toBe(401);
    await start(({ oidc }) => void (oidc.groups = { 'queue-admins': 'viewer' }));
    expect(await identity(browser)).toMatchObject({ role: 'viewer' });
    await start((one) => {
      one.oidc.issuer = undefined as unknown as string;
      one.accounts = testAccounts();
    });
    expect(await identity(browser)).toBe(401);
    await start();
    const cookie = `${SESSION}=${browser.cookies.get(SESSION) ?? ''}`;
    const out = { method: 'DELETE', headers: { cookie, ...CONSOLE } };
    expect(await request(`${started.at(-1)!.url}/session`, out)).toMatchObject({ status: 204 });
    expect(await identity(browser)).toBe(401);
  });

  it('shows neither the secret nor a token or a code of the provider, in logs, answers and Redis', async () => {
    const secrets = [provider.secret];
    provider.tamper = ({ id_token, refresh_token, access_token }) =>
      void secrets.push(...[id_token, refresh_token, access_token].map((one) => String(one)));
    const browser = new CookieBrowser();
    const url = await atProvider(browser);
    const code = new URL(url).searchParams.get('code') ?? '';
    const answers = [await browser.get(url)];
    provider.tamper = () => undefined;
    const refused = new CookieBrowser();
    const second = new URL(await atProvider(refused));
    secrets.push(code, second.searchParams.get('code') ?? '');
    second.searchParams.set('iss', 'https://evil.example');
    answers.push(await refused.get(second.href));
    answers.push(await browser.get(`${proxy.url}/metrics`, CONSOLE));
    const stored = await storedChecks('oidc:u-1');
    const seen = JSON.stringify([log, stored, answers.map(({ text, headers }) => [text, [...headers]])]);
    expect(secrets.length).toBeGreaterThan(4);
    expect(secrets.filter((one) => one === '' || seen.includes(one))).toEqual([]);
    expect(JSON.stringify(stored)).toContain('sealed');
  });

  describe('sessions', () => {
    const MINUTE_MS = 60_000;
    let browser: CookieBrowser;

    beforeEach(async () => {
      browser = new CookieBrowser();
      expect((await signIn(browser)).status).toBe(303);
    });

    /** Uses the API as the page does. */
    const call = (method: string, path: string, body?: object): ReturnType<typeof request> =>
      request(admin.url + path, {
        ...{ method, headers: { ...CONSOLE, cookie: `${SESSION}=${browser.cookies.get(SESSION) ?? ''}` } },
        body: body && JSON.stringify(body),
      });

    it('ask the provider again after five minutes, once for all requests of a page', async () => {
      expect(timesAsked('/token')).toBe(1);
      await passTime('oidc:u-1', 4 * MINUTE_MS);
      await identity(browser);
      expect(timesAsked('/token')).toBe(1);
      await passTime('oidc:u-1', 2 * MINUTE_MS);
      const answers = await Promise.all([1, 2, 3, 4, 5].map(() => identity(browser)));
      expect(answers).toMatchObject(answers.map(() => ({ role: 'admin' })));
      expect(timesAsked('/token')).toBe(2);
      // The provider has replaced the refresh token: the next check needs the new one.
      await passTime('oidc:u-1', 6 * MINUTE_MS);
      expect(await identity(browser)).toMatchObject({ role: 'admin' });
      expect(timesAsked('/token')).toBe(3);
    });

    it('ask the provider once, when several servers get requests', async () => {
      const second = await start();
      await passTime('oidc:u-1', 6 * MINUTE_MS);
      const cookie = `${SESSION}=${browser.cookies.get(SESSION) ?? ''}`;
      const answers = [admin, second].map(({ url }) =>
        request(`${url}/session`, { headers: { cookie, ...CONSOLE } }),
      );
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
      expect(timesAsked('/token')).toBe(2);
    });

    it('take another role when the groups have changed', async () => {
      provider.user = { sub: 'u-1', groups: ['everyone'] };
      expect(await identity(browser)).toMatchObject({ role: 'admin' });
      await passTime('oidc:u-1', 6 * MINUTE_MS);
      expect(await identity(browser)).toMatchObject({ role: 'viewer' });
    });

    it('end all, within 15 minutes, when the user has lost the group', async () => {
      const other = new CookieBrowser();
      await signIn(other);
      provider.user = { sub: 'u-1', groups: [] };
      await passTime('oidc:u-1', 6 * MINUTE_MS);
      expect([await identity(browser), await identity(other)]).toEqual([401, 401]);
      provider.user = { sub: 'u-1', groups: ['queue-admins'] };
      expect([await identity(browser), await identity(other)]).toEqual([401, 401]);
      expect(log).toContainEqual(
        expect.objectContaining({
          details: { audit: 'oidc.ended', account: 'oidc:u-1', reason: 'no_group' },
        }),
      );
    });

    it('go on for an hour without the provider, and again when it is back', async () => {
      await passTime('oidc:u-1', 55 * MINUTE_MS);
      await provider.down();
      expect(await identity(browser)).toMatchObject({ role: 'admin' });
      await passTime('oidc:u-1', 6 * MINUTE_MS);
      expect(await identity(browser)).toBe(401);
      await provider.up();
      // Another server has not found it away.
      await start();
      expect(await identity(browser)).toMatchObject({ role: 'admin' });
    });

    it('keep the replaced refresh token when only the userinfo is away', async () => {
      provider.tamper = (answer) => delete answer.id_token;
      provider.failing = /\/me$/;
      await passTime('oidc:u-1', 6 * MINUTE_MS);
      expect(await identity(browser)).toMatchObject({ role: 'admin' });
      provider.failing = undefined;
      provider.user = { sub: 'u-1', groups: ['everyone'] };
      await passTime('oidc:u-1', 0);
      await start();
      expect(await identity(browser)).toMatchObject({ role: 'viewer' });
    });

    it.each<[string, (answer: TokenAnswer) => void]>([
      ['a refresh token that is not valid any more', (answer) => (answer.refresh_token = 'ended')],
      [
        'an access token that is not valid any more, and no refresh token',
        (answer) => {
          delete answer.refresh_token;
          answer['access_token'] = 'ended';
        },
      ],
    ])('end one by one with %s', async (_what, tamper) => {
      provider.tamper = tamper;
      const other = new CookieBrowser();
      await signIn(other);
      provider.tamper = () => undefined;
      expect(await identity(other)).toMatchObject({ role: 'admin' });
      await passTime('oidc:u-1', 6 * MINUTE_MS);
      expect([await identity(other), await identity(browser)]).toEqual([
        401,
        expect.objectContaining({ role: 'admin' }),
      ]);
    });

    it('are checked by the userinfo without a refresh token', async () => {
      provider.tamper = (answer) => delete answer.refresh_token;
      const other = new CookieBrowser();
      await signIn(other);
      provider.user = { sub: 'u-1', groups: ['everyone'] };
      await passTime('oidc:u-1', 6 * MINUTE_MS);
      expect(await identity(other)).toMatchObject({ role: 'viewer' });
    });

    it('end when the provider answers with another user', async () => {
      provider.tamper = (answer) => {
        answer.id_token = provider.sign(answer.id_token ?? '', { sub: 'u-9' });
      };
      await passTime('oidc:u-1', 6 * MINUTE_MS);
      expect(await identity(browser)).toBe(401);
    });

    it('are checked again when the time of the last check is ahead of the clock', async () => {
      provider.user = { sub: 'u-1', groups: ['everyone'] };
      await passTime('oidc:u-1', -10 * MINUTE_MS);
      expect(await identity(browser)).toMatchObject({ role: 'viewer' });
    });

    it('stay ended when a check was under way', async () => {
      const names = Object.keys(await storedChecks('oidc:u-1'));
      const digest = names.find((name) => name !== '') ?? '';
      const store = admin.server.app.get(OidcStore, { strict: false });
      await call('DELETE', '/accounts/oidc:u-1/sessions');
      const check = { account: 'oidc:u-1', digest, subject: 'u-1', groups: ['queue-admins'], sealed: '' };
      expect(await store.record({ ...check, ageMs: 0 })).toBe(false);
      expect(await storedChecks('oidc:u-1')).toEqual({});
    });

    it('have a bounded place in Redis, however often a user signs in', async () => {
      for (let i = 0; i < 21; i++) await signIn(new CookieBrowser());
      const names = Object.keys(await storedChecks('oidc:u-1'));
      expect(names.length).toBe(21);
    });

    it.each([
      ['an hour after the last check', -61 * MINUTE_MS],
      ["where Redis's clock was set back by ten hours", 600 * MINUTE_MS],
    ])('have operations, which stop %s', async (_when, checkedAfterMs) => {
      for (let i = 0; i < 3; i++)
        await call('POST', '/v1/shop/jobs', { queue: 'mail', data: 1, delay_ms: 3_600_000 });
      const operation = { action: 'cancel', filter: { queue: 'mail' }, rate_per_s: 1 };
      const { body } = await call('POST', '/v1/shop/operations', operation);
      const { id } = body as { id: string };
      const found = async (): Promise<Record<string, unknown>> =>
        (await call('GET', `/v1/shop/operations/${id}`)).body as Record<string, unknown>;
      await waitFor(async () => Number((await found())['done']) > 0);
      expect(await found()).toMatchObject({ created_by: 'oidc:u-1', state: 'running' });
      await redis().read(
        'HSET',
        checkedKey('oidc:u-1'),
        '',
        `${String(Date.now() + checkedAfterMs)} {"groups":["queue-admins"]}`,
      );
      await waitFor(async () => (await found())['state'] !== 'running');
      expect(await found()).toMatchObject({ state: 'stopped', reason: 'rights_changed' });
    });

    it('have streams of events, which end when the role has changed', async () => {
      const cookie = `${SESSION}=${browser.cookies.get(SESSION) ?? ''}`;
      const end = new AbortController();
      const stream = await fetch(`${admin.url}/v1/shop/events`, { headers: { cookie }, signal: end.signal });
      expect(stream.status).toBe(200);
      let text = '';
      stream.text().then(
        (whole) => void (text = whole),
        () => undefined,
      );
      provider.user = { sub: 'u-1', groups: ['everyone'] };
      await passTime('oidc:u-1', 6 * MINUTE_MS);
      await waitFor(() => text.includes('the server ends the stream')).finally(() => end.abort());
      expect(await identity(browser)).toMatchObject({ role: 'viewer' });
    });
  });
});
