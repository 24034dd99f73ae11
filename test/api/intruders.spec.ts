import { Agent, request } from 'undici';
import { TokenStore } from '../../src/auth/token-store.js';
import { VERBS, type Verb } from '../../src/domain/rights.js';
import { Engines } from '../../src/engine/engines.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { addressOf, type Route, withRoutes } from '../support/routes.js';
import { type LogLine, startAdmin, startApi, testParts, testPools } from './admin-fixture.js';

/** What each call of the API needs. A new route fails here until it is said of it what it needs. */
const NEEDS: Readonly<Record<string, Verb>> = {
  'PUT /api/:namespace/:queue': 'publish',
  'PUT /api/:namespace/:queue/bulk': 'publish',
  'PUT /api/:namespace/:queue/job/:job_id': 'publish',
  'GET /api/:namespace/:queue': 'consume',
  'DELETE /api/:namespace/:queue/job/:job_id': 'consume',
  'GET /api/:namespace/:queue/job/:job_id': 'consume',
  'GET /api/:namespace/:queue/peek': 'consume',
  'GET /api/:namespace/:queue/size': 'consume',
  'GET /api/:namespace/:queue/deadletter': 'consume',
  'GET /api/:namespace/:queue/deadletter/size': 'consume',
  'POST /v1/:namespace/acks': 'consume',
  'GET /v1/:namespace/events': 'consume',
  'GET /v1/:namespace/stats': 'consume',
  'GET /v1/:namespace/settings': 'admin',
  'GET /v1/:namespace/settings/:key': 'admin',
  'PUT /v1/:namespace/settings/:key': 'admin',
  'DELETE /v1/:namespace/settings/:key': 'admin',
  'GET /v1/:namespace/variables': 'consume',
  'GET /v1/:namespace/variables/:name': 'consume',
  'PUT /v1/:namespace/variables/:name': 'admin',
  'DELETE /v1/:namespace/variables/:name': 'admin',
  'POST /v1/:namespace/jobs': 'publish',
  'POST /v1/:namespace/leases': 'consume',
  'GET /v1/:namespace/jobs/:id': 'consume',
  'POST /v1/:namespace/jobs/:id/ack': 'consume',
  'POST /v1/:namespace/jobs/:id/heartbeat': 'consume',
  'POST /v1/:namespace/jobs/:id/release': 'consume',
  'POST /v1/:namespace/jobs/:id/retry': 'consume',
  'POST /v1/:namespace/jobs/:id/fail': 'consume',
  'GET /v1/:namespace/jobs': 'consume',
  'GET /v1/:namespace/jobs/:id/explain': 'consume',
  'GET /v1/:namespace/jobs/:id/tags': 'consume',
  'POST /v1/:namespace/jobs/:id/tags': 'consume',
  'DELETE /v1/:namespace/jobs/:id/tags': 'consume',
  'GET /v1/:namespace/tags': 'consume',
  'GET /v1/:namespace/failure-groups': 'consume',
  'GET /v1/:namespace/tracked': 'consume',
  'PUT /v1/:namespace/tracked/:id': 'consume',
  'DELETE /v1/:namespace/tracked/:id': 'consume',
  'GET /v1/:namespace/workers': 'consume',
  'GET /v1/:namespace/workers/:name': 'consume',
  'DELETE /v1/:namespace/workers/:name': 'consume',
  'DELETE /v1/:namespace/workers/:name/waits': 'consume',
  'POST /v1/:namespace/workers/:name/heartbeat': 'consume',
  'POST /v1/:namespace/workers/:name/quiet': 'admin',
  'POST /v1/:namespace/workers/:name/stop': 'admin',
  'GET /v1/:namespace/targets': 'push',
  'GET /v1/:namespace/targets/:name': 'push',
  'PUT /v1/:namespace/targets/:name': 'admin',
  'PATCH /v1/:namespace/targets/:name': 'admin',
  'DELETE /v1/:namespace/targets/:name': 'admin',
  'POST /v1/:namespace/targets/:name/rotate': 'admin',
  'POST /v1/:namespace/targets/:name/pause': 'admin',
  'POST /v1/:namespace/targets/:name/resume': 'admin',
  'POST /v1/:namespace/targets/:name/test': 'admin',
  'GET /v1/:namespace/dead-letter': 'consume',
  'POST /v1/:namespace/dead-letter/respawn': 'admin',
  'POST /v1/:namespace/dead-letter/move': 'admin',
  'POST /v1/:namespace/dead-letter/delete': 'admin',
  'POST /v1/:namespace/jobs/:id/cancel': 'consume',
  'POST /v1/:namespace/jobs/cancel': 'consume',
  'POST /v1/:namespace/jobs/:id/revoke': 'admin',
  'DELETE /v1/:namespace/jobs/:id': 'consume',
  'POST /v1/:namespace/jobs/:id/log': 'consume',
  'PUT /v1/:namespace/jobs/:id': 'publish',
  'PATCH /v1/:namespace/jobs/:id': 'publish',
  'POST /v1/:namespace/jobs/:id/dependencies': 'publish',
  'DELETE /v1/:namespace/jobs/:id/dependencies': 'publish',
  'POST /v1/:namespace/operations': 'consume',
  'GET /v1/:namespace/operations': 'consume',
  'GET /v1/:namespace/operations/:id': 'consume',
  'POST /v1/:namespace/operations/:id/stop': 'consume',
  'POST /v1/:namespace/operations/:id/undo': 'consume',
  'GET /v1/:namespace/queues': 'consume',
  'GET /v1/:namespace/queues/:queue': 'consume',
  'GET /v1/:namespace/queues/:queue/explain': 'consume',
  'GET /v1/:namespace/queues/:queue/keys': 'consume',
  'PATCH /v1/:namespace/queues/:queue': 'admin',
  'DELETE /v1/:namespace/queues/:queue': 'admin',
  'POST /v1/:namespace/queues/:queue/pause': 'admin',
  'POST /v1/:namespace/queues/:queue/resume': 'admin',
  'POST /v1/:namespace/queues/:queue/drain': 'admin',
  'POST /v1/:namespace/queues/:queue/purge': 'admin',
  'POST /v1/:namespace/recurring': 'publish',
  'GET /v1/:namespace/recurring': 'publish',
  'GET /v1/:namespace/recurring/:id': 'publish',
  'GET /v1/:namespace/recurring/:id/explain': 'publish',
  'PUT /v1/:namespace/recurring/:id': 'publish',
  'PATCH /v1/:namespace/recurring/:id': 'publish',
  'DELETE /v1/:namespace/recurring/:id': 'publish',
  'POST /v1/:namespace/recurring/:id/pause': 'publish',
  'POST /v1/:namespace/recurring/:id/resume': 'publish',
  'POST /v1/:namespace/recurring/:id/run': 'publish',
  'GET /v1/:namespace/recurring/:id/next': 'publish',
  'POST /v1/:namespace/recurring/preview': 'publish',
  'DELETE /api/:namespace/:queue': 'admin',
  'PUT /api/:namespace/:queue/deadletter': 'admin',
  'DELETE /api/:namespace/:queue/deadletter': 'admin',
};
/** What a call needs behind its address. */
const QUERY: Readonly<Record<string, string>> = {
  'GET /v1/:namespace/jobs': '?queue=mail',
  'GET /v1/:namespace/dead-letter': '?queue=mail',
  'GET /v1/:namespace/recurring': '?queue=mail',
  'DELETE /v1/:namespace/jobs/:id/tags': '?tags=a',
  'GET /v1/:namespace/stats': '?queue=mail',
  // A stream without a filter tells of the queues that the token is for.
  'GET /v1/:namespace/events': '?queue=mail',
};
/** Calls of a whole namespace: closed to tokens for some of its queues. */
const WHOLE = /^\S+ \/v1\/:namespace\/(settings|variables|targets|tags|failure-groups|tracked|workers)/;
/** Calls that know of a queue by an id: to a token for other queues there is no such job. */
const BY_ID = /^\S+ \/v1\/:namespace\/(jobs|recurring|operations)\/:id|^DELETE \/v1\/:namespace\/workers/;
/** They store under an id that no job has. */
const STORES_BY_ID = new Set(['PUT /v1/:namespace/recurring/:id', 'PUT /v1/:namespace/jobs/:id']);
/** They show the queues that a token is for, and its own operations, whichever they are. */
const SHOWS_OWN = /^GET \/v1\/:namespace\/(queues|operations)$/;
/** It ends what the token may end, and does not tell whether there is anything else. */
const ENDS_OWN = /^DELETE \/v1\/:namespace\/workers\/:name\/waits$/;
/** They tell of each job for itself, or of no job. */
const TELLS_EACH: Readonly<Record<string, string>> = {
  'POST /v1/:namespace/recurring/preview': '"slots":[',
  'POST /v1/:namespace/jobs/cancel': '"outcome":"not_found"',
  'POST /v1/:namespace/workers/:name/heartbeat': '"status":"not_found"',
};
/** Open without a token. */
const OPEN = [
  'GET /docs',
  'GET /docs/guides/:name',
  'GET /docs/page.js',
  'GET /docs/swagger-ui-bundle.js',
  'GET /docs/swagger-ui.css',
  'GET /healthz',
  'GET /readyz',
  'GET /v1/openapi.json',
  'HEAD /healthz',
  'HEAD /readyz',
  'OPTIONS /',
];

