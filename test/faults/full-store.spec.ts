import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { FaultyProxy } from '../../packages/client/test/faulty-proxy.js';
import { connect, type EnginePumphouse, Next } from '../../packages/engine/src/index.js';
import { languagesIn } from '../clients/languages.js';
import { Player } from '../clients/scenario.js';
import { type Answer, TestApp } from '../support/app.js';
import { type RedisProcess, startRedis, waitFor, WITHOUT_FUNCTIONS } from '../support/redis.js';
import { addressOf, type Route, withRoutes } from '../support/routes.js';

/** A call in a full Redis: what stands in its address, its query and its body. */
interface Trial {
  readonly names?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
}

const V1 = '/v1/:namespace';
const TEXT = 'x'.repeat(200);
const JOB = { queue: 'q', data: TEXT };
/** More than the server adds to a job by itself. */
const LONG = 'x'.repeat(5_000);
/** What is left of such a message. */
const SHORT = 'x'.repeat(200);
/** Of a queue that pauses each of them for itself. */
const SOME = [{ type: 'sms' }, { fair_key: 'acme' }, { concurrency_key: 'disk' }];
const SCHEDULE = { every_ms: 3_600_000 };
const of = (id: string, body?: unknown): Trial => ({ names: { id }, body });
const inQueue = (queue: string, body?: unknown): Trial => ({ names: { queue }, body });
const target = (name: string, body?: unknown): Trial => ({ names: { name }, body });

/** What stores something new: 507. */
const ADDS: Readonly<Record<string, readonly Trial[]>> = {
  'PUT /api/:namespace/:queue': [inQueue('q', 'x')],
  'PUT /api/:namespace/:queue/bulk': [inQueue('q', '["x"]')],
  [`POST ${V1}/jobs`]: [{ body: JOB }, { body: { ...JOB, type: 't', priority: 3 } }],
  [`PUT ${V1}/jobs/:id`]: [of('new', JOB)],
  [`PATCH ${V1}/jobs/:id`]: [of('ready-2', { data: TEXT + TEXT }), of('typed-2', { tags: ['a', 'b'] })],
  [`POST ${V1}/jobs/:id/heartbeat`]: [
    of('leased-1', { lease: 0, data: LONG }),
    of('typed-leased-1', { lease: 0, data: LONG }),
  ],
  [`POST ${V1}/jobs/:id/retry`]: [
    of('leased-3', { lease: 0, data: LONG }),
    of('typed-leased-3', { lease: 0, data: LONG }),
  ],
  [`POST ${V1}/jobs/:id/fail`]: [of('leased-4', { lease: 0, data: LONG })],
  [`POST ${V1}/jobs/:id/ack`]: [
    of('leased-1', { lease: 0, data: LONG, next: { queue: 'q' } }),
    of('leased-6', { lease: 0, next: { queue: 'q', depends_on: ['ready-2'] } }),
  ],
  [`POST ${V1}/jobs/:id/log`]: [of('typed-2', { message: 'm' })],
  [`POST ${V1}/jobs/:id/tags`]: [of('typed-2', { tags: ['b'] })],
  [`PUT ${V1}/tracked/:id`]: [of('typed-2')],
  [`POST ${V1}/jobs/:id/dependencies`]: [of('waits', { depends_on: ['ready-2'] })],
  [`POST ${V1}/queues/:queue/pause`]: [inQueue('none')],
  [`POST ${V1}/operations`]: [
    { body: { action: 'cancel', filter: { queue: 'none' } } },
    { body: { action: 'move', filter: { queue: 'none' }, to: 'q' } },
    { body: { action: 'delete', filter: { queue: 'none' }, undo_ms: 60_000 } },
  ],
  [`POST ${V1}/recurring`]: [{ body: { schedule: SCHEDULE, job: JOB } }],
  [`PUT ${V1}/recurring/:id`]: [of('fresh', { schedule: SCHEDULE, job: JOB })],
  [`PATCH ${V1}/recurring/:id`]: [of('hourly', { job: { data: TEXT + TEXT } })],
  [`POST ${V1}/recurring/:id/run`]: [of('hourly')],
  [`PUT ${V1}/variables/:name`]: [target('fresh', { value: 1 }), target('kept', { value: TEXT + TEXT })],
  [`PUT ${V1}/targets/:name`]: [target('fresh', { url: 'https://example.com/' })],
  'POST /token/:namespace': [{ query: '?description=d' }],
};

