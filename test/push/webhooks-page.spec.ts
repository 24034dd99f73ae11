import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as client from '../../packages/client/src/index.js';
import { TestApp } from '../support/app.js';
import { PUSH } from '../support/receiver.js';
import { waitFor } from '../support/redis.js';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs/how-to/webhooks.md'), 'utf8');
const [code = ''] = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, text = '']) => text);
const bodies = [...page.matchAll(/curl -X (\w+) http:\/\/127\.0\.0\.1:7777(\S+) .*\\\n +-d '(.*)'$/gm)];

type Run = (...values: unknown[]) => Server;
const FunctionOf = (() => {
  // Only its constructor counts.
}).constructor as new (...parts: string[]) => Run;

/** Starts the endpoint of the page on a free port. */
async function startEndpoint(secret: string, print: (...values: unknown[]) => void): Promise<Server> {
  const body = code.replaceAll(/^import .*;$/gm, '').replace('server.listen(8080)', 'return server');
  const run = new FunctionOf('createServer', 'verify', 'process', 'console', body);
  const server = run(createServer, client.verify, { env: { WEBHOOK_SECRET: secret } }, { log: print });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('docs/how-to/webhooks.md', () => {
  it('pushes a queue to its endpoint, which accepts no other requests', async () => {
    const app = await TestApp.start(PUSH);
    const printed: unknown[][] = [];
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const server = await startEndpoint(secret, (...values) => printed.push(values));
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hooks`;
    expect(bodies).toHaveLength(2);
    for (const [, method = '', path = '', text = ''] of bodies) {
      const given = JSON.parse(text) as { url?: string };
      const body = JSON.stringify(given.url === undefined ? given : { ...given, url, secret });
      const { status } = await app.call(method, path.replace('/demo/', `/${app.namespace}/`), { body });
      expect(status).toBe(200);
    }
    const body = JSON.stringify({ queue: 'invoices', data: { number: 17 } });
    await app.call('POST', `/v1/${app.namespace}/jobs`, { body });
    await waitFor(() => printed.length > 0, 10_000);
    const forged = await fetch(url, {
      method: 'POST',
      headers: {
        'webhook-id': 'a',
        'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
        'webhook-signature': 'v1,AAAA',
      },
      body: '{"number":18}',
    });
    await app.stop();
    server.closeAllConnections();
    server.close();

    expect(forged.status).toBe(401);
    expect(printed).toEqual([['invoice', 17]]);
  });
});
