/**
 * The yardstick: a bare node:http server that reads the body of a publish and answers as lmstfy does, and nothing more. Its CPU per
 * request is E; no HTTP server on Node can be cheaper.
 *
 * With the port of a Redis as its argument it answers when one function of Redis has written twice, over one raw connection. That is
 * the least that a server of Node does to store a job, one request at a time. Then it also holds GET requests, and a stored body
 * answers the oldest of them: the least that a wake-up costs.
 */
import http from 'node:http';
import net from 'node:net';

const LIBRARY = `#!lua name=bare
redis.register_function('bare_store', function(keys, args)
  redis.call('SET', keys[1] .. redis.call('RPUSH', keys[2], args[1]), args[1])
  return 1
end)`;
/** What Redis answers to each call. */
const REPLY = ':1\r\n';

let served = 0;
const redisPort = Number(process.argv[2] ?? 0);
const store = redisPort === 0 ? (_body, done) => done() : await storeIn(redisPort);
/** Requests that wait for a job. @type {Set<http.ServerResponse>} */
const held = new Set();
const server = http.createServer((request, response) => {
  if (request.method === 'GET') {
    held.add(response);
    response.on('close', () => held.delete(response));
    return;
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () =>
    store(chunks[0], () => {
      wake(chunks[0]);
      answer(response);
    }),
  );
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }));
process.on('disconnect', () => process.exit());

function answer(response) {
  const id = `01HZZZZZZZZZZZZZZZ${String(served++ % 1e8).padStart(8, '0')}`;
  const body = `{"job_id":"${id}","msg":"published"}`;
  response.writeHead(201, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
    'X-Request-ID': id,
  });
  response.end(body);
}

/** Gives the body to the request that has waited longest. */
function wake(body) {
  const [oldest] = held;
  if (!oldest) return;
  held.delete(oldest);
  const json = JSON.stringify({ data: body.toString('base64') });
  oldest.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': json.length });
  oldest.end(json);
}

async function storeIn(port) {
  const socket = net.connect(port, '127.0.0.1').setNoDelay();
  const waiting = [];
  await new Promise((resolve) => {
    socket.once('data', resolve);
    socket.write(command('FUNCTION', 'LOAD', 'REPLACE', LIBRARY));
  });
  socket.on('data', ({ length }) => {
    for (let replies = length / REPLY.length; replies > 0; replies--) waiting.shift()();
  });
  return (body, done) => {
    waiting.push(done);
    socket.write(command('FCALL', 'bare_store', '2', 'bare:j', 'bare:ready', body.toString('latin1')));
  };
}

function command(...words) {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
