import { TokenStore } from '../../src/auth/token-store.js';
import { ADMIN_CALLS, V1_CALLS } from '../../src/auth/roles.js';
import { Engines } from '../../src/engine/engines.js';
import { basicOf, testAccounts } from '../support/accounts.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { addressOf, type Route, withRoutes } from '../support/routes.js';
import { type Answer, request, startAdmin, startApi, testParts, testPools } from './admin-fixture.js';

const MARK = '[redacted by Pumphouse]';
/** What the queue `cards` withholds; every secret of this spec contains one of these texts. */
const SECRET = /hidden-|aGlkZGVu/;
const DATA =
  '{ "n": 12345678901234567890, "card": {"number":"hidden-number","c\\u0061rd":1},\t"customers":[{"email":"hidden-email","email":"hidden-twice","name":"ada"}] }';
const SEEN = DATA.replaceAll(/"hidden-[a-z]+"/g, JSON.stringify(MARK)).replaceAll('\t', ' ');
const PATHS = ['$.card.number', '$.customers[*].email'];

/** A call of the walk: what it sends. Left out: nothing, with usual names in the path. */
interface Step {
  readonly names?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: object;
  /** True: the answer has a secret for an admin, so that the walk would find it. */
  readonly hasSecret?: true;
}
const OF_CARD: Step = { names: { id: 'card' } };
const DEAD: Step = { names: { id: 'dead' }, hasSecret: true };
const PLAN: Step = { names: { id: 'nightly' } };

/**
 * Each call that an account may make, in an order in which all of them work. A new call without an entry fails the test:
 * make it here, so that its answer has data of a job if it can.
 */
