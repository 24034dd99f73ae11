import { NO_EXPIRY, TokenStore } from '../../src/auth/token-store.js';
import { SETTING_KEYS } from '../../src/engine/queues/known-settings.js';
import { TestApp } from '../support/app.js';
import { app, call, fresh, given, lease, publish, useNativeApi } from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

/** Counts of a queue without jobs. */
const NO_JOBS = {
  ...{ ready: 0, scheduled: 0, blocked: 0, stuck: 0, held: 0, leased: 0 },
  ...{ stalled: 0, dead: 0, done: 0, cancelled: 0, recurring: 0 },
};

describe('the native API, queues', () => {
  useNativeApi();

  const queues = async (): Promise<{ queue: string; exists: boolean }[]> =>
    (await given<{ items: { queue: string; exists: boolean }[] }>('GET', 'queues?limit=1000')).items;
  const listed = async (): Promise<string[]> => (await queues()).map(({ queue }) => queue);

  it('shows the contents and settings of a queue', async () => {
    const queue = fresh();
    await publish({ queue, data: 1 });
    await publish({ queue, data: 1, delay_ms: 60_000 });
    await publish({ queue, data: 1, type: 't' });
    await lease({ queues: [queue] });

    const { status, json } = await call('GET', `queues/${queue}`);

    expect(status).toBe(200);
    expect(json).toEqual({
      queue,
      exists: true,
      length: 3,
      work: 2,
      workers: 0,
      counts: { ...NO_JOBS, ready: 1, scheduled: 1, leased: 1 },
      paused_at: null,
      paused_by: null,
      pause_note: null,
      pause_ends_at: null,
      pauses: [],
      draining_at: null,
      max_running: null,
      push: null,
      max_running_per_key: null,
      rate: null,
      rate_per_key: null,
      defaults: {},
      max_kept: null,
      index_tags: true,
      lease_grace_ms: null,
      expired: 'back',
      fair: false,
      order: null,
      on_dead: 'continue',
      redact: null,
    });
  });

  it('shows a queue that does not exist without jobs and settings', async () => {
    const queue = fresh();

    expect(await call('GET', `queues/${queue}`)).toMatchObject({
      status: 200,
      json: { queue, exists: false, length: 0, work: 0, counts: NO_JOBS, paused_at: null, defaults: {} },
    });
    expect(await listed()).not.toContain(queue);
    // Nothing is stored by it.
    expect((await call('DELETE', `queues/${queue}`)).status).toBe(404);
    expect((await call('GET', 'queues/_no')).status).toBe(400);
  });

  it('counts the stuck, stalled and recurring jobs of a queue', async () => {
    const [queue, other] = [fresh(), fresh()];
    await publish({ queue: other, id: 'needed', tries: 1 });
    await publish({ queue, data: 1, depends_on: ['needed'] });
    await publish({ queue, data: 1, type: 't' });
    await publish({ queue, data: 2, type: 't' });
    await lease({ queues: [queue], worker: 'late', ttr_ms: 1 });
    await lease({ queues: [queue], worker: 'in-time' });
    const schedule = { every_ms: 86_400_000, offset_ms: 86_400_000 };
    await given('PUT', 'recurring/r1', { schedule, job: { queue } });
    await given('PUT', 'recurring/r2', { schedule, job: { queue }, paused: true });
    await given('PUT', 'recurring/r3', { schedule, job: { queue: other } });
    const [needed] = await lease({ queues: [other] });
    await given('POST', 'jobs/needed/fail', { lease: needed?.lease });

    await waitFor(async () => {
      const { json } = await call('GET', `queues/${queue}`);
      expect(json).toMatchObject({
        length: 3,
        work: 2,
        counts: { ready: 1, leased: 1, stalled: 1, blocked: 1, stuck: 1, recurring: 2 },
      });
      return true;
    });
    expect((await call('GET', `queues/${other}`)).json).toMatchObject({
      counts: { stalled: 0, dead: 1, recurring: 1 },
    });
    const { items } = await given<{ items: object[] }>('GET', `jobs?state=stalled&queue=${queue}`);
    expect(items).toMatchObject([{ queue, state: 'ready', leased_by: null }]);
    expect(await call('GET', 'jobs?state=stalled,ready')).toMatchObject({
      status: 400,
      json: { errors: [{ field: 'state' }] },
    });
    // Another worker has it now.
    await lease({ queues: [queue], worker: 'next' });
    expect(await given('GET', `jobs?state=stalled&queue=${queue}`)).toMatchObject({ items: [] });
    expect((await call('GET', `queues/${queue}`)).json).toMatchObject({ counts: { stalled: 0, leased: 2 } });
    for (const id of ['r1', 'r2', 'r3']) await call('DELETE', `recurring/${id}`);
  });

  it('counts the workers of a queue: sessions that name it and are not lost', async () => {
    const [queue, other] = [fresh(), fresh()];
    const beat = (id: string, ttr_ms: number, queues: string[]): Promise<unknown> =>
      given('POST', `workers/${id}/heartbeat`, { ttr_ms, leases: [], info: { name: 'mailer', queues } });
    const workersOf = async (): Promise<unknown[]> =>
      Promise.all(
        [queue, other].map(
          async (name) => (await given<{ workers: number }>('GET', `queues/${name}`)).workers,
        ),
      );
    const [one, two, three] = [fresh('worker'), fresh('worker'), fresh('worker')];
    await beat(one, 60_000, [queue]);
    await beat(two, 60_000, [queue, other]);
    await beat(three, 60_000, []);
    await publish({ queue, delay_ms: 60_000 });
    // It has no session.
    await lease({ queues: [queue], worker: fresh('nameless') });
    expect(await workersOf()).toEqual([2, 1]);
    expect(await queues()).toContainEqual(expect.objectContaining({ queue, workers: 2 }));

    await call('DELETE', `workers/${one}`);
    await beat(two, 1, [queue, other]);
    await waitFor(async () => {
      expect(await workersOf()).toEqual([0, 0]);
      return true;
    });
    for (const id of [two, three]) await call('DELETE', `workers/${id}`);
  });

  it('lists queues that have a waiting lease request, a recurring job, a setting or a job of today', async () => {
    const [awaited, repeated, busy, set] = [fresh('wait'), fresh('recur'), fresh('busy'), fresh('set')];
    const waiting = lease({ queues: [awaited], wait_ms: 20_000 });
    await given('PUT', 'recurring/r9', {
      schedule: { every_ms: 86_400_000, offset_ms: 86_400_000 },
      job: { queue: repeated },
    });
    await given('PATCH', `queues/${set}`, { max_running: 1 });
    await publish({ queue: busy, data: 1 });
    const [job] = await lease({ queues: [busy] });
    await given('POST', `jobs/${job?.id ?? ''}/ack`, { lease: job?.lease });
    await app.engine.tidyNow(app.namespace);

    await waitFor(async () => {
      const items = await queues();
      const found = new Map(items.map(({ queue, exists }) => [queue, exists]));
      expect([awaited, repeated, busy, set].map((queue) => found.get(queue))).toEqual([
        false,
        false,
        false,
        true,
      ]);
      return true;
    });
    await publish({ queue: awaited, data: 1 });
    expect(await waiting).toHaveLength(1);
    await call('DELETE', 'recurring/r9');
  });

  it('does not index the tags of jobs that are published while index_tags is false', async () => {
    const [queue, tag] = [fresh(), fresh('tag')];
    const setting = async (index_tags: unknown): Promise<unknown> =>
      given('PATCH', `queues/${queue}`, { index_tags });
    const found = async (): Promise<string[]> =>
      (await given<{ items: { id: string }[] }>('GET', `jobs?tag=${tag}`)).items.map(({ id }) => id);

    expect(await setting(false)).toMatchObject({ index_tags: false, created: true });
    expect(await given('PATCH', `queues/${queue}`, { max_kept: 8 })).toMatchObject({ index_tags: false });
    const { id: hidden } = await publish({ queue, tags: [tag] });
    expect(await setting(null)).toMatchObject({ index_tags: true });
    const { id: shown } = await publish({ queue, tags: [tag] });
    expect(await given('PATCH', `queues/${queue}`, { max_kept: 9 })).toMatchObject({ index_tags: true });

    expect(await found()).toEqual([shown]);
    expect(await given('GET', `jobs/${hidden}`)).toMatchObject({ tags: [tag] });
    expect(await given('POST', `jobs/${hidden}/tags`, { tags: ['more'] })).toMatchObject({
      tags: [tag, 'more'],
    });
    expect((await found()).sort()).toEqual([hidden, shown].sort());
    for (const wrong of [0, 'false', {}])
      expect(await call('PATCH', `queues/${queue}`, { index_tags: wrong })).toMatchObject({
        status: 400,
        json: { errors: [{ field: 'index_tags' }] },
      });
  });

  it('sets and shows lease_grace_ms and expired of a queue', async () => {
    const queue = fresh();
    const set = { lease_grace_ms: 5_000, expired: 'front' };
    expect(await given('PATCH', `queues/${queue}`, set)).toMatchObject(set);
    expect(await given('PATCH', `queues/${queue}`, { max_running: 3 })).toMatchObject(set);
    expect(await given('PATCH', `queues/${queue}`, { lease_grace_ms: 0, expired: null })).toMatchObject({
      lease_grace_ms: null,
      expired: 'back',
    });
    for (const [field, wrong] of [
      ['lease_grace_ms', -1],
      ['lease_grace_ms', '5s'],
      ['expired', 'first'],
      ['expired', true],
    ] as const)
      expect(await call('PATCH', `queues/${queue}`, { [field]: wrong })).toMatchObject({
        status: 400,
        json: { errors: [{ field }] },
      });
  });

  it('refuses to drain, purge, resume or delete a queue that does not exist', async () => {
    const queue = fresh();
    for (const [method, path, body] of [
      ['POST', '/drain', {}],
      ['POST', '/drain', { wait_ms: 10 }],
      ['POST', '/purge', { states: ['ready'] }],
      ['POST', '/purge', { states: ['ready'], dry_run: true }],
      ['POST', '/resume', undefined],
      ['DELETE', '', undefined],
    ] as const) {
      const answer = await call(method, `queues/${queue}${path}`, body);
      expect(answer).toMatchObject({ status: 404, json: { code: 'queue_not_found' } });
    }
    expect((await call('GET', `queues/${queue}`)).json).toMatchObject({ exists: false });
  });

  it('creates a queue by a pause or a setting, and answers created: true', async () => {
    for (const [method, path, body] of [
      ['POST', '/pause', undefined],
      ['PATCH', '', { max_running: 3 }],
    ] as const) {
      const queue = fresh();
      const first = await call(method, `queues/${queue}${path}`, body);
      expect(first).toMatchObject({ status: 200, json: { queue, created: true } });
      const again = await call(method, `queues/${queue}${path}`, body);
      expect(again.status).toBe(200);
      expect(again.json).not.toHaveProperty('created');
    }
  });

  it('changes and resets the settings of a queue one by one', async () => {
    const queue = fresh();
    const retry = { kind: 'exponential', delay_ms: 10, factor: 3, max_ms: 1_000, jitter: 0.5 };

    const made = await call('PATCH', `queues/${queue}`, {
      max_running: 5,
      rate: { rate: 100, period_ms: 1_000, burst: 20 },
      defaults: { tries: 7, retry },
    });
    const changed = await call('PATCH', `queues/${queue}`, {
      max_running: null,
      rate_per_key: { rate: 1, period_ms: 50 },
    });

    expect(made.json).toMatchObject({
      max_running: 5,
      max_running_per_key: null,
      defaults: { tries: 7, retry },
    });
    expect(changed.json).toMatchObject({
      max_running: null,
      rate: { rate: 100, period_ms: 1_000, burst: 20 },
      rate_per_key: { rate: 1, period_ms: 50, burst: 1 },
      defaults: { tries: 7, retry },
    });
    const { json } = await call('PATCH', `queues/${queue}`, {
      rate: { rate: 11, period_ms: 1 },
      max_running_per_key: 0,
      paused: true,
    });
    expect(json).toMatchObject({ code: 'invalid_argument' });
    expect((json as { errors: { field: string }[] }).errors.map(({ field }) => field).sort()).toEqual([
      'max_running_per_key',
      'paused',
    ]);
    const rate = await call('PATCH', `queues/${queue}`, { rate: { rate: 11, period_ms: 1 } });
    expect(rate.json).toMatchObject({ errors: [{ field: 'rate.rate' }] });
  });

  it('applies the defaults of the queue to native jobs', async () => {
    const queue = fresh();
    await call('PATCH', `queues/${queue}`, { defaults: { tries: 7, ttr_ms: 5_000, ttl_ms: 60_000 } });
    const { id } = await publish({ queue, data: 1 });

    expect((await call('GET', `jobs/${id}`)).json).toMatchObject({
      tries_left: 7,
      expires_at: expect.any(String) as string,
    });
    expect(await lease({ queues: [queue] })).toHaveLength(1);
    const keyed = () => call('POST', 'jobs', { queue, data: 1 }, { headers: { 'Idempotency-Key': queue } });
    const first = await keyed();
    expect(first.status).toBe(201);
    expect((await keyed()).text).toBe(first.text);
    // Without defaults it takes the simple path.
    await call('PATCH', `queues/${queue}`, { defaults: null });
    expect((await keyed()).text).toBe(first.text);
    expect(await lease({ queues: [queue], count: 5 })).toHaveLength(1);
  });

  it("applies no default of the queue to a republish of lmstfy's API", async () => {
    const queue = fresh();
    const defaults = {
      tries: 7,
      priority: 3,
      retention_ms: 60_000,
      max_run_ms: 5_000,
      retry: { kind: 'none' },
    };
    await call('PATCH', `queues/${queue}`, { defaults });
    const { id } = await publish({ queue, type: 't' });
    const answer = await app.put(`/api/${app.namespace}/${queue}/job/${id}?ttl=60&tries=2`, 'new');
    expect(answer.status).toBe(201);
    const { job_id } = answer.json as { job_id: string };
    expect((await call('GET', `jobs/${job_id}`)).json).toMatchObject({
      ...{ state: 'ready', tries: 2, priority: 0, retry: null, retention_ms: null, max_run_ms: null },
    });
  });

  it("pauses and resumes a queue, also for consumers of lmstfy's API", async () => {
    const queue = fresh();
    await publish({ queue, data: 1 });
    expect((await call('POST', `queues/${queue}/pause`)).json).toMatchObject({
      paused_at: expect.any(String) as string,
    });

    expect(await lease({ queues: [queue] })).toEqual([]);
    expect((await app.get(`/api/${app.namespace}/${queue}?timeout=0`)).status).toBe(404);
    const waiting = lease({ queues: [queue], wait_ms: 10_000 });
    expect((await call('POST', `queues/${queue}/resume`)).json).toMatchObject({ paused_at: null });

    expect(await waiting).toHaveLength(1);
  });

  it("refuses publishes to a draining queue until it is empty, also those of lmstfy's API", async () => {
    const queue = fresh();
    const { id } = await publish({ queue, data: 1 });
    expect((await call('POST', `queues/${queue}/drain`)).json).toMatchObject({
      length: 1,
      draining_at: expect.any(String) as string,
    });

    expect((await call('POST', 'jobs', { queue, data: 1 })).json).toMatchObject({ code: 'queue_draining' });
    expect((await call('POST', 'jobs', { queue, data: 1, type: 't' })).status).toBe(409);
    const lmstfy = await app.call('PUT', `/api/${app.namespace}/${queue}`, { body: 'x' });
    expect(lmstfy.status).toBe(409);
    const drained = call('POST', `queues/${queue}/drain`, { wait_ms: 20_000 });
    const [job] = await lease({ queues: [queue] });
    await call('POST', `jobs/${id}/ack`, { lease: job?.lease });

    expect((await drained).json).toMatchObject({ length: 0, draining_at: null });
    expect((await call('POST', 'jobs', { queue, data: 1 })).status).toBe(201);
  });

  it('purges the jobs of the given states, and only counts them with dry_run', async () => {
    const queue = fresh();
    for (let i = 0; i < 3; i++) await publish({ queue, data: i, priority: i });
    await publish({ queue, data: 1, delay_ms: 60_000 });
    const states = ['ready', 'scheduled'];

    const dry = await call('POST', `queues/${queue}/purge`, { states, dry_run: true });
    expect(dry.json).toEqual({ jobs: { ready: 3, scheduled: 1 }, dry_run: true, complete: true });
    expect((await call('DELETE', `queues/${queue}`)).json).toMatchObject({ code: 'queue_not_empty' });
    const purged = await call('POST', `queues/${queue}/purge`, { states });
    expect(purged.json).toEqual({ jobs: { ready: 3, scheduled: 1 }, dry_run: false, complete: true });
    expect((await call('DELETE', `queues/${queue}`)).status).toBe(204);
    expect((await call('GET', `queues/${queue}`)).json).toMatchObject({ exists: false });
    for (const body of [{ states: [] }, { states: ['gone'] }, {}, { states: ['ready', 'ready'] }]) {
      expect((await call('POST', `queues/${queue}/purge`, body)).json).toMatchObject({
        errors: [{ field: 'states' }],
      });
    }
  });

  it('answers job_not_found to the worker of a purged job', async () => {
    const queue = fresh();
    await publish({ queue, data: 1 });
    await publish({ queue, data: 2, tags: ['extended'] });
    const jobs = await lease({ queues: [queue], count: 2 });
    await call('POST', `queues/${queue}/purge`, { states: ['leased'] });
    expect(jobs).toHaveLength(2);
    for (const { id, lease: number } of jobs) {
      const answer = await call('POST', `jobs/${id}/ack`, { lease: number });
      expect(answer).toMatchObject({ status: 404, json: { code: 'job_not_found' } });
    }
  });

  it('uses the same state names in counts, lists and purges', async () => {
    const queue = fresh();
    const jobs = ['d1', 'd2', 'c1', 'r1'].map((id) => ({
      queue,
      id: `${queue}-${id}`,
      tags: [queue],
      retention_ms: 60_000,
    }));
    await call('POST', 'jobs', { jobs });
    for (const job of await lease({ queues: [queue], count: 2 })) {
      await call('POST', `jobs/${job.id}/ack`, { lease: job.lease });
    }
    await call('POST', `jobs/${queue}-c1/cancel`, {});
    const { counts } = (await call('GET', `queues/${queue}`)).json as { counts: Record<string, number> };
    expect(counts).toMatchObject({ ready: 1, done: 2, cancelled: 1 });
    const idsOf = async (query: string): Promise<string[]> => {
      const { json } = await call('GET', `jobs?${query}`);
      return (json as { items: { id: string }[] }).items.map(({ id }) => id.slice(queue.length + 1)).sort();
    };
    const besides = ['stuck', 'stalled', 'recurring'];
    for (const [state, many] of Object.entries(counts).filter(([name]) => !besides.includes(name))) {
      expect([state, (await idsOf(`queue=${queue}&state=${state}`)).length]).toEqual([state, many]);
      const dry = await call('POST', `queues/${queue}/purge`, { states: [state], dry_run: true });
      const sum = Object.values((dry.json as { jobs: Record<string, number> }).jobs).reduce(
        (a, b) => a + b,
        0,
      );
      expect([state, sum]).toEqual([state, many]);
    }
    expect(await idsOf(`queue=${queue}&state=done,cancelled`)).toEqual(['c1', 'd1', 'd2']);
    expect(await idsOf(`tag=${queue}&state=done,cancelled`)).toEqual(['c1', 'd1', 'd2']);
    expect((await call('GET', `jobs?queue=${queue}&state=ended`)).status).toBe(400);
    expect(await idsOf(`queue=${queue}&state=done`)).toEqual(['d1', 'd2']);
    expect(await idsOf(`queue=${queue}&state=cancelled`)).toEqual(['c1']);
    const purged = await call('POST', `queues/${queue}/purge`, { states: ['cancelled', 'done'] });
    expect(purged.json).toEqual({ jobs: { done: 2, cancelled: 1 }, dry_run: false, complete: true });
    expect(await idsOf(`queue=${queue}`)).toEqual(['r1']);
  });

  it('lists queues by name in pages, and for a token for some queues only these', async () => {
    for (const queue of ['list-b', 'list-a', 'other', 'list-c']) await publish({ queue, data: 1 });
    const names: string[] = [];
    let path = 'queues?limit=2';
    for (;;) {
      const { json } = await call('GET', path);
      const { items, next_cursor } = json as { items: { queue: string }[]; next_cursor: string | null };
      names.push(...items.map(({ queue }) => queue));
      expect(items.length).toBeLessThanOrEqual(2);
      if (next_cursor === null) break;
      path = `queues?limit=2&cursor=${next_cursor}`;
    }
    expect(names).toEqual([...new Set(names)].sort());
    expect(names).toEqual(expect.arrayContaining(['list-a', 'list-b', 'list-c', 'other']));

    const token = await app.server.admin.app.get(TokenStore, { strict: false }).grant({
      namespace: app.namespace,
      pool: 'default',
      description: 'some',
      rights: { verbs: ['consume'], queues: ['list-*'] },
      expiry: NO_EXPIRY,
    });
    const some = await call('GET', 'queues', undefined, { token });
    expect((some.json as { items: { queue: string }[] }).items.map(({ queue }) => queue)).toEqual([
      'list-a',
      'list-b',
      'list-c',
    ]);
    expect((await call('GET', 'queues/other', undefined, { token })).status).toBe(403);
    expect((await call('GET', 'queues?cursor=nonsense!')).status).toBe(400);
  });
});