/** What frees memory, stops load, or serves jobs that are stored. A `lease` in the body is filled in. */
const WORKS: Readonly<Record<string, readonly Trial[]>> = {
  [`POST ${V1}/leases`]: [{ body: { queues: ['q', 'typed'], count: 1 } }],
  [`POST ${V1}/jobs/:id/heartbeat`]: [
    of('leased-1', { lease: 0, data: 'short' }),
    of('typed-leased-1', { lease: 0 }),
  ],
  [`POST ${V1}/jobs/:id/ack`]: [of('leased-1', { lease: 0 }), of('typed-leased-1', { lease: 0 })],
  [`POST ${V1}/acks`]: [{ body: { acks: [{ queue: 'leased', id: 'leased-7', force: true }] } }],
  [`POST ${V1}/jobs/:id/release`]: [of('leased-2', { lease: 0 }), of('typed-leased-2', { lease: 0 })],
  [`POST ${V1}/jobs/:id/retry`]: [
    of('leased-3', { lease: 0, delay_ms: 9_000_000 }),
    of('typed-leased-3', { lease: 0 }),
  ],
  [`POST ${V1}/jobs/:id/fail`]: [
    of('leased-4', { lease: 0, message: 'm' }),
    of('typed-leased-4', { lease: 0, message: 'm' }),
  ],
  [`POST ${V1}/jobs/:id/revoke`]: [of('leased-5'), of('typed-leased-5')],
  [`POST ${V1}/workers/:name/heartbeat`]: [target('known', { ttr_ms: 60_000, leases: [] })],
  [`POST ${V1}/workers/:name/quiet`]: [target('known')],
  [`POST ${V1}/workers/:name/stop`]: [target('known')],
  [`DELETE ${V1}/workers/:name/waits`]: [target('known')],
  [`DELETE ${V1}/workers/:name`]: [target('known')],
  [`POST ${V1}/jobs/:id/cancel`]: [of('ready-3', {}), of('typed-3', {}), of('kept', {})],
  [`POST ${V1}/jobs/cancel`]: [{ body: { ids: ['ready-4', 'typed-4'] } }],
  [`DELETE ${V1}/jobs/:id`]: [of('ready-5'), of('typed-5')],
  [`PATCH ${V1}/jobs/:id`]: [
    of('ready-6', { priority: 5 }),
    of('typed-6', { queue: 'q', data: 'short', delay_ms: 9_000_000 }),
  ],
  [`DELETE ${V1}/jobs/:id/tags`]: [{ names: { id: 'typed-6' }, query: '?tags=a' }],
  [`DELETE ${V1}/tracked/:id`]: [of('typed-6')],
  [`DELETE ${V1}/jobs/:id/dependencies`]: [of('waits', { depends_on: ['typed-6'] })],
  [`POST ${V1}/queues/:queue/pause`]: [
    ...['q', 'typed', 'pushed'].map((queue) => inQueue(queue)),
    inQueue('typed', { type: 't', note: 'full' }),
  ],
  [`POST ${V1}/queues/:queue/resume`]: [
    ...['q', 'typed', 'pushed'].map((queue) => inQueue(queue)),
    inQueue('typed', { type: 't' }),
  ],
  [`POST ${V1}/queues/:queue/drain`]: ['q', 'typed', 'pushed'].map((queue) => inQueue(queue)),
  [`PATCH ${V1}/queues/:queue`]: [
    inQueue('q', { max_running: 1, rate: { rate: 1, period_ms: 1_000 } }),
    inQueue('pushed', { push: null }),
  ],
  [`POST ${V1}/targets/:name/pause`]: [target('hook', { reason: 'full' })],
  [`POST ${V1}/targets/:name/resume`]: [target('hook')],
  [`PATCH ${V1}/targets/:name`]: [target('hook', { timeout_ms: 1_000 })],
  [`POST ${V1}/targets/:name/rotate`]: [target('hook')],
  [`DELETE ${V1}/targets/:name`]: [target('hook')],
  [`POST ${V1}/recurring/:id/pause`]: [of('hourly', { note: 'full' }), of('by-cron')],
  [`POST ${V1}/recurring/:id/resume`]: [of('hourly'), of('by-cron')],
  [`PATCH ${V1}/recurring/:id`]: [
    of('hourly', { schedule: { every_ms: 7_200_000 }, job: { data: 'short' } }),
  ],
  [`PUT ${V1}/recurring/:id`]: [of('hourly', { schedule: SCHEDULE, job: { queue: 'q', data: 1 } })],
  [`DELETE ${V1}/recurring/:id`]: [of('hourly')],
  [`POST ${V1}/recurring/preview`]: [{ body: { schedule: SCHEDULE } }],
  [`PUT ${V1}/variables/:name`]: [target('kept', { value: 'short' })],
  [`DELETE ${V1}/variables/:name`]: [target('kept')],
  [`PUT ${V1}/settings/:key`]: [{ names: { key: 'retention_ms' }, body: { value: 1_000 } }],
  [`DELETE ${V1}/settings/:key`]: [{ names: { key: 'retention_ms' } }],
  [`POST ${V1}/operations`]: [
    { body: { action: 'delete', filter: { queue: 'none' } } },
    { body: { action: 'cancel', filter: { queue: 'none' }, dry_run: true } },
  ],
  [`POST ${V1}/dead-letter/respawn`]: [{ body: { ids: ['leased-4'] } }],
  [`POST ${V1}/dead-letter/move`]: [{ body: { ids: ['typed-leased-4'], to_queue: 'q' } }],
  [`POST ${V1}/dead-letter/delete`]: [{ body: { filter: { queue: 'leased' } } }],
  'GET /api/:namespace/:queue': [inQueue('wire')],
  'DELETE /api/:namespace/:queue/job/:job_id': [{ names: { queue: 'wire', job_id: 'wire-2' } }],
  'PUT /api/:namespace/:queue/deadletter': [inQueue('leased')],
  'DELETE /api/:namespace/:queue/deadletter': [inQueue('leased')],
  [`POST ${V1}/queues/:queue/purge`]: [inQueue('q', { states: ['ready', 'scheduled', 'dead'] })],
  [`DELETE ${V1}/queues/:queue`]: [inQueue('empty')],
  'DELETE /api/:namespace/:queue': [inQueue('wire')],
  'PUT /namespaces/:namespace/quotas': [
    { body: { max_jobs_per_queue: 1_000, max_queues_per_namespace: null } },
  ],
  'PUT /token/:namespace/:token/limit': [{ body: { read: 1, write: 1, interval: 60 } }],
  'DELETE /token/:namespace/:token/limit': [{}],
  'POST /token/:namespace/:token/rotate': [{ query: '?grace=1h' }],
  'DELETE /token/:namespace/:token': [{}],
};

