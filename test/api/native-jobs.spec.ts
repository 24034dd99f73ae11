import fc from 'fast-check';
import { MAX_PERIOD_MS } from '../../src/domain/limits.js';
import { Engines } from '../../src/engine/engines.js';
import { type Answer, type CallOptions, head, TestApp } from '../support/app.js';
import {
  app,
  call,
  code,
  fresh,
  type Job,
  lease,
  leaseOne,
  find,
  given,
  post,
  publish,
  spell,
  useNativeApi,
  WAYS,
  wrongFields,
} from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

describe('publish', () => {
  useNativeApi();

  describe.each(WAYS)('a native publish, by %s', (_way, spelling) => {
    beforeAll(() => spell(spelling));

    it('answers with id, location and state', async () => {
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
      expect(await find(id)).toMatchObject({
        id,
        queue,
        state: 'ready',
        data: { a: 'ä' },
        content_type: 'application/json',
      });
    });

    it('stores a simple job without special options, which lmstfy’s consumers get', async () => {
      const queue = fresh();
      const { id } = await publish({ queue, data: 'x', tries: 2, ttl_ms: 60_000, attributes: { k: 'v' } });
      const { json } = await app.get(`${queue}?ttr=5`);
      expect(json).toMatchObject({
        job_id: id,
        data: Buffer.from('"x"').toString('base64'),
        remain_tries: 1,
        attributes: { k: 'v' },
      });
      // The extended path was not needed: the job is one string, and the queue a simple one.
      expect(await app.engine.queues.counts(app.namespace, [queue])).toMatchObject([{ leased: 1 }]);
      const [engine] = app.server.api.app.get(Engines, { strict: false }).all();
      const { extendedQueues } = engine!.components;
      expect(extendedQueues.hasAny(app.namespace, [queue])).toBe(false);
    });

    it.each([
      ['a simple job', {}],
      ['an extended job', { type: 'mail' }],
    ])('answers a repetition with X-Job-ID with the state of the job now: %s', async (_what, options) => {
      const job = { queue: fresh(), ...options };
      const { id } = await publish({ ...job, retention_ms: 60_000 });
      const again = async () => (await post('jobs', job, { headers: { 'X-Job-ID': id } })).json;
      expect(await again()).toEqual({ id, state: 'ready', existing: false });
      const { lease: number } = await leaseOne(job.queue);
      expect(await again()).toEqual({ id, state: 'leased', existing: false });
      await given('POST', `jobs/${id}/ack`, { lease: number });
      expect(await again()).toEqual({ id, state: 'done', existing: false });
    });

    it('stores all options of a job', async () => {
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
        ...{
          data_base64: '/+8=',
          content_type: 'image/png',
          delay_ms: 60_000,
          ttl_ms: 120_000,
          ttr_ms: 7_000,
        },
        retry: { kind: 'exponential', delay_ms: 10 },
      };
      const before = Date.now();
      expect(await publish({ queue, ...job })).toEqual({ id: job.id, state: 'scheduled', existing: false });

      const found = await find(job.id);
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
          leased_by: null,
        },
      });
      expect(found).toMatchObject({ ttr_ms: 7_000, retry: { kind: 'exponential', delay_ms: 10 } });
      expect(found).not.toHaveProperty('data');
      const dueMs = Date.parse(found['due_at'] as string);
      expect(dueMs).toBeGreaterThanOrEqual(before + 50_000);
      expect(Date.parse(found['expires_at'] as string) - dueMs).toBeGreaterThan(50_000);
      expect(found['timeline']).toEqual([
        expect.objectContaining({ what: 'published', at: found['published_at'] }),
      ]);
    });

    it('schedules a job with run_at for that time, and makes it ready if that time is past', async () => {
      const queue = fresh();
      const run_at = new Date(Date.now() + 3_600_000).toISOString();
      const { id, state } = await publish({ queue, run_at });
      expect([state, (await find(id))['due_at']]).toEqual(['scheduled', run_at]);
      // A time that is over is now.
      expect((await publish({ queue, run_at: '2001-01-01T00:00:00Z' })).state).toBe('ready');
    });

    it('stores all jobs of a call or none, also in several queues', async () => {
      const [one, two] = [fresh(), fresh()];
      const jobs = [
        { queue: one, id: `a-${one}` },
        { queue: two, priority: 3 },
        { queue: one, delay_ms: 60_000 },
      ];
      const { status, json } = await post('jobs', { jobs });
      expect(status).toBe(201);
      expect((json as { jobs: Job[] }).jobs.map(({ state }) => state)).toEqual([
        'ready',
        'ready',
        'scheduled',
      ]);

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
    ])('returns the first answer if %s is sent again with its Idempotency-Key', async (_what, fields) => {
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

    it('returns the first answer if jobs for two queues are sent again with their Idempotency-Key', async () => {
      const [one, two] = [fresh(), fresh()];
      const jobs = [{ queue: one, data: 1 }, { queue: two, priority: 3, delay_ms: 60_000 }, { queue: one }];
      const headers = { 'idempotency-key': `key-${one}` };
      const first = await post('jobs', { jobs }, { headers });
      expect(first.status).toBe(201);
      expect((await post('jobs', { jobs }, { headers })).text).toBe(first.text);
      expect((await lease({ queues: [one], count: 10 })).length).toBe(2);
    });

    it('returns the result of the job if it is sent again with its Idempotency-Key and wait_ms', async () => {
      const queue = fresh();
      const headers = { 'idempotency-key': `key-${queue}` };
      const publish = () => post('jobs?wait_ms=10000', { queue, data: 1 }, { headers });
      const pending = publish();
      const [job] = await lease({ queues: [queue], wait_ms: 10_000 });
      await post(`jobs/${job!.id}/ack`, { lease: job!.lease, result: 42 });
      const first = await pending;
      expect(first.json).toMatchObject({ id: job!.id, state: 'done', result: { data: 42 } });
      expect((await publish()).text).toBe(first.text);
    });

    it('accepts the token as Authorization: Bearer, but not together with a wrong X-Token', async () => {
      const queue = fresh();
      const send = (headers: Record<string, string>): Promise<Answer> =>
        call('POST', 'jobs', { queue }, { token: null, headers });
      expect((await send({ Authorization: `Bearer ${app.token}` })).status).toBe(201);
      expect((await send({ Authorization: 'Bearer wrong' })).status).toBe(401);
      expect((await send({ Authorization: `Bearer ${app.token}`, 'X-Token': 'wrong' })).status).toBe(401);
      expect((await send({})).status).toBe(401);
    });

    it('is refused with the names of all wrong fields, and stores no job', async () => {
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
        ['jobs[1].tries', 'jobs[1].prio'],
      ]);
      expect((await call('GET', `jobs/n-${queue}`)).status).toBe(404);
      for (const body of ['', '{', '[]', 'null', '"x"', '\ufeff{}', '{"queue":"q"}x']) {
        expect([body, (await post('jobs', body)).status]).toEqual([body, 400]);
      }
    });

    it('keeps numbers, blanks and duplicate keys of JSON data and results', async () => {
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

    it('is answered with 201 or 400 for random options, never with 500', async () => {
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
          fair_key: text,
          depends_on: fc.constantFrom([], ['missing'], ['a', 'a'], [5]),
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
          if (status === 201) expect(await find((json as Job).id)).toMatchObject({ queue });
        }),
        { numRuns: 150 },
      );
      expect([...statuses.keys()].sort()).toEqual([201, 400]);
    });

    it('is refused with broken UTF-8', async () => {
      const bytes = Buffer.concat([
        Buffer.from('{"queue":"q","data":"'),
        Buffer.from([0xff]),
        Buffer.from('"}'),
      ]);
      const answer = await app.call('POST', `/v1/${app.namespace}/jobs`, { body: bytes });
      expect([answer.status, answer.json]).toEqual([
        400,
        expect.objectContaining({
          errors: [{ field: '', rule: 'must be JSON in UTF-8; byte 22 of the body is not UTF-8' }],
        }),
      ]);
    });

    it.each([
      ['jobs', '{"queue":"q",\n "data":hunter2}', 'line 2, column 9: found `h`, expected a value'],
      ['leases', '{"queues":["q"]', 'line 1, column 16: found the end of the body, expected a comma or'],
      ['acks', '{"acks":[{]}', 'line 1, column 11: found `]`, expected a name in double quotes or `}`'],
      ['jobs/x/ack', '{"lease":1,}', 'line 1, column 12: found `}`, expected a name in double quotes'],
      ['jobs/x/tags', 'hunter2', 'line 1, column 1: found `h`, expected a value'],
      ['queues/q/drain', "{'wait_ms':1}", "line 1, column 2: found `'`, expected a name in double quotes"],
      ['recurring', '{} {}', 'line 1, column 4: found `{`, expected the end of the body'],
    ])('reports where the body of a call is not JSON: %s', async (path, body, fault) => {
      const { status, json, text } = await post(path, body);
      expect([status, json]).toEqual([
        400,
        expect.objectContaining({
          errors: [
            { field: '', rule: expect.stringContaining(`must be JSON in UTF-8; ${fault}`) as unknown },
          ],
        }),
      ]);
      expect(text).not.toContain('unter');
    });

    it('does not report where a body of more than 256 KiB is not JSON', async () => {
      const body = (length: number) => `[${' '.repeat(length - 2)}x`;
      const at = (await post('jobs', body(262_144))).json;
      const beyond = (await post('jobs', body(262_145))).json;
      expect([at, beyond]).toMatchObject([
        { errors: [{ rule: expect.stringContaining('line 1, column 262144: found `x`') as unknown }] },
        { errors: [{ rule: 'must be JSON in UTF-8; it is too long to say where: over 256 KiB' }] },
      ]);
    });

    it('reports where the body of a setting is not JSON', async () => {
      const { status, json } = await call('PUT', 'settings/grace_ms', '{"value":5_000}');
      expect([status, json]).toEqual([
        400,
        expect.objectContaining({
          errors: [
            {
              field: '',
              rule: 'must be JSON in UTF-8; line 1, column 11: found `_`, expected a comma or the closing bracket',
            },
          ],
        }),
      ]);
    });

    it.each([
      [
        'POST',
        'jobs',
        8_388_608,
        'the limit that the server sets in limits.max_bulk_bytes: send less in one call, or raise it',
      ],
      [
        'POST',
        'acks',
        8_388_608,
        'the limit that the server sets in limits.max_bulk_bytes: send less in one call, or raise it',
      ],
      [
        'POST',
        'jobs/x/tags',
        5_000,
        'the limit that the server sets in limits.max_body_bytes: send less in one call, or raise it',
      ],
      ['POST', 'leases', 131_072, 'the most that this call takes'],
      ['PATCH', 'queues/q', 65_536, 'the most that this call takes'],
      ['PUT', 'settings/grace_ms', 1_024, 'the most that this call takes'],
    ])('names the limit that the body of a call exceeds: %s %s', async (method, path, bytes, limit) => {
      const body = ' '.repeat(bytes + 1);
      const { status, json } = await call(method, path, body);
      expect([status, json]).toEqual([
        413,
        expect.objectContaining({
          code: 'body_too_large',
          detail: `the body is longer than ${String(bytes)} bytes, ${limit}`,
        }),
      ]);
      // Of the longest length it is read, and only its content is refused.
      expect((await call(method, path, body.slice(1))).status).not.toBe(413);
    });

    it.each<[string, string]>([
      ['jobs', '{"queue":"q","data":$}'],
      ['jobs', '{"jobs":[{"queue":"q","data":$}]}'],
      ['acks', '{"acks":[{"queue":"q","id":"x","lease":1,"result":$}]}'],
      ['jobs/x/ack', '{"lease":1,"result":$}'],
      ['jobs/x/ack', '{"lease":1,"data":$}'],
      ['jobs/x/retry', '{"lease":1,"data":$}'],
      ['jobs/x/heartbeat', '{"lease":1,"progress":$}'],
      ['jobs/x/log', '{"message":"m","data":$}'],
      ['recurring', '{"schedule":{"every_ms":60000},"job":{"queue":"q","data":$}}'],
    ])('accepts JSON of 64 levels, and refuses 65: %s %s', async (path, body) => {
      const nested = (depth: number) => body.replace('$', '['.repeat(depth) + ']'.repeat(depth));
      const text = (await post(path, nested(64))).text;
      expect(text).not.toContain('max_json_depth');
      const { status, json } = await post(path, nested(65));
      expect([status, json]).toMatchObject([
        400,
        {
          code: 'invalid_argument',
          errors: [
            {
              field: expect.stringMatching(/(^|\.)(data|result|progress)$/) as string,
              rule: expect.stringMatching(
                /^must be nested at most 64 levels deep, .* limits\.max_json_depth; /,
              ) as string,
            },
          ],
        },
      ]);
    });

    it.each([
      ['POST', 'jobs', 8_388_608],
      ['POST', 'acks', 8_388_608],
      ['POST', 'jobs/x/fail', 8_388_608],
      ['PATCH', 'queues/q', 65_536],
      ['PUT', 'settings/grace_ms', 1_024],
    ])(
      'refuses a body of the largest size that has nothing but brackets or small values: %s %s',
      async (method, path, bytes) => {
        for (const unit of ['[', '[{},', '{"a":', '{"a":{},']) {
          const body = unit.repeat(Math.floor(bytes / unit.length));
          const { status, json } = await call(method, path, body);
          expect([status, json]).toMatchObject([400, { code: 'invalid_argument', errors: [{ field: '' }] }]);
        }
      },
    );

    it('refuses a chunked body of 8 MiB of brackets', async () => {
      const connection = await app.open();
      const chunk = `40000\r\n${'['.repeat(0x40000)}\r\n`;
      const auth = { 'X-Token': app.token, 'Transfer-Encoding': 'chunked' };
      connection.write(head('POST', `/v1/${app.namespace}/jobs`, auth));
      for (let i = 0; i < 32; i++) connection.write(chunk);
      connection.write('0\r\n\r\n');
      expect(await connection.until('max_json_depth')).toMatch(/^HTTP\/1\.1 400 /);
      connection.cut();
    });

    it('shows data deeper than 64 levels from lmstfy’s API in base64', async () => {
      const queue = fresh();
      const deep = '['.repeat(65) + ']'.repeat(65);
      const deepest = '['.repeat(2_400) + ']'.repeat(2_400);
      const bodies = ['[1.0]', deep, '{"a":1}', deepest, '['.repeat(100)];
      const ids: string[] = [];
      for (const body of bodies) ids.push(await app.publish(queue, body));
      const base64 = (body: string) => Buffer.from(body).toString('base64');
      const shown = [
        { data: [1], content_type: 'application/json' },
        { data_base64: base64(deep), content_type: 'application/json' },
        { data: { a: 1 }, content_type: 'application/json' },
        { data_base64: base64(deepest), content_type: 'application/json' },
        { data_base64: base64('['.repeat(100)), content_type: 'application/octet-stream' },
      ];
      expect((await call('GET', `jobs/${ids[1]!}`)).json).toMatchObject(shown[1]!);
      const listed = (await call('GET', `jobs?queue=${queue}&fields=data`)).json as { items: object[] };
      expect(listed.items).toHaveLength(5);
      expect(listed.items).toEqual(
        expect.arrayContaining(shown.map((one) => expect.objectContaining(one) as object)),
      );
      expect(await lease({ queues: [queue], count: 10 })).toMatchObject(shown);
    });

    it('is refused with data of more than max_body_bytes', async () => {
      const queue = fresh();
      const long = await post('jobs', { queue, data_base64: Buffer.alloc(5_001).toString('base64') });
      expect([long.status, (long.json as { errors: unknown }).errors]).toEqual([
        400,
        [{ field: 'data_base64', rule: 'must be at most 5000 bytes as stored (limits.max_body_bytes)' }],
      ]);
      expect(
        (await post('jobs', { queue, data_base64: Buffer.alloc(5_000).toString('base64') })).status,
      ).toBe(201);
    });
  });
});

