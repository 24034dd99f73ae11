import { setTimeout as sleep } from 'node:timers/promises';
import { SessionStore } from '../../src/auth/session-store.js';
import type { PoolOptions } from '../../src/domain/pool.js';
import type { RedisPool } from '../../src/redis/pool.js';
import { basicOf, testAccounts } from '../support/accounts.js';
import { randomNamespace, startRedis } from '../support/redis.js';
import { type Answer, type LogLine, request, startAdmin, testParts, testPools } from './admin-fixture.js';

const CONSOLE = { 'x-pumphouse-console': '1' };
const SAME_SITE = { 'sec-fetch-site': 'same-origin' };

type Admin = Awaited<ReturnType<typeof startAdmin>>;
type Accounts = Parameters<NonNullable<Parameters<typeof testParts>[1]>>[0]['admin']['accounts'];

describe('a session of the admin port', () => {
  let admin: Admin;
  let log: LogLine[];
  let pools: Record<string, PoolOptions>;
  const started: Admin[] = [];

  async function start(accounts: Accounts, url?: string): Promise<Admin> {
    const made = testParts(pools, (config) => {
      config.admin.accounts = accounts;
      if (url !== undefined) config.admin.public_url = url;
    });
    log = made.log;
    const one = await startAdmin(made.parts);
    started.push(one);
    return one;
  }

  beforeEach(async () => {
    pools = testPools(undefined, 10_000);
    admin = await start(testAccounts());
  });
  afterEach(async () => {
    for (const { server } of started.splice(0)) await server.stop();
  });

  const signIn = (
    account = 'olga',
    password = `secret-of-${account}`,
    headers: Record<string, string> = {},
    to = admin,
  ): Promise<Answer> =>
    request(`${to.url}/session`, { method: 'POST', headers, body: JSON.stringify({ account, password }) });
  /** What a browser sends back of an answer. */
  const cookieOf = ({ headers }: Answer): string => (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const call = (
    cookie: string,
    method: string,
    path: string,
    headers: Record<string, string> = CONSOLE,
    to = admin,
  ): Promise<Answer> => request(to.url + path, { method, headers: { cookie, ...headers } });
  const statusOf = async (cookie: string, to = admin): Promise<number> =>
    (await call(cookie, 'GET', '/session', CONSOLE, to)).status;

  it('begins with a password, and proves the account in the calls that follow', async () => {
    const answer = await signIn();
    expect(answer).toMatchObject({
      status: 200,
      body: { account: 'olga', role: 'operator', namespaces: null, session: true },
    });
    const cookie = cookieOf(answer);
    const { body } = await call(cookie, 'GET', '/session');
    expect(body).toEqual(answer.body);
    const { expires_at } = body as { expires_at: string };
    expect(Math.abs(Date.parse(expires_at) - Date.now() - 12 * 3_600_000)).toBeLessThan(60_000);
    expect(await call(cookie, 'GET', '/info')).toMatchObject({ status: 200 });
    expect(await call(cookie, 'GET', '/limits')).toMatchObject({ status: 403 });
    expect(JSON.stringify(log)).not.toMatch(/secret-of|pumphouse_session=./);
  });

  it('has a cookie that no script reads and no other site sends', async () => {
    const plain = (await signIn()).headers.get('set-cookie');
    expect(plain).toMatch(
      /^pumphouse_session=[-\w]+\.[-\w]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const behindTls = await start(testAccounts(), 'https://pumphouse.example.com/admin');
    const secure = (await signIn('olga', undefined, {}, behindTls)).headers.get('set-cookie');
    expect(secure).toMatch(/^__Host-pumphouse_session=.*; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    // A cookie that a sibling domain can set proves nothing behind TLS.
    expect(await statusOf((secure ?? '').split(';')[0]!.replace('__Host-', ''), behindTls)).toBe(401);
  });

  it('is over after signing out, also for a client that has copied the cookie', async () => {
    const cookie = cookieOf(await signIn());
    const out = await call(cookie, 'DELETE', '/session');
    expect(out.status).toBe(204);
    expect(out.headers.get('set-cookie')).toMatch(/^pumphouse_session=; Max-Age=0;/);
    expect(await statusOf(cookie)).toBe(401);
    expect((await call(cookie, 'DELETE', '/session')).status).toBe(204);
  });

  it('is over on every server when all sessions of the account end, and those of others go on', async () => {
    const [one, two, other] = [
      cookieOf(await signIn()),
      cookieOf(await signIn()),
      cookieOf(await signIn('vera')),
    ];
    const second = await start(testAccounts());
    expect(await statusOf(one, second)).toBe(200);
    expect(await call(other, 'DELETE', '/accounts/olga/sessions')).toMatchObject({ status: 403 });
    expect(await call(one, 'DELETE', '/accounts/olga/sessions')).toMatchObject({
      status: 200,
      body: { ended: 2 },
    });
    expect([await statusOf(one, second), await statusOf(two), await statusOf(other)]).toEqual([
      401, 401, 200,
    ]);
    const admins = { method: 'DELETE', headers: basicOf('adam') };
    expect(await request(`${admin.url}/accounts/vera/sessions`, admins)).toMatchObject({
      body: { ended: 1 },
    });
    expect(await request(`${admin.url}/accounts/none/sessions`, admins)).toMatchObject({ status: 404 });
    expect(await statusOf(other)).toBe(401);
  });

  it('gets a new secret at sign-in, and the cookie that the browser had before is worth nothing (fixation)', async () => {
    const planted = `pumphouse_session=${Buffer.from('olga').toString('base64url')}.${'A'.repeat(43)}`;
    expect(await statusOf(planted)).toBe(401);
    const cookie = cookieOf(await signIn('olga', undefined, { ...CONSOLE, cookie: planted }));
    expect(cookie).not.toBe(planted);
    expect([await statusOf(planted), await statusOf(cookie)]).toEqual([401, 200]);
    const again = cookieOf(await signIn('olga', undefined, { ...CONSOLE, cookie }));
    expect([await statusOf(cookie), await statusOf(again)]).toEqual([401, 200]);
  });

  it('is none if the browser sends two: a sibling domain may have set one of them', async () => {
    const [own, planted] = [cookieOf(await signIn('olga')), cookieOf(await signIn('vera'))];
    for (const cookie of [`${own}; ${planted}`, `${planted}; a=b; ${own}`])
      expect(await statusOf(cookie)).toBe(401);
    expect(await statusOf(`a=b; ${own}; c`)).toBe(200);
  });

  it.each([
    ['nothing', ''],
    ['no account', 'pumphouse_session=.SECRET'],
    ['another account', 'pumphouse_session=dmVyYQ.SECRET'],
    ['an account that does not exist', 'pumphouse_session=bm9ib2R5.SECRET'],
    ['a part of the secret', 'pumphouse_session=b2xnYQ.SECRE'],
    ['another name', 'pumphouse_sessio=b2xnYQ.SECRET'],
    ['a pattern', 'pumphouse_session=*.*'],
  ])('is not proved by %s', async (_what, form) => {
    const secret = cookieOf(await signIn()).split('.')[1]!;
    expect(await statusOf(form.replace('SECRET', secret).replace('SECRE', secret.slice(1)))).toBe(401);
  });

  it.each<[string, Record<string, string>]>([
    ['another site', { ...CONSOLE, 'sec-fetch-site': 'cross-site' }],
    ['a sibling domain', { ...CONSOLE, 'sec-fetch-site': 'same-site' }],
    ['another origin, by an old browser', { ...CONSOLE, origin: 'https://evil.example' }],
    ['a form of an old browser, without the header of the console', {}],
    ['a form that claims to be of this site, without the header of the console', SAME_SITE],
  ])('changes nothing for a request of %s', async (_what, headers) => {
    const cookie = cookieOf(await signIn('adam'));
    const before = await call(cookie, 'GET', '/token/shop');
    for (const [method, path] of [
      ['POST', '/token/shop?description=d'],
      ['DELETE', '/namespaces/shop'],
      ['DELETE', '/session'],
      ['DELETE', '/accounts/adam/sessions'],
      ['POST', '/session'],
      ['POST', '/v1/shop/queues/mail/pause'],
    ] as const)
      expect([path, (await call(cookie, method, path, headers)).status]).toEqual([path, 403]);
    expect(await call(cookie, 'GET', '/token/shop')).toEqual(expect.objectContaining({ text: before.text }));
    expect(
      (await call(cookie, 'POST', '/token/shop?description=d', { ...CONSOLE, ...SAME_SITE })).status,
    ).toBe(201);
  });

  it('needs no header of the console for reading, and basic authentication needs none at all', async () => {
    const cookie = cookieOf(await signIn('adam'));
    expect((await call(cookie, 'GET', '/token/shop', {})).status).toBe(200);
    const options = { method: 'POST', headers: basicOf('adam') };
    expect(await request(`${admin.url}/token/shop?description=d`, options)).toMatchObject({ status: 201 });
  });

  it('lets a page show its own form: without a dialog of the browser', async () => {
    const [page, program] = [
      await request(`${admin.url}/session`, { headers: CONSOLE }),
      await request(`${admin.url}/session`),
    ];
    expect([page.status, page.headers.get('www-authenticate')]).toEqual([401, null]);
    expect([program.status, program.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^Basic /),
    ]);
  });

  it('takes the role of the configuration at each request, not of the sign-in', async () => {
    const cookie = cookieOf(await signIn());
    const { olga, vera } = testAccounts() as { olga: object; vera: object } & Accounts;
    const changed = async (accounts: object): Promise<unknown> => {
      const answer = await call(cookie, 'GET', '/session', CONSOLE, await start(accounts as Accounts));
      return answer.status === 200 ? (answer.body as { role: string }).role : answer.status;
    };
    expect(await changed({ olga: { ...olga, role: 'viewer' } })).toBe('viewer');
    expect(await changed({ vera })).toBe(401);
    expect(await changed({ vera, olga: { ...vera, role: 'operator' } })).toBe(401);
    expect(await changed({ olga: 'secret-of-olga' })).toBe(401);
    expect(await statusOf(cookie)).toBe(200);
  });

  it('is one of 20 of its account: a further one ends the oldest', async () => {
    const cookies: string[] = [];
    for (let i = 0; i < 22; i++) {
      cookies.push(cookieOf(await signIn()));
      // Redis orders them by the millisecond.
      await sleep(2);
    }
    const statuses = await Promise.all(cookies.map((cookie) => statusOf(cookie)));
    expect(statuses).toEqual([401, 401, ...Array.from({ length: 20 }, () => 200)]);
    const { body } = await request(`${admin.url}/accounts`, { headers: basicOf('adam') });
    expect((body as { accounts: object[] }).accounts).toContainEqual({
      ...{ name: 'olga', role: 'operator', namespaces: null },
      sessions: 20,
    });
    const own = await call(cookies[21]!, 'GET', '/accounts');
    expect((own.body as { accounts: { name: string }[] }).accounts.map(({ name }) => name)).toEqual(['olga']);
  });

  it('ends by the clock of Redis', async () => {
    const store = admin.server.app.get(SessionStore, { strict: false });
    const account = randomNamespace();
    const endsMs = await store.create(account, 'digest');
    expect([await store.find(account, 'digest'), await store.count(account)]).toEqual([endsMs, 1]);
    expect(await store.find(account, 'other')).toBeNull();
    await new SessionStore(Reflect.get(store, 'redis') as RedisPool, 20).create(account, 'short');
    await store.create(account, 'long');
    await sleep(30);
    expect([await store.find(account, 'short'), await store.find(account, 'long')]).toEqual([
      null,
      expect.any(Number),
    ]);
  });

  it('is throttled at sign-in as other passwords are, and tells nothing about accounts', async () => {
    const wrong = await signIn('olga', 'guess-of-olga');
    expect(wrong).toMatchObject({ status: 401, body: { error: 'unauthorized' } });
    const answers = await Promise.all(Array.from({ length: 12 }, () => signIn('none', 'guess')));
    const seen = answers.filter(({ status }) => status === 401);
    expect([seen.length >= 4, answers.some(({ status }) => status === 429)]).toEqual([true, true]);
    expect(new Set(seen.map(({ text }) => text))).toEqual(new Set([wrong.text]));
    expect(answers.find(({ status }) => status === 429)?.headers.get('retry-after')).toBe('5');
    const lines = log.filter(({ details }) => details['audit'] === 'password.failed');
    expect(lines).toHaveLength(seen.length + 1);
    expect(JSON.stringify(log)).not.toContain('guess');
  });

  it.each([
    '',
    '{}',
    '[]',
    'null',
    '{"account":"olga"}',
    '{"account":1,"password":2}',
    'account=olga&password=x',
  ])('does not begin with the body %j', async (body) => {
    const answer = await request(`${admin.url}/session`, { method: 'POST', body });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: 'the body must be a JSON object with account and password' },
    });
  });
});

