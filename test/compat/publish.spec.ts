import { TestApp } from '../support/app.js';

const PUBLISHED = {
  job_id: expect.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/) as string,
  msg: 'published',
};

describe('publish', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  it.each([
    '',
    '?delay=2',
    '?ttl=30',
    '?tries=3',
    '?delay=1&ttl=60&tries=5',
    '?ttl=0&delay=100000',
    '?foo=bar',
  ])('takes a job with %j', async (query) => {
    const answer = await app.put(`q${query}`);
    expect(answer.status).toBe(201);
    expect(answer.json).toEqual(PUBLISHED);
    expect(answer.text).toMatch(/^\{"job_id":.*,"msg":"published"\}$/);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  const wrong = ['abc', '-1', '1.5', '', '%201', '0x10', '4294967296', '+5', '1e3'];
  describe.each(['delay', 'ttl', 'tries'])('%s', (name) => {
    it.each(wrong)('cannot be %j', async (value) => {
      const answer = await app.put(`q?${name}=${value}&ttl=0`);
      expect(answer).toMatchObject({ status: 400, json: { error: `invalid ${name}` } });
    });
  });

  it.each(['delay=4294967295&ttl=0', 'ttl=4294967295', 'tries=65535'])(
    'takes the largest: %s',
    async (query) => {
      expect(await app.put(`q?${query}`)).toMatchObject({ status: 201 });
    },
  );

  it.each([
    ['tries=65536', 'invalid tries'],
    ['tries=0', "tries shouldn't be zero"],
    ['ttl=5&delay=10', 'ttl is shorter than delay'],
    ['delay=86401', 'ttl is shorter than delay'],
    ['delay=x&ttl=x&tries=x', 'invalid delay'],
    ['ttl=x&tries=x', 'invalid ttl'],
    ['tries=0&ttl=5&delay=10', "tries shouldn't be zero"],
  ])('answers %s with %j', async (query, error) => {
    expect(await app.put(`q?${query}`)).toMatchObject({ status: 400, json: { error } });
  });

  it('takes a ttl that is as long as the delay', async () => {
    expect(await app.put('q?ttl=10&delay=10')).toMatchObject({ status: 201 });
  });

  it('uses the first of equal parameters, and none that has a semicolon', async () => {
    expect(await app.put('q?tries=2&tries=abc')).toMatchObject({ status: 201 });
    expect(await app.put('q?tries=abc&tries=2')).toMatchObject({ status: 400 });
    expect(await app.put('q?tries=2;ttl=5')).toMatchObject({ status: 201 });
  });

  it('keeps the bytes of a body', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    await app.publish('bytes', bytes);
    expect(await app.get('bytes')).toMatchObject({ json: { data: bytes.toString('base64') } });
  });

  it('takes an empty body, and none at all', async () => {
    await app.publish('empty', '');
    expect(await app.call('PUT', 'empty')).toMatchObject({ status: 201 });
    expect(await app.get('empty')).toMatchObject({ json: { data: '' } });
    expect(await app.get('empty')).toMatchObject({ json: { data: '' } });
  });

  it.each([
    ['multipart/x', 'a body'],
    ['application/json', '{not json'],
    ['nonsense', 'x'],
    ['text/plain; charset=utf-16', 'x'],
  ])('does not care for the content type %s', async (type, body) => {
    await app.publish('types', body, { headers: { 'content-type': type } });
    expect(await app.get('types')).toMatchObject({ json: { data: Buffer.from(body).toString('base64') } });
  });

  it('takes 65,535 bytes and refuses one more, after it has looked at the parameters', async () => {
    expect(await app.put('big', Buffer.alloc(65_535))).toMatchObject({ status: 201 });
    expect(await app.put('big', Buffer.alloc(65_536))).toMatchObject({
      status: 413,
      json: { error: 'body too large' },
    });
    expect(await app.put('big?tries=x', Buffer.alloc(65_536))).toMatchObject({ status: 400 });
  });
});