const WALK: Readonly<Record<string, Step>> = {
  'GET /v1/openapi.json': {},
  'GET /v1/:namespace/jobs': { query: '?queue=cards&fields=data', hasSecret: true },
  'GET /v1/:namespace/jobs/:id': DEAD,
  'GET /v1/:namespace/jobs/:id/explain': DEAD,
  'GET /v1/:namespace/jobs/:id/tags': OF_CARD,
  'GET /v1/:namespace/tags': {},
  'GET /v1/:namespace/failure-groups': { hasSecret: true },
  'GET /v1/:namespace/tracked': { hasSecret: true },
  'GET /v1/:namespace/dead-letter': { query: '?fields=data', hasSecret: true },
  'GET /v1/:namespace/recurring': { hasSecret: true },
  'GET /v1/:namespace/recurring/:id': { ...PLAN, hasSecret: true },
  'GET /v1/:namespace/recurring/:id/next': PLAN,
  'GET /v1/:namespace/recurring/:id/explain': PLAN,
  'POST /v1/:namespace/recurring/preview': { body: { schedule: { every_ms: 60_000 } } },
  'GET /v1/:namespace/queues': {},
  'GET /v1/:namespace/queues/:queue': {},
  'GET /v1/:namespace/queues/:queue/explain': {},
  'GET /v1/:namespace/queues/:queue/keys': {},
  'GET /v1/:namespace/stats': {},
  'GET /v1/:namespace/settings': {},
  'GET /v1/:namespace/settings/:key': {},
  'GET /v1/:namespace/variables': {},
  'GET /v1/:namespace/variables/:name': {},
  'GET /v1/:namespace/workers': {},
  'GET /v1/:namespace/workers/:name': {},
  'GET /v1/:namespace/targets': {},
  'GET /v1/:namespace/targets/:name': {},
  'GET /v1/:namespace/operations': { hasSecret: true },
  'GET /v1/:namespace/operations/:id': { names: { id: 'OPERATION' }, hasSecret: true },
  'POST /v1/:namespace/operations/:id/stop': { names: { id: 'OPERATION' }, hasSecret: true },
  'POST /v1/:namespace/operations/:id/undo': { names: { id: 'UNDO' } },
  'POST /v1/:namespace/operations': {
    body: { action: 'respawn', filter: { queue: 'cards' }, dry_run: true },
  },
  'POST /v1/:namespace/jobs': { query: '?wait_ms=1', body: { queue: 'cards', data: 1, delay_ms: 3_600_000 } },
  'PUT /v1/:namespace/jobs/:id': { names: { id: 'put' }, body: { queue: 'cards', data: 1 } },
  'PATCH /v1/:namespace/jobs/:id': { ...OF_CARD, body: { priority: 1 } },
  'POST /v1/:namespace/jobs/:id/tags': { ...OF_CARD, body: { tags: ['a'] } },
  'DELETE /v1/:namespace/jobs/:id/tags': { ...OF_CARD, query: '?tag=a' },
  'POST /v1/:namespace/jobs/:id/dependencies': { ...OF_CARD, body: { depends_on: ['put'] } },
  'DELETE /v1/:namespace/jobs/:id/dependencies': { ...OF_CARD, body: { depends_on: ['put'] } },
  'PUT /v1/:namespace/tracked/:id': OF_CARD,
  'DELETE /v1/:namespace/tracked/:id': OF_CARD,
  'POST /v1/:namespace/jobs/:id/revoke': { names: { id: 'leased' } },
  'POST /v1/:namespace/jobs/:id/cancel': { names: { id: 'put' }, body: {} },
  'POST /v1/:namespace/jobs/cancel': { body: { ids: ['put'] } },
  'DELETE /v1/:namespace/jobs/:id': { names: { id: 'bytes' } },
  'POST /v1/:namespace/targets/:name/pause': {},
  'POST /v1/:namespace/targets/:name/resume': {},
  'POST /v1/:namespace/targets/:name/test': {},
  'POST /v1/:namespace/recurring': {
    body: { schedule: { every_ms: 60_000 }, job: { queue: 'cards', data: 1 } },
  },
  'PATCH /v1/:namespace/recurring/:id': { ...PLAN, body: { note: 'slow' }, hasSecret: true },
  'POST /v1/:namespace/recurring/:id/pause': { ...PLAN, body: {}, hasSecret: true },
  'POST /v1/:namespace/recurring/:id/resume': { ...PLAN, hasSecret: true },
  'POST /v1/:namespace/recurring/:id/run': PLAN,
  'PUT /v1/:namespace/recurring/:id': {
    ...{ names: { id: 'other' }, body: { schedule: { every_ms: 60_000 }, job: { queue: 'cards', data: 1 } } },
  },
  'DELETE /v1/:namespace/recurring/:id': { names: { id: 'other' } },
  'POST /v1/:namespace/queues/:queue/pause': { body: {} },
  'POST /v1/:namespace/queues/:queue/resume': {},
  'POST /v1/:namespace/queues/:queue/drain': { body: {} },
  'PATCH /v1/:namespace/queues/:queue': { body: { max_running: 5 } },
  'POST /v1/:namespace/queues/:queue/purge': { body: { states: ['done'], dry_run: true } },
  'DELETE /v1/:namespace/queues/:queue': { names: { queue: 'spare' } },
  'POST /v1/:namespace/dead-letter/respawn': { body: { ids: ['dead'], dry_run: true } },
  'POST /v1/:namespace/dead-letter/move': { body: { ids: ['dead'], dry_run: true, to_queue: 'cards' } },
  'POST /v1/:namespace/dead-letter/delete': { body: { ids: ['dead'], dry_run: true } },
  'POST /v1/:namespace/workers/:name/quiet': {},
  'POST /v1/:namespace/workers/:name/stop': {},
  'DELETE /v1/:namespace/workers/:name': {},
};
/** Streams: another test reads them. */
const STREAMS = ['GET /v1/:namespace/events'];
/** Of the admin port: those that end what the walk needs are left out of it. */
const ENDS = ['DELETE /session', 'DELETE /accounts/:name/sessions', 'DELETE /namespaces/:namespace'];
const PATH_OF: Readonly<Record<string, string>> = { 'GET /pools/*': '/pools/', 'GET /ui/*': '/ui/' };
const nameOf = ({ method, template }: Route): string => `${method} ${template}`;

