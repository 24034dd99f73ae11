import { head, TestApp } from '../support/app.js';

const NOT_FOUND = { status: 404, json: { error: 'api not found' } };
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const FORBIDDEN_QUEUE = { status: 400, json: { error: 'queue name contains forbidden characters' } };
const FORBIDDEN_NAMESPACE = { status: 400, json: { error: 'namespace name contains forbidden characters' } };
const TOO_LONG = { status: 400, json: { error: 'namespace or queue name too long' } };

describe('routes, names, tokens', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  it.each([
    ['GET', '/'],
    ['GET', '/nope'],
    ['GET', '/api'],
    ['GET', '/api/g1'],
    ['GET', '/api/g1/'],
    ['PUT', '/api/g1/'],
    ['GET', '/api//'],
    ['PUT', '/api/g1/p1/'],
    ['GET', '/api/g1/p1/size/'],
    ['GET', '/api/g1/p1/unknown'],
    ['GET', '/api/g1/p1/job/'],
    ['DELETE', '/api/g1/p1/job/'],
    ['GET', '/API/g1/p1/size'],
    ['GET', '/api//g1/p1/size'],
    ['GET', '/api/g1/p1/../p1/size'],
    ['GET', '/metrics'],
    ['GET', '/token/g1'],
    ['POST', '/api/g1/p1'],
    ['PATCH', '/api/g1/p1'],
    ['OPTIONS', '/api/g1/p1'],
    ['HEAD', '/api/g1/p1'],
    ['HEAD', '/api/g1/p1/size'],
    ['HEAD', '/healthz'],
    ['GET', '/api/g1/p1/bulk'],
    ['DELETE', '/api/g1/p1/bulk'],
    ['POST', '/api/g1/p1/bulk'],
    ['POST', '/api/g1/p1/job/abc'],
    ['PUT', '/api/g1/p1/peek'],
    ['DELETE', '/api/g1/p1/size'],
    ['POST', '/api/g1/p1/deadletter'],
    ['PROPFIND', '/api/g1/p1'],
    ['SEARCH', '/api/g1/p1'],
    ['QUERY', '/api/g1/p1'],
    ['PURGE', '/api/g1/p1'],
  ])('%s %s is not found', async (method, path) => {
    const text = await app.raw(head(method, path, { 'X-Token': app.token, Connection: 'close' }));
    const [top = '', body] = text.split('\r\n\r\n');
    expect(top).toMatch(/^HTTP\/1.1 404 /);
    expect(top).toMatch(/\r\nX-Request-Id: [0-9A-Z]{26}(\r\n|$)/);
    expect(top).toContain('Content-Type: application/json; charset=utf-8');
    expect(body).toBe(method === 'HEAD' ? '' : '{"error":"api not found"}');
  });

  it.each(['application/json', 'nonsense'])(
    'does not mind a body of type %s for what is not found',
    async (type) => {
      expect(await app.call('POST', '/nope', { body: '{', headers: { 'content-type': type } })).toMatchObject(
        NOT_FOUND,
      );
    },
  );

  it.each([
    ['p.1', FORBIDDEN_QUEUE],
    ['p%201', FORBIDDEN_QUEUE],
    ['p%2F1', FORBIDDEN_QUEUE],
    ['p%C3%A9', FORBIDDEN_QUEUE],
    ['p:1', FORBIDDEN_QUEUE],
    ['p,1', FORBIDDEN_QUEUE],
    ['p%2C1', FORBIDDEN_QUEUE],
    ['p@1', FORBIDDEN_QUEUE],
    ['p%001', FORBIDDEN_QUEUE],
    ['_p1', FORBIDDEN_QUEUE],
    ['q'.repeat(256), TOO_LONG],
  ])('no queue is called %s', async (queue, refusal) => {
    expect(await app.put(queue)).toMatchObject(refusal);
    expect(await app.get(`${queue}/size`)).toMatchObject(refusal);
    expect(await app.put(queue, 'x', { token: null })).toMatchObject(refusal);
  });

  it.each(['p_-1', '-p1', 'q'.repeat(255), '0'])('a queue may be called %s', async (queue) => {
    expect(await app.put(queue)).toMatchObject({ status: 201 });
    expect(await app.get(queue)).toMatchObject({ status: 200 });
  });

  it.each([
    ['p.1', FORBIDDEN_NAMESPACE],
    ['p%001', FORBIDDEN_NAMESPACE],
    ['p%2C1', FORBIDDEN_NAMESPACE],
    ['p%C3%A9', FORBIDDEN_NAMESPACE],
    ['n'.repeat(256), TOO_LONG],
  ])('no namespace is called %s', async (namespace, refusal) => {
    expect(await app.get(`/api/${namespace}/q/size`, { token: null })).toMatchObject(refusal);
  });

  it('names may be empty for nobody', async () => {
    expect(await app.put('/api//p1')).toMatchObject(FORBIDDEN_NAMESPACE);
    expect(await app.get('/api/g1//size')).toMatchObject(FORBIDDEN_QUEUE);
  });

  it.each(['/api/g1/p%zz', '/api/p%zz/p1/size', '/%'])(
    'answers the broken escape of %s with 400',
    async (path) => {
      const { status, json, headers } = await app.get(path);
      expect(status).toBe(400);
      expect(json).toHaveProperty('error');
      expect(headers['x-request-id']).toMatch(ULID);
    },
  );

  it('knows who asks', async () => {
    const missing = { status: 401, json: { error: 'token not found' } };
    const invalid = { status: 401, json: { error: 'invalid token' } };
    expect(await app.put('q', 'x', { token: null })).toMatchObject(missing);
    expect(await app.put('q', 'x', { token: '' })).toMatchObject(missing);
    expect(await app.put('q', 'x', { token: 'nope' })).toMatchObject(invalid);
    expect(await app.put('q', 'x', { token: 'default:a:b' })).toMatchObject(invalid);
    expect(await app.put('/api/another/q')).toMatchObject(invalid);
    expect(await app.put('q', 'x', { token: `nopool:${app.token}` })).toMatchObject({
      status: 404,
      json: { error: 'pool not found' },
    });
    expect(await app.put('q', 'x', { token: `default:${app.token}` })).toMatchObject({ status: 201 });
    expect(await app.put('q', 'x', { token: `:${app.token}` })).toMatchObject({ status: 201 });
    expect(await app.put(`q?token=${app.token}`, 'x', { token: null })).toMatchObject({ status: 201 });
    expect(await app.put(`q?token=${app.token}`, 'x', { token: 'bad' })).toMatchObject(invalid);
    expect(await app.put('q?token=bad')).toMatchObject({ status: 201 });
    expect(
      await app.put('q', 'x', { token: null, headers: { Authorization: `Bearer ${app.token}` } }),
    ).toMatchObject(missing);
    expect(await app.get('q/size', { token: null })).toMatchObject(missing);
    expect(await app.get('q/deadletter/size', { token: null })).toMatchObject(missing);
  });

  it('marks every answer with an id of its own', async () => {
    const answers = await Promise.all([
      app.put('q'),
      app.get('q'),
      app.get('none'),
      app.delete('q/job/x'),
      app.put('q?ttl=x'),
      app.get('/nope'),
      app.get('/healthz'),
      app.get('/readyz'),
      app.admin('GET', '/version'),
      app.admin('GET', '/nope'),
      app.admin('GET', '/healthz'),
    ]);
    const ids = answers.map(({ headers }) => headers['x-request-id']);
    for (const id of ids) expect(id).toMatch(ULID);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('leaves the size calls open when it is told to', async () => {
    const open = await TestApp.start({ PUMPHOUSE_LMSTFY__PUBLIC_SIZES: 'true' });
    try {
      await open.publish('q');
      expect(await open.get('q/size', { token: null })).toMatchObject({ status: 200, json: { size: 1 } });
      expect(await open.get('q/deadletter/size', { token: null })).toMatchObject({
        status: 200,
        json: { size: 0 },
      });
      expect(await open.get('q/size', { token: 'nopool:x' })).toMatchObject({ status: 404 });
      expect(await open.get('q/peek', { token: null })).toMatchObject({ status: 401 });
    } finally {
      await open.stop();
    }
  });
});
