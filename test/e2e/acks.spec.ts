import { QueueError, type ErrorCode } from '../../src/domain/errors.js';
import type { LeasedJob } from '../../src/domain/job.js';
import { EngineRegistry } from '../../src/engine/engine.registry.js';
import type { Queues } from '../../src/engine/queues.js';
import { type Answer, type CallOptions, TestApp } from '../support/app.js';

const PROBLEM = 'application/problem+json';
/** A lost lease is not among them: it is an item's own, and no failure of the call. */
const STATUS: Record<Exclude<ErrorCode, 'lease_lost'>, number> = {
  ...{ invalid_argument: 400, token_missing: 401, token_invalid: 401, pool_not_found: 404 },
  ...{ verb_missing: 403, queue_not_allowed: 403 },
  ...{ dependency_cycle: 400, too_many_dependencies: 400, has_dependents: 409, not_waiting: 409 },
  ...{ job_done: 409, due_unknown: 409 },
  ...{
    job_not_found: 404,
    recurring_not_found: 404,
    worker_not_found: 404,
    job_exists: 409,
    unique_key_taken: 409,
  },
  ...{ body_too_large: 413, rate_limited: 429 },
  ...{ idempotency_key_reused: 422, too_many_queues: 429, queue_full: 429, namespace_full: 429 },
  ...{ queue_draining: 409, queue_not_found: 404, queue_not_empty: 409 },
  ...{ durability_unavailable: 503, not_replicated: 503 },
  ...{ too_many_streams: 429, pool_moving: 503 },
  ...{ too_many_waiters: 429, overloaded: 503, uri_too_long: 414 },
  ...{ internal: 500, pool_unavailable: 503, disk_full: 503, shutting_down: 503, store_full: 507 },
};

