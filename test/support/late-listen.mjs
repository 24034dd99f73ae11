/**
 * Preloaded into a server's processes: no HTTP server opens the port PUMPHOUSE_TEST_LATE_PORT before the file
 * PUMPHOUSE_TEST_LATE_FILE is there. A check whether the port is free is not held up.
 */
import { existsSync } from 'node:fs';
import { Server } from 'node:http';

const { listen } = Server.prototype;
const late = Number(process.env.PUMPHOUSE_TEST_LATE_PORT);
const file = process.env.PUMPHOUSE_TEST_LATE_FILE ?? '';

/** @this {Server} @param {any[]} args */
Server.prototype.listen = function listenLate(...args) {
  if (args[0]?.port !== late || existsSync(file)) return listen.apply(this, args);
  setTimeout(() => this.listen(...args), 20);
  return this;
};
