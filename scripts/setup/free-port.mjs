import { createServer } from 'node:net';

/**
 * The first of the ports, and how many there are, to choose from. They lie below the ports that Linux and macOS give to outgoing
 * connections (32768 and 49152 and up), so no connection takes a port between its choice and its use, or while the
 * server on it restarts.
 */
const FIRST = 10_000;
const COUNT = 20_000;

/**
 * A free port of 127.0.0.1, chosen at random. Another process may still take it before its use, with a chance of
 * about one in COUNT.
 *
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (await isFree(port)) return port;
  }
}

/** @param {number} port @returns {Promise<boolean>} whether a server can listen on it; throws on any other failure */
function isFree(port) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
