/**
 * The yardstick: a bare node:http server that reads the body of a publish and answers as lmstfy does, and nothing more. Its CPU per
 * request is E; no HTTP server on Node can be cheaper.
 */
import http from 'node:http';

let served = 0;
const server = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const id = `01HZZZZZZZZZZZZZZZ${String(served++ % 1e8).padStart(8, '0')}`;
    const body = `{"job_id":"${id}","msg":"published"}`;
    response.writeHead(201, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': body.length,
      'X-Request-ID': id,
    });
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }));
process.on('disconnect', () => process.exit());