/** They store nothing, or do what a call above does. */
const OTHERS = [
  `POST ${V1}/targets/:name/test`,
  `POST ${V1}/operations/:id/stop`,
  `POST ${V1}/operations/:id/undo`,
  'PUT /api/:namespace/:queue/job/:job_id',
  'POST /token/:namespace/:token/limit',
  'DELETE /namespaces/:namespace',
  'POST /push/ack',
  'POST /accesslog',
  // This store has the newest format already.
  'POST /formats/:pool',
  // Of accounts: this server has none.
  ...['POST /session', 'DELETE /session', 'DELETE /accounts/:name/sessions'],
];

const CASES = Object.entries({ ADDS, WORKS }).flatMap(([kind, calls]) =>
  Object.entries(calls).flatMap(([call, trials]) =>
    trials.map((trial) => {
      const [about = '-'] = Object.values(trial.names ?? {});
      return [kind === 'ADDS' ? '507' : '2xx', call, about, trial] as const;
    }),
  ),
);

// Without functions, and before a server has used a function for the first time, Redis judges each command of a script.
describe.each([
  ['functions', []],
  ['scripts', WITHOUT_FUNCTIONS],
])('T57: a full Redis with %s', (_form, args) => {
  let redis: RedisProcess;
  let admin: Redis;
  let app: TestApp;
  let routes: Route[];
  let token: string;
  const leases = new Map<string, number>();

  beforeAll(async () => {
    redis = await startRedis({ args });
    admin = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    ({ started: app, routes } = await withRoutes(() =>
      TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: redis.url }),
    ));
    await store();
    await admin.config('SET', 'maxmemory', 1);
  });
  afterAll(async () => {
    await app.stop();
    admin.disconnect();
    await redis.stop();
  });

  async function stored<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, json, text } = await app.call(method, `/v1/${app.namespace}/${path}`, {
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (status >= 300) throw new Error(`${method} ${path}: ${text}`);
    return json as T;
  }

  /** All that the calls need, while there is room. */
  async function store(): Promise<void> {
    const typed = { type: 't', tags: ['a'] };
    for (const n of [1, 2, 3, 4, 5, 6, 7]) {
      await stored('POST', 'jobs', { ...JOB, id: `ready-${n}` });
      await stored('POST', 'jobs', { ...JOB, ...typed, queue: 'typed', id: `typed-${n}` });
      await stored('POST', 'jobs', { ...JOB, queue: 'leased', id: `leased-${n}` });
      await stored('POST', 'jobs', { ...JOB, ...typed, queue: 'typed-leased', id: `typed-leased-${n}` });
      await stored('POST', 'jobs', { ...JOB, queue: 'beside', id: `beside-${n}`, retention_ms: 9_000_000 });
    }
    await stored('POST', 'jobs', { ...JOB, ...typed, queue: 'kept', id: 'kept', retention_ms: 9_000_000 });
    await stored('POST', 'jobs', { ...JOB, id: 'waits', depends_on: ['typed-6', 'typed-7'] });
    for (const queue of ['leased', 'typed-leased', 'beside']) {
      const { jobs } = await stored<{ jobs: { id: string; lease: number }[] }>('POST', 'leases', {
        ...{ queues: [queue], count: 7, worker: 'known', ttr_ms: 600_000 },
      });
      for (const { id, lease } of jobs) leases.set(id, lease);
    }
    await stored('POST', 'jobs/beside-5/heartbeat', { lease: leases.get('beside-5'), progress: TEXT });
    for (let i = 0; i < 3; i++) await app.publish('wire');
    await stored('PATCH', 'queues/some', { fair: true });
    for (const jobs of SOME) await stored('POST', 'jobs', { ...JOB, ...jobs, queue: 'some' });
    await stored('PUT', 'variables/kept', { value: TEXT });
    await stored('PUT', 'targets/hook', { url: 'https://192.0.2.1/' });
    await stored('PATCH', 'queues/pushed', { push: { target: 'hook' } });
    await stored('PUT', 'recurring/hourly', { schedule: { ...SCHEDULE, offset_ms: 1_800_000 }, job: JOB });
    await stored('PUT', 'recurring/by-cron', { schedule: { cron: '@yearly', tz: 'UTC' }, job: JOB });
    await stored('PUT', 'recurring/ticks', {
      schedule: { every_ms: 1_000 },
      job: { ...JOB, queue: 'ticks' },
    });
    await stored('PUT', 'recurring/cron-ticks', {
      ...{ schedule: { cron: '* * * * * *', tz: 'UTC' }, job: { ...JOB, queue: 'ticks' } },
    });
    await stored('PATCH', 'queues/empty', { max_running: 1 });
    const info = { name: 'known', pid: 1, queues: ['q'], concurrency: 1 };
    await stored('POST', 'workers/known/heartbeat', { ttr_ms: 60_000, leases: [], info });
    ({ token } = (await app.admin('POST', `/token/${app.namespace}?description=d`)).json as {
      token: string;
    });
  }

  function run(call: string, { names = {}, query = '', body }: Trial): Promise<Answer> {
    const [method = '', template = ''] = call.split(' ');
    const full = { namespace: app.namespace, token, ...names };
    const path = addressOf({ method, template }, full) + query;
    const hasLease = typeof body === 'object' && body !== null && 'lease' in body;
    const sent = hasLease ? { ...body, lease: leases.get(names['id'] ?? '') } : body;
    const text = typeof sent === 'string' ? sent : JSON.stringify(sent);
    const options = sent === undefined ? {} : { body: text };
    const isAdmin = /^\/(token|namespaces)\//.test(template);
    return isAdmin ? app.admin(method, path, options) : app.call(method, path, options);
  }

  it('has a test case here for each call that changes something', () => {
    const changes = routes
      .filter(({ method }) => method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS')
      .map(({ method, template }) => `${method} ${template}`);
    const known = new Set([...Object.keys(ADDS), ...Object.keys(WORKS), ...OTHERS]);
    expect(changes.filter((call) => !known.has(call))).toEqual([]);
  });

  it.each(CASES)('gives the status %s for %s (%s)', async (outcome, call, _about, trial) => {
    const { status, text } = await run(call, trial);
    if (outcome === '507') expect({ status, text }).toMatchObject({ status: 507 });
    else if (status >= 300) throw new Error(`${String(status)} ${text}`);
  });

  it('leaves longer progress and results out, and cuts the message of a failure', async () => {
    const lease = (id: string): number => leases.get(id) ?? 0;
    const settle = (id: string, call: string, body: object): Promise<unknown> =>
      stored('POST', `jobs/${id}/${call}`, { lease: lease(id), ...body });
    const read = (id: string): Promise<object> => stored('GET', `jobs/${id}`);
    await settle('beside-1', 'heartbeat', { progress: LONG });
    await settle('beside-2', 'ack', { result: LONG });
    await settle('beside-3', 'retry', { message: LONG, delay_ms: 9_000_000 });
    await settle('beside-4', 'fail', { message: LONG });
    // It had some before.
    await settle('beside-5', 'heartbeat', { progress: LONG });
    const shorter = await read('beside-5');
    await settle('beside-5', 'heartbeat', { progress: 'less' });

    expect(await read('beside-1')).toMatchObject({ state: 'leased', progress: null });
    expect(await read('beside-2')).toMatchObject({ state: 'done', result: null });
    expect(await read('beside-3')).toMatchObject({ state: 'scheduled', failure: { message: SHORT } });
    expect(await read('beside-4')).toMatchObject({ state: 'dead', failure: { message: SHORT } });
    expect(shorter).toMatchObject({ progress: TEXT });
    expect(await read('beside-5')).toMatchObject({ progress: 'less' });
  });

  it('refuses longer data of one acknowledgement, and no other one of the call', async () => {
    const acks = ['beside-6', 'beside-7'].map((id, i) => ({
      ...{ queue: 'beside', id, lease: leases.get(id), next: { queue: 'beside-next' } },
      ...(i === 0 && { data: LONG }),
    }));
    expect(await stored('POST', 'acks', { acks })).toMatchObject({
      results: [
        { id: 'beside-6', status: 'store_full' },
        { id: 'beside-7', status: 'moved' },
      ],
    });
    expect(await stored('GET', 'jobs/beside-6')).toMatchObject({ state: 'leased', queue: 'beside' });
  });

  it('pauses some jobs of a queue, and ends each pause at its time', async () => {
    interface Leased {
      readonly jobs: readonly object[];
    }
    for (const jobs of SOME) await stored('POST', 'queues/some/pause', { ...jobs, for_ms: 2_000 });
    expect(await stored<Leased>('POST', 'leases', { queues: ['some'], count: 3 })).toEqual({ jobs: [] });
    const leased: object[] = [];
    await waitFor(async () => {
      const { jobs } = await stored<Leased>('POST', 'leases', { queues: ['some'], count: 3, wait_ms: 1_000 });
      leased.push(...jobs);
      return leased.length === SOME.length;
    }, 10_000);
    expect(await stored('GET', 'queues/some')).toMatchObject({ pauses: [] });
  });

  it('skips the slots of recurring jobs, fails no loop, and makes jobs again when there is room', async () => {
    interface Recurring {
      readonly made: number;
      readonly skipped: number;
      readonly last_skip: { readonly reason: string } | null;
    }
    const read = (id: string): Promise<Recurring> => stored('GET', `recurring/${id}`);
    const ids = ['ticks', 'cron-ticks'];
    const before = await Promise.all(ids.map(read));
    for (const [n, id] of ids.entries()) {
      const now = await waitFor(async () => {
        const one = await read(id);
        return one.skipped > before[n]!.skipped && one;
      }, 10_000);
      expect(now).toMatchObject({ made: before[n]!.made, last_skip: { reason: 'store_full' } });
    }
    const { loops } = (await app.admin('GET', '/loops')).json as {
      loops: { name: string; last_error: string | null }[];
    };
    expect(loops.filter(({ last_error }) => last_error !== null)).toEqual([]);

    await admin.config('SET', 'maxmemory', 0);
    for (const [n, id] of ids.entries())
      await waitFor(async () => (await read(id)).made > before[n]!.made, 10_000);
  });
});

