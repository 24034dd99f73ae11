import http from 'node:http';
import { Connection, requestBytes } from './connection.mjs';

/** Long enough to come in several reads. */
const LONG = 'x'.repeat(200_000);

/** @type {Record<string, (response: http.ServerResponse) => void>} */
const ANSWERS = {
  '/counted': (response) => response.setHeader('Content-Length', 4).end('four'),
  '/chunked': (response) => {
    response.write('a chunk, ');
    setTimeout(() => response.end(LONG), 5);
  },
  '/empty': (response) => response.writeHead(204).end(),
};

describe('a connection of the load generator', () => {
  /** @type {http.Server} */
  let server;
  /** @type {Connection} */
  let connection;

  beforeAll(async () => {
    server = http.createServer((request, response) => ANSWERS[request.url ?? '']?.(response));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    connection = new Connection('127.0.0.1', port);
    await connection.opened;
  });

  afterAll(async () => {
    connection.close();
    await new Promise((resolve) => server.close(resolve));
  });

  /** @param {string} path @param {boolean} wantsBody @returns {Promise<{ status: number, body: string }>} */
  function send(path, wantsBody) {
    return new Promise((resolve, reject) => {
      const answered = (/** @type {number} */ status, /** @type {string} */ body) =>
        resolve({ status, body });
      connection.send(requestBytes('GET', path, 'token'), wantsBody, answered, reject);
    });
  }

  it('reads successive answers with a Content-Length, in chunks, and without a body', async () => {
    expect(await send('/counted', true)).toEqual({ status: 200, body: 'four' });
    expect(await send('/chunked', true)).toEqual({ status: 200, body: `a chunk, ${LONG}` });
    expect(await send('/empty', true)).toEqual({ status: 204, body: '' });
    expect(await send('/chunked', false)).toEqual({ status: 200, body: '' });
    expect(await send('/counted', true)).toEqual({ status: 200, body: 'four' });
  });
});
