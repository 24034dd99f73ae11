import { AuditStore } from '../../src/auth/audit-store.js';
import { TokenKeys } from '../../src/auth/token-keys.js';
import { READS, V1_CALLS } from '../../src/auth/roles.js';
import { AuditedCall } from '../../src/admin/audit/audited-call.js';
import { run } from '../../packages/cli/src/program.js';
import type { RedisPool } from '../../src/redis/pool.js';
import { basicOf, testAccounts } from '../support/accounts.js';
import { randomNamespace, startRedis, waitFor } from '../support/redis.js';
import { addressOf, type Route, withRoutes } from '../support/routes.js';
import {
  type Answer,
  type LogLine,
  request,
  startAdmin,
  startApi,
  testParts,
  testPools,
} from './admin-fixture.js';

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly account: string | null;
  readonly action: string;
  readonly pool: string | null;
  readonly namespace: string | null;
  readonly target: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, unknown>>;
  readonly counts: Readonly<Record<string, number>>;
  readonly status: number | null;
  readonly remote: string;
}

const SAFE = ['GET', 'HEAD', 'OPTIONS'];

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

describe('the audit log of the admin port', () => {
  let admin: Awaited<ReturnType<typeof startAdmin>>;
  let routes: Route[];
  let log: LogLine[];
  beforeAll(async () => {
    const pools = testPools(undefined, 10_000);
    const { started: api, routes: ofApi } = await withRoutes(() => startApi(testParts(pools).parts));
    await api.server.stop();
    const made = testParts(pools, (config) => {
      config.admin.accounts = testAccounts(['own-*']);
    });
    log = made.log;
    const { started, routes: ofAdmin } = await withRoutes(() => startAdmin(made.parts));
    admin = started;
    routes = [...ofAdmin, ...ofApi.filter((route) => nameOf(route) in V1_CALLS)];
  });
  afterAll(() => admin.server.stop());

  const nameOf = ({ method, template }: Route): string => `${method} ${template}`;
  const call = (
    account: string,
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> =>
    request(admin.url + path, { method, headers: { ...basicOf(account), ...headers }, body });
  const entries = async (query = '', account = 'adam'): Promise<readonly Entry[]> =>
    ((await call(account, 'GET', `/audit?${query}`)).body as { entries: readonly Entry[] }).entries;
  /** The newest entry, once it is complete. */
  const newest = async (query = ''): Promise<Entry> => {
    await waitFor(async () => (await entries(`limit=1&${query}`))[0]?.status != null);
    return (await entries(`limit=1&${query}`))[0]!;
  };

  it('has every call of an account that may change something, and no call that only reads', async () => {
    const namespace = randomNamespace();
    const names = {
      ...{ namespace, queue: 'mail', id: 'none', key: 'grace_ms' },
      ...{ token: 'a-token-of-20-characters', name: 'olga', pool: 'default' },
    };
    for (const route of routes) {
      // An event stream does not end. A sign-in is in the log with the account that it names.
      if (route.template.endsWith('/events') || route.template === '/session') continue;
      const [before] = await entries('limit=1');
      const path = addressOf(route, names).replace('*', '');
      const { status } = await call('adam', route.method, path);
      if (status !== 403) await waitFor(async () => (await entries('limit=1'))[0]?.status !== null);
      const [after] = await entries('limit=1');
      const isActing = !SAFE.includes(route.method) && !READS.has(nameOf(route));
      const isRefused = V1_CALLS[nameOf(route)] === null;
      expect([nameOf(route), after?.id !== before?.id]).toEqual([nameOf(route), isActing && !isRefused]);
      if (!isActing || isRefused) continue;
      expect(after).toMatchObject({ account: 'adam', action: nameOf(route), status, remote: '127.0.0.1' });
      const isOfNamespace = route.template.includes(':namespace');
      expect([after?.namespace, after?.pool]).toEqual(isOfNamespace ? [namespace, 'default'] : [null, null]);
      expect(JSON.stringify(after)).not.toContain('a-token-of');
    }
  });

  it('has the account, the call, its filter, the count and the address', async () => {
    const namespace = randomNamespace();
    const job = '{"queue":"mail","data":"hidden-payload","tags":["vip"]}';
    expect((await call('olga', 'POST', `/v1/${namespace}/jobs`, job)).status).toBe(201);
    expect(await newest()).toMatchObject({
      ...{ account: 'olga', action: 'POST /v1/:namespace/jobs', namespace, status: 201 },
      ...{ params: { queues: ['mail'] }, counts: { jobs: 1 } },
    });
    const purge = await call('olga', 'POST', `/v1/${namespace}/queues/mail/purge`, '{"states":["ready"]}');
    expect(purge.body).toMatchObject({ jobs: { ready: 1 } });
    const entry = await newest();
    expect(entry).toMatchObject({
      ...{ account: 'olga', action: 'POST /v1/:namespace/queues/:queue/purge', pool: 'default', namespace },
      ...{ target: { queue: 'mail' }, params: { states: ['ready'] }, status: 200, remote: '127.0.0.1' },
    });
    expect(entry.counts).toEqual({ 'jobs.ready': 1 });
    expect(Math.abs(Date.parse(entry.at) - Date.now())).toBeLessThan(60_000);
    const respawn = '{"filter":{"queue":"mail","group":"none"}}';
    await call('olga', 'POST', `/v1/${namespace}/dead-letter/respawn`, respawn);
    expect(await newest()).toMatchObject({ params: { filter: { queue: 'mail', group: 'none' } } });
  });

  it('has the pool that the prefix of a token names', async () => {
    const namespace = randomNamespace();
    await call('adam', 'DELETE', `/token/${namespace}/elsewhere:a-token?pool=default`);
    expect(await newest()).toMatchObject({ pool: 'elsewhere', namespace, params: {} });
    expect(await newest('pool=elsewhere')).toMatchObject({ namespace });
    for (const form of ['token=elsewhere:a-chosen-token', 'pool=elsewhere']) {
      await call('adam', 'POST', `/token/${namespace}?description=d`, form, FORM);
      expect(await newest()).toMatchObject({ pool: 'elsewhere', namespace });
    }
  });

  it('has no field that the call does not read', async () => {
    const namespace = randomNamespace();
    const rights = '{"verbs":"consume","expires":"90d"}';
    const { body } = await call('adam', 'POST', `/token/${namespace}?description=whole`, rights, FORM);
    expect((await newest()).params).toEqual({ description: 'whole' });
    const { token } = body as { token: string };
    const limit = '{"READ":1000000,"Interval":60,"note":"x"}';
    await call('adam', 'PUT', `/token/${namespace}/${token}/limit?read=1&description=x`, limit);
    expect((await newest()).params).toEqual({ read: 1_000_000, interval: 60 });
  });

  it('has the fields of a body that begins with white space', async () => {
    const namespace = randomNamespace();
    const made = await call('adam', 'POST', `/token/${namespace}?description=limited`);
    expect(made).toMatchObject({ status: 201 });
    const { token } = made.body as { token: string };
    const limit = '\n {"read":7,"write":8,"interval":60}';
    expect((await call('adam', 'POST', `/token/${namespace}/${token}/limit`, limit)).status).toBeLessThan(
      300,
    );
    expect(await newest()).toMatchObject({ params: { read: 7, write: 8, interval: 60 } });
  });

  it('has the quotas of a namespace, the settings of a queue and how an operation is done', async () => {
    const namespace = randomNamespace();
    const put = async (method: string, path: string, body: object): Promise<Entry['params']> => {
      const { status } = await call('adam', method, path, JSON.stringify(body));
      expect([path, status < 300]).toEqual([path, true]);
      return (await newest(`namespace=${namespace}`)).params;
    };
    const quotas = { max_jobs_per_queue: 3, max_workers_per_namespace: null };
    expect(await put('PUT', `/namespaces/${namespace}/quotas`, quotas)).toEqual(quotas);
    const settings = { max_kept: 7, expired: 'front', defaults: { tries: 3, retention_ms: 60_000 } };
    expect(await put('PATCH', `/v1/${namespace}/queues/mail`, settings)).toEqual(settings);
    const how = { filter: { queue: 'mail' }, rate_per_s: 9, dry_run: true };
    const patch = { ...how, action: 'patch', set: { priority: 1, data: 'hidden' } };
    expect(await put('POST', `/v1/${namespace}/operations`, patch)).toEqual({
      ...patch,
      set: { priority: 1 },
    });
    const cancel = { ...how, action: 'cancel', cascade: true, grace_ms: 5, undo_ms: 60_000 };
    expect(await put('POST', `/v1/${namespace}/operations`, cancel)).toEqual(cancel);
    expect(await put('PUT', `/v1/${namespace}/settings/grace_ms`, { value: 0 })).toEqual({ value: 0 });
    const variable = await put('PUT', `/v1/${namespace}/variables/sender`, { value: 'north' });
    expect(variable).toEqual({ value: '"north"' });
  });

  it('has no counts of a call about one queue: they are no jobs that it has acted on', async () => {
    const namespace = randomNamespace();
    await call('olga', 'POST', `/v1/${namespace}/jobs`, '{"queue":"mail"}');
    const { body } = await call('olga', 'POST', `/v1/${namespace}/queues/mail/pause`, '{"note":"moving"}');
    expect(body).toMatchObject({ counts: { ready: 1 } });
    expect(await newest(`namespace=${namespace}`)).toMatchObject({ params: { note: 'moving' }, counts: {} });
  });

  it('has sign-ins and sign-outs, and no failed ones: anyone could fill it with these', async () => {
    const signIn = (password: string): Promise<Answer> =>
      request(`${admin.url}/session`, {
        method: 'POST',
        body: JSON.stringify({ account: 'vera', password }),
      });
    const cookie = ((await signIn('secret-of-vera')).headers.get('set-cookie') ?? '').split(';')[0]!;
    expect(await newest()).toMatchObject({ account: 'vera', action: 'POST /session', status: 200 });
    await request(`${admin.url}/session`, {
      ...{ method: 'DELETE', headers: { cookie, 'x-pumphouse-console': '1' } },
    });
    expect(await newest()).toMatchObject({ account: 'vera', action: 'DELETE /session', status: 204 });
    const [before] = await entries('limit=1');
    await signIn('guess');
    await request(`${admin.url}/session`, { method: 'DELETE' });
    expect((await entries('limit=1'))[0]?.id).toBe(before?.id);
  });

  it('has no call that the role refuses: a viewer cannot push others out of it', async () => {
    const [before] = await entries('limit=1');
    expect((await call('vera', 'DELETE', '/namespaces/shop')).status).toBe(403);
    expect((await call('vera', 'POST', '/v1/shop/queues/mail/pause')).status).toBe(403);
    expect((await entries('limit=1'))[0]?.id).toBe(before?.id);
  });

  it('has no secret and no data of a job', async () => {
    const namespace = randomNamespace();
    const made = await call(
      'adam',
      'POST',
      `/token/${namespace}?description=d&token=chosen-token-that-is-secret`,
    );
    expect(made).toMatchObject({ status: 201 });
    const { token } = made.body as { token: string };
    await call('adam', 'POST', `/token/${namespace}/${token}/rotate?token=next-token-that-is-a-secret`);
    const target = {
      url: 'https://user-secret@example.com/path-secret',
      headers: { authorization: 'header-secret' },
    };
    await call('adam', 'PUT', `/v1/${namespace}/targets/hook`, JSON.stringify(target));
    await call(
      'adam',
      'POST',
      `/v1/${namespace}/jobs`,
      '{"queue":"q","data":{"x":"data-secret"},"headers":{"a":"job-secret"}}',
    );
    await call('adam', 'PUT', `/v1/${namespace}/jobs/one`, '{"queue":"q","data":"put-secret"}');
    await call('adam', 'PATCH', `/v1/${namespace}/jobs/one`, '{"data":"patch-secret"}');
    await newest();
    const text = JSON.stringify(await entries('limit=500'));
    expect(text).toContain('"token":"chos…"');
    expect(text.match(/[-\w]*secret[-\w]*/g)).toBeNull();
  });

  it('is listed by pages, the newest first, by account, action, namespace and time', async () => {
    const namespace = randomNamespace();
    for (const account of ['adam', 'olga'])
      for (const verb of ['pause', 'resume'])
        await call(account, 'POST', `/v1/${namespace}/queues/mail/${verb}`);
    const of = async (query: string): Promise<string[]> =>
      (await entries(`namespace=${namespace}&${query}`)).map(
        ({ account, action }) => `${account ?? ''} ${action.split('/').at(-1) ?? ''}`,
      );
    expect(await of('')).toEqual(['olga resume', 'olga pause', 'adam resume', 'adam pause']);
    expect(await of('account=adam')).toEqual(['adam resume', 'adam pause']);
    expect(await of('action=pause')).toEqual(['olga pause', 'adam pause']);
    expect(await of('from=2099-01-01T00:00:00Z')).toEqual([]);
    expect(await of('pool=other')).toEqual([]);
    const pages: string[] = [];
    let next: string | null = '';
    while (next !== null) {
      const cursor: string = next === '' ? '' : `&cursor=${next}`;
      const { body } = await call('adam', 'GET', `/audit?namespace=${namespace}&limit=3${cursor}`);
      const page = body as { entries: Entry[]; next: string | null };
      pages.push(page.entries.map(({ account }) => account).join());
      next = page.next;
    }
    expect(pages).toEqual(['olga,olga,adam', 'adam']);
  });

  it.each(['limit=0', 'limit=501', 'limit=x', 'cursor=x', 'from=yesterday', 'nope=1'])(
    'refuses the parameter %s',
    async (query) => {
      expect(await call('adam', 'GET', `/audit?${query}`)).toMatchObject({ status: 400 });
    },
  );

  it('shows an admin of some namespaces only what was done in them', async () => {
    const [own, other] = [randomNamespace('own-'), randomNamespace('other')];
    for (const namespace of [own, other]) await call('adam', 'POST', `/v1/${namespace}/queues/mail/pause`);
    await call('adam', 'POST', '/accesslog?status=disable');
    const seen = await entries('limit=500', 'nora');
    expect([...new Set(seen.map(({ namespace }) => namespace?.startsWith('own-')))]).toEqual([true]);
    expect(seen.some(({ namespace }) => namespace === own)).toBe(true);
    expect(await call('olga', 'GET', '/audit')).toMatchObject({ status: 403 });
  });

  it('has an entry before the call runs, so that a server that is killed leaves it', async () => {
    const store = admin.server.app.get(AuditStore, { strict: false });
    const facts = {
      account: 'kim',
      action: 'POST /x',
      pool: null,
      namespace: null,
      target: {},
      remote: '::1',
    };
    const one = new AuditedCall(store, { debug() {}, info() {}, warn() {}, error() {} }, facts);
    await one.begin();
    expect(await entries('account=kim')).toMatchObject([{ ...facts, status: null }]);
    one.recordAnswer({ done: 3, text: 'x', removed: { jobs: 2 }, counts: { ready: 1 } });
    await one.end(200);
    expect(await entries('account=kim')).toMatchObject([
      { ...facts, status: 200, counts: { done: 3, 'removed.jobs': 2 } },
    ]);
  });

  it('keeps as many entries as it may, and none that is too old', async () => {
    const redis = Reflect.get(admin.server.app.get(AuditStore, { strict: false }), 'redis') as RedisPool;
    // A prefix of its own: the other tests have entries, too.
    const options = { ...redis.options, keyPrefix: `${redis.options.keyPrefix}bounds:` };
    const own = Object.create(redis, { options: { value: options } }) as RedisPool;
    const facts = { account: 'a', action: 'POST /x', pool: null, namespace: null, target: {}, remote: '' };
    const entry = { ...facts, params: {}, counts: {}, status: null };
    const all = { matches: () => true, before: null, fromMs: 0, limit: 100 };
    const bounded = new AuditStore(own, { keepMs: 60_000, max: 3 });
    const members: string[] = [];
    for (let i = 0; i < 5; i++) members.push(await bounded.begin({ ...entry, action: `POST /${String(i)}` }));
    const { entries: kept } = await bounded.list(all);
    expect(kept.map(({ action }) => action)).toEqual(['POST /4', 'POST /3', 'POST /2']);
    // What was removed meanwhile does not come back.
    await bounded.complete(members[0]!, { ...entry, status: 200 });
    expect((await bounded.list(all)).entries).toEqual(kept);
    const key = new TokenKeys(options.keyPrefix).audit;
    await own.read('ZADD', key, 1, `1 ${JSON.stringify({ ...entry, action: 'POST /old' })}`);
    const large = new AuditStore(own, { keepMs: 60_000, max: 100 });
    const actions = async (): Promise<string[]> =>
      (await large.list(all)).entries.map(({ action }) => action);
    expect(await actions()).toContain('POST /old');
    await large.begin({ ...entry, action: 'POST /new' });
    expect(await actions()).toEqual(['POST /new', 'POST /4', 'POST /3', 'POST /2']);
  });

  it('is printed by the command line', async () => {
    const namespace = randomNamespace();
    await call('olga', 'POST', `/v1/${namespace}/jobs`, '{"queue":"mail"}');
    await call('olga', 'POST', `/v1/${namespace}/queues/mail/purge`, '{"states":["ready"]}');
    await newest();
    const print = async (...args: string[]): Promise<string> => {
      const out: string[] = [];
      const url = admin.url.replace('//', '//adam:secret-of-adam@');
      const output = {
        out: (text: string) => void out.push(text),
        err: (text: string) => void out.push(text),
      };
      expect([await run(['audit', '--in', namespace, ...args, '--admin', url], output), out]).toEqual([
        0,
        out,
      ]);
      return out.join('');
    };
    expect(await print()).toMatch(
      /olga +POST \/v1\/:namespace\/queues\/:queue\/purge .*queue=mail +states=ready .*jobs.ready=1/,
    );
    const [one] = JSON.parse(await print('--action', 'purge', '--json')) as [Entry];
    expect(one).toMatchObject({ account: 'olga', namespace, target: { queue: 'mail' } });
    expect(JSON.parse(await print('--by', 'adam', '--json'))).toEqual([]);
    expect(JSON.stringify(log)).not.toContain('secret-of');
  });
});

describe('the audit log without its Redis', () => {
  it('is in the log of the server, and stops no call that can be made', async () => {
    const redis = await startRedis();
    const { parts, log } = testParts(testPools(redis.url, 300), (config) => {
      config.admin.accounts = { ops: 'secret' };
    });
    const { server, url } = await startAdmin(parts);
    const headers = { authorization: `Basic ${Buffer.from('ops:secret').toString('base64')}` };
    try {
      await redis.kill9();
      const answer = await request(`${url}/accesslog?status=enable`, { method: 'POST', headers });
      expect(answer).toMatchObject({ status: 200, body: { status: 'enabled' } });
      const line = log.find(({ details }) => details['audit'] === 'not_stored');
      expect(line).toMatchObject({
        level: 'warn',
        details: { entry: { account: 'ops', action: 'POST /accesslog', params: { status: 'enable' } } },
      });
    } finally {
      await server.stop();
      await redis.stop();
    }
  });
});
