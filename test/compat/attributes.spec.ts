import { TestApp } from '../support/app.js';

describe('attributes', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  const attributes = async (queue: string): Promise<unknown> =>
    ((await app.get(queue)).json as { attributes: unknown }).attributes;

  it('come from Job-Attr headers, keys in small letters and in order, empty ones left out', async () => {
    await app.publish('a1', 'x', {
      headers: {
        'Enable-Job-Version': 'YES',
        'Job-Attr-Under_score': 'u',
        'Job-Attr-Color': 'Red',
        'job-attr-MiXed-Key': 'V1',
        'Job-Attr-Empty': '',
        'Job-Attr-': 'nokey',
      },
    });
    const { json, text } = await app.get('a1/peek');
    expect(json).toMatchObject({
      attributes: { '': 'nokey', color: 'Red', 'mixed-key': 'V1', under_score: 'u' },
    });
    expect(text).toContain('{"attributes":{"":"nokey","color":"Red","mixed-key":"V1","under_score":"u"},');
  });

  it.each([undefined, 'true', '1'])('are dropped when Enable-Job-Version is %j', async (value) => {
    const enable: Record<string, string> = value === undefined ? {} : { 'Enable-Job-Version': value };
    await app.publish('a2', 'x', { headers: { 'Job-Attr-Color': 'Red', ...enable } });
    expect(await attributes('a2')).toBeNull();
  });

  it('are null when the version is on and there are none', async () => {
    await app.publish('a3', 'x', { headers: { 'Enable-Job-Version': 'yes' } });
    expect(await attributes('a3')).toBeNull();
  });

  it('are at most 16', async () => {
    const some = (count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`Job-Attr-K${String(i)}`, 'v']));
    const on = { 'Enable-Job-Version': 'YES' };
    expect(await app.put('a4', 'x', { headers: { ...on, ...some(16) } })).toMatchObject({ status: 201 });
    expect(await app.put('a4', 'x', { headers: { ...on, ...some(17) } })).toMatchObject({
      status: 400,
      json: { error: 'too many attributes, cannot exceed 16' },
    });
  });

  it('are cut: keys at 32 characters, values at 128', async () => {
    const headers = { 'Enable-Job-Version': 'YES', [`Job-Attr-${'K'.repeat(40)}`]: 'v'.repeat(200) };
    await app.publish('a5', 'x', { headers });
    expect(await attributes('a5')).toEqual({ ['k'.repeat(32)]: 'v'.repeat(128) });
  });

  it('go to every job of a bulk', async () => {
    const headers = { 'Enable-Job-Version': 'YES', 'Job-Attr-A': 'b, c' };
    await app.put('a6/bulk', '[1,2]', { headers });
    expect((await app.get('a6?count=5')).json).toMatchObject([
      { attributes: { a: 'b, c' } },
      { attributes: { a: 'b, c' } },
    ]);
  });

  it('go to a job that takes the place of another', async () => {
    const headers = { 'Enable-Job-Version': 'YES', 'Job-Attr-A': 'b' };
    const id = await app.publish('a7');
    await app.put(`a7/job/${id}`, 'x', { headers });
    expect(await attributes('a7')).toEqual({ a: 'b' });
  });

  it('may be called as parts of JavaScript are, and hold any text', async () => {
    const value = Buffer.from('é "\\ 日').toString('latin1');
    const request = [
      `PUT /api/${app.namespace}/a8 HTTP/1.1`,
      'Host: x',
      'Connection: close',
      `X-Token: ${app.token}`,
      'Enable-Job-Version: yes',
      'Job-Attr-__proto__: p',
      `Job-Attr-Text: ${value}`,
      'Content-Length: 0',
      '',
      '',
    ];
    expect(await app.raw(Buffer.from(request.join('\r\n'), 'latin1'))).toContain('201 Created');
    const { text } = await app.get('a8');
    expect(text).toContain('"__proto__":"p"');
    expect(JSON.parse(text)).toMatchObject({ attributes: { text: 'é "\\ 日' } });
  });
});