/** Open without an account: what a sign-in without a password, and a sign-out without a session, answer. */
const SESSION: Readonly<Record<string, number>> = {
  ...{ 'POST /session': 400, 'DELETE /session': 204, 'GET /sign-in': 200 },
  // Without a provider there is no such sign-in.
  ...{ 'GET /sign-in/oidc': 404, 'GET /sign-in/oidc/callback': 404 },
};

/** Open without a token, to those who have a URL that the server has signed. */
const SIGNED = ['POST /push/ack'];

const nameOf = ({ method, template }: Route): string => `${method} ${template}`;
const isQueueCall = ({ template }: Route): boolean => /^\/(api|v1)\/:/.test(template);

interface Answer {
  readonly status: number;
  readonly text: string;
}

describe('intruders', () => {
  let api: Awaited<ReturnType<typeof startApi>>;
  let admin: Awaited<ReturnType<typeof startAdmin>>;
  let apiRoutes: Route[];
  let adminRoutes: Route[];
  let log: LogLine[];
  let jobId: string;
  const namespace = randomNamespace();
  const agent = new Agent({ connections: 4 });

  beforeAll(async () => {
    const pools = testPools();
    const made = testParts(pools, (config) => {
      config.log.access = true;
    });
    log = made.log;
    ({ started: api, routes: apiRoutes } = await withRoutes(() => startApi(made.parts)));
    ({ started: admin, routes: adminRoutes } = await withRoutes(() => startAdmin(testParts(pools).parts)));
    const token = await make();
    jobId = await publish('mail', 'mail?tries=5', token);
    await publish('dead', 'mail?tries=1', token);
    // Under the same id, for calls that know of a queue by an id.
    const put = { method: 'PUT', template: '' };
    const { status } = await send(put, `/v1/${namespace}/recurring/${jobId}`, token);
    if (status !== 200) throw new Error(String(status));
    const { text } = await send(
      { method: 'GET', template: '' },
      `/api/${namespace}/mail?ttr=1&count=2`,
      token,
    );
    expect((JSON.parse(text) as unknown[]).length).toBe(2);
    await waitFor(async () => (await state()) === '{"size":1,"dead":1,"queues":["mail"]}', 10_000);
  });

  afterAll(async () => {
    await agent.destroy();
    for (const { server } of [api, admin]) await server.stop();
  });

  const store = (): TokenStore => admin.server.app.get(TokenStore, { strict: false });
  const make = (ns = namespace, pool = 'default'): Promise<string> => store().create(ns, pool, 'd');

  async function publish(body: string, path: string, token: string): Promise<string> {
    const { status, text } = await send(
      { method: 'PUT', template: '' },
      `/api/${namespace}/${path}`,
      token,
      body,
    );
    if (status !== 201) throw new Error(text);
    return (JSON.parse(text) as { job_id: string }).job_id;
  }

  /** What there is in the namespace. */
  async function state(): Promise<string> {
    const engine = api.server.app.get(Engines, { strict: false }).of('default');
    const { size } = await engine.deadLetter.head(namespace, 'mail');
    const queues = (await engine.queues.names(namespace)).sort();
    return JSON.stringify({ size: await engine.queues.size(namespace, 'mail'), dead: size, queues });
  }

  async function send(
    { method }: Route,
    path: string,
    token: string | null,
    body = bodyFor(method, path),
    url = api.url,
  ): Promise<Answer> {
    const answer = await request(url + path, {
      method: method as 'GET',
      dispatcher: agent,
      headers: token === null ? {} : { 'x-token': token },
      ...(body === undefined ? {} : { body }),
    });
    if (answer.headers['content-type'] === 'text/event-stream') {
      // It does not end.
      answer.body.on('error', () => undefined).destroy();
      return { status: answer.statusCode, text: '' };
    }
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  function bodyFor(method: string, path: string): string | undefined {
    if (path.endsWith('/acks')) return JSON.stringify({ acks: [{ queue: 'mail', id: jobId, lease: 1 }] });
    if (/\/jobs$/.test(path)) return JSON.stringify({ queue: 'mail' });
    if (path.endsWith('/leases')) return JSON.stringify({ queues: ['mail'] });
    if (path.includes('/dead-letter/')) {
      const to = path.includes('/move') ? { to_queue: 'mail' } : {};
      return JSON.stringify({ filter: { queue: 'mail', group: 'none' }, ...to });
    }
    if (/\/workers\/\w+\/heartbeat$/.test(path))
      return JSON.stringify({ ttr_ms: 1, leases: [{ id: jobId, lease: 1 }], info: { name: 'w' } });
    if (/\/workers\/\w+\/(quiet|stop)$/.test(path)) return undefined;
    if (path.endsWith('/tags')) return JSON.stringify({ tags: ['a'] });
    if (path.endsWith('/jobs/cancel')) return JSON.stringify({ ids: [jobId] });
    if (path.endsWith('/cancel')) return '{}';
    if (path.endsWith('/operations'))
      return method === 'POST' ? '{"action":"cancel","filter":{"queue":"mail","type":"none"}}' : undefined;
    if (path.includes('/operations/')) return undefined;
    if (path.endsWith('/purge')) return JSON.stringify({ states: ['dead'], dry_run: true });
    if (path.endsWith('/drain')) return '{}';
    if (/\/queues\/\w+$/.test(path)) return method === 'PATCH' ? '{"max_running":9}' : undefined;
    if (/\/queues\/\w+\/(pause|resume)$/.test(path)) return undefined;
    if (path.endsWith('/recurring/preview')) return '{"schedule":{"every_ms":1000}}';
    if (path.includes('/recurring')) {
      if (method === 'POST' && !path.endsWith('/recurring')) return '{}';
      if (method === 'PATCH') return '{}';
      if (method === 'POST' || method === 'PUT')
        // Later than this test can last: a job of a slot would change the state.
        return JSON.stringify({
          schedule: { every_ms: 3_600_000, offset_ms: 3_600_000 },
          job: { queue: 'mail' },
        });
    }
    if (method === 'PUT' && path.includes('/targets/')) return '{"url":"https://example.com/"}';
    if (path.includes('/targets')) return method === 'GET' || method === 'DELETE' ? undefined : '{}';
    if (path.endsWith('/log')) return JSON.stringify({ message: 'hello' });
    if (path.endsWith('/dependencies')) return JSON.stringify({ depends_on: ['missing'] });
    if (method === 'PATCH') return JSON.stringify({ priority: 1 });
    if (method === 'POST') return JSON.stringify({ lease: 1 });
    if (method !== 'PUT' || path.includes('/tracked/')) return undefined;
    if (/\/jobs\/\w+$/.test(path)) return JSON.stringify({ queue: 'mail' });
    if (/\/(settings|variables)\//.test(path)) return '{"value":1000}';
    return path.includes('/bulk') ? '["x"]' : 'x';
  }

  /** The path through the fast path, if it serves the call, and a spelling that selects the router. */
  function addresses(route: Route, queue = 'mail'): string[] {
    const names = { namespace, queue, id: jobId, job_id: jobId, key: 'grace_ms', name: 'w' };
    const escaped = { ...names, namespace: `%${namespace.charCodeAt(0).toString(16)}${namespace.slice(1)}` };
    const query = QUERY[nameOf(route)] ?? '';
    return [addressOf(route, names) + query, addressOf(route, escaped) + query];
  }

  it('find only calls whose permission is listed in the test, or that are listed as open', () => {
    expect(apiRoutes.filter(isQueueCall).map(nameOf).sort()).toEqual(Object.keys(NEEDS).sort());
    const others = apiRoutes.filter((route) => !isQueueCall(route)).map(nameOf);
    expect(others.sort()).toEqual([...OPEN, ...SIGNED]);
  });

  it('are refused every call without a token of the namespace and pool, and change nothing', async () => {
    const right = await make();
    const revoked = await make();
    await store().delete({ pool: 'default', namespace, token: revoked });
    const ends = { description: 'd', rights: null, expiry: { lifetimeMs: 1, atMs: 0 } };
    const expired = await store().grant({ namespace, pool: 'default', ...ends });
    const elsewhere = await make(namespace, 'other');
    const sent: [string | null, string][] = [
      [null, 'token not found'],
      ['', 'token not found'],
      ['default:', 'token not found'],
      ['wrong', 'invalid token'],
      [revoked, 'invalid token'],
      [expired, 'invalid token'],
      [await make(`${namespace}x`), 'invalid token'],
      [await make(namespace.slice(0, -1)), 'invalid token'],
      [elsewhere, 'invalid token'],
      [`other:${right}`, 'invalid token'],
      [right.slice(0, -1), 'invalid token'],
      [`${right}0`, 'invalid token'],
      [right.toLowerCase(), 'invalid token'],
      [`:${right}:`, 'invalid token'],
      [`"${right}"`, 'invalid token'],
      [`${right}, wrong`, 'invalid token'],
    ];
    const before = await state();
    let tried = 0;
    for (const route of apiRoutes.filter(isQueueCall)) {
      for (const path of addresses(route)) {
        for (const [token, error] of sent) {
          const { status, text } = await send(route, path, token);
          expect({ path, token, status }).toEqual({ path, token, status: 401 });
          const code = error === 'token not found' ? 'token_missing' : 'token_invalid';
          expect(text).toContain(path.startsWith('/v1/') ? `"code":"${code}"` : error);
          tried += 1;
        }
        const separator = path.includes('?') ? '&' : '?';
        for (const query of [
          'token=wrong',
          `token=wrong&token=${right}`,
          `Token=${right}`,
          `xtoken=${right}`,
        ]) {
          expect(await send(route, path + separator + query, null)).toMatchObject({ status: 401 });
          expect(await send(route, `${path}${separator}token=${right}`, 'wrong')).toMatchObject({
            status: 401,
          });
          tried += 2;
        }
        expect(await send(route, path, `nowhere:${right}`)).toMatchObject({ status: 404 });
      }
    }
    expect(tried).toBe(Object.keys(NEEDS).length * 2 * (sent.length + 8));
    expect(await state()).toBe(before);
    expect(JSON.stringify(log).includes(right)).toBe(false);
  });

  it('are refused all calls beyond the verbs of their token', async () => {
    const before = await state();
    for (const route of apiRoutes.filter(isQueueCall)) {
      const needed = NEEDS[nameOf(route)]!;
      const others = VERBS.filter((verb) => verb !== needed);
      const rights = { verbs: others, queues: null };
      const expiry = { lifetimeMs: 0, atMs: 0 };
      const token = await store().grant({ namespace, pool: 'default', description: 'd', rights, expiry });
      for (const path of addresses(route)) {
        const { status, text } = await send(route, path, token);
        expect({ path, status }).toEqual({ path, status: 403 });
        expect(text).toContain('"code":"verb_missing"');
        expect(text).toContain(`the token lacks the permission ${needed}`);
      }
    }
    expect(await state()).toBe(before);
  });

  it('are refused all queues beyond those of their token', async () => {
    const before = await state();
    const rights = { verbs: VERBS, queues: ['mai', 'mail-*', 'xmail', 'MAIL'] };
    const expiry = { lifetimeMs: 0, atMs: 0 };
    const token = await store().grant({ namespace, pool: 'default', description: 'd', rights, expiry });
    for (const route of apiRoutes.filter(isQueueCall)) {
      for (const path of addresses(route)) {
        const { status, text } = await send(route, path, token);
        if (SHOWS_OWN.test(nameOf(route))) {
          expect({ path, text }).toEqual({ path, text: '{"items":[],"next_cursor":null}' });
          continue;
        }
        if (ENDS_OWN.test(nameOf(route))) {
          expect({ path, status, text }).toEqual({ path, status: 204, text: '' });
          continue;
        }
        const expected = TELLS_EACH[nameOf(route)];
        if (expected !== undefined) {
          expect({ path, status }).toEqual({ path, status: 200 });
          expect(text).toContain(expected);
          continue;
        }
        const isUnknown = BY_ID.test(nameOf(route)) && !STORES_BY_ID.has(nameOf(route));
        expect({ path, status }).toEqual({ path, status: isUnknown ? 404 : 403 });
        expect(text).toContain(isUnknown ? '_not_found"' : '"code":"queue_not_allowed"');
      }
    }
    expect(await state()).toBe(before);
  });

  it('do not include a client whose token has just the verb and the queue of a call', async () => {
    for (const route of apiRoutes.filter(isQueueCall)) {
      const queues = WHOLE.test(nameOf(route)) ? null : ['ma*l'];
      const rights = { verbs: [NEEDS[nameOf(route)]!], queues };
      const expiry = { lifetimeMs: 60_000, atMs: 0 };
      const token = await store().grant({ namespace, pool: 'default', description: 'd', rights, expiry });
      for (const path of addresses(route)) {
        const { status } = await send(route, path, token);
        expect({ path, isIn: [200, 201, 202, 204, 404, 409].includes(status) }).toEqual({ path, isIn: true });
      }
    }
  });

  it('are refused every native call with unknown parameters, with their names', async () => {
    const names = ['foo', '__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const token = await make();
    const before = await state();
    for (const route of apiRoutes.filter(isQueueCall).filter(({ template }) => template.startsWith('/v1'))) {
      for (const path of addresses(route)) {
        const url = `${path}${path.includes('?') ? '&' : '?'}${names.map((name) => `${name}=1`).join('&')}`;
        const body = bodyFor(route.method, path.split('?')[0]!);
        const { status, text } = await send(route, url, token, body);
        expect({ path, status }).toEqual({ path, status: 400 });
        expect(JSON.parse(text)).toMatchObject({
          errors: names.map((field) => ({
            field,
            rule: expect.stringMatching(/^unknown field(; known: .*)?$/) as string,
          })),
        });
      }
    }
    expect(await state()).toBe(before);
    expect(log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  describe('intruders on the wrong port', () => {
    const names = {
      namespace,
      queue: 'mail',
      id: 'x',
      job_id: 'x',
      key: 'grace_ms',
      name: 'w',
      token: 't'.repeat(20),
      pool: 'default',
      '*': '',
    };

    it('find no admin call on the API port', async () => {
      const token = await make();
      expect(adminRoutes.length).toBeGreaterThan(15);
      const known = new Set(apiRoutes.map(nameOf));
      for (const route of adminRoutes.filter((each) => !known.has(nameOf(each)))) {
        const path = addressOf(route, names).replace('*', 'x');
        for (const sent of [null, token]) {
          const { status, text } = await send(route, path, sent);
          expect({ path, status }).toEqual({ path, status: 404 });
          expect(text).toContain('api not found');
        }
      }
    });

    it('find no API call on the admin port', async () => {
      const token = await make();
      const before = await state();
      for (const route of apiRoutes.filter(isQueueCall)) {
        const path = addressOf(route, names);
        expect(await send(route, path, token, undefined, admin.url)).toMatchObject({ status: 404 });
      }
      expect(await state()).toBe(before);
    });
  });

  it('find only the probes open on an admin port with accounts', async () => {
    const { parts } = testParts(testPools(), (config) => {
      config.admin.accounts = { ops: 'secret' };
    });
    const { started, routes } = await withRoutes(() => startAdmin(parts));
    try {
      for (const route of routes) {
        const names = { namespace, token: 't'.repeat(20), name: 'ops', queue: 'q', pool: 'default' };
        const path = addressOf(route, names).replace('*', '');
        const { status } = await send(route, path, null, undefined, started.url);
        const open = SESSION[nameOf(route)] ?? (route.method === 'OPTIONS' ? 204 : 200);
        const isOpen = OPEN.includes(nameOf(route)) || nameOf(route) in SESSION;
        // The files of the console have no secret, and the bare address leads there; whether they are there depends on the build.
        if (path.startsWith('/ui') || nameOf(route) === 'GET /')
          expect([path, status === 401]).toEqual([path, false]);
        else expect({ path, status }).toEqual({ path, status: isOpen ? open : 401 });
      }
    } finally {
      await started.server.stop();
    }
  });
});
