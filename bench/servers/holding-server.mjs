/** A bare node:http server that holds every response open: what a waiting request costs in memory on Node, and nothing more. */
import http from 'node:http';

/** @type {Set<http.ServerResponse>} */
const held = new Set();
const server = http.createServer((_request, response) => {
  held.add(response);
  response.on('close', () => held.delete(response));
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  process.send?.({ port });
});
process.on('disconnect', () => process.exit());