describe('idempotency keys', () => {
  const MISUSE =
    '{"code":"idempotency_key_reused","error":"the idempotency key was used for another request"}';
  let keys = 0;

  /** Through the fast path, and through the router: one escape in the path is enough. */
  describe.each([
    ['the fast path', 'q'],
    ['the router', '%71'],
  ])('a publish with an Idempotency-Key, over %s', (_way, queue) => {
    let app: TestApp;
    let key: string;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());
    beforeEach(() => (key = `key-${String(keys++)}`));

    const put = (after = '', body = 'hello', headers: Record<string, string> = {}): Promise<Answer> =>
      app.put(`${queue}${after}`, body, { headers: { 'Idempotency-Key': key, ...headers } });
    const size = (): Promise<number> => app.engine.queues.size(app.namespace, 'q');

    it('returns the first id if it is sent again, and stores one job', async () => {
      const before = await size();
      const answers = [await put(), await put(), await put()];
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
      expect(await size()).toBe(before + 1);
    });

    it('returns the first ids if a bulk is sent again, and stores its jobs once', async () => {
      const before = await size();
      const [one, two] = [await put('/bulk', '[1,2,3]'), await put('/bulk', '[1,2,3]')];
      expect(one).toMatchObject({ status: 201, json: { msg: 'published' } });
      expect(two.text).toBe(one.text);
      expect(await size()).toBe(before + 3);
    });

    it('returns the first id if it is sent again after the job was acknowledged', async () => {
      const first = await put('?ttl=0&tries=2');
      const { job_id } = first.json as { job_id: string };
      await app.delete(`q/job/${job_id}`);
      expect(await put('?ttl=0&tries=2')).toMatchObject({ status: 201, text: first.text });
      expect(await app.get(`q/job/${job_id}`)).toMatchObject({ status: 404 });
    });

    it.each([
      ['another body', '', 'other', {}],
      ['another parameter', '?delay=1', 'hello', {}],
      ['other attributes', '', 'hello', { 'Enable-Job-Version': 'YES', 'Job-Attr-A': 'b' }],
      ['another call', '/bulk', '["hello"]', {}],
    ])('is refused with 422 if its key comes again with %s', async (_what, after, body, headers) => {
      await put();
      expect(await put(after, body, headers)).toMatchObject({ status: 422, text: MISUSE });
    });

    it('returns the first id if a republish is sent again', async () => {
      const old = await app.publish('q', 'old');
      const [one, two] = [await put(`/job/${old}`), await put(`/job/${old}`)];
      expect(one.status).toBe(201);
      expect(two.text).toBe(one.text);
    });

    it.each([
      ['empty', ''],
      ['with a blank', 'two words'],
      ['too long', 'x'.repeat(256)],
      ['beyond ASCII', 'k\xe4se'],
    ])('is refused with 400 if the key is %s', async (_what, bad) => {
      key = bad;
      for (const after of ['', '/bulk', '/job/x'])
        expect(await put(after)).toMatchObject({
          status: 400,
          json: { error: 'invalid Idempotency-Key: it has 1 to 255 visible ASCII characters' },
        });
    });

    it('is refused with two Idempotency-Key headers', async () => {
      const lines = [`PUT /api/${app.namespace}/${queue} HTTP/1.1`, 'Host: x', `X-Token: ${app.token}`];
      const twice = ['Idempotency-Key: a', 'Idempotency-Key: b', 'Content-Length: 0', 'Connection: close'];
      const text = await app.raw(`${[...lines, ...twice].join('\r\n')}\r\n\r\n`);
      expect(text).toMatch(/^HTTP\/1.1 400 .*invalid Idempotency-Key/s);
    });
  });
});