describe('the native API, settings', () => {
  describe('the settings of a namespace', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start({ PUMPHOUSE_STATS__HISTORY_DAYS: '9' });
    });
    afterAll(() => app.stop());

    const call = (method: string, key = '', body?: string): ReturnType<TestApp['call']> =>
      app.call(method, `/v1/${app.namespace}/settings${key}`, body === undefined ? {} : { body });

    it('are listed with the effective value and its origin', async () => {
      const { status, json } = await call('GET');
      const { items, next_cursor } = json as { items: { key: string; source: string }[]; next_cursor: null };

      expect(status).toBe(200);
      expect(next_cursor).toBeNull();
      expect(items.map(({ key }) => key)).toEqual([...SETTING_KEYS].sort());
      expect(items.find(({ key }) => key === 'history_days')).toEqual({
        ...{ key: 'history_days', value: 9, default: 9, source: 'server', min: 0, max: 366 },
      });
      expect(items.find(({ key }) => key === 'grace_ms')).toMatchObject({
        value: 10_000,
        source: 'built_in',
      });
    });

    it('are set, read and reset one by one', async () => {
      const chosen = { key: 'grace_ms', value: 250, default: 10_000, source: 'namespace' };
      const put = await call('PUT', '/grace_ms', '{"value":250}');
      expect(put).toMatchObject({ status: 200, json: chosen });
      expect(await call('GET', '/grace_ms')).toMatchObject({ status: 200, json: chosen });

      expect((await call('DELETE', '/grace_ms')).status).toBe(204);
      expect((await call('DELETE', '/grace_ms')).status).toBe(204);
      expect((await call('GET', '/grace_ms')).json).toMatchObject({ value: 10_000, source: 'built_in' });
    });

    it.each([
      ['/color', '{"value":1}', 'key'],
      ['/grace_ms', '{"value":-1}', 'value'],
      ['/grace_ms', '{"value":"1"}', 'value'],
      ['/grace_ms', '{"value":1.5}', 'value'],
      ['/grace_ms', '{}', 'value'],
      ['/grace_ms', '{"value":1,"unit":"s"}', 'unit'],
      ['/grace_ms', '[1]', ''],
      ['/grace_ms', 'one', ''],
      ['/grace_ms', '', 'value'],
    ])('refuse PUT %s with %j, naming the field %j', async (key, body, field) => {
      const { status, json } = await call('PUT', key, body);

      expect(status).toBe(400);
      expect(json).toMatchObject({ code: 'invalid_argument', errors: [{ field }] });
      expect((await call('GET', '/grace_ms')).json).toMatchObject({ source: 'built_in' });
    });
  });
});

