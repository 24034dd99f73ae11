import { ModulesContainer } from '@nestjs/core';
import { RequestMethod } from '@nestjs/common';
import { TokenStore } from '../../src/auth/token-store.js';
import { ADMIN_CALLS, type NeededRole, V1_CALLS } from '../../src/auth/roles.js';
import { type Call, callsOf } from '../../src/openapi/calls.js';
import { Engines } from '../../src/engine/engines.js';
import { includesRole, type Role } from '../../src/domain/roles.js';
import { basicOf, ROLE_OF, testAccounts } from '../support/accounts.js';
import { addressOf, type Route, withRoutes } from '../support/routes.js';
import { randomNamespace } from '../support/redis.js';
import { type Answer, request, startAdmin, startApi, testParts, testPools } from './admin-fixture.js';

const nameOf = ({ method, template }: Route): string => `${method} ${template}`;
/** The route of a call, as the table has it. */
function routeOf({ owner, handler }: Call): string {
  const pathOf = (of: object): string => String(Reflect.getMetadata('path', of)).replace(/^\/|\/$/g, '');
  const path = [pathOf(owner.constructor), pathOf(handler)].filter((part) => part !== '').join('/');
  return `${RequestMethod[Reflect.getMetadata('method', handler) as RequestMethod]} /${path}`;
}

const mayMake = (role: Role, needed: NeededRole): boolean =>
  needed === 'open' || (needed !== null && includesRole(role, needed));
const NAMES = { namespace: 'shop', queue: 'mail', token: 'a-token-that-does-not-exist', pool: 'default' };
/** Their path is not that of their template. */
const PATHS: Readonly<Record<string, string>> = { 'GET /pools/*': '/pools/', 'GET /ui/*': '/ui/' };

