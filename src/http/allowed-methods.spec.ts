import { AllowedMethods } from './allowed-methods.js';

describe('the allowed methods', () => {
  const table = new AllowedMethods();
  table.add('/v1/:namespace/acks', 'POST');
  table.add('/v1/:namespace/acks', ['PUT', 'GET']);
  table.add('/v1/:namespace/:name', 'DELETE');
  table.add('/a.b', 'GET');

  it.each([
    ['/v1/ns/acks', ['DELETE', 'GET', 'POST', 'PUT']],
    ['/v1/ns/acks?x=/y', ['DELETE', 'GET', 'POST', 'PUT']],
    ['/v1/ns/other', ['DELETE']],
    ['/v1/n%20s/%61cks', ['DELETE', 'GET', 'POST', 'PUT']],
    ['/v1/n%2Fs', []],
    ['/v1/ns/%zz', ['DELETE']],
    ['/v1/ns/acks/', []],
    ['/v1//acks', []],
    ['/v1/ns', []],
    ['/a.b', ['GET']],
    ['/axb', []],
    ['', []],
  ])('are listed for %j', (url, methods) => {
    expect(table.methodsOf(url)).toEqual(methods);
  });
});

describe('a path that an unknown one may mean', () => {
  const table = new AllowedMethods();
  for (const template of ['/v1/:namespace/jobs', '/v1/:namespace/jobs/:id', '/v1/:namespace/jobs/:id/ack'])
    table.add(template, 'POST');
  table.add('/v1/:namespace/queues/:queue', 'GET');
  table.add('/v1/openapi.json', 'GET');
  table.add('/api/:namespace/:queue', 'PUT');

  it.each([
    ['/v1/demo/job', '/v1/:namespace/jobs'],
    ['/v1/demo/Jobs?x=1', '/v1/:namespace/jobs'],
    ['/v1/demo/jobs/', '/v1/:namespace/jobs'],
    ['/v1/jobs', '/v1/:namespace/jobs'],
    ['/v1/jobs/7', '/v1/:namespace/jobs/:id'],
    ['/v1/job/7', '/v1/:namespace/jobs/:id'],
    ['/v1/demo/jobs/7/acks', '/v1/:namespace/jobs/:id/ack'],
    ['/v1/demo/queue/mail', '/v1/:namespace/queues/:queue'],
    ['/v1/demo/enqueue/mail', undefined],
    ['/v1/openapi', undefined],
    ['/v1/openapi.jsn', '/v1/openapi.json'],
    ['/v1/demo/publish', undefined],
    ['/v1/demo/queues', undefined],
    ['/', undefined],
    ['', undefined],
    [`/v1/demo/${'j'.repeat(300)}`, undefined],
    ['/v1' + '/x'.repeat(500), undefined],
  ])('is found for %j: %j', (url, template) => {
    expect(table.similarTo(url)).toBe(template);
  });
});
