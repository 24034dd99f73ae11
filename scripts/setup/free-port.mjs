import { createServer } from 'node:net';

/**
 * The first of the ports, and how many there are, to choose from. They lie below the ports that Linux and macOS give to outgoing
 * connections (32768 and 49152 and up), so no connection takes a port between its choice and its use, or while the
 * server on it restarts.
 */
const FIRST = 10_000;
const COUNT = 20_000;

/**
 * Each worker of Jest has ports of its own, because a server may take ten seconds to use the port that was chosen for it. The bus port of
 * a Redis Cluster node, 10,000 above its port, belongs to the same worker.
 */
const WORKERS = 8;
const OWN = Number(process.env.JEST_WORKER_ID ?? 0) % WORKERS;
/** @type {Set<number>} Ports that this process was given. */
const given = new Set();

/**
 * A free port of 127.0.0.1, chosen at random. Another process that is no worker of this run may still take it before its use.
 *
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (;;) {
    const port = FIRST + OWN + WORKERS * Math.floor((Math.random() * COUNT) / WORKERS);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
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