describe('accounts of the admin port', () => {
  let admin: Awaited<ReturnType<typeof startAdmin>>;
  let routes: Route[];
  beforeAll(async () => {
    const { parts } = testParts(testPools(undefined, 10_000), (config) => {
      config.admin.accounts = { ops: 'secret', ...testAccounts(['own-*', 'both']) };
    });
    ({ started: admin, routes } = await withRoutes(() => startAdmin(parts)));
  });
  afterAll(() => admin.server.stop());

  const call = (account: string, method: string, path: string, body?: string): Promise<Answer> =>
    request(admin.url + path, { method, headers: basicOf(account), body });
  const pathOf = (route: Route, name: string): string =>
    PATHS[nameOf(route)] ?? addressOf(route, { ...NAMES, name });

  it('have a role for every call, and no role for a call that does not exist', () => {
    expect(routes.map(nameOf).sort()).toEqual(Object.keys(ADMIN_CALLS).sort());
  });

  it.each(Object.entries(ROLE_OF))(
    'make the calls of their role, and no others: %s, %s',
    async (account, role) => {
      for (const route of routes) {
        const needed = ADMIN_CALLS[nameOf(route)] ?? null;
        const { status, body } = await call(account, route.method, pathOf(route, account));
        expect([nameOf(route), status !== 403]).toEqual([nameOf(route), mayMake(role, needed)]);
        if (status !== 403) continue;
        const own = `the account ${account} with the role ${role} may not make this call`;
        expect(body).toEqual({ error: `${own}: it needs the role ${String(needed)}` });
      }
    },
  );

  it.each<[Role, Role, boolean]>([
    ['viewer', 'viewer', true],
    ['viewer', 'viewer_data', false],
    ['viewer_data', 'viewer', true],
    ['operator', 'viewer_data', true],
    ['operator', 'admin', false],
    ['admin', 'operator', true],
  ])('have roles that include each other: %s includes %s: %j', (role, needed, isIncluded) => {
    expect(includesRole(role, needed)).toBe(isIncluded);
  });

  it('may do everything with a plain password, as before', async () => {
    const headers = { authorization: `Basic ${Buffer.from('ops:secret').toString('base64')}` };
    for (const [method, path, status] of [
      ['POST', '/token/shop?description=d', 201],
      ['GET', '/token/shop', 200],
      ['GET', '/limits', 200],
      ['DELETE', '/namespaces/shop', 200],
      ['POST', '/accesslog?status=disable', 200],
    ] as const)
      expect([path, (await request(admin.url + path, { method, headers })).status]).toEqual([path, status]);
  });

  it('find no namespaces beyond their own, whether these exist or not', async () => {
    for (const namespace of ['theirs', 'own-1', 'both'])
      expect(await call('adam', 'POST', `/token/${namespace}?description=d`)).toMatchObject({ status: 201 });
    const answers = new Set<string>();
    for (const route of routes.filter(({ template }) => template.includes(':namespace'))) {
      for (const namespace of ['theirs', 'never-was', 'own', 'Own-1', '*']) {
        const { status, text } = await call('nora', route.method, addressOf(route, { ...NAMES, namespace }));
        answers.add(`${String(status)} ${text}`);
      }
    }
    expect([...answers]).toEqual([expect.stringMatching(/^404 {"error":"namespace not found: /)]);
    for (const namespace of ['own-1', 'both'])
      expect(await call('nora', 'GET', `/token/${namespace}`)).toMatchObject({ status: 200 });
    expect((await call('adam', 'GET', '/token/theirs')).text).toContain('"d"');
  });

  it('see only their namespaces in lists, and nothing of the whole server', async () => {
    const tokens: string[] = [];
    for (const namespace of ['hidden', 'own-2']) {
      const { body } = await call('adam', 'POST', `/token/${namespace}?description=d`);
      const { token } = body as { token: string };
      tokens.push(token);
      const limit = await call(
        'adam',
        'PUT',
        `/token/${namespace}/${token}/limit`,
        '{"read":1,"interval":1}',
      );
      expect(limit.status).toBe(200);
    }
    const { text } = await call('nora', 'GET', '/limits');
    expect(tokens.map((token) => text.includes(token))).toEqual([false, true]);
    expect((await call('adam', 'GET', '/limits')).text).toContain(tokens[0]);
    const engine = admin.server.app.get(Engines, { strict: false }).of('default');
    const job = { body: Buffer.from('x'), tries: 1, delayMs: 0, ttlMs: 60_000 };
    for (const namespace of ['hidden', 'own-2']) await engine.publish(namespace, 'mail', job);
    expect((await call('nora', 'GET', '/namespaces')).body).toEqual({ namespaces: [{ namespace: 'own-2' }] });
    expect((await call('nora', 'GET', '/info')).body).toEqual({ 'own-2': ['mail'] });
    expect((await call('adam', 'GET', '/info')).body).toMatchObject({ hidden: ['mail'] });
    for (const [method, path] of [
      ['GET', '/metrics'],
      ['POST', '/accesslog?status=enable'],
    ] as const)
      expect(await call('nora', method, path)).toMatchObject({
        status: 403,
        body: { error: 'the account is for some namespaces, and this call is for all of them' },
      });
  });
});

describe('the native API on the admin port', () => {
  const namespace = randomNamespace('own-');
  let admin: Awaited<ReturnType<typeof startAdmin>>;
  let api: Awaited<ReturnType<typeof startApi>>;
  let routes: Route[];
  let token: string;
  beforeAll(async () => {
    const pools = testPools(undefined, 10_000);
    ({ started: api, routes } = await withRoutes(() => startApi(testParts(pools).parts)));
    const { parts } = testParts(pools, (config) => {
      config.admin.accounts = testAccounts(['own-*']);
    });
    admin = await startAdmin(parts);
    token = await admin.server.app.get(TokenStore, { strict: false }).create(namespace, 'default', 'd');
  });
  afterAll(async () => {
    await admin.server.stop();
    await api.server.stop();
  });

  const v1 = (account: string, method: string, path: string, more: Parameters<typeof request>[1] = {}) =>
    request(`${admin.url}/v1/${namespace}/${path}`, {
      method,
      ...more,
      headers: { ...basicOf(account), ...more.headers },
    });
  const pathOf = (route: Route, ns = namespace): string =>
    addressOf(route, { namespace: ns, queue: 'mail', id: 'none', key: 'grace_ms', name: 'none' });
  const nativeRoutes = (): Route[] => routes.filter(({ template }) => template.startsWith('/v1/'));

  it('has a role for every call, and none for a call that does not exist', () => {
    expect(nativeRoutes().map(nameOf).sort()).toEqual(Object.keys(V1_CALLS).sort());
  });

  it.each(Object.entries(ROLE_OF))(
    'refuses %s, %s, the calls beyond the role, and no others',
    async (account, role) => {
      for (const route of nativeRoutes()) {
        const needed = V1_CALLS[nameOf(route)] ?? null;
        const headers = basicOf(account);
        const signal = AbortSignal.timeout(30_000);
        // An event stream does not end; HEAD and OPTIONS are no calls.
        if (route.template.endsWith('/events')) continue;
        const { status, text } = await request(admin.url + pathOf(route), {
          method: route.method,
          headers,
          signal,
        });
        const isRefused = status === 403 && text.includes('"code":"role_missing"');
        expect([nameOf(route), isRefused]).toEqual([nameOf(route), !mayMake(role, needed)]);
        if (!isRefused) expect([nameOf(route), status === 401]).toEqual([nameOf(route), false]);
      }
    },
  );

  it('answers an account as the API port answers a token, to the byte', async () => {
    const body = JSON.stringify({ queue: 'mail', data: { a: 1 }, delay_ms: 3_600_000 });
    const made = await v1('olga', 'POST', 'jobs', { body });
    expect(made.status).toBe(201);
    const { id } = made.body as { id: string };
    for (const path of [
      'queues',
      'queues/mail',
      `jobs/${id}`,
      'jobs?queue=mail',
      'jobs/none',
      'nothing',
      'jobs?x=1',
    ]) {
      const byToken = await request(`${api.url}/v1/${namespace}/${path}`, { headers: { 'x-token': token } });
      const byAccount = await v1('adam', 'GET', path);
      const text = (answer: Answer): string => answer.text.replaceAll(/"now_at":"[^"]*"/g, '');
      expect([path, byAccount.status, text(byAccount), byAccount.type]).toEqual([
        ...[path, byToken.status, text(byToken), byToken.type],
      ]);
    }
    expect(await v1('olga', 'DELETE', `jobs/${id}`)).toMatchObject({ status: 204 });
  });

  it('takes a body as long as the API port does, which the other calls of the admin port do not', async () => {
    const body = JSON.stringify({ queue: 'mail', data: 'x'.repeat(60_000), tags: ['y'.repeat(50)] });
    const jobs = `[${Array.from({ length: 20 }, () => body).join()}]`;
    expect(await v1('olga', 'POST', 'jobs', { body: `{"jobs":${jobs}}` })).toMatchObject({ status: 201 });
    expect(await v1('olga', 'POST', 'jobs', { body: '{"queue":"mail","nope":1}' })).toMatchObject({
      status: 400,
      body: { code: 'invalid_argument', errors: [{ field: 'nope' }] },
    });
  });

  it('reaches another pool by X-Pool', async () => {
    const headers = { 'x-pool': 'other' };
    await v1('olga', 'POST', 'jobs', { headers, body: '{"queue":"elsewhere","delay_ms":3600000}' });
    expect((await v1('olga', 'GET', 'queues', { headers })).text).toContain('"elsewhere"');
    expect((await v1('olga', 'GET', 'queues')).text).not.toContain('"elsewhere"');
    expect(await v1('olga', 'GET', 'queues', { headers: { 'x-pool': 'none' } })).toMatchObject({
      status: 404,
      body: { code: 'pool_not_found' },
    });
  });

  it('knows no namespace beyond those of the account, whether it exists or not', async () => {
    const other = randomNamespace('other');
    await request(`${admin.url}/v1/${other}/jobs`, {
      method: 'POST',
      headers: basicOf('adam'),
      body: '{"queue":"q"}',
    });
    const answers = new Set<string>();
    for (const route of nativeRoutes().filter(({ template }) => template.includes(':namespace'))) {
      for (const ns of [other, 'never-was']) {
        const { status, body } = await request(admin.url + pathOf(route, ns), {
          ...{ method: route.method, headers: basicOf('nora') },
        });
        const { code, detail } = body as { code: string; detail: string };
        answers.add(JSON.stringify([status, code, detail]));
      }
    }
    expect([...answers]).toEqual([
      expect.stringMatching(/^\[404,"namespace_not_found","namespace not found: /),
    ]);
    expect(await v1('nora', 'GET', 'queues')).toMatchObject({ status: 200 });
  });

  it('needs an account, and takes no token in its place', async () => {
    for (const route of nativeRoutes()) {
      for (const headers of [{}, { 'x-token': token }, { authorization: `Bearer ${token}` }]) {
        const wrong = 'authorization' in headers;
        // A wrong password is answered slowly the second time.
        if (wrong && nameOf(route) !== 'GET /v1/:namespace/queues') continue;
        const { status } = await request(admin.url + pathOf(route), { method: route.method, headers });
        expect([nameOf(route), status]).toEqual([nameOf(route), 401]);
      }
    }
    expect(
      await request(`${admin.url}/api/${namespace}/mail/size`, { headers: basicOf('adam') }),
    ).toMatchObject({
      status: 404,
    });
  });

  it('sends events until the session of the account ends', async () => {
    const body = JSON.stringify({ account: 'vera', password: 'secret-of-vera' });
    const signedIn = await request(`${admin.url}/session`, { method: 'POST', body });
    const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0]!;
    const stream = await fetch(`${admin.url}/v1/${namespace}/events`, { headers: { cookie } });
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const reader = stream.body!.getReader();
    const ended = (async () => {
      while (!(await reader.read()).done);
      return true;
    })();
    await request(`${admin.url}/accounts/vera/sessions`, { method: 'DELETE', headers: basicOf('vera') });
    expect(await ended).toBe(true);
  });

  it('lets an operator neither name push targets nor send jobs to a URL', async () => {
    expect(await v1('olga', 'PATCH', 'queues/mail', { body: '{"push":{"target":"hook"}}' })).toMatchObject({
      ...{ status: 403, body: { code: 'verb_missing' } },
    });
    expect(await v1('olga', 'PUT', 'targets/hook', { body: '{"url":"https://example.com/"}' })).toMatchObject(
      {
        status: 403,
        body: { code: 'role_missing' },
      },
    );
    expect(await v1('olga', 'PATCH', 'queues/mail', { body: '{"max_running":5}' })).toMatchObject({
      status: 200,
    });
  });

  it('is open to this machine without accounts, as the rest of the admin port is', async () => {
    const own = await startAdmin(testParts(testPools(undefined, 10_000)).parts);
    try {
      expect(await request(`${own.url}/v1/shop/queues`)).toMatchObject({ status: 200, body: { items: [] } });
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
      expect(await request(`${own.url}/v1/shop/queues`, { headers })).toMatchObject({ status: 403 });
      expect(await request(`${own.url}/v1/shop/queues`, { headers: { host: 'evil.example' } })).toMatchObject(
        {
          status: 403,
        },
      );
    } finally {
      await own.server.stop();
    }
  });

  describe('the role viewer', () => {
    const own = randomNamespace('own-');
    const json = { 'content-type': 'application/json' };
    const url = (path: string): string => `${api.url}/v1/${own}/${path}`;
    let secret: string;
    let id: string;
    beforeAll(async () => {
      secret = await admin.server.app.get(TokenStore, { strict: false }).create(own, 'default', 'd');
      const post = async (path: string, body: object, method = 'POST'): Promise<unknown> => {
        const headers = { ...json, 'x-token': secret };
        const answer = await request(url(path), { method, headers, body: JSON.stringify(body) });
        expect([path, answer.status < 300]).toEqual([path, true]);
        return answer.body;
      };
      const job = {
        queue: 'mail',
        data: { a: 'hidden-data' },
        attributes: { trace: 'hidden-attribute' },
        tags: ['seen'],
      };
      ({ id } = (await post('jobs', { ...job, type: 'seen-type', tries: 1 })) as { id: string });
      await post(`tracked/${id}`, {}, 'PUT');
      const { jobs } = (await post('leases', { queues: ['mail'], worker: 'w' })) as {
        jobs: { lease: number }[];
      };
      const { lease } = jobs[0]!;
      await post(`jobs/${id}/log`, { message: 'hidden-log', data: { b: 'hidden-log-data' } });
      await post(`jobs/${id}/heartbeat`, { lease, progress: { c: 'hidden-progress' } });
      await post(`jobs/${id}/fail`, { lease, message: 'hidden-message', group: 'seen-group' });
      await post('jobs', {
        queue: 'bytes',
        data_base64: Buffer.from('hidden-bytes').toString('base64'),
        delay_ms: 3_600_000,
      });
      await post('recurring/nightly', { schedule: { every_ms: 3_600_000 }, job }, 'PUT');
    });

    const calls = (): string[] => [
      ...[`jobs/${id}`, 'jobs?queue=mail&state=dead', 'dead-letter?queue=mail&fields=data', 'tracked'],
      ...[
        'jobs?queue=bytes&fields=data',
        'recurring',
        'recurring/nightly',
        'failure-groups',
        'queues',
        'queues/mail',
      ],
    ];
    const HIDDEN = /hidden-|aGlkZGVuLWJ5dGVz/;

    it('withholds data, results, progress, logs, attributes and messages, and names what it has withheld', async () => {
      for (const path of calls()) {
        const answer = await request(`${admin.url}/v1/${own}/${path}`, { headers: basicOf('vera') });
        expect([path, answer.status, answer.text.match(HIDDEN)]).toEqual([path, 200, null]);
      }
      const { body } = await request(`${admin.url}/v1/${own}/jobs/${id}`, { headers: basicOf('vera') });
      expect(body).toMatchObject({
        ...{ id, queue: 'mail', state: 'dead', type: 'seen-type', tags: ['seen'] },
        ...{ failure: { group: 'seen-group', message: null, withheld: ['message'] }, attributes: null },
        withheld: expect.arrayContaining(['data', 'attributes']) as unknown,
      });
    });

    it('hides none of it from the role viewer_data and from tokens', async () => {
      for (const path of calls().slice(0, 7)) {
        const byToken = await request(url(path), { headers: { 'x-token': secret } });
        const answer = await request(`${admin.url}/v1/${own}/${path}`, { headers: basicOf('dana') });
        expect([path, answer.status, HIDDEN.test(answer.text)]).toEqual([path, 200, true]);
        expect([path, answer.text.match(/hidden-[a-z-]+/g)]).toEqual([
          path,
          byToken.text.match(/hidden-[a-z-]+/g),
        ]);
      }
    });

    it('refuses searches in what it withholds: the number of hits would tell it', async () => {
      for (const query of ['text=hidden-m', 'attribute=trace%3Dhidden-attribute']) {
        const path = `dead-letter?queue=mail&${query}`;
        const refused = await request(`${admin.url}/v1/${own}/${path}`, { headers: basicOf('vera') });
        expect(refused).toMatchObject({ status: 403, body: { code: 'role_missing' } });
        const found = await request(`${admin.url}/v1/${own}/${path}`, { headers: basicOf('dana') });
        expect(found).toMatchObject({ status: 200, body: { items: [{ id }] } });
      }
    });

    it('knows what is data in the answer of every call that the role may make', () => {
      const made = callsOf(api.server.app.get(ModulesContainer)).filter(
        (call) => V1_CALLS[routeOf(call)] === 'viewer',
      );
      expect(made.length).toBeGreaterThan(15);
      const unknown = made.filter(({ description: { answers } }) => {
        const classes = Object.values(answers).flatMap(({ of }) => of ?? []);
        return classes.length === 0 || classes.some((one) => one !== classes[0]);
      });
      // Events have no data of jobs.
      expect(unknown.map(({ description }) => description.id)).toEqual(['streamEvents']);
    });
  });
});
