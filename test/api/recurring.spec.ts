import { TokenStore } from '../../src/auth/token-store.js';
import type { Answer } from '../support/app.js';
import { app, call, useNativeApi } from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

useNativeApi();

const HOUR = 3_600_000;
const later = { every_ms: HOUR, offset_ms: HOUR };
async function create(more: object = {}): Promise<Record<string, unknown>> {
  const answer = await call('POST', 'recurring', { schedule: later, job: { queue: 'q' }, ...more });
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return answer.json as Record<string, unknown>;
}
const fieldsOf = ({ json }: Answer): string[] =>
  ((json as { errors?: { field: string }[] }).errors ?? []).map(({ field }) => field);

describe('recurring jobs', () => {
  it('create jobs exactly one period apart', async () => {
    const { id } = await create({
      id: 'report',
      schedule: { every_ms: 1_000 },
      job: { queue: 'reports', data: { page: 1 }, type: 'report', retry: { kind: 'fixed', delay_ms: 5 } },
    });
    expect(id).toBe('report');
    // The first is there at once, without anybody who asks; the second comes to who waits.
    await waitFor(async () => (await app.engine.queues.size(app.namespace, 'reports')) > 0, 5_000);
    const jobs: { id: string; spawned_from?: string; data: unknown }[] = [];
    for (let i = 0; i < 2; i++) {
      const { json } = await call('POST', 'leases', { queues: ['reports'], wait_ms: 5_000 });
      jobs.push(...(json as { jobs: typeof jobs }).jobs);
    }
    await call('POST', 'recurring/report/pause');

    expect(jobs.map((job) => job.id)).toEqual(['report-1', 'report-2']);
    const whole = await Promise.all(jobs.map((job) => call('GET', `jobs/${job.id}`)));
    const [first, second] = whole.map(({ json }) => json as Record<string, string>);
    expect(first).toMatchObject({ spawned_from: 'report', type: 'report', data: { page: 1 } });
    expect(Date.parse(second!['published_at']!) - Date.parse(first!['published_at']!)).toBe(1_000);
  });

  it('are shown as they were given', async () => {
    const job = {
      ...{ queue: 'q', data_base64: '/w==', content_type: 'a/b', ttl_ms: 1, tries: 2, ttr_ms: 3 },
      ...{ priority: -1, type: 't', tags: ['g'], attributes: { a: 'b' }, retention_ms: 4, history: true },
      ...{ concurrency_key: 'c', unique: { key: 'k', mode: 'debounce', window_ms: 5 } },
      ...{ depends_on: ['x'], on_dependency_failure: 'ignore' },
      retry: {
        ...{ kind: 'exponential', delay_ms: 1, factor: 3, max_ms: 9, jitter: 0.5 },
        non_retryable: ['fatal'],
      },
    };
    const stored = await create({ id: 'all', job, max_catch_up: 7, paused: true });

    expect(stored).toMatchObject({ id: 'all', job, max_catch_up: 7, paused: true, made: 0, skipped: 0 });
    expect(stored).toMatchObject({ next_at: null, last_at: null, schedule: { every_ms: HOUR } });
    expect((await call('GET', 'recurring/all')).json).toEqual(stored);
    for (const retry of [
      { kind: 'none' },
      { kind: 'fixed', delay_ms: 1 },
      { kind: 'linear', delay_ms: 1, max_ms: 2 },
      { kind: 'list', delays_ms: [1, 2] },
    ]) {
      const { json } = await call('PATCH', 'recurring/all', { job: { retry } });
      expect(json).toEqual({ ...stored, job: { ...job, retry } });
    }
  });

  it('are changed, paused, resumed, replaced and removed', async () => {
    const stored = await create({ id: 'many', job: { queue: 'q', data_base64: '/w==', type: 't' } });
    const { json: changed } = await call('PATCH', 'recurring/many', {
      max_catch_up: 3,
      job: { data: [1], priority: 5 },
    });
    expect(changed).toEqual({
      ...stored,
      max_catch_up: 3,
      job: { queue: 'q', data: [1], content_type: 'application/json', type: 't', priority: 5 },
    });
    expect((await call('POST', 'recurring/many/pause')).json).toMatchObject({ paused: true, next_at: null });
    expect((await call('POST', 'recurring/many/resume')).json).toMatchObject({
      paused: false,
      next_at: stored['next_at'],
    });
    const replaced = await call('PUT', 'recurring/many', { schedule: later, job: { queue: 'p' } });
    expect([replaced.status, replaced.json]).toEqual([
      200,
      {
        ...stored,
        max_catch_up: 1,
        job: { queue: 'p', data: null, content_type: 'application/json' },
      },
    ]);
    expect((await call('DELETE', 'recurring/many')).status).toBe(204);

    for (const [method, path, body] of [
      ['GET', 'recurring/many', undefined],
      ['PATCH', 'recurring/many', {}],
      ['DELETE', 'recurring/many', undefined],
      ['POST', 'recurring/many/pause', undefined],
      ['POST', 'recurring/a.b/resume', undefined],
    ] as const) {
      expect(await call(method, path, body)).toMatchObject({
        status: 404,
        json: { code: 'recurring_not_found' },
      });
    }
  });

  it.each([
    [{}, 1],
    [{ max_catch_up: 0 }, 0],
    [{ max_catch_up: 1_000 }, 1_000],
    [{ backlog: 0 }, 1_000],
    [{ backlog: 7 }, 7],
    [{ backlog: 1_000_000 }, 1_000],
  ])('accept max_catch_up, and backlog as its old name: %j', async (given, max_catch_up) => {
    const stored = await create({ id: 'old-name', job: { queue: 'q' }, ...given });
    expect(stored).toMatchObject({ max_catch_up });
    expect(stored).not.toHaveProperty('backlog');
    await create({ id: 'old-name', job: { queue: 'q' }, max_catch_up: 5 });
    const { json } = await call('PATCH', 'recurring/old-name', given);
    expect(json).toMatchObject({
      max_catch_up: 'backlog' in given || 'max_catch_up' in given ? max_catch_up : 5,
    });
    expect(await call('PATCH', 'recurring/old-name', { max_catch_up: 1, backlog: 1 })).toMatchObject({
      status: 400,
      json: {
        errors: [
          {
            field: 'backlog',
            rule: 'must not be set together with max_catch_up, whose old name it is',
          },
        ],
      },
    });
  });

  it('keep the data of their jobs byte for byte', async () => {
    const data = '{"n": 12345678901234567890, "n": 1.0}';
    const body = `{"id":"exact","schedule":{"every_ms":1000},"job":{"queue":"exact","data":${data}}}`;
    const stored = await app.call('POST', `/v1/${app.namespace}/recurring`, { body });
    expect([stored.status, stored.text]).toEqual([201, expect.stringContaining(data)]);
    await waitFor(async () => (await app.engine.queues.size(app.namespace, 'exact')) > 0, 5_000);
    await call('DELETE', 'recurring/exact');

    expect((await call('GET', 'jobs/exact-1')).text).toContain(data);
  });

  it('start at first_at', async () => {
    const first_at = '2020-01-01T00:00:30.000Z';
    const { schedule, next_at } = await create({ schedule: { every_ms: 60_000, first_at } });

    expect(schedule).toEqual({ every_ms: 60_000, first_at });
    expect(String(next_at)).toMatch(/:30\.000Z$/);
    expect(Date.parse(String(next_at))).toBeGreaterThan(Date.now() - 60_000);
  });

  it('are listed page by page', async () => {
    const other = await Namespace.make();
    for (const id of ['b', 'c', 'a']) await other.put(id, id === 'c' ? 'z' : 'y');
    const first = await other.list('?limit=2');
    const second = await other.list(`?limit=2&cursor=${String(first.next_cursor)}`);

    expect([first, second].map(({ items }) => items.map(({ id }) => id))).toEqual([['a', 'b'], ['c']]);
    expect(second.next_cursor).toBeNull();
    expect((await other.list('?queue=z')).items.map(({ id }) => id)).toEqual(['c']);
    expect(await call('GET', 'recurring?cursor=-')).toMatchObject({ status: 400 });
  });

  it('are limited to queues of the token, which learns nothing of others', async () => {
    const limited = await Namespace.make(['q*']);
    const refused = { status: 403, json: { code: 'queue_not_allowed' } };
    const unknown = { status: 404, json: { code: 'recurring_not_found' } };
    expect((await limited.put('mine', 'q1')).status).toBe(200);
    expect(await limited.put('theirs', 'p')).toMatchObject(refused);
    await limited.put('theirs', 'p', limited.master);
    for (const [method, path, body] of [
      ['PATCH', 'mine', { job: { queue: 'p' } }],
      ['PUT', 'theirs', { schedule: later, job: { queue: 'q' } }],
      ['GET', '', undefined],
    ] as const) {
      expect(await limited.call(method, path, body)).toMatchObject(refused);
    }
    for (const [method, path, body] of [
      ['GET', 'theirs', undefined],
      ['PATCH', 'theirs', { max_catch_up: 1 }],
      ['DELETE', 'theirs', undefined],
      ['POST', 'theirs/pause', undefined],
    ] as const) {
      expect(await limited.call(method, path, body)).toMatchObject(unknown);
    }
    expect((await limited.list('?queue=q1')).items.map(({ id }) => id)).toEqual(['mine']);
  });

  it.each<[object, string[]]>([
    [{ id: '-x' }, ['id']],
    [{ id: 'x'.repeat(45) }, ['id']],
    [{ schedule: { every_ms: 999 } }, ['schedule.every_ms']],
    [{ schedule: { ...later, first_at: '2030-01-01T00:00:00Z' } }, ['schedule.first_at']],
    [{ schedule: { cron: '* * * * *', every_ms: 1_000 } }, ['schedule.every_ms', 'schedule.tz']],
    [{ schedule: { tz: 'UTC', jitter_ms: 5 } }, ['schedule.tz', 'schedule.jitter_ms', 'schedule.every_ms']],
    [{ schedule: {} }, ['schedule.every_ms']],
    [{ overlap: 'never' }, ['overlap']],
    [{ job: {} }, ['job.queue']],
    [{ job: { queue: 'q', delay_ms: 5 } }, ['job.delay_ms']],
    [{ job: { queue: 'q', data: 'x'.repeat(5_000) } }, ['job.data']],
    [{ job: { queue: 'q', retry: { kind: 'list' } } }, ['job.retry.delays_ms']],
    [{ backlog: -1 }, ['backlog']],
    [{ backlog: 1, max_catch_up: 1 }, ['backlog']],
    [{ max_catch_up: 1_001 }, ['max_catch_up']],
  ])('are refused with the names of the wrong fields: %j', async (more, fields) => {
    const answer = await call('POST', 'recurring', { schedule: later, job: { queue: 'q' }, ...more });

    expect([answer.status, fieldsOf(answer)]).toEqual([400, fields]);
  });
});