describe('the admin port without accounts', () => {
  it('has an identity with all rights, and nothing to sign in to', async () => {
    const { server, url } = await startAdmin(testParts(testPools(undefined, 10_000)).parts);
    try {
      const body = { account: null, role: 'admin', namespaces: null, session: false, expires_at: null };
      expect(await request(`${url}/session`)).toMatchObject({ status: 200, body });
      expect(await request(`${url}/session`, { method: 'POST', body: '{}' })).toMatchObject({ status: 404 });
    } finally {
      await server.stop();
    }
  });
});

describe('the address of the API in the answer of GET /session', () => {
  it.each([
    ['the host of the request, with the port of the API', { port: 8_777 }, 'http://127.0.0.1:8777'],
    ['https where the API has a certificate', { port: 8_777, tls_cert: 'x' }, 'https://127.0.0.1:8777'],
    ['server.public_url', { public_url: 'https://queue.example.com/' }, 'https://queue.example.com'],
    ['null where the system chooses the port', { port: 0 }, null],
  ])('is %s', async (_what, settings, expected) => {
    const { parts } = testParts(testPools(undefined, 10_000), ({ server }) =>
      Object.assign(server, settings),
    );
    const { server, url } = await startAdmin(parts);
    try {
      expect((await request(`${url}/session`)).body).toMatchObject({ api_url: expected });
    } finally {
      await server.stop();
    }
  });
});

describe('sessions without their Redis', () => {
  it('are unknown: 503, while a password goes on to work', async () => {
    const redis = await startRedis();
    const { parts } = testParts(testPools(redis.url, 300), (config) => {
      config.admin.accounts = testAccounts();
    });
    const { server, url } = await startAdmin(parts);
    try {
      const body = JSON.stringify({ account: 'olga', password: 'secret-of-olga' });
      const answer = await request(`${url}/session`, { method: 'POST', body });
      const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0]!;
      await redis.kill9();
      const lost = await request(`${url}/pools`, { headers: { cookie } });
      expect(lost).toMatchObject({ status: 503, body: { error: 'service unavailable' } });
      expect(lost.headers.get('retry-after')).toBe('1');
      expect(await request(`${url}/pools`, { headers: basicOf('olga') })).toMatchObject({ status: 200 });
    } finally {
      await server.stop();
      await redis.stop();
    }
  });
});
