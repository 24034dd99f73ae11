import fc from 'fast-check';
import { MAX_PERIOD_MS } from '../../src/domain/limits.js';
import { EngineRegistry } from '../../src/engine/engine.registry.js';
import {
  app,
  useNativeApi,
  WAYS,
  spell,
  fresh,
  call,
  post,
  publish,
  lease,
  leaseOne,
  look,
  code,
  wrongFields,
  type Job,
} from '../support/native-api.js';

useNativeApi();

describe.each(WAYS)('a publish on the native API, by %s', (_way, spelling) => {
  beforeAll(() => spell(spelling));

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

  it.each<[string, object]>([
    ['a plain job', { data: 1 }],
    ['a plain job with an id', { id: 'mine', delay_ms: 60_000 }],
    ['a rich job', { data: 1, priority: 1, tags: ['a'], retention_ms: 1_000 }],
    ['a job of a unique key', { unique: { key: 'k', mode: 'existing' } }],
  ])('of %s with an Idempotency-Key is answered alike when it comes again', async (_what, fields) => {
    const queue = fresh();
    const id = 'id' in fields ? { id: `mine-${queue}` } : {};
    const job = { queue, ...fields, ...id };
    const headers = { 'idempotency-key': `key-${queue}` };
    const first = await post('jobs', job, { headers });
    expect(first.status).toBe(201);
    const again = await post('jobs', job, { headers });
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers['location']).toBe(first.headers['location']);
    const other = await post('jobs', { ...job, priority: 2 }, { headers });
    expect([other.status, code(other)]).toEqual([422, 'idempotency_key_reused']);
  });

  it('of a list over several queues is answered alike too', async () => {
    const [one, two] = [fresh(), fresh()];
    const jobs = [{ queue: one, data: 1 }, { queue: two, priority: 3, delay_ms: 60_000 }, { queue: one }];
    const headers = { 'idempotency-key': `key-${one}` };
    const first = await post('jobs', { jobs }, { headers });
    expect(first.status).toBe(201);
    expect((await post('jobs', { jobs }, { headers })).text).toBe(first.text);
    expect((await lease({ queues: [one], count: 10 })).length).toBe(2);
  });

  it('with a key and a wait tells how the job ended, however often it is asked', async () => {
    const queue = fresh();
    const headers = { 'idempotency-key': `key-${queue}` };
    const ask = () => post('jobs?wait_ms=10000', { queue, data: 1 }, { headers });
    const asked = ask();
    const [job] = await lease({ queues: [queue], wait_ms: 10_000 });
    await post(`jobs/${job!.id}/ack`, { lease: job!.lease, result: 42 });
    const first = await asked;
    expect(first.json).toMatchObject({ id: job!.id, state: 'done', result: { data: 42 } });
    expect((await ask()).text).toBe(first.text);
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

  it('keeps its data as it was written, to the last byte, and so do results and lmstfy’s bodies', async () => {
    const queue = fresh();
    const data = '{ "id": 12345678901234567890, "a": 1.0, "a": 1e2, "t": "\\u00e4ä\\/" }';
    const first = await post('jobs', `{"queue":"${queue}","data":${data}}`);
    const { id } = first.json as Job;
    const found = await app.get(`/v1/${app.namespace}/jobs/${id}`);
    expect(found.text).toContain(
      '"data":{ "id": 12345678901234567890, "a": 1.0, "a": 1e2, "t": "\\u00e4\\u00e4\\/" }',
    );
    const { json } = await app.get(`${queue}?ttr=60`);
    expect(Buffer.from((json as { data: string }).data, 'base64').toString()).toBe(data);

    await app.publish(queue, '[0.10,98765432109876543210]');
    const leased = await app.call('POST', `/v1/${app.namespace}/leases`, {
      body: JSON.stringify({ queues: [queue] }),
    });
    expect(leased.text).toContain('"data":[0.10,98765432109876543210]');

    const other = fresh();
    await publish({ queue: other, retention_ms: 60_000 });
    const job = await leaseOne(other);
    await post('acks', `{"acks":[{"queue":"${other}","id":"${job.id}","lease":1,"result":1.50}]}`);
    expect((await app.get(`/v1/${app.namespace}/jobs/${job.id}`)).text).toContain('"result":{"data":1.50,');
  });

  it('of whatever kind is stored and shown again, or refused: never an error of the server', async () => {
    const queue = fresh();
    const period = fc.constantFrom(0, 59_999, MAX_PERIOD_MS, MAX_PERIOD_MS + 1, -1, 0.5, 1e300, '5', null);
    const text = fc.oneof(
      fc.string({ maxLength: 300, unit: 'binary' }),
      fc.constantFrom('', 'a', '\u0000', '\ud800'),
    );
    const job = fc.record(
      {
        data: fc.jsonValue(),
        data_base64: fc.constantFrom('', 'YQ==', 'YQ', 'Y'),
        content_type: fc.constantFrom('application/json', 'text/plain', 'a b', ''),
        run_at: fc.constantFrom(
          '0000-01-01T00:00:00Z',
          '9999-12-31T23:59:59.999Z',
          '2026-02-30T00:00:00Z',
          'now',
        ),
        ...{ delay_ms: period, ttl_ms: period, ttr_ms: period, retention_ms: period },
        tries: fc.constantFrom(0, 1, 65_535, 65_536),
        priority: fc.constantFrom(-129, -128, 127, 128, 0),
        type: text,
        tags: fc.array(text, { maxLength: 3 }),
        attributes: fc.dictionary(fc.string({ maxLength: 4 }), text, { maxKeys: 3 }),
        concurrency_key: text,
        depends_on: fc.constantFrom([], ['nobody'], ['a', 'a'], [5]),
        retry: fc.record(
          { kind: fc.constantFrom('none', 'fixed', 'list'), delay_ms: period, delays_ms: fc.array(period) },
          { requiredKeys: ['kind'] },
        ),
        unique: fc.constantFrom(null, {}, { key: '', mode: 'reject' }),
        history: fc.boolean(),
        __proto__: fc.constant(1),
      },
      { requiredKeys: [] },
    );
    // Few options at a time: with all of them hardly any job would be right.
    const some = fc.tuple(job, fc.array(fc.nat(), { minLength: 1, maxLength: 4 })).map(([whole, picks]) => {
      const entries = Object.entries(whole);
      return Object.fromEntries(
        picks.flatMap((pick) => entries.slice(pick % Math.max(entries.length, 1)).slice(0, 1)),
      );
    });
    const statuses = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(some, async (options) => {
        const { status, json } = await post('jobs', { queue, ...options });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        expect([201, 400]).toContain(status);
        if (status === 201) expect(await look((json as Job).id)).toMatchObject({ queue });
      }),
      { numRuns: 150 },
    );
    expect([...statuses.keys()].sort()).toEqual([201, 400]);
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
