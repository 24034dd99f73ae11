import { splitPath } from './lane-path.js';

describe("the lane's paths", () => {
  it.each([
    ['/api/ns/q', { namespace: 'ns', second: 'q', rest: '', queryText: '' }],
    ['/api/ns/a,b?x=/%2F#', { namespace: 'ns', second: 'a,b', rest: '', queryText: 'x=/%2F#' }],
    ['/api/ns/q/bulk?', { namespace: 'ns', second: 'q', rest: 'bulk', queryText: '' }],
    ['/api/ns/q/job/1/2?a?b', { namespace: 'ns', second: 'q', rest: 'job/1/2', queryText: 'a?b' }],
  ])('takes %s apart', (url, path) => {
    expect(splitPath(url, '/api/')).toEqual(path);
  });

  it.each([
    '',
    '/',
    '/api',
    '/api/',
    '/api/ns',
    '/api/ns/',
    '/api/ns/?q',
    '/api//q',
    '/api/ns//size',
    '/api/ns/q/',
    '/api/ns/q/bulk/',
    '/api/ns/q%20',
    '/api/n%20s/q',
    '/api/ns/q#x',
    '/API/ns/q',
    'http://host/api/ns/q',
    '*',
  ])('leaves %j alone', (url) => {
    expect(splitPath(url, '/api/')).toBeNull();
  });
});
