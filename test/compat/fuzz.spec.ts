import fc from 'fast-check';
import { head, TestApp } from '../support/app.js';

/** Whatever is sent, it is an answer of ours that comes back, and no bug of ours. */
describe('odd requests', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  const piece = fc.oneof(
    fc.constantFrom(
      'api',
      'bulk',
      'job',
      'peek',
      'size',
      'deadletter',
      '',
      '..',
      'q',
      'a,b',
      ',',
      '_',
      '%2F',
      '%00',
      '%zz',
    ),
    fc.string({ maxLength: 6, unit: 'binary-ascii' }).map(encodeURIComponent),
    fc.string({ maxLength: 4, unit: 'grapheme' }).map(encodeURIComponent),
  );
  const parameter = fc.tuple(
    fc.constantFrom(
      'delay',
      'ttl',
      'tries',
      'ttr',
      'timeout',
      'count',
      'limit',
      'token',
      '__proto__',
      '%zz',
      '',
    ),
    fc.oneof(
      fc.constantFrom(
        '0',
        '1',
        '-1',
        '4294967295',
        '4294967296',
        '99999999999999999999',
        '',
        '%',
        '1;2',
        'NaN',
        '+1',
      ),
      fc.string({ maxLength: 5, unit: 'grapheme' }).map(encodeURIComponent),
    ),
  );
  const request = fc.record({
    method: fc.constantFrom('GET', 'PUT', 'DELETE', 'POST', 'HEAD', 'OPTIONS', 'PATCH'),
    path: fc.array(piece, { maxLength: 5 }),
    query: fc.array(parameter, { maxLength: 4 }),
    body: fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      fc.json({ maxDepth: 2 }).map((text) => Buffer.from(`[${text}]`)),
    ),
    isOurs: fc.boolean(),
  });

  it('are answered, with an id and without a 5xx', async () => {
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path, query, body, isOurs }) => {
        const prefix = isOurs ? `/api/${app.namespace}` : '';
        // A wait of a second or more would only make the test long.
        const parameters = query.filter(([name, value]) => name !== 'timeout' || !/^[1-9]/.test(value));
        const url = `${prefix}/${path.join('/')}?${parameters.map((pair) => pair.join('=')).join('&')}`;
        const headers = { 'X-Token': app.token, Connection: 'close', 'Content-Length': String(body.length) };
        const answer = await app.raw(Buffer.concat([Buffer.from(head(method, url, headers)), body]));
        expect(answer).toMatch(/^HTTP\/1\.1 [234]\d\d /);
        expect(answer).toMatch(/\r\nX-Request-Id: [0-9A-Z]{26}\r\n/);
      }),
      { numRuns: 400 },
    );
    expect(app.log.filter(({ level }) => level === 'error')).toEqual([]);
  }, 30_000);
});