describe('unique keys', () => {
  const unique = (mode: string) => ({ queue: 'u', unique: { key: 'k', mode } });
  it('are refused with the id of their holder, or return the holder with mode existing', async () => {
    const { id } = (await call('POST', 'jobs', unique('reject'))).json as { id: string };

    expect(await call('POST', 'jobs', unique('reject'))).toMatchObject({
      status: 409,
      json: { code: 'unique_key_taken', holder_id: id },
    });
    expect((await call('POST', 'jobs', unique('existing'))).json).toEqual({
      id,
      state: 'ready',
      existing: true,
    });
    expect((await call('GET', `jobs/${id}`)).json).toMatchObject({ unique_key: 'k' });
  });
});

it('a done job with a retention shows its result', async () => {
  const { id } = (await call('POST', 'jobs', { queue: 'kept', retention_ms: 60_000 })).json as {
    id: string;
  };
  const { json } = await call('POST', 'leases', { queues: ['kept'] });
  const [{ lease } = { lease: 0 }] = (json as { jobs: { lease: number }[] }).jobs;
  await call('POST', `jobs/${id}/ack`, { lease, result: { ok: true } });

  expect((await call('GET', `jobs/${id}`)).json).toMatchObject({
    state: 'done',
    result: { data: { ok: true }, content_type: 'application/json' },
  });
});