describe('changes', () => {
  useNativeApi();

  async function put(id: string, more: object = {}): Promise<string> {
    await publish({ queue: id, id, priority: 1, ...more });
    return id;
  }

  const lease = async (id: string): Promise<number> => (await leaseOne(id)).lease;

  describe('a job that depends on others', () => {
    it('is blocked until they are done', async () => {
      const a = await put(fresh());
      const b = await put(fresh(), { depends_on: [a] });

      expect(await find(b)).toMatchObject({ state: 'blocked', depends_on: [a], failed_dependencies: {} });
      expect(await find(a)).toMatchObject({ dependents: [b] });
      await call('POST', `jobs/${a}/ack`, { lease: await lease(a) });
      await app.engine.pumpNow(app.namespace);
      expect(await find(b)).toMatchObject({ state: 'ready', depends_on: [] });
    });

    it('is blocked by an added dependency, and ready when the dependency is removed', async () => {
      const [a, b] = [await put(fresh()), await put(fresh())];

      const added = await call('POST', `jobs/${b}/dependencies`, { depends_on: [a] });
      expect(added).toMatchObject({ status: 200, json: { id: b, state: 'blocked', due_at: null } });
      const circle = await call('POST', `jobs/${a}/dependencies`, { depends_on: [b] });
      expect(circle).toMatchObject({ status: 400, json: { code: 'dependency_cycle' } });
      const removed = await call('DELETE', `jobs/${b}/dependencies`, { depends_on: [a] });
      expect(removed).toMatchObject({ status: 200, json: { id: b, state: 'ready' } });
    });

    it('is answered with the dependencies that no job has', async () => {
      const [a, b, c] = [await put(fresh()), fresh(), fresh()];
      const one = await post('jobs', { queue: b, id: b, depends_on: [a, 'typo'] });
      expect([one.status, one.json]).toEqual([
        201,
        { id: b, state: 'blocked', existing: false, missing_dependencies: ['typo'] },
      ]);
      expect(
        (await post('jobs', { jobs: [{ queue: b, depends_on: ['x', 'y'] }, { queue: b }] })).json,
      ).toEqual({
        jobs: [
          expect.objectContaining({ state: 'ready', missing_dependencies: ['x', 'y'] }),
          expect.not.objectContaining({ missing_dependencies: expect.anything() as unknown }),
        ],
      });
      const missing = { missing_dependencies: ['typo'] };
      expect((await call('PUT', `jobs/${c}`, { queue: c, depends_on: ['typo'] })).json).toMatchObject(
        missing,
      );
      expect((await post('jobs?wait_ms=1', { queue: c, depends_on: ['typo'] })).json).toMatchObject(missing);
      expect((await call('PATCH', `jobs/${c}`, { depends_on: ['typo'] })).json).toMatchObject(missing);
      expect((await post(`jobs/${c}/dependencies`, { depends_on: ['typo'] })).json).toMatchObject(missing);
    });

    it.each<[string, (queue: string, refused: object) => Promise<Answer>, string]>([
      ['publish', (queue, refused) => post('jobs', { queue, ...refused }), 'depends_on[1]'],
      [
        'publish with wait_ms',
        (queue, refused) => post('jobs?wait_ms=1', { queue, ...refused }),
        'depends_on[1]',
      ],
      [
        'publish of many',
        (queue, refused) => post('jobs', { jobs: [{ queue }, { queue, ...refused }] }),
        'jobs[1].depends_on[1]',
      ],
      ['PUT', (queue, refused) => call('PUT', `jobs/put-${queue}`, { queue, ...refused }), 'depends_on[1]'],
      [
        'change',
        async (queue, refused) => call('PATCH', `jobs/${await put(`change-${queue}`)}`, refused),
        'depends_on[1]',
      ],
      [
        'call that adds dependencies',
        async (queue, refused) => post(`jobs/${await put(`add-${queue}`)}/dependencies`, refused),
        'depends_on[1]',
      ],
      [
        'move to a next queue',
        async (queue, refused) => {
          const id = await put(`move-${queue}`);
          return post(`jobs/${id}/ack`, { lease: await lease(id), next: { queue, ...refused } });
        },
        'next.depends_on[1]',
      ],
    ])('is refused by a %s if a dependency does not exist and it says so', async (_what, send, field) => {
      const [a, queue] = [await put(fresh()), fresh()];
      const answer = await send(queue, { depends_on: [a, 'typo'], on_missing_dependency: 'refuse' });

      expect(answer).toMatchObject({
        status: 409,
        json: { code: 'missing_dependency', errors: [{ field }] },
      });
      const { detail, errors } = answer.json as { detail: string; errors: { rule: string }[] };
      expect(detail).toContain(field);
      expect(errors[0]!.rule).toContain('there is no job typo');
      expect((await call('GET', `queues/${queue}`)).json).toMatchObject({ length: 0 });
      expect(await find(a)).toMatchObject({ dependents: [] });
    });

    it('is refused by a batch ack, and by a run of a recurring job, if a dependency does not exist', async () => {
      const [id, queue] = [await put(fresh()), fresh()];
      const refused = { depends_on: ['typo'], on_missing_dependency: 'refuse' };
      const acks = [{ queue: id, id, lease: await lease(id), next: { queue, ...refused } }];
      expect((await post('acks', { acks })).json).toEqual({
        results: [{ id, status: 'missing_dependency' }],
      });

      const schedule = { every_ms: 86_400_000, offset_ms: 86_400_000 };
      await given('PUT', `recurring/${queue}`, { schedule, job: { queue, ...refused } });
      expect((await call('GET', `recurring/${queue}`)).json).toMatchObject({ job: refused });
      const run = await post(`recurring/${queue}/run`, undefined);
      expect([run.status, code(run)]).toEqual([409, 'missing_dependency']);
      await call('DELETE', `recurring/${queue}`);
    });

    it('is refused a dependency on itself, and a circle within a call', async () => {
      const [a, b] = [fresh(), fresh()];
      const self = await call('POST', 'jobs', { queue: 'q', id: a, depends_on: [a] });
      const circle = await call('POST', 'jobs', {
        jobs: [
          { queue: 'q', id: a, depends_on: [b] },
          { queue: 'q', id: b, depends_on: [a] },
        ],
      });

      expect(self).toMatchObject({ status: 400, json: { code: 'dependency_cycle' } });
      expect(circle).toMatchObject({ status: 400, json: { code: 'dependency_cycle' } });
      expect((await call('GET', `jobs/${a}`)).status).toBe(404);
    });
  });

  describe('a cancel', () => {
    it('ends a waiting job', async () => {
      const a = await put(fresh());

      const { status, json } = await call('POST', `jobs/${a}/cancel`, {});

      expect({ status, json }).toEqual({
        status: 200,
        json: { id: a, outcome: 'cancelled', revoked_at: null },
      });
      expect((await call('GET', `jobs/${a}`)).status).toBe(404);
      expect((await call('POST', `jobs/${a}/cancel`)).json).toMatchObject({ code: 'job_not_found' });
    });

    it('is refused for a job with dependents, and cancels the dependents too with cascade', async () => {
      const a = await put(fresh());
      const b = await put(fresh(), { depends_on: [a] });

      const refused = await call('POST', `jobs/${a}/cancel`);
      expect(refused).toMatchObject({ status: 409, json: { code: 'has_dependents', dependents: [b] } });
      expect((await call('POST', `jobs/${a}/cancel`, { cascade: true })).json).toMatchObject({
        outcome: 'cancelled',
      });
      await app.engine.pumpNow(app.namespace);
      expect((await call('GET', `jobs/${b}`)).status).toBe(404);
    });

    it('is reported to the lease holder by a heartbeat, and revokes the lease at once with grace_ms 0', async () => {
      const a = await put(fresh());
      const number = await lease(a);

      const requested = await call('POST', `jobs/${a}/cancel`, { grace_ms: 60_000 });
      expect(requested.json).toMatchObject({
        outcome: 'requested',
        revoked_at: expect.any(String) as unknown,
      });
      const heartbeat = await call('POST', `jobs/${a}/heartbeat`, { lease: number });
      expect(heartbeat.json).toMatchObject({ cancel_requested: true });
      await call('POST', `jobs/${a}/cancel`, { grace_ms: 0 });
      expect(await find(a)).toMatchObject({ state: 'cancelled' });
      const stale = await call('POST', `jobs/${a}/ack`, { lease: number });
      expect(stale).toMatchObject({ status: 409, json: { code: 'lease_lost', state: 'cancelled' } });
      expect((await call('POST', `jobs/${a}/cancel`)).json).toMatchObject({ outcome: 'already_cancelled' });
    });

    it('is refused for a done job with job_done', async () => {
      const a = await put(fresh(), { retention_ms: 60_000 });
      await call('POST', `jobs/${a}/ack`, { lease: await lease(a) });

      expect(await call('POST', `jobs/${a}/cancel`)).toMatchObject({
        status: 409,
        json: { code: 'job_done' },
      });
      expect(await find(a)).toMatchObject({ state: 'done' });
    });
  });

  describe('a cancel of many jobs', () => {
    const cancel = (body: object) => call('POST', 'jobs/cancel', body);
    const result = (id: string, outcome: string, revoked_at: unknown = null) => ({ id, outcome, revoked_at });

    it('returns a result for each job, in order', async () => {
      const [a, b, c] = [await put(fresh()), await put(fresh(), { delay_ms: 60_000 }), await put(fresh())];
      const kept = await put(fresh(), { retention_ms: 60_000 });
      await cancel({ ids: [kept] });
      const done = await put(fresh(), { retention_ms: 60_000 });
      await call('POST', `jobs/${done}/ack`, { lease: await lease(done) });
      const number = await lease(c);

      const { status, json } = await cancel({ ids: [b, 'missing', c, kept, a, done], grace_ms: 60_000 });

      expect({ status, json }).toEqual({
        status: 200,
        json: {
          results: [
            result(b, 'cancelled'),
            result('missing', 'not_found'),
            result(c, 'requested', expect.any(String)),
            result(kept, 'already_cancelled'),
            result(a, 'cancelled'),
            result(done, 'done'),
          ],
        },
      });
      expect((await call('GET', `jobs/${a}`)).status).toBe(404);
      const heartbeat = await call('POST', `jobs/${c}/heartbeat`, { lease: number });
      expect(heartbeat.json).toMatchObject({ cancel_requested: true });
      expect((await cancel({ ids: [c], grace_ms: 0 })).json).toEqual({ results: [result(c, 'cancelled')] });
      expect(await find(c)).toMatchObject({ state: 'cancelled' });
      expect(await find(done)).toMatchObject({ state: 'done' });
    });

    it('cancels jobs that depend on each other, or none if a job that is not named depends on one', async () => {
      const a = await put(fresh());
      const b = await put(fresh(), { depends_on: [a] });
      const c = await put(fresh(), { depends_on: [b] });

      const refused = await cancel({ ids: [a, b] });
      expect(refused).toMatchObject({
        status: 409,
        json: {
          code: 'has_dependents',
          dependents: [c],
          detail: expect.stringMatching(`depend on ${b}: ${c}$`) as string,
        },
      });
      expect(await find(a)).toMatchObject({ state: 'ready' });
      const all = { results: [c, a, b].map((id) => result(id, 'cancelled')) };
      expect((await cancel({ ids: [c, a, b] })).json).toEqual(all);

      const [d, e] = [await put(fresh()), await put(fresh())];
      const f = await put(fresh(), { depends_on: [d, e] });
      expect((await cancel({ ids: [d], cascade: true })).status).toBe(200);
      await app.engine.pumpNow(app.namespace);
      expect((await call('GET', `jobs/${f}`)).status).toBe(404);
      expect(await find(e)).toMatchObject({ state: 'ready' });
    });

    it('is refused without ids, with more than 64, with a duplicate, an invalid id or an unknown field', async () => {
      const a = await put(fresh());
      const many = Array.from({ length: 65 }, (_, i) => `many-${i}`);
      const rule = 'must be a list of 1 to 64 different ids of jobs';
      for (const ids of [[], many, [a, a], [a, 'not an id!'], [a, 1], a, null, undefined])
        expect(await cancel({ ids })).toMatchObject({
          status: 400,
          json: { code: 'invalid_argument', errors: [{ field: 'ids', rule: expect.any(String) as string }] },
        });
      expect((await cancel({ ids: [a, a] })).json).toMatchObject({ errors: [{ rule }] });
      for (const more of [{ grace: 1 }, { force: true }, { grace_ms: -1 }, { cascade: 'yes' }])
        expect(await cancel({ ids: [a], ...more })).toMatchObject({
          status: 400,
          json: { errors: [{ field: Object.keys(more)[0] }] },
        });
      expect((await call('POST', 'jobs/cancel')).status).toBe(400);
      expect(await find(a)).toMatchObject({ state: 'ready' });
      const results = many.slice(1).map((id) => result(id, 'not_found'));
      expect((await cancel({ ids: many.slice(1) })).json).toEqual({ results });
    });

    it('leaves all calls on a job with the id cancel usable', async () => {
      const { id } = await publish({ queue: fresh(), data: 1, id: 'cancel' });
      expect(await find(id)).toMatchObject({ state: 'ready' });
      expect((await call('PATCH', 'jobs/cancel', { priority: 2 })).status).toBe(200);
      expect((await call('POST', 'jobs/cancel/log', { message: 'm' })).status).toBe(204);
      expect((await call('POST', 'jobs/cancel/cancel')).json).toEqual(result('cancel', 'cancelled'));
    });
  });

  describe('an update', () => {
    it('replaces the retry policy, and leaves ttr, retention and lease grace as published', async () => {
      const queue = fresh();
      const first = { kind: 'fixed', delay_ms: 5 };
      const times = { ttr_ms: 1_000, retention_ms: 2_000, lease_grace_ms: 3_000, max_run_ms: 4_000 };
      const { id } = await publish({ queue, retry: first, ...times });
      expect((await call('GET', `jobs/${id}`)).json).toMatchObject({ retry: first, ...times });
      const retry = {
        kind: 'exponential',
        delay_ms: 1,
        factor: 3,
        max_ms: 9,
        jitter: 0.5,
        non_retryable: ['g'],
      };
      expect((await call('PATCH', `jobs/${id}`, { retry })).status).toBe(200);
      expect((await call('GET', `jobs/${id}`)).json).toMatchObject({ retry, ...times });
      const simple = await publish({ queue });
      const nothing = {
        retry: null,
        ttr_ms: null,
        retention_ms: null,
        lease_grace_ms: null,
        max_run_ms: null,
      };
      expect((await call('GET', `jobs/${simple.id}`)).json).toMatchObject(nothing);
    });

    it('changes only the given fields', async () => {
      const a = await put(fresh(), { tags: ['x'], type: 'mail' });
      const due_at = new Date(Date.now() + 3_600_000).toISOString();

      const answer = await call('PATCH', `jobs/${a}`, { priority: -5, tags: ['y'], data: { n: 2 }, due_at });

      expect(answer).toMatchObject({ status: 200, json: { id: a, state: 'scheduled', due_at } });
      expect(await find(a)).toMatchObject({
        ...{ state: 'scheduled', priority: -5, tags: ['y'], data: { n: 2 }, type: 'mail', due_at },
      });
      await call('PATCH', `jobs/${a}`, { delay_ms: 0, queue: `${a}-other`, ttl_ms: 60_000 });
      expect(await find(a)).toMatchObject({ state: 'ready', queue: `${a}-other`, priority: -5 });
    });

    it.each([
      ['a simple job', {}],
      ['an extended job', { type: 'old', tries: 9, retry: { kind: 'none' } }],
    ])('changes tries, type and retry policy of %s', async (_, more) => {
      const queue = fresh();
      const { id } = await publish({ queue, ...more });
      const retry = { kind: 'list', delays_ms: [0, 60_000], non_retryable: ['final'] };

      const answer = await call('PATCH', `jobs/${id}`, { tries: 4, type: 'new', retry });

      expect(answer).toMatchObject({ status: 200, json: { id, state: 'ready', due_at: null } });
      expect(await find(id)).toMatchObject({ tries: 4, tries_left: 4, type: 'new' });
      const first = await leaseOne(queue);
      expect((await post(`jobs/${id}/retry`, { lease: first.lease })).json).toMatchObject({ state: 'ready' });
      expect((await call('PATCH', `jobs/${id}`, { tries: 1 })).json).toMatchObject({
        code: 'invalid_argument',
        detail: expect.stringMatching(/^tries: must be more than 1/) as string,
      });
      const second = await leaseOne(queue);
      expect(await call('PATCH', `jobs/${id}`, { tries: 5 })).toMatchObject({ status: 409 });
      const final = { lease: second.lease, group: 'final' };
      expect((await post(`jobs/${id}/retry`, final)).json).toMatchObject({ state: 'dead' });
    });

    it('checks tries, type and retry policy as a publish does', async () => {
      const a = await put(fresh());
      const wrong: [object, string][] = [
        [{ tries: 0 }, 'tries'],
        [{ tries: 65_536 }, 'tries'],
        [{ tries: '3' }, 'tries'],
        [{ type: '' }, 'type'],
        [{ type: 'x'.repeat(256) }, 'type'],
        [{ type: null }, 'type'],
        [{ retry: { kind: 'often' } }, 'retry.kind'],
        [{ retry: { kind: 'fixed' } }, 'retry.delay_ms'],
        [{ retry: { kind: 'none', delay_ms: 5 } }, 'retry.delay_ms'],
      ];
      for (const [fields, field] of wrong) {
        const answer = await call('PATCH', `jobs/${a}`, fields);
        expect([answer.status, wrongFields(answer)]).toEqual([400, [field]]);
        const published = await post('jobs', { queue: a, ...fields });
        expect([published.status, wrongFields(published)]).toEqual([400, [field]]);
      }
    });

    it('is refused for a leased job, and with wrong or contradicting fields', async () => {
      const a = await put(fresh());
      await lease(a);

      expect(await call('PATCH', `jobs/${a}`, { priority: 1 })).toMatchObject({
        status: 409,
        json: { code: 'not_waiting' },
      });
      const wrong = await call('PATCH', `jobs/${a}`, {
        ...{ priority: 200, due_at: new Date().toISOString(), delay_ms: 0, tries: 3 },
      });
      expect(wrong).toMatchObject({ status: 400, json: { code: 'invalid_argument' } });
      const both = await call('PATCH', `jobs/${a}`, { due_at: new Date().toISOString(), delay_ms: 0 });
      expect(both).toMatchObject({ status: 400, json: { errors: [{ field: 'due_at' }] } });
    });

    it('adds the message of the call "log" to the timeline of the job, and refuses large data', async () => {
      const a = await put(fresh());

      expect((await call('POST', `jobs/${a}/log`, { message: 'hello', data: { n: 1 } })).status).toBe(204);

      expect(await find(a)).toMatchObject({
        timeline: [{ what: 'published' }, { what: 'log', message: 'hello' }],
      });
      const long = await call('POST', `jobs/${a}/log`, { message: 'x', data: 'x'.repeat(5_000) });
      expect(long).toMatchObject({ status: 400, json: { errors: [{ field: 'data' }] } });
    });
  });
});

