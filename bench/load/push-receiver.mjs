/** A receiver of pushes, as a process of its own: counts requests, and says how late those are whose body is a time. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { answerParent } from './child-process.mjs';

let count = 0;
/** @type {number[]} */
let lateMs = [];
/** Of the second tenant. @type {number[]} */
let secondMs = [];
const server = createServer((request, response) => {
  if (request.url === '/hang') return;
  const nowMs = performance.timeOrigin + performance.now();
  const isSecond = request.url === '/second';
  request.on('data', (/** @type {Buffer} */ chunk) =>
    (isSecond ? secondMs : lateMs).push(nowMs - Number(chunk)),
  );
  request.on('end', () => {
    if (!isSecond) count += 1;
    response.writeHead(204).end();
  });
});

answerParent({
  async listen() {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { port: /** @type {import('node:net').AddressInfo} */ (server.address()).port };
  },
  count: () => count,
  late() {
    const late = lateMs;
    lateMs = [];
    return late;
  },
  second() {
    const late = secondMs;
    secondMs = [];
    return late;
  },
});
