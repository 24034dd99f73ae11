import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_PERIOD_MS } from '../../src/domain/limits.js';
import { TokenStore } from '../../src/auth/token-store.js';
import { EngineRegistry } from '../../src/engine/engine.registry.js';
import { type Answer, type CallOptions, head, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';
import { type AnswerCheck, answerCheck } from '../support/openapi.js';

/** A job as an answer shows it. */
interface Job {
  readonly id: string;
  readonly queue: string;
  readonly lease: number;
  readonly [field: string]: unknown;
}

let app: TestApp;
let check: AnswerCheck;
beforeAll(async () => {
  app = await TestApp.start({ PUMPHOUSE_LIMITS__MAX_BODY_BYTES: '5000' });
  check = answerCheck((await app.get('/v1/openapi.json', { token: null })).json);
});
afterAll(() => app.stop());

let count = 0;
const fresh = (): string => `q${String(count++)}`;

/** A call of the native API, whose answer must be as the document says. */
async function call(
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Answer> {
  const answer = await app.call(method, `/v1/${app.namespace}/${path}`, {
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...options,
  });
  check(method, `/${path.split('?')[0]!}`, answer);
  return answer;
}

const post = (path: string, body: unknown, options?: CallOptions): Promise<Answer> =>
  call('POST', path, body, options);

async function publish(job: object, options?: CallOptions): Promise<{ id: string; state: string }> {
  const { status, json, text } = await post('jobs', job, options);
  if (status !== 201) throw new Error(`${String(status)} ${text}`);
  return json as { id: string; state: string };
}

async function lease(body: object, options?: CallOptions): Promise<Job[]> {
  const { status, json, text } = await post('leases', body, options);
  if (status !== 200) throw new Error(`${String(status)} ${text}`);
  return (json as { jobs: Job[] }).jobs;
}

async function leaseOne(queue: string, more: object = {}): Promise<Job> {
  const [job] = await lease({ queues: [queue], ...more });
  if (job === undefined) throw new Error(`nothing to lease in ${queue}`);
  return job;
}

async function look(id: string): Promise<Job> {
  const { status, json, text } = await call('GET', `jobs/${id}`);
  if (status !== 200) throw new Error(`${String(status)} ${text}`);
  return json as Job;
}

const code = ({ json }: Answer): unknown => (json as { code: unknown }).code;
const wrongFields = ({ json }: Answer): string[] =>
  (json as { errors: { field: string }[] }).errors.map(({ field }) => field);

describe('a publish on the native API', () => {
  it('answers the id, where to look for it, and its state', async () => {
    const queue = fresh();
    const { status, headers, json } = await post('jobs', { queue, data: { a: 'ä' } });

    expect(status).toBe(201);
    const { id } = json as { id: string };
    expect(json).toEqual({
      id: expect.stringMatching(/^[0-9A-Z]{26}$/) as string,
      state: 'ready',
      existing: false,
    });
    expect(headers['location']).toBe(`/v1/${app.namespace}/jobs/${id}`);
    expect(await look(id)).toMatchObject({
      id,
      queue,
      state: 'ready',
      data: { a: 'ä' },
      content_type: 'application/json',
    });
  });

  it('of nothing special is a plain job, which lmstfy’s consumers get as well', async () => {
    const queue = fresh();
    const { id } = await publish({ queue, data: 'x', tries: 2, ttl_ms: 60_000, attributes: { k: 'v' } });
    const { json } = await app.get(`${queue}?ttr=5`);
    expect(json).toMatchObject({
      job_id: id,
      data: Buffer.from('"x"').toString('base64'),
      remain_tries: 1,
      attributes: { k: 'v' },
    });
    // Nothing of the full lane was needed: the job is one string, and the queue a plain one.
    expect(await app.engine.counts(app.namespace, [queue])).toMatchObject([{ leased: 1 }]);
    const [engine] = app.server.api.app.get(EngineRegistry, { strict: false }).all();
    const { full } = engine!;
    expect(full.queues.hasAny(app.namespace, [queue])).toBe(false);
  });

  it('keeps all that it was given', async () => {
    const queue = fresh();
    const job = {
      ...{
        id: `own-${queue}`,
        priority: -5,
        type: 'mail',
        tags: ['b', 'a'],
        attributes: { k: 'ü' },
        tries: 9,
      },
      ...{ data_base64: '/+8=', content_type: 'image/png', delay_ms: 60_000, ttl_ms: 120_000, ttr_ms: 7_000 },
      retry: { kind: 'exponential', delay_ms: 10 },
    };
    const before = Date.now();
    expect(await publish({ queue, ...job })).toEqual({ id: job.id, state: 'scheduled', existing: false });

    const found = await look(job.id);
    expect(found).toMatchObject({
      ...{
        id: job.id,
        queue,
        state: 'scheduled',
        priority: -5,
        type: 'mail',
        tags: ['b', 'a'],
        attributes: { k: 'ü' },
      },
      ...{
        data_base64: '/+8=',
        content_type: 'image/png',
        tries_left: 9,
        attempts: 0,
        lease: 0,
        worker: null,
      },
    });
    expect(found).not.toHaveProperty('data');
    const dueMs = Date.parse(found['due_at'] as string);
    expect(dueMs).toBeGreaterThanOrEqual(before + 50_000);
    expect(Date.parse(found['expires_at'] as string) - dueMs).toBeGreaterThan(50_000);
    expect(found['timeline']).toEqual([
      expect.objectContaining({ what: 'published', at: found['published_at'] }),
    ]);
  });

  it('at a time is due at that time', async () => {
    const queue = fresh();
    const run_at = new Date(Date.now() + 3_600_000).toISOString();
    const { id, state } = await publish({ queue, run_at });
    expect([state, (await look(id))['due_at']]).toEqual(['scheduled', run_at]);
    // A time that is over is now.
    expect((await publish({ queue, run_at: '2001-01-01T00:00:00Z' })).state).toBe('ready');
  });

  it('of many stores all or none, of whatever queues', async () => {
    const [one, two] = [fresh(), fresh()];
    const jobs = [
      { queue: one, id: `a-${one}` },
      { queue: two, priority: 3 },
      { queue: one, delay_ms: 60_000 },
    ];
    const { status, json } = await post('jobs', { jobs });
    expect(status).toBe(201);
    expect((json as { jobs: Job[] }).jobs.map(({ state }) => state)).toEqual(['ready', 'ready', 'scheduled']);

    const again = await post('jobs', {
      jobs: [
        { queue: two, id: `b-${two}` },
        { queue: one, id: `a-${one}` },
      ],
    });
    expect([again.status, code(again)]).toEqual([409, 'job_exists']);
    expect((await call('GET', `jobs/b-${two}`)).status).toBe(404);
  });

  it('with an Idempotency-Key is answered alike when it comes again, if it is of plain jobs', async () => {
    const queue = fresh();
    const headers = { 'idempotency-key': `key-${queue}` };
    const first = await publish({ queue, data: 1 }, { headers });
    expect(await publish({ queue, data: 1 }, { headers })).toEqual(first);
    const other = await post('jobs', { queue, data: 2 }, { headers });
    expect([other.status, code(other)]).toEqual([422, 'idempotency_key_reused']);
    // It is never looked away from.
    const rich = await post('jobs', { queue, data: 1, priority: 1 }, { headers });
    expect([rich.status, code(rich)]).toEqual([400, 'invalid_argument']);
    expect((rich.json as { detail: string }).detail).toContain('Idempotency-Key');
  });

  it('is refused with every field and rule that it breaks, and stores nothing', async () => {
    const queue = fresh();
    const answer = await post('jobs', {
      jobs: [
        { queue, id: `n-${queue}` },
        { queue, tries: 0, prio: 1, retry: { kind: 'list' } },
      ],
    });
    expect([answer.status, code(answer), wrongFields(answer)]).toEqual([
      400,
      'invalid_argument',
      ['jobs[1].prio', 'jobs[1].tries'],
    ]);
    expect((await call('GET', `jobs/n-${queue}`)).status).toBe(404);
    for (const body of ['', '{', '[]', 'null', '"x"', '\ufeff{}', '{"queue":"q"}x']) {
      expect([body, (await post('jobs', body)).status]).toEqual([body, 400]);
    }
  });

  it('of broken UTF-8 is refused', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"queue":"q","data":"'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ]);
    const answer = await app.call('POST', `/v1/${app.namespace}/jobs`, { body: bytes });
    expect([answer.status, answer.json]).toEqual([
      400,
      expect.objectContaining({ errors: [{ field: '', rule: 'must be JSON in UTF-8' }] }),
    ]);
  });

  it('of too much is refused', async () => {
    const queue = fresh();
    const long = await post('jobs', { queue, data_base64: Buffer.alloc(5_001).toString('base64') });
    expect([long.status, wrongFields(long)]).toEqual([400, ['data_base64']]);
    expect((await post('jobs', { queue, data_base64: Buffer.alloc(5_000).toString('base64') })).status).toBe(
      201,
    );
  });
});

describe('a publish that waits', () => {
  const fire = (job: object, waitMs = 20_000, options?: CallOptions): Promise<Answer> =>
    post(`jobs?wait_ms=${waitMs}`, job, options);

  it('is answered with the result', async () => {
    const queue = fresh();
    const waiting = fire({ queue, data: 2 });
    const { id, lease: number } = await leaseOne(queue, { wait_ms: 20_000 });
    await post(`jobs/${id}/ack`, { lease: number, result: { twice: 4 } });
    const { status, json } = await waiting;
    expect([status, json]).toEqual([
      200,
      {
        ...{ id, state: 'done', existing: false, failure: null },
        result: { data: { twice: 4 }, content_type: 'application/json' },
      },
    ]);
    // It is there for whoever asks once more.
    expect((await look(id))['state']).toBe('done');
  });

  it('is answered with what went wrong', async () => {
    const queue = fresh();
    const waiting = fire({ queue });
    const { id, lease: number } = await leaseOne(queue, { wait_ms: 20_000 });
    await post(`jobs/${id}/fail`, { lease: number, group: 'bad', message: 'no' });
    const { status, json } = await waiting;
    expect(status).toBe(200);
    expect(json).toMatchObject({ id, state: 'dead', result: null, failure: { group: 'bad', message: 'no' } });
  });

  it('is answered with where to ask later when it has waited long enough', async () => {
    const queue = fresh();
    const { status, headers, json } = await fire({ queue }, 1);
    expect(status).toBe(202);
    const { id } = json as Job;
    expect(json).toEqual({ id, state: 'ready', existing: false, result: null, failure: null });
    expect(headers['location']).toBe(`/v1/${app.namespace}/jobs/${id}`);
    const { lease: number } = await leaseOne(queue);
    await post(`jobs/${id}/ack`, { lease: number, result: 'late' });
    expect(await look(id)).toMatchObject({ state: 'done', result: { data: 'late' } });
  });

  it('counts as one that waits, and is refused where no more may, before anything is stored', async () => {
    const other = await TestApp.start({ PUMPHOUSE_LIMITS__MAX_WAITERS_PER_TOKEN: '1' });
    try {
      const url = `/v1/${other.namespace}/jobs?wait_ms=20000`;
      const first = other.call('POST', url, { body: '{"queue":"q"}' });
      await waitFor(async () => (await other.engine.size(other.namespace, 'q')) === 1, 5_000);
      const refused = await other.call('POST', url, { body: '{"queue":"q"}' });
      expect([refused.status, code(refused)]).toEqual([429, 'too_many_waiters']);
      expect(await other.engine.size(other.namespace, 'q')).toBe(1);
      // A server that stops answers whom it can.
      const stopping = other.server.stop();
      expect(await first).toMatchObject({ status: 202, json: { state: 'ready' } });
      await stopping;
    } finally {
      await other.stop().catch(() => undefined);
    }
  });

  it.each<[string, string, object, string]>([
    ['a list of jobs', '1', { jobs: [{ queue: 'q' }] }, 'wait_ms'],
    ['no time', '0', { queue: 'q' }, 'wait_ms'],
    ['more than a day', '86400001', { queue: 'q' }, 'wait_ms'],
    ['a word', 'long', { queue: 'q' }, 'wait_ms'],
    ['another name', '1&wait=1', { queue: 'q' }, 'wait'],
  ])('is refused with %s', async (_, wait, body, field) => {
    const answer = await post(`jobs?wait_ms=${wait}`, body);
    expect([answer.status, wrongFields(answer)]).toEqual([400, [field]]);
  });
});

describe('a lease on the native API', () => {
  it('gives the job with all that a worker needs', async () => {
    const queue = fresh();
    const { id } = await publish({ queue, data: [1], type: 'mail', tags: ['t'], ttl_ms: 600_000 });
    const job = await leaseOne(queue, { ttr_ms: 30_000, worker: 'w 1' });
    expect(job).toMatchObject({
      ...{
        id,
        queue,
        state: 'leased',
        data: [1],
        content_type: 'application/json',
        type: 'mail',
        tags: ['t'],
      },
      ...{
        attributes: null,
        priority: 0,
        tries_left: 2,
        attempts: 1,
        crashes: 0,
        failures: 0,
        lease: 1,
        progress: null,
      },
    });
    const publishedMs = Date.parse(job['published_at'] as string);
    const endsMs = Date.parse(job['lease_ends_at'] as string);
    expect(endsMs - publishedMs).toBeGreaterThanOrEqual(30_000);
    expect(Date.parse(job['expires_at'] as string) - publishedMs).toBeGreaterThanOrEqual(600_000);
    expect(await look(id)).toMatchObject({ state: 'leased', worker: 'w 1', lease: 1 });
  });

  it('gives data that is no JSON in base64, whoever published it', async () => {
    const queue = fresh();
    await app.publish(queue, Buffer.from([0xff, 0x00]));
    await app.publish(queue, 'plain text');
    await app.publish(queue, '{"a":1}');
    const jobs = await lease({ queues: [queue], count: 3 });
    expect(jobs.map(({ data, data_base64, content_type }) => ({ data, data_base64, content_type }))).toEqual([
      { data_base64: '/wA=', content_type: 'application/octet-stream' },
      { data_base64: Buffer.from('plain text').toString('base64'), content_type: 'application/octet-stream' },
      { data: { a: 1 }, content_type: 'application/json' },
    ]);
  });

  it('takes the lowest priority first, and of several queues in order or in turns', async () => {
    const [one, two] = [fresh(), fresh()];
    await publish({
      jobs: [0, 1, 2].flatMap((n) => [
        { queue: one, priority: -n, data: n },
        { queue: two, priority: 1, data: n },
      ]),
    });
    const ordered = await lease({ queues: [one, two], count: 4 });
    expect(ordered.map(({ queue, data }) => [queue, data])).toEqual([
      [one, 2],
      [one, 1],
      [one, 0],
      [two, 0],
    ]);
    for (const { id, lease: number } of ordered) {
      expect((await post(`jobs/${id}/release`, { lease: number })).status).toBe(200);
    }
    const turns = await lease({ queues: [one, two], count: 4, order: 'round_robin' });
    expect(turns.map(({ queue }) => queue).sort()).toEqual([one, one, two, two]);
  });

  it('waits for a job, and is an empty list when none comes', async () => {
    const queue = fresh();
    const waiting = lease({ queues: [queue], wait_ms: 20_000 });
    await waitFor(async () => (await app.admin('GET', '/metrics')).text.includes('waiters'), 5_000);
    const { id } = await publish({ queue, priority: 1 });
    expect((await waiting).map((job) => job.id)).toEqual([id]);
    expect(await lease({ queues: [queue], wait_ms: 1 })).toEqual([]);
    expect(await lease({ queues: [queue] })).toEqual([]);
  });

  it('of a client that is gone before its answer is undone: the jobs are ready again, their tries not spent', async () => {
    const other = await TestApp.start();
    try {
      for (let i = 0; i < 100; i++) await other.publish('heavy?tries=1', Buffer.alloc(65_000, 'x'));
      const body = JSON.stringify({ queues: ['heavy'], count: 100, ttr_ms: 600_000 });
      const connection = await other.open();
      connection.socket.pause();
      const headers = { 'X-Token': other.token, 'Content-Length': String(body.length) };
      connection.write(head('POST', `/v1/${other.namespace}/leases`, headers) + body);
      await waitFor(async () => (await other.engine.size(other.namespace, 'heavy')) < 100);
      // The answer is more than the system takes: most of it waits in the server.
      await sleep(100);
      connection.cut();
      await waitFor(async () => (await other.engine.size(other.namespace, 'heavy')) === 100, 5_000);
      expect(await other.get('heavy/peek')).toMatchObject({ json: { remain_tries: 1 } });
    } finally {
      await other.stop();
    }
  }, 20_000);

  it('of a token that was revoked while it waited is undone, and refused', async () => {
    const queue = fresh();
    const store = app.server.admin.app.get(TokenStore, { strict: false });
    const token = await store.create(app.namespace, 'default', 'short-lived');
    const waiting = post('leases', { queues: [queue], wait_ms: 20_000 }, { token });
    await sleep(1_200);
    await store.delete({ pool: 'default', namespace: app.namespace, token });
    const { id } = await publish({ queue, priority: 1, tries: 1 });
    const refused = await waiting;
    expect([refused.status, code(refused)]).toEqual([401, 'token_invalid']);
    await waitFor(async () => (await look(id))['state'] === 'ready', 5_000);
    expect(await look(id)).toMatchObject({ tries_left: 1, attempts: 0 });
  });

  it.each<[string, object, string[]]>([
    ['no queues', {}, ['queues']],
    ['an empty list', { queues: [] }, ['queues']],
    ['one queue twice', { queues: ['a', 'a'] }, ['queues']],
    ['a name that is none', { queues: ['_a'] }, ['queues']],
    ['no count', { queues: ['a'], count: 0 }, ['count']],
    ['too many', { queues: ['a'], count: 101 }, ['count']],
    ['a lease of no time', { queues: ['a'], ttr_ms: 0 }, ['ttr_ms']],
    ['an order of its own', { queues: ['a'], order: 'random' }, ['order']],
    ['a wait beyond measure', { queues: ['a'], wait_ms: MAX_PERIOD_MS + 1 }, ['wait_ms']],
    ['a worker of two lines', { queues: ['a'], worker: 'a\nb' }, ['worker']],
    ['what it does not know', { queues: ['a'], timeout: 1 }, ['timeout']],
  ])('is refused with %s', async (_, body, wrong) => {
    const answer = await post('leases', body);
    expect([answer.status, wrongFields(answer)]).toEqual([400, wrong]);
  });
});

describe('the owner of a lease', () => {
  const CALLS: readonly (readonly [string, object])[] = [
    ['ack', {}],
    ['heartbeat', {}],
    ['release', {}],
    ['retry', { group: 'g' }],
    ['fail', { group: 'g' }],
  ];

  it('acknowledges: the job is gone', async () => {
    const queue = fresh();
    await publish({ queue, type: 't' });
    const { id, lease: number } = await leaseOne(queue);
    const { status, json } = await post(`jobs/${id}/ack`, { lease: number });
    expect([status, json]).toEqual([200, { id, status: 'acked' }]);
    expect((await call('GET', `jobs/${id}`)).status).toBe(404);
    const again = await post(`jobs/${id}/ack`, { lease: number });
    expect([again.status, code(again)]).toEqual([404, 'job_not_found']);
  });

  it('leaves a result, which is kept for as long as the job says', async () => {
    const queue = fresh();
    await publish({ queue, retention_ms: 60_000 });
    const { id, lease: number } = await leaseOne(queue);
    const too = await post(`jobs/${id}/ack`, { lease: number, result: 'x'.repeat(5_000) });
    expect([too.status, wrongFields(too)]).toEqual([400, ['result']]);
    expect((await post(`jobs/${id}/ack`, { lease: number, result: { sum: 3 } })).status).toBe(200);
    expect(await look(id)).toMatchObject({
      state: 'done',
      result: { data: { sum: 3 }, content_type: 'application/json' },
    });
  });

  it('moves a job on to its next queue, with its id, its data and its timeline', async () => {
    const [queue, next] = [fresh(), fresh()];
    await publish({ queue, data: 'kept', tries: 5, type: 't' });
    const { id, lease: number } = await leaseOne(queue);
    const { json } = await post(`jobs/${id}/ack`, { lease: number, next: { queue: next } });
    expect(json).toEqual({ id, status: 'moved' });
    const job = await leaseOne(next);
    expect(job).toMatchObject({ id, queue: next, data: 'kept', tries_left: 4 });
    expect(job.lease).toBeGreaterThan(number);
    const { timeline } = await look(id);
    expect((timeline as { what: string }[]).map(({ what }) => what)).toEqual([
      'published',
      'leased',
      'moved',
      'leased',
    ]);
  });

  it('keeps its lease by heartbeats, and tells how far it is', async () => {
    const queue = fresh();
    await publish({ queue, data: 1 });
    const { id, lease: number, lease_ends_at } = await leaseOne(queue, { ttr_ms: 10_000 });
    const { status, json } = await post(`jobs/${id}/heartbeat`, {
      lease: number,
      ttr_ms: 60_000,
      progress: { done: 5 },
      data: 2,
    });
    expect(status).toBe(200);
    const news = json as { lease_ends_at: string; cancel_requested: boolean };
    expect(news.cancel_requested).toBe(false);
    expect(Date.parse(news.lease_ends_at)).toBeGreaterThan(Date.parse(lease_ends_at as string) + 40_000);
    expect(await look(id)).toMatchObject({
      lease: number,
      lease_ends_at: news.lease_ends_at,
      progress: { done: 5 },
      data: 2,
    });
  });

  it('gives a job back, and the try with it', async () => {
    const queue = fresh();
    await publish({ queue, tries: 1, type: 't' });
    const first = await leaseOne(queue);
    const { status, json } = await post(`jobs/${first.id}/release`, { lease: first.lease });
    expect([status, json]).toEqual([200, { id: first.id, state: 'ready', due_at: null }]);
    const second = await leaseOne(queue);
    expect(second).toMatchObject({ id: first.id, tries_left: 0, attempts: 1 });
    const later = await post(`jobs/${second.id}/release`, { lease: second.lease, delay_ms: 60_000 });
    expect(later.json).toMatchObject({ state: 'scheduled', due_at: (await look(second.id))['due_at'] });
  });

  it('has a job tried again, by its policy or when it says, until no try is left', async () => {
    const queue = fresh();
    await publish({ queue, tries: 3, retry: { kind: 'fixed', delay_ms: 60_000 } });
    const first = await leaseOne(queue);
    const now = await post(`jobs/${first.id}/retry`, {
      lease: first.lease,
      group: 'net',
      message: 'no\nroute',
      delay_ms: 0,
    });
    expect(now.json).toEqual({ id: first.id, state: 'ready', due_at: null });
    const second = await leaseOne(queue, { worker: 'w' });
    expect(second).toMatchObject({ failures: 1, tries_left: 1 });
    const later = await post(`jobs/${second.id}/retry`, { lease: second.lease });
    expect(later.json).toMatchObject({ state: 'scheduled' });
    const job = await look(second.id);
    expect(job).toMatchObject({
      state: 'scheduled',
      failures: 2,
      failure: { group: 'failed', message: '', worker: 'w' },
    });
  });

  it('gives a job up: it is dead at once, and says why', async () => {
    const queue = fresh();
    await publish({ queue, tries: 9, type: 't' });
    const { id, lease: number } = await leaseOne(queue, { worker: 'w' });
    const { json } = await post(`jobs/${id}/fail`, { lease: number, group: 'bad', message: 'why' });
    expect(json).toEqual({ id, state: 'dead', due_at: null });
    expect(await look(id)).toMatchObject({
      state: 'dead',
      failure: { group: 'bad', message: 'why', worker: 'w' },
    });
    expect((await app.get(`${queue}/deadletter`)).json).toMatchObject({
      deadletter_head: id,
      deadletter_size: 1,
    });
  });

  it.each(CALLS)('is told with 409 that the lease is lost, and changes nothing: %s', async (verb, more) => {
    const queue = fresh();
    await publish({ queue, tries: 5, type: 't' });
    const first = await leaseOne(queue);
    await post(`jobs/${first.id}/release`, { lease: first.lease });
    const second = await leaseOne(queue, { ttr_ms: 600_000 });
    const before = await look(first.id);
    for (const number of [first.lease, second.lease + 1]) {
      const answer = await post(`jobs/${first.id}/${verb}`, { lease: number, ...more });
      expect([answer.status, code(answer)]).toEqual([409, 'lease_lost']);
    }
    expect(await look(first.id)).toEqual(before);
  });

  it.each(CALLS)('is told that there is no such job: %s', async (verb, more) => {
    for (const id of ['01M7Z17XME660YPHBY512QCVQF', 'nobody', 'no%20id', '%F0%9F']) {
      const answer = await post(`jobs/${id}/${verb}`, { lease: 1, ...more });
      expect([id, [400, 404].includes(answer.status)]).toEqual([id, true]);
    }
  });

  it.each(CALLS)('names the lease: %s', async (verb, more) => {
    for (const wrong of [undefined, 0, '1', null, 4_294_967_296]) {
      const answer = await post(`jobs/x/${verb}`, { lease: wrong, ...more });
      expect([answer.status, wrongFields(answer)]).toEqual([400, ['lease']]);
    }
  });

  it('acknowledges many, some with a result and some that go on', async () => {
    const [queue, next] = [fresh(), fresh()];
    await publish({ jobs: [1, 2, 3, 4].map((data) => ({ queue, data, retention_ms: 60_000 })) });
    const jobs = await lease({ queues: [queue], count: 4 });
    const [one, two, three, four] = jobs.map(({ id, lease: number }) => ({ queue, id, lease: number }));
    const { status, json } = await post('acks', {
      acks: [
        { ...one, result: 'r' },
        two,
        { ...three, next: { queue: next, delay_ms: 60_000 } },
        { ...four, lease: 77, result: 1 },
        { queue, id: 'nobody', lease: 1, result: 1 },
      ],
    });
    expect(status).toBe(200);
    expect((json as { results: { status: string }[] }).results.map((result) => result.status)).toEqual([
      'acked',
      'acked',
      'moved',
      'lease_lost',
      'not_found',
    ]);
    expect(await look(one!.id)).toMatchObject({ state: 'done', result: { data: 'r' } });
    expect(await look(three!.id)).toMatchObject({ state: 'scheduled', queue: next });
    expect(await look(four!.id)).toMatchObject({ state: 'leased' });
  });
});

describe('a token for some queues', () => {
  let token: string;
  const forMail = (verbs: string): Promise<string> =>
    app
      .admin('POST', `/token/${app.namespace}?description=d&verbs=${verbs}&queues=mail*`)
      .then(({ json, text }) => (json as { token?: string }).token ?? text);
  beforeAll(async () => {
    token = await forMail('publish,consume');
  });

  it('publishes, leases and looks in these, and in no other', async () => {
    await publish({ queue: 'other', type: 't' });
    const others = await leaseOne('other');
    const own = { token };
    for (const [path, body] of [
      ['jobs', { queue: 'other' }],
      ['jobs', { jobs: [{ queue: 'mail' }, { queue: 'other' }] }],
      ['leases', { queues: ['mail', 'other'] }],
      [`jobs/${others.id}/ack`, { lease: others.lease }],
      [`jobs/${others.id}/heartbeat`, { lease: others.lease }],
      [`jobs/${others.id}/release`, { lease: others.lease }],
      [`jobs/${others.id}/retry`, { lease: others.lease }],
      [`jobs/${others.id}/fail`, { lease: others.lease }],
    ] as const) {
      const answer = await post(path, body, own);
      expect([path, answer.status, code(answer)]).toEqual([path, 403, 'queue_not_allowed']);
    }
    expect((await call('GET', `jobs/${others.id}`, undefined, own)).status).toBe(403);
    expect(await look(others.id)).toMatchObject({ state: 'leased', lease: others.lease });

    const { id } = await publish({ queue: 'mail-1', type: 't' }, own);
    const [job] = await lease({ queues: ['mail-1'] }, own);
    expect(job?.id).toBe(id);
    const moved = await post(`jobs/${id}/ack`, { lease: job!.lease, next: { queue: 'other' } }, own);
    expect([moved.status, code(moved)]).toEqual([403, 'queue_not_allowed']);
    expect((await post(`jobs/${id}/ack`, { lease: job!.lease }, own)).status).toBe(200);
  });

  it('needs the verb of each call', async () => {
    const [publishes, consumes] = [await forMail('publish'), await forMail('consume')];
    const refused = async (path: string, body: object, own: string): Promise<unknown> =>
      code(await post(path, body, { token: own }));
    expect(await refused('jobs', { queue: 'mail' }, consumes)).toBe('verb_missing');
    expect(await refused('leases', { queues: ['mail'] }, publishes)).toBe('verb_missing');
    const { id } = await publish({ queue: 'mail-2', type: 't' });
    const [job] = await lease({ queues: ['mail-2'] }, { token: consumes });
    const next = { lease: job!.lease, next: { queue: 'mail-3' } };
    expect(await refused(`jobs/${id}/ack`, next, consumes)).toBe('verb_missing');
    expect(await refused('acks', { acks: [{ queue: 'mail-2', id, ...next }] }, consumes)).toBe(
      'verb_missing',
    );
  });
});