describe('a wait for the end of a job', () => {
  useNativeApi();

  describe.each(WAYS)('a publish that waits, by %s', (_way, spelling) => {
    beforeAll(() => spell(spelling));

    const fire = (job: object, waitMs = 20_000, options?: CallOptions): Promise<Answer> =>
      post(`jobs?wait_ms=${waitMs}`, job, options);

    it('is answered with the result of the job', async () => {
      const queue = fresh();
      const waiting = fire({ queue, data: 2 });
      const { id, lease: number } = await leaseOne(queue, { wait_ms: 20_000 });
      await post(`jobs/${id}/ack`, { lease: number, result: { twice: 4 } });
      const { status, json } = await waiting;
      expect([status, json]).toEqual([
        200,
        {
          ...{ id, state: 'done', existing: false, failure: null, tries: 5 },
          published_at: (await find(id))['published_at'],
          result: { data: { twice: 4 }, content_type: 'application/json' },
        },
      ]);
      // It can be read again afterwards.
      expect((await find(id))['state']).toBe('done');
    });

    it('is answered with the failure of the job', async () => {
      const queue = fresh();
      const waiting = fire({ queue });
      const { id, lease: number } = await leaseOne(queue, { wait_ms: 20_000 });
      await post(`jobs/${id}/fail`, { lease: number, group: 'bad', message: 'no' });
      const { status, json } = await waiting;
      expect(status).toBe(200);
      expect(json).toMatchObject({
        id,
        state: 'dead',
        result: null,
        failure: { group: 'bad', message: 'no' },
      });
    });

    it('is answered with 202 and a location if the job has not ended after wait_ms', async () => {
      const queue = fresh();
      const { status, headers, json } = await fire({ queue }, 1);
      expect(status).toBe(202);
      const { id } = json as Job;
      const { published_at } = await find(id);
      expect(json).toEqual({
        ...{ id, state: 'ready', existing: false, published_at, tries: 5 },
        ...{ result: null, failure: null },
      });
      expect(headers['location']).toBe(`/v1/${app.namespace}/jobs/${id}`);
      const { lease: number } = await leaseOne(queue);
      await post(`jobs/${id}/ack`, { lease: number, result: 'late' });
      expect(await find(id)).toMatchObject({ state: 'done', result: { data: 'late' } });
    });

    it('counts as a long poll, and is refused at the limit before it stores a job', async () => {
      const other = await TestApp.start({ PUMPHOUSE_LIMITS__MAX_WAITERS_PER_TOKEN: '1' });
      try {
        const url = `/v1/${other.namespace}/jobs?wait_ms=20000`;
        const first = other.call('POST', url, { body: '{"queue":"q"}' });
        await waitFor(async () => (await other.engine.queues.size(other.namespace, 'q')) === 1, 5_000);
        const refused = await other.call('POST', url, { body: '{"queue":"q"}' });
        expect([refused.status, code(refused)]).toEqual([429, 'too_many_waiters']);
        expect(await other.engine.queues.size(other.namespace, 'q')).toBe(1);
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
      ['a wait_ms of 0', '0', { queue: 'q' }, 'wait_ms'],
      ['a wait_ms of more than a day', '86400001', { queue: 'q' }, 'wait_ms'],
      ['a wait_ms that is a word', 'long', { queue: 'q' }, 'wait_ms'],
      ['an unknown parameter', '1&wait=1', { queue: 'q' }, 'wait'],
    ])('is refused with %s', async (_, wait, body, field) => {
      const answer = await post(`jobs?wait_ms=${wait}`, body);
      expect([answer.status, wrongFields(answer)]).toEqual([400, [field]]);
    });
  });
});

describe('deletion of a job', () => {
  useNativeApi();

  const remove = (id: string, query = '', options?: CallOptions): Promise<Answer> =>
    call('DELETE', `jobs/${id}${query}`, undefined, options);
  const gone = { status: 404, json: { code: 'job_not_found' } };

  it('removes a job that is ready, scheduled, blocked, dead or done', async () => {
    const queue = fresh();
    const states: [string, object][] = [
      ['ready', {}],
      ['ready', { type: 't', priority: 3, tags: ['a'], unique: { key: queue, mode: 'reject' } }],
      ['scheduled', { delay_ms: 60_000 }],
      ['scheduled', { delay_ms: 86_400_000 }],
      ['blocked', { depends_on: ['first'] }],
    ];
    await publish({ queue: fresh(), id: 'first', delay_ms: 60_000 });
    for (const [state, more] of states) {
      const { id } = await publish({ queue, data: 1, ...more });
      expect(await find(id)).toMatchObject({ state });
      expect(await remove(id)).toMatchObject({ status: 204, text: '' });
      expect(await call('GET', `jobs/${id}`)).toMatchObject(gone);
      expect(await remove(id)).toMatchObject(gone);
    }
    const { id: dead } = await publish({ queue, data: 1, retention_ms: 60_000 });
    await post(`jobs/${dead}/fail`, { lease: (await leaseOne(queue)).lease });
    expect(await remove(dead)).toMatchObject({ status: 204 });
    const { id: done } = await publish({ queue, data: 1, retention_ms: 60_000 });
    await post(`jobs/${done}/ack`, { lease: (await leaseOne(queue)).lease });
    expect(await find(done)).toMatchObject({ state: 'done' });
    expect(await remove(done)).toMatchObject({ status: 204 });

    expect((await call('GET', `queues/${queue}`)).json).toMatchObject({
      length: 0,
      counts: { dead: 0, done: 0 },
    });
    // Its unique key is free, and its queue is empty.
    await publish({ queue, unique: { key: queue, mode: 'reject' } });
    expect((await remove('first')).status).toBe(204);
  });

  it('removes a leased job only with force=true, which needs the permission admin', async () => {
    const queue = fresh();
    const { json } = await app.admin(
      'POST',
      `/token/${app.namespace}?description=d&verbs=consume&queues=${queue}`,
    );
    const { token } = json as { token: string };
    for (const more of [{}, { type: 't' }]) {
      await publish({ queue, data: 1, ...more });
      const { id, lease: number } = await leaseOne(queue);

      expect(await remove(id)).toMatchObject({ status: 409, json: { code: 'leased' } });
      expect(await remove(id, '?force=false')).toMatchObject({ status: 409 });
      expect(await remove(id, '?force=true', { token })).toMatchObject({
        status: 403,
        json: { code: 'verb_missing' },
      });
      expect(await find(id)).toMatchObject({ state: 'leased' });
      expect((await remove(id, '?force=true')).status).toBe(204);
      expect(await post(`jobs/${id}/ack`, { lease: number })).toMatchObject(gone);
    }
    const { id: own } = await publish({ queue, data: 1 });
    const { id: foreign } = await publish({ queue: fresh(), data: 1 });
    // A job in a queue that the token is not for is as one that does not exist.
    expect(await remove(foreign, '', { token })).toMatchObject(gone);
    expect((await remove(own, '', { token })).status).toBe(204);
    expect((await remove(foreign, '?force=1')).json).toMatchObject({ errors: [{ field: 'force' }] });
    expect((await remove(foreign)).status).toBe(204);
  });

  it('is refused for a job with dependents, and fails the dependents with force=true', async () => {
    const queue = fresh();
    await publish({ queue, id: 'needed-d' });
    const { id } = await publish({ queue, depends_on: ['needed-d'], on_dependency_failure: 'fail' });
    expect(await remove('needed-d')).toMatchObject({
      status: 409,
      json: { code: 'has_dependents', dependents: [id] },
    });
    expect(await find(id)).toMatchObject({ state: 'blocked' });
    expect(await find('needed-d')).toMatchObject({ state: 'ready' });
    expect((await remove('needed-d', '?force=true')).status).toBe(204);

    await waitFor(async () => {
      expect(await find(id)).toMatchObject({ state: 'dead', failure: { group: 'dependency_failed' } });
      return true;
    });
  });

  it('is refused for a dead job with blocked dependents, and removes a done job', async () => {
    const queue = fresh();
    const { id: dead } = await publish({ queue });
    await publish({ queue: fresh(), id: 'waits-for-dead', depends_on: [dead] });
    await post(`jobs/${dead}/fail`, { lease: (await leaseOne(queue)).lease });
    await waitFor(async () => {
      expect(await find('waits-for-dead')).toMatchObject({ failed_dependencies: { [dead]: 'died' } });
      return true;
    });
    expect(await remove(dead)).toMatchObject({ status: 409, json: { dependents: ['waits-for-dead'] } });
    expect((await remove('waits-for-dead')).status).toBe(204);
    expect((await remove(dead)).status).toBe(204);

    const { id: done } = await publish({ queue, retention_ms: 60_000 });
    await publish({ queue: fresh(), id: 'waits-for-done', depends_on: [done] });
    await post(`jobs/${done}/ack`, { lease: (await leaseOne(queue)).lease });
    expect((await remove(done)).status).toBe(204);
    await waitFor(async () => (await find('waits-for-done'))['state'] === 'ready', 5_000);
  });
});

describe('a forced failure', () => {
  useNativeApi();
  const fail = (id: string, more: object = {}, options?: CallOptions): Promise<Answer> =>
    call('POST', `jobs/${id}/fail`, { force: true, group: 'wrong', message: 'why', ...more }, options);
  const dead = { state: 'dead', failure: { group: 'wrong', message: 'why' } };

  it.each<[string, object]>([
    ['ready', {}],
    ['ready', { priority: 3 }],
    ['scheduled', { delay_ms: 60_000 }],
    ['scheduled', { delay_ms: 86_400_000 }],
    ['blocked', { depends_on: ['forced-first'] }],
  ])('sends a %s job to the dead-letter queue: %p', async (state, more) => {
    await call('PUT', 'jobs/forced-first', { queue: fresh(), delay_ms: 60_000 });
    const { id } = await publish({ queue: fresh(), ...more });
    expect(await find(id)).toMatchObject({ state });

    expect(await fail(id)).toMatchObject({ status: 200, json: { id, state: 'dead', tries_left: 5 } });
    expect(await find(id)).toMatchObject({ ...dead, depends_on: [], due_at: null });
    expect(await find('forced-first')).toMatchObject({ dependents: [] });
  });

  it('ends the lease of a leased job: its holder gets lease_lost', async () => {
    const queue = fresh();
    const { id } = await publish({ queue, type: 't' });
    const { lease: number } = await leaseOne(queue, { worker: 'w' });

    expect(await fail(id)).toMatchObject({ status: 200, json: { state: 'dead' } });
    expect(await find(id)).toMatchObject({ ...dead, failure: { worker: 'w' } });
    for (const operation of ['ack', 'heartbeat', 'release', 'retry', 'fail'])
      expect(await post(`jobs/${id}/${operation}`, { lease: number })).toMatchObject({
        status: 409,
        json: { code: 'lease_lost', state: 'dead' },
      });
  });

  it('fails a held job, and leaves its slot to others', async () => {
    const queue = fresh();
    await call('PATCH', `queues/${queue}`, { max_running_per_key: 1 });
    const job = { queue, concurrency_key: 'one' };
    const ids = [(await publish(job)).id, (await publish(job)).id, (await publish(job)).id];
    const [first] = await lease({ queues: [queue], count: 3 });
    expect(await find(ids[1]!)).toMatchObject({ state: 'held' });

    expect(await fail(ids[1]!)).toMatchObject({ status: 200, json: { state: 'dead' } });
    await post(`jobs/${first!.id}/ack`, { lease: first!.lease });
    expect(await leaseOne(queue)).toMatchObject({ id: ids[2] });
  });

  it('leaves a dead job as it is, and refuses one that has ended', async () => {
    const queue = fresh();
    const { id } = await publish({ queue });
    await fail(id, { group: 'first' });
    expect(await fail(id)).toMatchObject({ status: 200, json: { state: 'dead' } });
    expect(await find(id)).toMatchObject({ failure: { group: 'first' } });

    const kept = (await publish({ queue, retention_ms: 60_000 })).id;
    await post(`jobs/${kept}/ack`, { lease: (await leaseOne(queue)).lease });
    expect(await fail(kept)).toMatchObject({ status: 409, json: { code: 'job_done' } });
    expect(await fail('unknown')).toMatchObject({ status: 404, json: { code: 'job_not_found' } });
  });

  it('fails the dependents of the job by their policy', async () => {
    const { id } = await publish({ queue: fresh() });
    const dependent = await publish({ queue: fresh(), depends_on: [id], on_dependency_failure: 'fail' });
    await fail(id);
    await waitFor(async () => (await find(dependent.id))['state'] === 'dead');
  });

  it('needs the permission admin, and a lease or `force` in the request', async () => {
    const { id } = await publish({ queue: fresh() });
    const path = `/token/${app.namespace}?description=d&verbs=publish,consume`;
    const { token } = (await app.admin('POST', path)).json as { token: string };
    expect(await fail(id, {}, { token })).toMatchObject({ status: 403, json: { code: 'verb_missing' } });
    for (const [fields, field] of [
      [{ force: false }, 'lease'],
      [{ lease: 1 }, 'force'],
      [{ data: 1 }, 'data'],
    ] as const)
      expect(await fail(id, fields)).toMatchObject({ status: 400, json: { errors: [{ field }] } });
    expect(await find(id)).toMatchObject({ state: 'ready' });
  });
});

describe('revoke', () => {
  useNativeApi();
  const revoke = (id: string, options?: CallOptions): Promise<Answer> =>
    call('POST', `jobs/${id}/revoke`, undefined, options);
  const tokenFor = async (verbs: string, queue: string): Promise<string> => {
    const path = `/token/${app.namespace}?description=d&verbs=${verbs}&queues=${queue}`;
    return ((await app.admin('POST', path)).json as { token: string }).token;
  };

  it.each([
    ['a simple job', {}],
    ['an extended job', { type: 't' }],
  ])('ends the lease of %s: its holder gets lease_lost', async (_, more) => {
    const queue = fresh();
    const { id } = await publish({ queue, tries: 2, ...more });
    const { lease: number } = await leaseOne(queue, { worker: 'w' });

    expect(await revoke(id)).toMatchObject({ status: 200, json: { id, state: 'ready', due_at: null } });

    expect(await find(id)).toMatchObject({ state: 'ready', tries_left: 2, attempts: 0, leased_by: null });
    for (const operation of ['ack', 'heartbeat', 'release', 'retry', 'fail']) {
      expect(await post(`jobs/${id}/${operation}`, { lease: number })).toMatchObject({
        status: 409,
        json: { code: 'lease_lost', state: 'ready' },
      });
    }
    const revoked = {
      json: {
        code: 'lease_lost',
        reason: 'revoked',
        detail: expect.stringContaining('was revoked') as unknown,
      },
    };
    for (const operation of ['heartbeat', 'release', 'retry', 'fail'])
      expect(await post(`jobs/${id}/${operation}`, { lease: number })).toMatchObject(revoked);
    const beat = { ttr_ms: 60_000, leases: [{ id, lease: number }], info: { name: 'w' } };
    expect((await post(`workers/revoked-${queue}/heartbeat`, beat)).json).toMatchObject({
      jobs: [{ id, status: 'lease_lost', reason: 'revoked' }],
    });
    const { timeline } = (await find(id)) as unknown as { timeline: { what: string; reason?: string }[] };
    expect(timeline.at(-1)).toMatchObject({ what: 'released', reason: 'revoked' });
    const again = await leaseOne(queue);
    expect(again).toMatchObject({ id, tries_left: 1 });
    expect(await post(`jobs/${id}/heartbeat`, { lease: number })).toMatchObject(revoked);
    expect((await post(`jobs/${id}/heartbeat`, { lease: number - 1 })).json).not.toHaveProperty('reason');
    expect(again.lease).toBeGreaterThan(number);
    expect((await post(`jobs/${id}/ack`, { lease: again.lease })).status).toBe(200);
  });

  it('answers 409 with the state for a job that is not leased', async () => {
    const [queue, other] = [fresh(), fresh()];
    const { id: first } = await publish({ queue: other });
    const states: [string, object][] = [
      ['ready', {}],
      ['scheduled', { delay_ms: 60_000 }],
      ['blocked', { depends_on: [first] }],
    ];
    for (const [state, more] of states) {
      const { id } = await publish({ queue, ...more });
      expect(await revoke(id)).toMatchObject({ status: 409, json: { code: 'not_leased', state } });
    }
    const { id } = await publish({ queue: fresh(), retention_ms: 60_000 });
    const { queue: own } = await find(id);
    await post(`jobs/${id}/ack`, { lease: (await leaseOne(own)).lease });
    expect(await revoke(id)).toMatchObject({ status: 409, json: { code: 'not_leased', state: 'done' } });
    for (const unknown of ['unknown', 'x'.repeat(129)])
      expect(await revoke(unknown)).toMatchObject({ status: 404, json: { code: 'job_not_found' } });
  });

  it('needs the permission admin for the queue of the job', async () => {
    const queue = fresh();
    const { id } = await publish({ queue });
    await leaseOne(queue);
    const consumer = await tokenFor('publish,consume', queue);
    expect(await revoke(id, { token: consumer })).toMatchObject({
      status: 403,
      json: { code: 'verb_missing' },
    });
    const elsewhere = await tokenFor('publish,consume,admin', fresh());
    expect(await revoke(id, { token: elsewhere })).toMatchObject({ status: 404 });
    expect(await find(id)).toMatchObject({ state: 'leased' });
    const admin = await tokenFor('admin', queue);
    expect((await revoke(id, { token: admin })).status).toBe(200);
  });
});

describe('sorted lists of jobs', () => {
  useNativeApi();
  const ids = ({ json }: Answer): string[] => (json as { items: { id: string }[] }).items.map(({ id }) => id);

  it.each(['jobs?state=ready&', 'jobs?tag=t&', 'dead-letter?'])(
    'start with the oldest or the newest job: %s',
    async (path) => {
      const queue = fresh();
      const put: string[] = [];
      for (let i = 0; i < 5; i++) put.push((await publish({ queue, tags: ['t'] })).id);
      if (path.startsWith('dead'))
        for (const { id, lease: number } of await lease({ queues: [queue], count: 5 }))
          await post(`jobs/${id}/fail`, { lease: number });
      const list = `${path}queue=${queue}`;

      expect(ids(await call('GET', list))).toEqual(put);
      expect(ids(await call('GET', `${list}&order=oldest`))).toEqual(put);
      const first = await call('GET', `${list}&order=newest&limit=2`);
      const cursor = (first.json as { next_cursor: string }).next_cursor;
      const second = await call('GET', `${list}&order=newest&cursor=${cursor}`);
      expect([...ids(first), ...ids(second)]).toEqual(put.toReversed());

      const other = await call('GET', `${list}&order=oldest&cursor=${cursor}`);
      expect([other.status, code(other)]).toEqual([400, 'invalid_argument']);
      expect((await call('GET', `${list}&order=up`)).json).toMatchObject({
        code: 'invalid_argument',
        errors: [{ field: 'order', rule: 'must be one of oldest, newest' }],
      });
    },
  );

  it('refuse an order together with ids', async () => {
    expect(wrongFields(await call('GET', 'jobs?ids=a&order=newest'))).toEqual(['order']);
  });
});

describe('a put of a job', () => {
  useNativeApi();
  const put = (id: string, body: unknown, options?: CallOptions): Promise<Answer> =>
    call('PUT', `jobs/${id}`, body, options);
  const onlyNew = { headers: { 'if-none-match': '*' } };
  const tokenFor = async (queue: string): Promise<string> => {
    const path = `/token/${app.namespace}?description=d&verbs=publish&queues=${queue}`;
    return ((await app.admin('POST', path)).json as { token: string }).token;
  };

  it('creates a job, replaces it while it waits, and is refused while it is leased', async () => {
    const [queue, id] = [fresh(), fresh('put')];
    const location = `/v1/${app.namespace}/jobs/${id}`;

    const created = await put(id, { queue, data: 1, tags: ['a'], delay_ms: 60_000 }, onlyNew);
    expect(created).toMatchObject({ status: 201, json: { id, state: 'scheduled', existing: false } });
    expect(created.headers['location']).toBe(location);
    expect(await put(id, { queue, data: 0 }, onlyNew)).toMatchObject({
      status: 409,
      json: { code: 'job_exists' },
    });
    expect(await put(id, { queue, id, data: 2, retention_ms: 60_000 })).toMatchObject({
      status: 200,
      json: { id, state: 'ready' },
    });
    expect(await find(id)).toMatchObject({ data: 2, tags: [], state: 'ready' });

    const leased = await leaseOne(queue);
    expect(await put(id, { queue, data: 3 })).toMatchObject({ status: 409, json: { code: 'leased' } });
    await post(`jobs/${id}/ack`, { lease: leased.lease });
    expect(await find(id)).toMatchObject({ state: 'done' });
    expect((await put(id, { queue, data: 3 }, onlyNew)).status).toBe(409);
    expect((await put(id, { queue, data: 3 })).status).toBe(201);
    const again = await leaseOne(queue);
    expect(again).toMatchObject({ id, data: 3, attempts: 1 });
    expect(await post(`jobs/${id}/ack`, { lease: leased.lease })).toMatchObject({ status: 409 });
    await post(`jobs/${id}/fail`, { lease: again.lease });
    expect(await put(id, { queue })).toMatchObject({ status: 409, json: { code: 'job_exists' } });
  });

  it('is refused with the names of all wrong fields, and stores nothing', async () => {
    const id = fresh('put');
    const wrong: [string, unknown, string[]][] = [
      [id, {}, ['queue']],
      [id, { queue: 'q', id: 'other' }, ['id']],
      [id, { queue: 'q', tries: 0, tag: 'x' }, ['tag', 'tries']],
      [id, { jobs: [{ queue: 'q' }] }, ['jobs', 'queue']],
      ['x'.repeat(129), { queue: 'q' }, ['id']],
      ['-x', { queue: 'q' }, ['id']],
    ];
    for (const [name, body, fields] of wrong) {
      const answer = await put(name, body);
      expect([answer.status, wrongFields(answer).sort()]).toEqual([400, fields]);
    }
    for (const headers of [{ 'if-none-match': '"a"' }, { 'idempotency-key': 'k' }])
      expect(await put(id, { queue: 'q' }, { headers })).toMatchObject({
        status: 400,
        json: { code: 'invalid_argument' },
      });
    expect((await call('PUT', `jobs/${id}?wait_ms=1`, { queue: 'q' })).status).toBe(400);
    expect((await call('GET', `jobs/${id}`)).status).toBe(404);
  });

  it("does not replace or reveal a job of a queue outside the token's queues", async () => {
    const [mine, theirs, id] = [fresh(), fresh(), fresh('put')];
    const token = await tokenFor(mine);
    await publish({ queue: theirs, id, data: 'theirs' });
    for (let i = 0; i < 2; i++) {
      expect(await put(id, { queue: mine }, { token })).toMatchObject({
        status: 409,
        json: { code: 'job_exists' },
      });
      expect((await put(id, { queue: theirs }, { token })).json).toMatchObject({ code: 'queue_not_allowed' });
      if (i === 0) await leaseOne(theirs);
    }
    expect(await find(id)).toMatchObject({ queue: theirs, data: 'theirs', state: 'leased' });
    const own = fresh('put');
    expect((await put(own, { queue: mine }, { token })).status).toBe(201);
    expect((await put(own, { queue: mine }, { token })).status).toBe(200);
  });
});