describe('T57: workers whose outcomes a full Redis has no room for', () => {
  /** No machine is so slow that it ends: the jobs have one try. */
  const LEASE_MS = 600_000;
  let redis: RedisProcess;
  let admin: Redis;
  let app: TestApp;
  let direct: EnginePumphouse;
  const folder = mkdtempSync(join(tmpdir(), 'pumphouse-full-'));
  const players: Player[] = [];
  const proxies: FaultyProxy[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    app = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: redis.url });
    direct = await connect({ redis: redis.url, namespace: app.namespace });
    for (const language of await languagesIn(folder)) {
      const proxy = await FaultyProxy.start(app.port);
      proxies.push(proxy);
      players.push(new Player(language, app, proxy));
    }
  }, 120_000);
  afterAll(async () => {
    for (const player of players) player.stop();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await direct.close();
    await app.stop();
    admin.disconnect();
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('keep the lease and send the outcome again until there is room, in each language and without a server', async () => {
    const names = [...players.map(({ language }) => language.name), 'direct'];
    for (const name of names) {
      const job = { queue: `${name}-full`, id: name, tries: 1, data: 'short' };
      expect(
        await app.call('POST', `/v1/${app.namespace}/jobs`, { body: JSON.stringify(job) }),
      ).toMatchObject({ status: 201 });
    }
    await admin.config('SET', 'maxmemory', 1);
    let runs = 0;
    const worker = direct.worker({ queues: ['direct-full'], ttrMs: LEASE_MS });
    worker.handle('*', () => {
      runs++;
      return new Next({ queue: 'direct-full-2', data: LONG });
    });
    const isRunning = worker.run();
    const handlers = { '*': { next: '<other>', returns: LONG } };
    const played = players.map((player) => {
      const moved = { state: 'ready', queue: '<other>', failures: 0, attempts: 0, data: LONG };
      return player.play({
        name: 'full',
        steps: [
          { do: 'work', with: { queues: ['<queue>'], ttr_ms: LEASE_MS, handlers }, gives: {} },
          { api: `GET jobs/${player.language.name}`, gives: moved },
          { do: 'stop' },
        ],
      });
    });
    const refusals = Promise.all(
      proxies.map((proxy) => waitFor(() => Promise.resolve(proxy.of('/acks').length >= 4), 30_000)),
    );
    await Promise.race([refusals, Promise.all(played)]);
    await waitFor(() => Promise.resolve(runs > 0), 10_000);
    for (const name of names)
      expect((await app.call('GET', `/v1/${app.namespace}/jobs/${name}`)).json).toMatchObject({
        ...{ state: 'leased', queue: `${name}-full`, failures: 0 },
      });

    await admin.config('SET', 'maxmemory', 0);
    await Promise.all(played);
    await waitFor(async () => (await direct.jobs.get('direct')).queue === 'direct-full-2', 20_000);
    await worker.stop();
    await isRunning;
    expect(runs).toBe(1);
  }, 120_000);
});
