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
