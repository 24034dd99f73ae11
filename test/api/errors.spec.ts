import { gzipSync } from 'node:zlib';
import { TokenStore } from '../../src/auth/token-store.js';
import { app, call, fresh, given, post, publish, useNativeApi } from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

useNativeApi();

const detailOf = ({ json }: { readonly json: unknown }): string =>
  String((json as { detail: unknown }).detail);

describe('errors of the native API', () => {
  it.each([
    ['/v1/NS/job', '/v1/:namespace/jobs'],
    ['/v1/jobs', '/v1/:namespace/jobs'],
    ['/v1/jobs?token=secret', '/v1/:namespace/jobs'],
    ['/v1/NS/jobs/', '/v1/:namespace/jobs'],
    ['/v1/NS/queue/mail', '/v1/:namespace/queues/:queue'],
    ['/v1/NS/jobs/7/acks', '/v1/:namespace/jobs/:id/ack'],
    ['/v1/NS/dead-letters', '/v1/:namespace/dead-letter'],
  ])('name the path that %s may mean', async (path, meant) => {
    const answer = await app.call('POST', path.replace('NS', app.namespace), { body: '{}' });
    expect(answer).toMatchObject({ status: 404, json: { code: 'not_found' } });
    expect(detailOf(answer)).toBe(
      `unknown path; did you mean ${meant}? Paths begin with /v1/:namespace/, and /docs lists them`,
    );
  });

  it.each(['/v1', '/v1/', '/v1/NS', '/v1/NS/enqueue', '/v1/NS/jobs/7/9/8'])(
    'name the pages that list all paths for %s',
    async (path) => {
      const answer = await app.call('GET', path.replace('NS', app.namespace));
      expect(answer).toMatchObject({ status: 404, json: { code: 'not_found' } });
      expect(detailOf(answer)).toBe('unknown path. Paths begin with /v1/:namespace/, and /docs lists them');
      expect((await app.get('/docs', { token: null })).status).toBe(200);
    },
  );

  it('name the methods of a path, also for HEAD and OPTIONS', async () => {
    for (const method of ['HEAD', 'OPTIONS', 'PUT']) {
      const answer = await app.call(method, `/v1/${app.namespace}/jobs`);
      expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, 'GET, POST']);
    }
  });

  it('say how a request is to be admitted', async () => {
    const answers = {
      missing: await call('GET', 'jobs/x', undefined, { token: null }),
      wrong: await call('GET', 'jobs/x', undefined, { token: 'wrong' }),
      pool: await call('GET', 'jobs/x', undefined, { token: 'nowhere:x' }),
      namespace: await app.get('/v1/a.b/jobs/x'),
    };
    expect(answers.missing.status).toBe(401);
    expect(detailOf(answers.missing)).toMatch(/^the request has no token: send one in the header X-Token/);
    expect(answers.wrong.status).toBe(401);
    expect(detailOf(answers.wrong)).toMatch(/: use a token of this namespace$/);
    expect(answers.pool.status).toBe(404);
    expect(detailOf(answers.pool)).toMatch(/^the server has no pool .*: check the token, and pools in/);
    expect(answers.namespace.status).toBe(400);
    expect(detailOf(answers.namespace)).toMatch(/: a name has 1 to 255 letters, digits, - and _/);
    // lmstfy's texts stay as they are.
    expect((await app.get('q', { token: null })).text).toBe('{"error":"token not found"}');
    expect((await app.get('q', { token: 'wrong' })).text).toBe('{"error":"invalid token"}');
    expect((await app.get('q', { token: 'nowhere:x' })).text).toBe('{"error":"pool not found"}');
  });

  it('say what a token lacks', async () => {
    const store = app.server.admin.app.get(TokenStore, { strict: false });
    const token = await store.grant({
      ...{ namespace: app.namespace, pool: 'default', description: '', chosen: undefined },
      rights: { verbs: ['publish'], queues: ['mail-*'] },
      expiry: { lifetimeMs: 0, atMs: 0 },
    });
    const lease = await post('leases', { queues: ['mail-1'] }, { token });
    expect(detailOf(lease)).toBe('the token lacks the permission consume: use a token that has it');
    const other = await post('jobs', { queue: 'news' }, { token });
    expect(detailOf(other)).toBe('the token is for the queues mail-* and not for news: use a token for it');
  });

  it('name each field and its rule, and the first one in the detail', async () => {
    const answer = await post('jobs', { queue: 'q', priorty: 5, tries: 0 });
    expect(answer).toMatchObject({
      status: 400,
      json: {
        code: 'invalid_argument',
        detail: 'priorty: unknown field; did you mean priority? (and 1 more)',
        errors: [
          { field: 'priorty', rule: 'unknown field; did you mean priority?' },
          { field: 'tries', rule: expect.stringMatching(/^must be a whole number from 1 to /) as string },
        ],
      },
    });
  });

  it('have the names of the wire for what only the engine checks', async () => {
    const { id } = await publish({ queue: fresh(), delay_ms: 60_000 });
    const cursor = await call('GET', `jobs?queue=q&cursor=${Buffer.from('x').toString('base64url')}`);
    expect(cursor).toMatchObject({
      status: 400,
      json: { errors: [{ field: 'cursor', rule: 'must be the next_cursor of a page' }] },
    });
    const job = { queue: 'q', depends_on: Array.from({ length: 100 }, (_, i) => `${id}${String(i)}`) };
    const many = await post('jobs', { jobs: Array.from({ length: 11 }, () => job) });
    expect(many).toMatchObject({
      status: 400,
      json: {
        errors: [{ field: 'depends_on', rule: expect.stringContaining('1000 jobs in one call') as string }],
      },
    });
    const far = await post('recurring', {
      schedule: { every_ms: 60_000, first_at: '9000-01-01T00:00:00Z' },
      job: { queue: 'q' },
    });
    expect(far).toMatchObject({
      status: 400,
      json: {
        errors: [
          {
            field: 'schedule.first_at',
            rule: 'must be a time from 1970-01-01T00:00:00Z to 4199-11-24T01:22:57.664Z',
          },
        ],
      },
    });
  });

  it('say what to do about a job that is gone, taken, leased or of another lease', async () => {
    expect(detailOf(await call('GET', 'jobs/none'))).toMatch(
      /^there is no job none: acknowledged, deleted, expired and replaced jobs leave no record without retention_ms$/,
    );
    const queue = fresh();
    await publish({ queue, id: `${queue}-1` });
    expect(detailOf(await post('jobs', { queue, id: `${queue}-1` }))).toMatch(/; else choose another id$/);
    const { jobs } = await given<{ jobs: { lease: number }[] }>('POST', 'leases', { queues: [queue] });
    const lease = (jobs[0]?.lease ?? 0) + 1;
    expect(detailOf(await post(`jobs/${queue}-1/ack`, { lease }))).toMatch(/: stop working on it$/);
    expect(detailOf(await call('DELETE', `jobs/${queue}-1`))).toMatch(/, or delete it with force$/);
  });

  it('say what to do while a queue is draining', async () => {
    const queue = fresh();
    await publish({ queue });
    await given('POST', `queues/${queue}/drain`);
    expect(detailOf(await post('jobs', { queue }))).toBe(
      'the queue is draining, and takes no new jobs until it is empty: publish later, or resume the queue',
    );
  });

  it.each([
    ['no content type', {}],
    ['text/plain', { 'Content-Type': 'text/plain' }],
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['an empty content type', { 'Content-Type': '' }],
    ['no media type', { 'Content-Type': 'json' }],
  ])('do not depend on the content type: %s', async (_what, headers) => {
    const answer = await post('jobs', { queue: fresh() }, { headers });
    expect(answer.status).toBe(201);
  });

  it('name what is missing in an empty body', async () => {
    const rule = expect.stringMatching(/^is missing: it must be a queue's name/) as string;
    const answer = await post('jobs', '');
    expect(answer).toMatchObject({ status: 400, json: { errors: [{ field: 'queue', rule }] } });
  });

  it.each([
    [{ queue: 'q', retry: 3 }, 'retry', /^must be an object with kind, delay_ms, /],
    [{ queue: 'q', unique: 'k' }, 'unique', /^must be an object with key, /],
    [{ queue: 'q', unique: { key: 'k', foo: 1 } }, 'unique.foo', /^unknown field; known: key, /],
    [[{ queue: 'q' }], '', /^must be an object: one job, or several as \{"jobs": \[\.\.\.\]\}$/],
  ])('name the fields that an object has: %j', async (body, field, rule) => {
    const answer = await post('jobs', body);
    expect(answer).toMatchObject({
      status: 400,
      json: { errors: [{ field, rule: expect.stringMatching(rule) as string }] },
    });
  });

  it('say that a body is compressed', async () => {
    const body = gzipSync('{"queue":"q"}');
    const answer = await app.call('POST', `/v1/${app.namespace}/jobs`, {
      ...{ body, headers: { 'Content-Encoding': 'gzip' } },
    });
    expect(detailOf(answer)).toBe(
      'body: must be JSON in UTF-8; the body is compressed: the server does not decode it',
    );
  });

  it('say when a token is within its rate limit again', async () => {
    const made = await app.admin('POST', `/token/${app.namespace}?description=d`);
    const { token } = made.json as { token: string };
    const limit = { body: JSON.stringify({ read: 0, write: 1, interval: 600 }) };
    await app.admin('PUT', `/token/${app.namespace}/${token}/limit`, limit);
    const queue = fresh();
    const publishes = async () => call('POST', 'jobs', { queue }, { token });
    const refused = await waitFor(async () => {
      const answer = await publishes();
      return answer.status === 429 ? answer : null;
    }, 10_000);
    expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' } });
    const seconds = Number(refused.headers['retry-after']);
    expect(seconds).toBeGreaterThan(500);
    expect(seconds).toBeLessThanOrEqual(600);
    // lmstfy's wire stays as it is.
    const wire = await app.put(queue, 'x', { token });
    expect([wire.status, wire.headers['retry-after']]).toEqual([429, undefined]);
  });

  it('are none for a body that a GET has', async () => {
    expect((await app.call('GET', `/v1/${app.namespace}/jobs?queue=q`, { body: '{"a":' })).status).toBe(200);
  });
});
