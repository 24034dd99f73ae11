import { FastMatcher } from './fast-path.js';
import type { FastPattern } from './fast-routes.js';

const QUEUE = 'api/:namespace/:queue';
const CALLS: readonly FastPattern[] = [
  { method: 'PUT', base: QUEUE, path: '' },
  { method: 'PUT', base: QUEUE, path: 'bulk' },
  { method: 'DELETE', base: QUEUE, path: 'job/:id' },
  { method: 'PUT', base: 'v1/:namespace', path: 'acks' },
  { method: 'PUT', base: 'v1/:namespace', path: 'jobs/:id/ack' },
];

describe('the matcher of the fast path', () => {
  const matcher = new FastMatcher(CALLS);
  const names = { namespace: 'ns', queue: '', id: '', queryText: '' };

  it.each([
    ['PUT', '/api/ns/q', 0, { queue: 'q' }],
    ['PUT', '/api/ns/a,b?x=/%2F#', 0, { queue: 'a,b', queryText: 'x=/%2F#' }],
    ['PUT', '/api/ns/q/bulk?', 1, { queue: 'q' }],
    ['PUT', '/api/ns/bulk', 0, { queue: 'bulk' }],
    ['DELETE', '/api/ns/q/job/1?a?b', 2, { queue: 'q', id: '1', queryText: 'a?b' }],
    ['PUT', '/v1/ns/acks?x', 3, { queryText: 'x' }],
    ['PUT', '/v1/ns/jobs/1/ack?x', 4, { id: '1', queryText: 'x' }],
    ['PUT', '/v1/ns/jobs/ack/ack', 4, { id: 'ack' }],
  ])('finds the call and its names for %s %s', (method, url, at, found) => {
    expect(matcher.match(method, url)).toEqual({ call: CALLS[at], ...names, ...found });
  });

  it.each([
    ['PUT', ''],
    ['PUT', '/'],
    ['PUT', '/api'],
    ['PUT', '/api/'],
    ['PUT', '/api/ns'],
    ['PUT', '/api/ns/'],
    ['PUT', '/api/ns/?q'],
    ['PUT', '/api//q'],
    ['PUT', '/api/ns//bulk'],
    ['PUT', '/api/ns/q/'],
    ['PUT', '/api/ns/q//bulk'],
    ['PUT', '/api/ns/q/bulk/'],
    ['PUT', '/api/ns/q/bulk/x'],
    ['PUT', '/api/ns/q/other'],
    ['PUT', '/api/ns/q%20'],
    ['PUT', '/api/n%20s/q'],
    ['PUT', '/api/ns/q#x'],
    ['PUT', '/API/ns/q'],
    ['PUT', 'http://host/api/ns/q'],
    ['PUT', '*'],
    ['PUT', '/v1/ns/q'],
    ['PUT', '/v1/ns/acks/'],
    ['PUT', '/v1/ns/acks/x'],
    ['PUT', '/v1/ns//acks'],
    ['PUT', '/v1/ns/jobs/ack'],
    ['PUT', '/v1/ns/jobs//ack'],
    ['PUT', '/v1/ns/jobs/1/2/ack'],
    ['PUT', '/v1/ns/jobs/1ack'],
    ['PUT', '/v1/ns/jobs/1/acks'],
    ['PUT', '/v1/ns/jobs/1/ack/'],
    ['PUT', '/v1/ns/jobs/1/x/ack'],
    ['PUT', '/v1/ns/jobs/1/ack/ack'],
    ['DELETE', '/api/ns/q'],
    ['DELETE', '/api/ns/q/job'],
    ['DELETE', '/api/ns/q/job/'],
    ['DELETE', '/api/ns/q/job/1/2'],
    ['DELETE', '/v1/ns/acks'],
    ['GET', '/api/ns/q'],
    ['put', '/api/ns/q'],
    [undefined, '/api/ns/q'],
  ])('leaves %s %j to the router', (method, url) => {
    expect(matcher.match(method, url)).toBeNull();
  });

  it.each([
    ['api/:namespace/:name', ''],
    ['api/queues', ''],
    ['v1/:namespace', ':id/acks/x'],
    ['v1/:namespace', 'jobs/:id/:other'],
    ['v1/:namespace', 'jobs/:name'],
  ])('throws an error for the pattern %s/%s, which it does not support', (base, path) => {
    expect(() => new FastMatcher([{ method: 'GET', base, path }])).toThrow(`${base}/${path}`);
  });
});