describe('places that a queue withholds', () => {
  let namespace: string;
  let api: Awaited<ReturnType<typeof startApi>>;
  let admin: Awaited<ReturnType<typeof startAdmin>>;
  let adminRoutes: Route[];
  let token: string;
  let ids: Record<string, string>;

  beforeAll(async () => {
    const pools = testPools(undefined, 10_000);
    api = await startApi(testParts(pools).parts);
    const { parts } = testParts(pools, (config) => {
      config.admin.accounts = testAccounts();
      config.push.enabled = true;
    });
    ({ started: admin, routes: adminRoutes } = await withRoutes(() => startAdmin(parts)));
  });
  afterAll(async () => {
    await admin.server.stop();
    await api.server.stop();
  });
  beforeEach(async () => {
    namespace = randomNamespace('own-');
    token = await admin.server.app.get(TokenStore, { strict: false }).create(namespace, 'default', 'd');
    ids = {};
  });

  const send = (url: string, headers: Record<string, string>, method: string, path: string, body?: unknown) =>
    request(`${url}/v1/${namespace}/${path}`, {
      ...{ method, headers },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
  const byToken = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await send(api.url, { 'x-token': token }, method, path, body);
    expect([method, path, answer.status < 300 ? '' : answer.text]).toEqual([method, path, '']);
    return answer;
  };
  const by = (account: string, method: string, path: string, body?: unknown): Promise<Answer> =>
    send(admin.url, basicOf(account), method, path, body);
  const redact = (paths: readonly string[] | null, queue = 'cards'): Promise<Answer> =>
    byToken('PATCH', `queues/${queue}`, { redact: paths });
  const publish = (id: string, more = '', data = DATA, queue = 'cards'): Promise<Answer> =>
    byToken('PUT', `jobs/${id}`, `{"queue":"${queue}","history":true,"data":${data}${more}}`);
  const lease = async (queue = 'cards'): Promise<number> => {
    const { body } = await byToken('POST', 'leases', { queues: [queue], worker: 'w' });
    return (body as { jobs: { lease: number }[] }).jobs[0]!.lease;
  };
  /** A dead job whose messages, progress and log repeat its data. */
  const die = async (id: string): Promise<void> => {
    await publish(id, ',"tries":1,"attributes":{"trace":"hidden-attribute"},"priority":-1');
    const number = await lease();
    await byToken('POST', `jobs/${id}/log`, { message: 'hidden-log', data: { card: 'hidden-entry' } });
    await byToken('POST', `jobs/${id}/heartbeat`, { lease: number, progress: { data: 'hidden-progress' } });
    await byToken('POST', `jobs/${id}/fail`, { lease: number, message: 'hidden-message', group: 'g' });
  };

  /** Jobs in all states whose data has secrets, and all else that the walk names. */
  const fill = async (): Promise<void> => {
    await redact(PATHS);
    await die('dead');
    await byToken('PUT', 'tracked/dead');
    await publish('done', ',"retention_ms":600000,"priority":-1');
    const result = { lease: await lease(), result: { card: { number: 'hidden-result' } } };
    await byToken('POST', 'jobs/done/ack', result);
    await publish('leased', ',"priority":-1');
    await lease();
    await publish('card', ',"delay_ms":3600000');
    await byToken('PUT', 'jobs/bytes', {
      ...{ queue: 'cards', delay_ms: 3_600_000, data_base64: Buffer.from('hidden-bytes').toString('base64') },
    });
    const job = `{"queue":"cards","data":${DATA}}`;
    await byToken('PUT', 'recurring/nightly', `{"schedule":{"every_ms":3600000},"job":${job}}`);
    await byToken('PUT', 'settings/grace_ms', { value: 5 });
    await byToken('PUT', 'variables/one', { value: 1 });
    await byToken('PUT', 'targets/one', { url: 'https://hook.invalid/' });
    await byToken('POST', 'workers/one/heartbeat', {
      info: { name: 'one', queues: ['cards'] },
      leases: [],
      ttr_ms: 60_000,
    });
    await byToken('PATCH', 'queues/spare', { max_running: 1 });
    const search = { action: 'delete', filter: { text: 'hidden-search' }, dry_run: true };
    ids['OPERATION'] = ((await byToken('POST', 'operations', search)).body as { id: string }).id;
    await publish('gone', '', '1', 'spare-2');
    const ending = { action: 'cancel', filter: { queue: 'spare-2' }, undo_ms: 60_000 };
    ids['UNDO'] = ((await byToken('POST', 'operations', ending)).body as { id: string }).id;
    for (const id of Object.values(ids))
      await waitFor(
        async () => (await byToken('GET', `operations/${id}`)).text.includes('"state":"done"'),
        10_000,
      );
  };
  const playStep = async (account: string, name: string): Promise<Answer> => {
    const { names, query = '', body } = WALK[name]!;
    const [method = '', template = ''] = name.split(' ');
    const usual = { namespace, queue: 'cards', id: 'card', key: 'grace_ms', name: 'one' };
    const path = addressOf({ method, template }, { ...usual, ...names });
    const url = Object.entries(ids).reduce((one, [key, id]) => one.replace(key, id), path);
    return request(admin.url + url + query, {
      ...{ method, headers: basicOf(account) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  };

  it('are in no answer to accounts below the role admin, whatever they call', async () => {
    const made = Object.keys(V1_CALLS).filter(
      (name) => V1_CALLS[name] !== null && V1_CALLS[name] !== 'admin',
    );
    expect(Object.keys(WALK).sort()).toEqual(made.filter((name) => !STREAMS.includes(name)).sort());
    await fill();
    for (const account of ['vera', 'dana', 'olga']) {
      for (const name of Object.keys(WALK)) {
        const { status, text } = await playStep(account, name);
        const isRefused = status === 403 && text.includes('role_missing');
        expect([account, name, SECRET.exec(text)?.[0]]).toEqual([account, name, undefined]);
        if (account === 'olga') expect([name, isRefused || status >= 400 ? text : '']).toEqual([name, '']);
      }
      for (const route of adminRoutes.filter((one) => !ENDS.includes(nameOf(one)))) {
        const names = { namespace, queue: 'cards', token: 'none', name: account, pool: 'default' };
        const url = admin.url + (PATH_OF[nameOf(route)] ?? addressOf(route, names));
        const { text } = await request(url, { method: route.method, headers: basicOf(account) });
        expect([account, nameOf(route), SECRET.exec(text)?.[0]]).toEqual([account, nameOf(route), undefined]);
      }
    }
    expect(adminRoutes.map(nameOf)).toHaveLength(Object.keys(ADMIN_CALLS).length);
  });

  it('are in the answers to an admin and to a token', async () => {
    await fill();
    for (const [name, { hasSecret = false }] of Object.entries(WALK)) {
      const { text } = await playStep('adam', name);
      expect([name, SECRET.test(text)]).toEqual([name, hasSecret]);
    }
  });

  it('leave all other bytes of the data as they are', async () => {
    await redact(PATHS);
    await publish('card', ',"delay_ms":3600000');
    const { text, body } = await by('dana', 'GET', 'jobs/card');
    expect(text).toContain(`"data":${SEEN}`);
    expect(body).toMatchObject({ redacted: ['data'] });
    expect(body).not.toHaveProperty('withheld');
    for (const seen of [await by('adam', 'GET', 'jobs/card'), await byToken('GET', 'jobs/card')])
      expect(seen.text).toContain(`"data":${DATA.replaceAll('\t', ' ')}`);
  });

  it('are withheld in results, and messages, progress, logs and attributes as a whole', async () => {
    await redact(PATHS);
    await die('dead');
    const { body } = await by('olga', 'GET', 'jobs/dead');
    expect(body).toMatchObject({
      ...{ progress: null, attributes: null, failure: { group: 'g', message: null, withheld: ['message'] } },
      ...{ redacted: ['data'], withheld: expect.arrayContaining(['progress', 'attributes']) as unknown },
    });
    await publish('done', ',"retention_ms":600000');
    const result = { lease: await lease(), result: { card: { number: 'hidden-result', ok: 1 } } };
    await byToken('POST', 'jobs/done/ack', result);
    expect((await by('olga', 'GET', 'jobs/done')).body).toMatchObject({
      result: { data: { card: { number: MARK, ok: 1 } }, redacted: ['data'] },
    });
    expect((await by('olga', 'GET', 'jobs/dead/explain')).body).toMatchObject({
      facts: { failure_group: 'g', failure_message: MARK },
    });
  });

  it('are withheld in the answer that opened the circuit breaker of a push target', async () => {
    await redact(PATHS);
    const url = 'https://hook.invalid/';
    await byToken('PUT', 'targets/one', { url });
    await publish('card');
    await byToken('PATCH', 'queues/cards', { push: { target: 'one' } });
    const [engine] = api.server.app.get(Engines, { strict: false }).all();
    await engine!.targets.changeBreaker(namespace, {
      ...{ target: 'one', origin: '', url, action: 'open', answered: 'HTTP 500: hidden-answer' },
      ...{ openMs: 60_000, maxOpenMs: 60_000, tryMs: 5_000 },
    });
    for (const path of ['queues/cards/explain', 'jobs/card/explain']) {
      expect((await by('adam', 'GET', path)).text).toContain('HTTP 500: hidden-answer');
      const seen = (await by('olga', 'GET', path)).text;
      expect(seen).toContain('(the last one: HTTP 500)');
      expect(seen).not.toMatch(SECRET);
    }
  });

  it('are withheld in the answer to a publish of an operator that waits for the result', async () => {
    await redact(PATHS);
    const waiting = by('olga', 'POST', 'jobs?wait_ms=20000', { queue: 'cards', data: 1, id: 'awaited' });
    await waitFor(
      async () => (await send(api.url, { 'x-token': token }, 'GET', 'jobs/awaited')).status === 200,
    );
    const result = { lease: await lease(), result: { card: { number: 'hidden-result' } } };
    await byToken('POST', 'jobs/awaited/ack', result);
    expect(await waiting).toMatchObject({
      status: 200,
      body: { result: { data: { card: { number: MARK } } } },
    });
  });

  it('are withheld from the dependents of a job in other queues', async () => {
    await redact(PATHS);
    await publish('needed');
    await byToken('PUT', 'jobs/dependent', { queue: 'open', depends_on: ['needed'] });
    await byToken('POST', 'jobs/needed/ack', { lease: await lease(), result: { card: 'hidden-result' } });
    const seen = async (account: string): Promise<object> =>
      (await by(account, 'GET', 'jobs/dependent')).body as { dependencies: object[] };
    expect(await seen('dana')).toMatchObject({ dependencies: [{ id: 'needed', state: 'done' }] });
    expect(JSON.stringify(await seen('dana'))).not.toMatch(SECRET);
    await redact(null);
    expect(JSON.stringify(await seen('dana'))).toMatch(SECRET);
  });

  it('hide all of the data if it is no JSON, or a stored path does not parse', async () => {
    await redact(['$.a']);
    const data_base64 = Buffer.from('hidden-bytes').toString('base64');
    await byToken('PUT', 'jobs/bytes', { queue: 'cards', delay_ms: 3_600_000, data_base64 });
    await publish('card', ',"delay_ms":3600000');
    const whole = (body: unknown): string[] => (body as { withheld?: string[] }).withheld ?? [];
    const bytes = await by('dana', 'GET', 'jobs/bytes');
    expect([bytes.text.includes('aGlkZGVu'), whole(bytes.body)]).toEqual([false, ['data_base64']]);
    const { queueControls } = admin.server.app.get(Engines, { strict: false }).all()[0]!.components;
    for (const stored of ['["$.a","$.x[?@.y]"]', 'no JSON', '5', '{}', '[1]']) {
      const [before] = await queueControls.stored(namespace, ['cards']);
      await queueControls.withdraw(namespace, 'cards', before!);
      await queueControls.add(namespace, 'cards', new Map([['redact', stored]]));
      const { status, body, text } = await by('dana', 'GET', 'jobs/card');
      expect([stored, status, SECRET.test(text), whole(body)]).toEqual([stored, 200, false, ['data']]);
      expect((await by('dana', 'GET', 'queues/cards')).status).toBe(200);
    }
  });

  it('are shown again when the queue withholds nothing', async () => {
    await publish('card', ',"delay_ms":3600000');
    expect((await by('dana', 'GET', 'jobs/card')).text).toContain('hidden-number');
    await redact(PATHS);
    expect((await by('dana', 'GET', 'jobs/card')).text).not.toContain('hidden-number');
    await redact(null);
    expect((await by('dana', 'GET', 'jobs/card')).text).toContain('hidden-number');
  });

  it('are not found by searches in what may repeat them', async () => {
    await redact(PATHS);
    await die('dead');
    const filter = { text: 'hidden-m' };
    const searches: readonly (readonly [string, string, object?])[] = [
      ['GET', 'dead-letter?text=hidden-m'],
      ['GET', 'dead-letter?queue=cards&attribute=trace%3Dhidden-attribute'],
      ['POST', 'dead-letter/respawn', { filter, dry_run: true }],
      ['POST', 'dead-letter/delete', { filter: { ...filter, queue: 'cards' }, dry_run: true }],
      ['POST', 'dead-letter/move', { filter, to_queue: 'cards', dry_run: true }],
      ['POST', 'operations', { action: 'respawn', filter, dry_run: true }],
    ];
    for (const search of searches) {
      expect([search, await by('olga', ...search)]).toMatchObject([
        search,
        { status: 403, body: { code: 'role_missing' } },
      ]);
      expect([search, (await by('adam', ...search)).status < 300]).toEqual([search, true]);
    }
    expect(await by('olga', 'GET', 'dead-letter?queue=other&text=x')).toMatchObject({ status: 200 });
  });

  it('do not become data: an answer that is sent back is refused', async () => {
    await redact(PATHS);
    await publish('card', ',"delay_ms":3600000');
    const copied = `{"queue":"cards","data":${SEEN}}`;
    for (const [method, path, body] of [
      ['PATCH', 'jobs/card', `{"data":${SEEN}}`],
      ['PUT', 'jobs/card', copied],
      ['POST', 'jobs', copied],
      ['POST', 'jobs', `{"jobs":[${copied.replace('cards', 'elsewhere')}]}`],
      ['PUT', 'recurring/nightly', `{"schedule":{"every_ms":60000},"job":${copied}}`],
      ['POST', 'operations', `{"action":"patch","filter":{"queue":"cards"},"set":{"data":${SEEN}}}`],
    ] as const)
      expect([method, path, await by('olga', method, path, body)]).toMatchObject([
        ...[method, path],
        { status: 403, body: { code: 'role_missing' } },
      ]);
    expect((await byToken('GET', 'jobs/card')).text).toContain('hidden-number');
    expect(await by('olga', 'PATCH', 'jobs/card', { data: { card: 1 } })).toMatchObject({ status: 200 });
  });

  it('keep operators from moving jobs to where their data would be shown', async () => {
    await redact(PATHS);
    await redact([...PATHS, '$.more'], 'safe');
    await die('dead');
    await publish('card', ',"delay_ms":3600000');
    const job = `{"queue":"cards","data":${DATA}}`;
    await byToken('PUT', 'recurring/nightly', `{"schedule":{"every_ms":3600000},"job":${job}}`);
    const moves = (queue: string): readonly (readonly [string, string, object])[] => [
      ['POST', 'dead-letter/move', { ids: ['dead'], to_queue: queue, dry_run: true }],
      ['POST', 'dead-letter/move', { filter: { queue: 'cards' }, to_queue: queue, dry_run: true }],
      ['POST', 'operations', { action: 'move', filter: { queue: 'cards' }, to: queue, dry_run: true }],
      ['PATCH', 'recurring/nightly', { job: { queue } }],
      ['PATCH', 'jobs/card', { queue }],
    ];
    for (const move of moves('open'))
      expect([move, await by('olga', ...move)]).toMatchObject([
        move,
        { status: 403, body: { code: 'role_missing' } },
      ]);
    for (const move of moves('safe'))
      expect([move, (await by('olga', ...move)).text.includes('role_missing')]).toEqual([move, false]);
    expect((await by('adam', 'PATCH', 'jobs/card', { queue: 'open' })).status).toBe(200);
  });

  it('are set by admins and tokens only, and with paths that parse', async () => {
    await redact(PATHS);
    expect((await by('adam', 'GET', 'queues/cards')).body).toMatchObject({ redact: PATHS });
    for (const redacted of [null, ['$.a']])
      expect(await by('olga', 'PATCH', 'queues/cards', { redact: redacted })).toMatchObject({
        ...{ status: 403, body: { code: 'role_missing' } },
      });
    expect(await by('olga', 'DELETE', 'queues/cards')).toMatchObject({ status: 403 });
    expect(await by('olga', 'PATCH', 'queues/cards', { max_running: 3 })).toMatchObject({ status: 200 });
    for (const wrong of [
      [['$.a', 'card'], 'the path card is not'],
      [['$.x[?@.y]'], 'the path $.x[?@.y] is not'],
      [[], 'a list of 1 to 32'],
      [Array.from({ length: 33 }, (_, i) => `$.a${String(i)}`), 'a list of 1 to 32'],
      [[`$.${'a'.repeat(255)}`], 'at most 256 characters'],
      ['$.a', 'a list of 1 to 32'],
    ] as const)
      expect(await by('adam', 'PATCH', 'queues/cards', { redact: wrong[0] })).toMatchObject({
        status: 400,
        body: { errors: [{ field: 'redact', rule: expect.stringContaining(wrong[1]) as unknown }] },
      });
    expect(await by('adam', 'PATCH', 'queues/cards', { redact: null })).toMatchObject({
      ...{ status: 200, body: { redact: null } },
    });
    expect(await by('olga', 'DELETE', 'queues/cards')).toMatchObject({ status: 204 });
  });

  it('are in no event', async () => {
    await redact(PATHS);
    const [viewer, restricted, whole] = [await listen('vera'), await listen('dana'), await listen('adam')];
    await die('dead');
    await publish('done', ',"retention_ms":600000');
    await byToken('POST', 'jobs/done/ack', { lease: await lease(), result: 'hidden-result' });
    await byToken('PUT', 'jobs/open', { queue: 'open', history: true });
    await byToken('POST', 'jobs/open/log', { message: 'seen-message' });
    for (const { text } of [viewer, restricted, whole])
      await waitFor(() => text().includes('"id":"open"}'), 10_000);
    await waitFor(
      () => whole.text().includes('seen-message') && restricted.text().includes('seen-message'),
      10_000,
    );
    await waitFor(() => namesIn(viewer.text()).length === namesIn(whole.text()).length, 10_000);
    expect([namesIn(viewer.text()), namesIn(restricted.text())]).toEqual([
      ...[namesIn(whole.text()), namesIn(whole.text())],
    ]);
    const found = (text: string): string[] => [...new Set(text.match(/(?:hidden|seen)-[a-z]+/g))].sort();
    expect([found(viewer.text()), found(restricted.text())]).toEqual([[], ['seen-message']]);
    expect(found(whole.text())).toEqual([
      ...['hidden-entry', 'hidden-log', 'hidden-message', 'hidden-result', 'seen-message'],
    ]);
    expect(restricted.text()).toMatch(/"event":"died".*"group":"g".*"withheld":\["message"\]/);
    for (const { end } of [viewer, restricted, whole]) end();
  });

  /** Reads the events of the namespace until `end`. */
  const listen = async (account: string): Promise<{ text: () => string; end: () => void }> => {
    const control = new AbortController();
    const { signal } = control;
    const { body } = await fetch(`${admin.url}/v1/${namespace}/events`, {
      headers: basicOf(account),
      signal,
    });
    let text = '';
    const read = async (): Promise<void> => {
      for await (const chunk of body!) text += Buffer.from(chunk).toString();
    };
    read().catch(() => undefined);
    await waitFor(() => text.includes('retry: '), 5_000);
    return { text: () => text, end: () => control.abort() };
  };
});

/** What happened, in order. */
function namesIn(events: string): string[] {
  return events.match(/"event":"[a-z_]+"/g) ?? [];
}