describe('the native API, statistics', () => {
  interface Stats {
    readonly day: string;
    readonly waits: { readonly count: number };
    readonly runs: { readonly count: number; readonly histogram: readonly { readonly bin: string }[] };
    readonly failures: number;
    readonly retries: number;
  }

  describe('the statistics of a queue', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    const stats = async (query: string): Promise<Stats> => {
      const { status, json, text } = await app.get(`/v1/${app.namespace}/stats?${query}`);
      if (status !== 200) throw new Error(text);
      return json as Stats;
    };
    const today = (): string => new Date().toISOString().slice(0, 10);

    it('count the outcomes of its jobs', async () => {
      const begun = today();
      await app.publish('mail?tries=1');
      const id = await app.publish('mail');
      for (let i = 0; i < 2; i++) await app.get('mail?ttr=1');
      expect((await app.delete(`mail/job/${id}`)).status).toBe(204);
      const seen = await waitFor(async () => {
        const found = await stats(`queue=mail&day=${begun}`);
        return found.failures === 1 ? found : null;
      }, 10_000);

      // At midnight the day changes in mid-test.
      if (today() !== begun) return;
      expect(seen).toMatchObject({ day: begun, waits: { count: 2 }, failures: 1, retries: 0 });
      expect(seen.runs).toMatchObject({ count: 1 });
      expect(await stats('queue=mail')).toEqual(seen);
      expect(await stats('queue=mail&day=2020-02-29')).toMatchObject({ waits: { count: 0 } });
    });

    it('are summed over all queues if none is named, with the number of jobs still dead', async () => {
      const begun = today();
      const space = `sum${String(Date.now())}`;
      const { json } = await app.admin('POST', `/token/${space}?description=d`);
      const options = { token: (json as { token: string }).token };
      const v1 = async (method: string, path: string, body?: object): Promise<unknown> => {
        const given = body === undefined ? options : { ...options, body: JSON.stringify(body) };
        return (await app.call(method, `/v1/${space}/${path}`, given)).json;
      };
      // Simple jobs, and extended ones.
      for (const [queue, more] of [
        ['one', {}],
        ['two', { type: 't' }],
      ] as const) {
        await v1('POST', 'jobs', { jobs: [1, 2].map((data) => ({ queue, data, tries: 1, ...more })) });
        const { jobs } = (await v1('POST', 'leases', { queues: [queue], count: 2 })) as {
          jobs: { id: string; lease: number }[];
        };
        for (const { id, lease } of jobs) await v1('POST', `jobs/${id}/fail`, { lease });
      }
      await v1('POST', 'dead-letter/respawn', { filter: { queue: 'two' }, limit: 1 });
      const sum = await waitFor(async () => {
        const found = (await v1('GET', `stats?day=${begun}`)) as Stats;
        return found.failures === 4 ? found : null;
      }, 10_000);

      if (today() !== begun) return;
      expect(sum).toMatchObject({ queue: null, waits: { count: 4 }, failures: 4, still_dead: 3 });
      expect(await v1('GET', `stats?queue=two&day=${begun}`)).toMatchObject({
        ...{ queue: 'two', waits: { count: 2 }, failures: 2, still_dead: 1 },
      });
      expect(await v1('GET', 'stats?day=2020-02-29')).toMatchObject({ failures: 0, still_dead: 0 });
      expect(await v1('GET', 'stats?queue=none')).toMatchObject({ failures: 0, still_dead: 0 });
      expect(await v1('GET', 'stats?queue=*')).toMatchObject({ failures: 0, still_dead: null });
    });

    it('are shown to a token for some queues only for these', async () => {
      const { json } = await app.admin('POST', `/token/${app.namespace}?description=d&queues=mail`);
      const { token } = json as { token: string };
      const status = async (query: string): Promise<number> =>
        (await app.get(`/v1/${app.namespace}/stats${query}`, { token })).status;

      expect([await status('?queue=mail'), await status('?queue=news')]).toEqual([200, 403]);
      expect([await status(''), await status('?queue=*')]).toEqual([403, 403]);
    });

    it('are refused with the name of the wrong field', async () => {
      const { status, headers, json } = await app.get(`/v1/${app.namespace}/stats?queue=a,b&day=yesterday`);

      expect(status).toBe(400);
      expect(headers['content-type']).toBe('application/problem+json');
      expect(json).toMatchObject({
        code: 'invalid_argument',
        errors: [{ field: 'queue' }, { field: 'day', rule: expect.stringContaining('YYYY-MM-DD') as string }],
      });
    });
  });
});