describe.each(['/acks', '/%61cks'])('batch acknowledgement, by %s', (path) => {
  let app: TestApp;
  let engine: Queues;
  beforeAll(async () => {
    app = await TestApp.start({ PUMPHOUSE_LIMITS__MAX_BULK_BYTES: '200000' });
    engine = app.server.api.app.get(EngineRegistry, { strict: false }).forPool('default');
  });
  afterAll(() => app.stop());

  const post = (
    body: string | object,
    options: CallOptions = {},
    namespace = app.namespace,
  ): Promise<Answer> =>
    app.call('POST', `/v1/${namespace}${path}`, {
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...options,
    });
  const take = async (queue: string, count: number, ttrMs = 60_000): Promise<LeasedJob[]> => {
    for (let i = 0; i < count; i++) await app.publish(`${queue}?tries=5`);
    return app.engine.reserve(app.namespace, { queues: [queue], count, ttrMs, waitMs: 0 });
  };
  const left = async (...queues: string[]): Promise<number> => {
    const counts = await app.engine.counts(app.namespace, queues);
    return counts.reduce((sum, { ready, leased, dead }) => sum + ready + leased + dead, 0);
  };

  it('acknowledges jobs of several queues, with a lease and without', async () => {
    const [one] = await take('one', 1);
    const two = await take('two', 2);
    const acks = [
      { queue: 'two', id: two[1]!.id, lease: two[1]!.lease },
      { queue: 'one', id: one!.id },
      { queue: 'two', id: two[0]!.id, lease: two[0]!.lease },
    ];
    const { status, headers, json } = await post({ acks });

    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers['x-request-id']).toMatch(/^[0-9A-Z]{26}$/);
    expect(json).toEqual({ results: acks.map(({ id }) => ({ id, status: 'acked' })) });
    expect(await left('one', 'two')).toBe(0);
  });

  it('tells of each what became of it, and lets none disturb the others', async () => {
    const jobs = await take('mixed', 3);
    const [first, second, third] = jobs.map(({ id, lease }) => ({ queue: 'mixed', id, lease }));
    const acks = [
      first!,
      { ...second!, lease: second!.lease + 1 },
      { queue: 'mixed', id: 'nobody' },
      first!,
      { ...third!, queue: 'elsewhere' },
    ];
    const { json } = await post({ acks });

    expect((json as { results: { status: string }[] }).results.map(({ status }) => status)).toEqual([
      'acked',
      'lease_lost',
      'not_found',
      'not_found',
      'not_found',
    ]);
    expect(await left('mixed')).toBe(2);
    await post({ acks: [second, third] });
    expect(await left('mixed')).toBe(0);
  });

  it('takes a thousand at once', async () => {
    const acks = Array.from({ length: 1_000 }, (_, i) => ({ queue: 'q', id: `job-${String(i)}` }));
    const { status, json } = await post({ acks });

    expect(status).toBe(200);
    expect(json).toEqual({ results: acks.map(({ id }) => ({ id, status: 'not_found' })) });
  });

  it('acknowledges nothing if one of them is not well said', async () => {
    const [job] = await take('kept', 1);
    const { status, headers, json } = await post({
      acks: [
        { queue: 'kept', id: job!.id },
        { queue: 'kept', id: '"' },
        { queue: 'kept', id: 'x', lease: 0 },
      ],
    });

    expect(status).toBe(400);
    expect(headers['content-type']).toBe(PROBLEM);
    expect(json).toEqual({
      code: 'invalid_argument',
      detail: 'the request breaks a rule',
      errors: [
        { field: 'acks[1].id', rule: expect.stringMatching(/^must be a job's id/) as string },
        { field: 'acks[2].lease', rule: expect.stringContaining('whole number') as string },
      ],
      status: 400,
      title: 'Bad Request',
      type: 'about:blank',
    });
    expect(await left('kept')).toBe(1);
    await post({ acks: [{ queue: 'kept', id: job!.id }] });
  });

  const ONE = { acks: [{ queue: 'q', id: 'x' }] };
  it.each<[string, () => Promise<Answer>, number, string]>([
    ['no token', () => post(ONE, { token: null }), 401, 'token_missing'],
    ['a wrong token', () => post(ONE, { token: 'wrong' }), 401, 'token_invalid'],
    ['an unknown pool', () => post(ONE, { token: 'nowhere:x' }), 404, 'pool_not_found'],
    ["another namespace's token", () => post(ONE, {}, 'foreign'), 401, 'token_invalid'],
    ['a forbidden namespace', () => post(ONE, {}, 'a.b'), 400, 'invalid_argument'],
    ['a long namespace', () => post(ONE, {}, 'n'.repeat(256)), 400, 'invalid_argument'],
    ['an empty namespace', () => post(ONE, {}, ''), 400, 'invalid_argument'],
    ['no body', () => post(''), 400, 'invalid_argument'],
    ['no JSON', () => post('acks'), 400, 'invalid_argument'],
    ['a body that is too large', () => post('x'.repeat(200_001)), 413, 'body_too_large'],
    ['no such call', () => app.call('POST', `/v1/${app.namespace}/nope`), 404, 'not_found'],
    ['an address that nobody can read', () => app.call('POST', '/v1/%zz/acks'), 400, 'bad_request'],
  ])('answers with problem details: %s', async (_name, ask, status, code) => {
    const answer = await ask();

    expect(answer).toMatchObject({ status, json: { code, status, type: 'about:blank' } });
    expect(answer.headers['content-type']).toBe(PROBLEM);
    expect(answer.headers['x-request-id']).toMatch(/^[0-9A-Z]{26}$/);
  });

  it.each(['GET', 'PUT', 'DELETE', 'OPTIONS'])('has no %s, and says what it has', async (method) => {
    const answer = await app.call(method, `/v1/${app.namespace}${path}`);

    expect(answer).toMatchObject({ status: 405, json: { code: 'method_not_allowed', status: 405 } });
    expect(answer.headers.allow).toBe('POST');
  });

  it('takes the token from the query', async () => {
    const { status } = await app.call('POST', `/v1/${app.namespace}${path}?token=${app.token}`, {
      token: null,
      body: JSON.stringify(ONE),
    });

    expect(status).toBe(200);
  });

  it.each(Object.entries(STATUS))('has a status for each code: %s is %i', async (code, status) => {
    const ack = (): Promise<never> => Promise.reject(new QueueError(code as ErrorCode, 'as it is'));
    Object.assign(engine, { ack, ackMany: ack });
    try {
      const { status: got, headers, json } = await post(ONE);
      expect(got).toBe(status);
      expect(json).toMatchObject({ code, status });
      // What a pool that moves cannot do is named by the engine; other faults of the store tell nobody about it.
      const isTold = status < 500 || code === 'pool_moving';
      expect((json as { detail: string }).detail === 'as it is').toBe(isTold);
      const mayHelp = ['queue_full', 'namespace_full', 'too_many_waiters', 'too_many_streams'].includes(code);
      expect(headers['retry-after']).toBe(status === 503 || mayHelp ? '1' : undefined);
    } finally {
      Reflect.deleteProperty(engine, 'ack');
      Reflect.deleteProperty(engine, 'ackMany');
    }
  });

  it('hides a bug, and logs it', async () => {
    const ack = (): never => {
      throw new TypeError('a bug');
    };
    Object.assign(engine, { ack, ackMany: ack });
    app.log.length = 0;
    try {
      const answer = await post(ONE);
      expect(answer).toMatchObject({ status: 500, json: { code: 'internal', detail: 'internal error' } });
      expect(app.log).toMatchObject([{ level: 'error', message: 'request failed' }]);
    } finally {
      Reflect.deleteProperty(engine, 'ack');
      Reflect.deleteProperty(engine, 'ackMany');
    }
  });
});