/** A namespace of its own, with a token that may publish to some queues. */
class Namespace {
  private constructor(
    private readonly namespace: string,
    readonly master: string,
    private readonly token: string,
  ) {}

  static async make(queues: string[] | null = null): Promise<Namespace> {
    const store = app.server.admin.app.get(TokenStore, { strict: false });
    const namespace = `${app.namespace}-${String(Math.random()).slice(2)}`;
    const master = await store.create(namespace, 'default', 'd');
    const token = await store.grant({
      ...{ namespace, pool: 'default', description: 'd', expiry: { lifetimeMs: 0, atMs: 0 } },
      rights: queues === null ? null : { verbs: ['publish'], queues },
    });
    return new Namespace(namespace, master, token);
  }

  call(method: string, path: string, body?: object, token = this.token): Promise<Answer> {
    return app.call(method, `/v1/${this.namespace}/recurring${/^\w/.test(path) ? '/' : ''}${path}`, {
      token,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  put(id: string, queue: string, token?: string): Promise<Answer> {
    return this.call('PUT', id, { schedule: later, job: { queue } }, token);
  }

  async list(query: string): Promise<{ items: { id: string }[]; next_cursor: string | null }> {
    const { json } = await this.call('GET', query);
    return json as { items: { id: string }[]; next_cursor: string | null };
  }
}
