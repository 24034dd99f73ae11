import { TestApp, type Answer } from '../support/app.js';

const MISUSE = '{"code":"idempotency_key_reused","error":"the idempotency key was used for another request"}';
let keys = 0;

/** By the hot lane, and by the router: an escape in the path is all that it takes. */
describe.each([
  ['the hot lane', 'q'],
  ['the router', '%71'],
])('Idempotency-Key, over %s', (_way, queue) => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());
  beforeEach(() => (key = `key-${String(keys++)}`));

  const put = (after = '', body = 'hello', headers: Record<string, string> = {}): Promise<Answer> =>
    app.put(`${queue}${after}`, body, { headers: { 'Idempotency-Key': key, ...headers } });
  const size = (): Promise<number> => app.engine.size(app.namespace, 'q');

  it('gives the same 201 with the same id, and stores one job', async () => {
    const before = await size();
    const answers = [await put(), await put(), await put()];
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(await size()).toBe(before + 1);
  });

  it('gives the same ids for a bulk', async () => {
    const before = await size();
    const [one, two] = [await put('/bulk', '[1,2,3]'), await put('/bulk', '[1,2,3]')];
    expect(one).toMatchObject({ status: 201, json: { msg: 'published' } });
    expect(two.text).toBe(one.text);
    expect(await size()).toBe(before + 3);
  });

  it('gives the same answer when the job is done', async () => {
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
  ])('is refused with %s: 422', async (_what, after, body, headers) => {
    await put();
    expect(await put(after, body, headers)).toMatchObject({ status: 422, text: MISUSE });
  });

  it('republishes once', async () => {
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
  ])('is refused %s: 400, which names the header', async (_what, bad) => {
    key = bad;
    for (const after of ['', '/bulk', '/job/x'])
      expect(await put(after)).toMatchObject({
        status: 400,
        json: { error: 'invalid Idempotency-Key: it has 1 to 255 visible ASCII characters' },
      });
  });

  it('is refused when it is sent twice', async () => {
    const lines = [`PUT /api/${app.namespace}/${queue} HTTP/1.1`, 'Host: x', `X-Token: ${app.token}`];
    const twice = ['Idempotency-Key: a', 'Idempotency-Key: b', 'Content-Length: 0', 'Connection: close'];
    const text = await app.raw(`${[...lines, ...twice].join('\r\n')}\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1.1 400 .*invalid Idempotency-Key/s);
  });
});