describe('the native API, lists', () => {
  useNativeApi();

  interface Page {
    readonly items: readonly { readonly id: string; readonly [field: string]: unknown }[];
    readonly next_cursor: string | null;
  }
  interface Done {
    readonly jobs: number;
    readonly next_cursor: string | null;
  }

  const publish = async (job: object): Promise<string> =>
    (await given<{ id: string }>('POST', 'jobs', { data: 1, ...job })).id;
  const idsOf = async (path: string): Promise<string[]> =>
    (await given<Page>('GET', path)).items.map(({ id }) => id);

  async function lease(queue: string, worker?: string): Promise<{ id: string; lease: number }> {
    const { jobs } = await given<{ jobs: { id: string; lease: number }[] }>('POST', 'leases', {
      queues: [queue],
      ...(worker === undefined ? {} : { worker }),
    });
    return jobs[0]!;
  }

  async function fail(queue: string, group: string, message = 'it broke'): Promise<string> {
    const { id, lease: number } = await lease(queue);
    await given('POST', `jobs/${id}/fail`, { lease: number, group, message });
    return id;
  }

  describe('the calls on lists, tags and workers', () => {
    it('list jobs by state, queue, tag, type and worker, in pages', async () => {
      const [queue, tag, type, worker] = [fresh('q'), fresh('tag'), fresh('type'), fresh('w')];
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) ids.push(await publish({ queue, tags: [tag], type }));
      const leased = await lease(queue, worker);

      expect(leased.id).toBe(ids[0]);
      expect(await idsOf(`jobs?queue=${queue}&state=ready`)).toEqual(ids.slice(1));
      expect(await idsOf(`jobs?worker=${worker}`)).toEqual([ids[0]]);
      expect(await idsOf(`jobs?type=${type}&state=leased`)).toEqual([ids[0]]);
      const first = await given<Page>('GET', `jobs?tag=${tag}&limit=3`);
      expect(first.next_cursor).not.toBeNull();
      const second = await given<Page>('GET', `jobs?tag=${tag}&limit=3&cursor=${first.next_cursor!}`);
      expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(ids);
      expect(second.next_cursor).toBeNull();
      expect(first.items[0]).toMatchObject({
        id: ids[0],
        queue,
        state: 'leased',
        leased_by: worker,
        tags: [tag],
        type,
      });
      expect(first.items[0]).not.toHaveProperty('lease');
    });

    it('refuse a wrong parameter with its name, and a wrong cursor', async () => {
      for (const [query, field] of [
        ['state=lost', 'state'],
        ['limit=0', 'limit'],
        ['colour=red', 'colour'],
        ['tag=a;b', 'tag=a;b'],
        ['group=50%', 'group=50%'],
        ['state=ready&state=leased', 'state'],
      ] as const) {
        const { status, json } = await call('GET', `jobs?${query}`);
        expect([query, status]).toEqual([query, 400]);
        expect(json).toMatchObject({ code: 'invalid_argument', errors: [{ field }] });
      }
      for (const path of ['jobs', 'dead-letter', 'tags', 'workers', 'failure-groups', 'tracked']) {
        const { status, json } = await call('GET', `${path}?cursor=abc`);
        expect([path, status]).toEqual([path, 400]);
        expect(json).toMatchObject({ code: 'invalid_argument' });
      }
      for (const path of [
        'stats?queue=mail%',
        'queues/mail?x;y',
        'queues/mail?x=%zz',
        'jobs?tag=%ff',
        'jobs?state=dead&state=%ff',
      ])
        expect((await call('GET', path)).json).toMatchObject({ code: 'invalid_argument' });
    });

    it('refuse a cursor that is none of their indexes, whatever is in it', async () => {
      const queue = fresh();
      await publish({ queue, tags: ['x'], type: 'a,b' });
      await publish({ queue, delay_ms: 86_400_000 });
      const places = ['.', '-', 'e', '1e', '1.5', '1e9', '-1', '99999999999999999999', '1e400', '1', ''];
      const ids = ['', 'x', '1', 'a\n1', '99999999999999999999\n\nx\ny', '1\n2\nx\ny'];
      for (const filter of [`queue=${queue}`, `queue=${queue}&order=newest`, 'tag=x', 'worker=w'])
        for (let source = 0; source < 20; source++)
          for (const at of places)
            for (const id of ids) {
              const sign = filter.includes('newest') ? '-' : '';
              const section = filter.includes('queue') ? queue : '';
              const text = `${sign}${String(source)}/${at}/${Buffer.from(id).toString('base64url')}/${section}`;
              const cursor = Buffer.from(text).toString('base64url');
              const { status } = await call('GET', `jobs?${filter}&cursor=${cursor}`);
              expect([text, [200, 400].includes(status)]).toEqual([text, true]);
            }
      const cursor = Buffer.from(`9/0/.//${queue}`).toString('base64url');
      const deleted = await call('POST', 'dead-letter/delete', { filter: { queue }, cursor });
      expect(deleted.status).toBe(400);
    });

    it('list jobs of several states, in the order of the states in the request', async () => {
      const queue = fresh();
      const ready = await publish({ queue });
      const scheduled = await publish({ queue, delay_ms: 60_000 });
      const done = await publish({ queue, retention_ms: 60_000, priority: -1 });
      const cancelled = await publish({ queue, retention_ms: 60_000 });
      const job = await lease(queue);
      expect(job.id).toBe(done);
      await given('POST', `jobs/${done}/ack`, { lease: job.lease });
      await given('POST', `jobs/${cancelled}/cancel`);
      const of = `jobs?queue=${queue}&state=`;

      expect(await idsOf(`${of}ready,scheduled`)).toEqual([ready, scheduled]);
      expect(await idsOf(`${of}scheduled,ready`)).toEqual([scheduled, ready]);
      expect(await idsOf(`${of}done,cancelled`)).toEqual([done, cancelled]);
      expect(await idsOf(`${of}done,dead`)).toEqual([done]);
      expect(await given('GET', `queues/${queue}`)).toMatchObject({ counts: { done: 1, cancelled: 1 } });
      for (const state of ['', 'ready,ready', 'ready,gone', 'ready,stalled'])
        expect((await call('GET', of + state)).json).toMatchObject({ errors: [{ field: 'state' }] });
      expect(await given('POST', `queues/${queue}/purge`, { states: ['done', 'cancelled'] })).toMatchObject({
        jobs: { done: 1, cancelled: 1 },
      });
    });

    it('list jobs by ids, in the order of the ids, without missing jobs', async () => {
      const [queue, other] = [fresh(), fresh()];
      const one = await publish({ queue, delay_ms: 60_000 });
      const two = await publish({ queue: other, type: 't' });
      const { items, next_cursor } = await given<Page>('GET', `jobs?ids=${two},missing,${one}`);

      expect(items).toMatchObject([
        { id: two, queue: other, state: 'ready', type: 't' },
        { id: one, queue, state: 'scheduled' },
      ]);
      expect(items[0]).not.toHaveProperty('data');
      expect(next_cursor).toBeNull();
      const many = Array.from({ length: 100 }, (_, i) => `no-${String(i)}`);
      expect(await idsOf(`jobs?ids=${many.join()}`)).toEqual([]);
      for (const ids of ['', `${one},${one}`, 'a,,b', [...many, 'no-100'].join()])
        expect((await call('GET', `jobs?ids=${ids}`)).json).toMatchObject({ errors: [{ field: 'ids' }] });
      for (const more of ['queue=q', 'state=ready', 'limit=1', 'worker=w'])
        expect((await call('GET', `jobs?ids=${one}&${more}`)).json).toMatchObject({
          errors: [{ field: more.split('=')[0], rule: 'must not be set together with ids' }],
        });
      // A token for some queues sees those, without naming one.
      const { json } = await app.admin('POST', `/token/${app.namespace}?description=d&queues=${queue}`);
      const { token } = json as { token: string };
      const seen = await call('GET', `jobs?ids=${two},${one}&fields=data`, undefined, { token });
      expect((seen.json as Page).items.map(({ id }) => id)).toEqual([one]);
    });

    it('list jobs with their data if fields=data is set', async () => {
      const queue = fresh();
      const json = await publish({ queue, data: { a: 1 } });
      const bytes = await publish({ queue, data: undefined, data_base64: '/+8=', content_type: 'image/png' });
      const expected = [
        { id: json, data: { a: 1 }, content_type: 'application/json' },
        { id: bytes, data_base64: '/+8=', content_type: 'image/png' },
      ];

      expect((await given<Page>('GET', `jobs?queue=${queue}&fields=data`)).items).toMatchObject(expected);
      expect((await given<Page>('GET', `jobs?ids=${json},${bytes}&fields=data`)).items).toMatchObject(
        expected,
      );
      expect((await given<Page>('GET', `jobs?queue=${queue}`)).items[0]).not.toHaveProperty('data');
      expect((await call('GET', 'jobs?fields=result')).json).toMatchObject({ errors: [{ field: 'fields' }] });
    });

    it('omit data beyond 4 MiB of an answer, and mark jobs without it', async () => {
      const queue = fresh();
      const data = 'x'.repeat(4_900);
      for (let i = 0; i < 14; i++)
        await given('POST', 'jobs', { jobs: Array.from({ length: 64 }, () => ({ queue, data })) });
      const { items } = await given<Page>('GET', `jobs?queue=${queue}&fields=data&limit=1000`);

      expect(items).toHaveLength(896);
      const shown = items.filter((job) => job['data'] === data).length;
      expect(shown).toBe(Math.floor(4_194_304 / 4_902));
      expect(items.filter((job) => job['data_omitted'] === true)).toHaveLength(896 - shown);
    });

    it('add, remove and count tags', async () => {
      const [one, two] = [fresh('t'), fresh('t')];
      const id = await publish({ queue: fresh('q') });

      expect(await given('POST', `jobs/${id}/tags`, { tags: [one, two] })).toEqual({ id, tags: [one, two] });
      expect(await given('GET', `jobs/${id}/tags`)).toEqual({ id, tags: [one, two] });
      expect((await given<Page>('GET', 'tags?limit=1000')).items).toContainEqual({ name: one, jobs: 1 });
      expect(await given('DELETE', `jobs/${id}/tags?tags=${one}`)).toEqual({ id, tags: [two] });
      expect((await given<Page>('GET', 'tags?limit=1000')).items).not.toContainEqual({ name: one, jobs: 1 });
      const tags = [`${one},with comma`, 'b & c', 'last'];
      expect(await given('POST', `jobs/${id}/tags`, { tags })).toEqual({ id, tags: [two, ...tags] });
      const query = new URLSearchParams(
        tags.slice(0, 2).map((tag): [string, string] => ['tag', tag]),
      ).toString();
      expect(await given('DELETE', `jobs/${id}/tags?${query}`)).toEqual({ id, tags: [two, 'last'] });
      expect(await given('DELETE', `jobs/${id}/tags?tag=last&tags=${two}`)).toEqual({ id, tags: [] });
      for (const wrong of [
        '',
        '?',
        '?tag=',
        '?tag=a&tag=a',
        '?tag=a&tags=a',
        '?tag=%00',
        `?tag=${'x'.repeat(256)}`,
      ]) {
        const refused = await call('DELETE', `jobs/${id}/tags${wrong}`);
        expect([wrong, refused.status, (refused.json as { code: string }).code]).toEqual([
          wrong,
          400,
          'invalid_argument',
        ]);
      }
      expect(await call('POST', 'jobs/missing/tags', { tags: ['a'] })).toMatchObject({ status: 404 });
      expect(await call('POST', `jobs/${id}/tags`, { tags: [] })).toMatchObject({ status: 400 });
    });

    it('track a job, and list a tracked job that is gone', async () => {
      const queue = fresh('q');
      const id = await publish({ queue });
      await given('PUT', `tracked/${id}`);
      expect((await given<Page>('GET', 'tracked')).items).toMatchObject([{ id, tracked: true }]);
      expect(await given('GET', `jobs/${id}`)).toMatchObject({ tracked: true });
      const { lease: number } = await lease(queue);
      await given('POST', `jobs/${id}/ack`, { lease: number });
      expect(await given('GET', 'tracked')).toMatchObject({ items: [], gone: [{ id }] });
      expect(await given('DELETE', `tracked/${id}`)).toEqual({ id, tracked: false });
      expect(await given('DELETE', `tracked/${id}`)).toEqual({ id, tracked: false });
      expect(await given('GET', 'tracked')).toMatchObject({ items: [], gone: [] });
      expect(await call('PUT', 'tracked/missing')).toMatchObject({ status: 404 });
    });

    it('show, list and forget a worker', async () => {
      const [queue, worker] = [fresh('q'), `host 1/${fresh('pid ')}`];
      await publish({ queue, type: 't' });
      await lease(queue, worker);
      const path = `workers/${encodeURIComponent(worker)}`;

      expect(await given('GET', path)).toMatchObject({ name: worker, leased: 1, stalled: 0 });
      const { items } = await given<{ items: unknown[] }>('GET', 'workers');
      expect(items).toContainEqual(expect.objectContaining({ name: worker, leased: 1 }));
      expect((await call('DELETE', path)).status).toBe(204);
      expect(await call('DELETE', path)).toMatchObject({ status: 404, json: { code: 'worker_not_found' } });
      expect(await call('GET', path)).toMatchObject({ status: 404, json: { code: 'worker_not_found' } });
    });

    it('are refused to a token for some queues, except for lists of these queues', async () => {
      const [mine, other] = [fresh('q'), fresh('q')];
      const id = await publish({ queue: mine });
      const elsewhere = await publish({ queue: other });
      const store = app.server.api.app.get(TokenStore, { strict: false });
      const token = await store.grant({
        ...{
          namespace: app.namespace,
          pool: 'default',
          description: 'd',
          expiry: { lifetimeMs: 0, atMs: 0 },
        },
        rights: { verbs: ['consume', 'admin'], queues: [mine] },
      });
      const status = async (method: string, path: string, body?: object): Promise<number> =>
        (await call(method, path, body, { token })).status;

      expect(await status('GET', `jobs?queue=${mine}`)).toBe(200);
      expect(await status('GET', `jobs/${id}/tags`)).toBe(200);
      expect(await status('GET', `dead-letter?queue=${mine}`)).toBe(200);
      for (const path of [
        `jobs?queue=${other}`,
        'jobs',
        'jobs?tag=x',
        `dead-letter?queue=${other}`,
        'dead-letter',
      ])
        expect([path, await status('GET', path)]).toEqual([path, 403]);
      for (const path of ['tags', 'tracked', 'workers', 'failure-groups'])
        expect([path, await status('GET', path)]).toEqual([path, 403]);
      expect(await status('GET', `jobs/${elsewhere}/tags`)).toBe(404);
      const move = { filter: { queue: mine }, to_queue: other };
      expect(await status('POST', 'dead-letter/move', move)).toBe(403);
      expect(await status('POST', 'dead-letter/delete', { ids: [elsewhere] })).toBe(403);
      expect(await status('POST', 'dead-letter/delete', { ids: [elsewhere], filter: { queue: mine } })).toBe(
        200,
      );
    });
  });

  describe('the native dead-letter queue', () => {
    it('is listed and searched, and a dry run counts its jobs', async () => {
      const [queue, group] = [fresh('q'), fresh('g')];
      await publish({ queue, attributes: { to: 'a=b' } });
      await publish({ queue, tags: ['x'] });
      const ids = [await fail(queue, group, 'Refused by peer'), await fail(queue, group)];

      expect(await idsOf(`dead-letter?queue=${queue}`)).toEqual(ids);
      expect(await idsOf(`dead-letter?group=${group}&text=refused`)).toEqual([ids[0]]);
      expect(await idsOf(`dead-letter?queue=${queue}&attribute=to%3Da%3Db`)).toEqual([ids[0]]);
      expect(await idsOf(`dead-letter?queue=${queue}&tag=x&from=2020-01-01T00:00:00Z`)).toEqual([ids[1]]);
      expect(await idsOf(`dead-letter?queue=${queue}&to=2020-01-01T00:00:00Z`)).toEqual([]);
      const { items } = await given<Page>('GET', `dead-letter?group=${group}&limit=1`);
      expect(items[0]).toMatchObject({ state: 'dead', failure: { group, message: 'Refused by peer' } });
      const dry = { filter: { group }, dry_run: true };
      for (const what of ['respawn', 'delete']) {
        expect(await given('POST', `dead-letter/${what}`, dry)).toEqual({
          jobs: 2,
          dry_run: true,
          next_cursor: null,
        });
      }
      expect(await given('POST', 'dead-letter/move', { ids, dry_run: true, to_queue: queue })).toMatchObject({
        jobs: 2,
      });
      const { items: groups } = await given<Page>('GET', 'failure-groups');
      expect(groups.find(({ name }) => name === group)).toMatchObject({
        ...{ jobs: 2, first_at: expect.stringMatching(/Z$/) as string },
        sample: { id: ids[1], queue, message: expect.any(String) as string },
      });
    });

    it('is listed with the data of its jobs if fields=data is set', async () => {
      const [queue, group] = [fresh('q'), fresh('g')];
      await publish({ queue, data: { a: 1 } });
      await publish({ queue, data: undefined, data_base64: '/+8=', content_type: 'image/png' });
      const ids = [await fail(queue, group), await fail(queue, group)];

      expect((await given<Page>('GET', `dead-letter?group=${group}&fields=data`)).items).toMatchObject([
        { id: ids[0], data: { a: 1 }, content_type: 'application/json' },
        { id: ids[1], data_base64: '/+8=', content_type: 'image/png' },
      ]);
      expect((await given<Page>('GET', `dead-letter?group=${group}`)).items[0]).not.toHaveProperty('data');
      expect((await call('GET', 'dead-letter?fields=result')).json).toMatchObject({
        errors: [{ field: 'fields' }],
      });
    });

    it('respawns, moves and deletes jobs by filter and by id', async () => {
      const [queue, target, group] = [fresh('q'), fresh('q'), fresh('g')];
      const ids: string[] = [];
      for (let i = 0; i < 6; i++) {
        await publish({ queue, tries: 4 });
        ids.push(await fail(queue, group));
      }
      const [one, two, ...rest] = ids;

      expect(
        await given<Done>('POST', 'dead-letter/respawn', { ids: [one], tries: 2, ttl_ms: 60_000 }),
      ).toMatchObject({ jobs: 1 });
      expect(await given('GET', `jobs/${one!}`)).toMatchObject({
        state: 'ready',
        tries_left: 2,
        failure: null,
      });
      expect(await given<Done>('POST', 'dead-letter/delete', { ids: [one, two] })).toMatchObject({ jobs: 1 });
      expect(await call('GET', `jobs/${two!}`)).toMatchObject({ status: 404 });
      const body = { filter: { queue, group }, to_queue: target, keep_tries: true, limit: 3 };
      const first = await given<Done>('POST', 'dead-letter/move', body);
      expect(first.jobs).toBe(3);
      const last = await given<Done>('POST', 'dead-letter/move', { ...body, cursor: first.next_cursor });
      expect(last).toMatchObject({ jobs: 1 });
      expect(await idsOf(`jobs?queue=${target}&state=ready`)).toEqual(rest);
      expect(await given('GET', `jobs/${rest[0]!}`)).toMatchObject({
        queue: target,
        tries_left: 3,
        failures: 1,
      });
      expect((await given<Page>('GET', 'failure-groups')).items.map(({ name }) => name)).not.toContain(group);
    });

    it("has the jobs that lmstfy's API shows, respawns and deletes", async () => {
      const [queue, group] = [fresh('q'), fresh('g')];
      await publish({ queue });
      await publish({ queue });
      const ids = [await fail(queue, group), await fail(queue, group)];

      expect(await app.get(`${queue}/deadletter`)).toMatchObject({
        json: { deadletter_head: ids[0], deadletter_size: 2 },
      });
      expect(await app.call('PUT', `/api/${app.namespace}/${queue}/deadletter?limit=1`)).toMatchObject({
        json: { count: 1 },
      });
      expect((await app.delete(`${queue}/deadletter?limit=5`)).status).toBe(204);
      expect(await idsOf(`jobs?queue=${queue}`)).toEqual([ids[0]]);
    });

    it('refuses wrong or contradicting fields with their names', async () => {
      for (const [body, field] of [
        [{}, 'filter'],
        [{ ids: ['a'], limit: 3 }, 'limit'],
        [{ filter: {}, tries: 2, keep_tries: true }, 'tries'],
        [{ filter: { state: 'dead' } }, 'filter.state'],
        [{ filter: { from: 'yesterday' } }, 'filter.from'],
      ] as const) {
        const { status, json } = await call('POST', 'dead-letter/respawn', body);
        expect([field, status]).toEqual([field, 400]);
        expect(json).toMatchObject({ code: 'invalid_argument', errors: [{ field }] });
      }
      expect(await call('POST', 'dead-letter/move', { filter: {} })).toMatchObject({ status: 400 });
    });
  });
});
