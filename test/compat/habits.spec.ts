import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, request, RetryAgent } from 'undici';
import { head, TestApp } from '../support/app.js';

/** What lmstfy's clients do and rely on. */
describe('habits of lmstfy clients', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  const auth = (): Record<string, string> => ({ 'X-Token': app.token });

  it('use one connection for everything', async () => {
    const connection = await app.open();
    const queue = `/api/${app.namespace}/keep`;
    connection.write(`${head('PUT', queue, { ...auth(), 'Content-Length': '2' })}hi`);
    await connection.until('"msg":"published"}');
    connection.write(head('GET', queue, auth()));
    await connection.until('"msg":"new job"');
    connection.write(head('GET', `${queue}?timeout=1`, auth()));
    await connection.until('no job available');
    connection.write(head('GET', '/nope', auth()));
    await connection.until('api not found');
    connection.write(head('GET', `${queue}/size`, auth()));
    const all = await connection.until('"size":0');
    expect(all).not.toContain('Connection: close');
    connection.cut();
  });

  it('may send the next request before the answer has come', async () => {
    const connection = await app.open();
    const queue = `/api/${app.namespace}/pipe`;
    const publish = (body: string): string => head('PUT', queue, { ...auth(), 'Content-Length': '1' }) + body;
    connection.write(publish('1') + publish('2') + head('GET', `${queue}?count=2`, auth()));
    const all = await connection.until('"msg":"new job"', 2);
    expect(all.match(/HTTP\/1.1 20[01]/g)).toHaveLength(3);
    connection.cut();
  });

  it('send freeze_tries, which changes nothing', async () => {
    await app.publish('freeze?tries=2');
    expect(await app.get('freeze?ttr=1&freeze_tries=true')).toMatchObject({ json: { remain_tries: 1 } });
    expect(await app.get('freeze?ttr=1&freeze_tries=false&timeout=3')).toMatchObject({
      json: { remain_tries: 0 },
    });
  });

  it('publish again after a 5xx or a broken connection: each answered try is one job', async () => {
    const front = await flaky(app.port);
    const agent = new RetryAgent(new Agent(), {
      maxRetries: 3,
      minTimeout: 10,
      statusCodes: [500, 502, 503],
      methods: ['PUT'],
    });
    try {
      const { statusCode, body } = await request(
        `http://127.0.0.1:${String((front.address() as AddressInfo).port)}/api/${app.namespace}/retry`,
        { method: 'PUT', headers: auth(), body: 'x', dispatcher: agent },
      );
      expect(statusCode).toBe(201);
      await body.dump();
      expect(await app.get('retry/size')).toMatchObject({ json: { size: 1 } });
    } finally {
      await agent.close();
      front.close();
    }
  });

  it('send their body in chunks', async () => {
    const connection = await app.open();
    connection.write(
      head('PUT', `/api/${app.namespace}/chunks`, { ...auth(), 'Transfer-Encoding': 'chunked' }) +
        '3\r\nabc\r\n',
    );
    connection.write('2\r\nde\r\n0\r\n\r\n');
    await connection.until('201 Created');
    connection.cut();
    expect(await app.get('chunks')).toMatchObject({
      json: { data: Buffer.from('abcde').toString('base64') },
    });
  });

  it('wait for 100 Continue before they send a body', async () => {
    const connection = await app.open();
    connection.write(
      head('PUT', `/api/${app.namespace}/expect`, {
        ...auth(),
        Expect: '100-continue',
        'Content-Length': '5',
      }),
    );
    await connection.until('HTTP/1.1 100 Continue');
    connection.write('hello');
    await connection.until('201 Created');
    connection.cut();
  });

  it('are spared a body that will be refused', async () => {
    const connection = await app.open();
    connection.write(
      head('PUT', `/api/${app.namespace}/expect`, {
        ...auth(),
        Expect: '100-continue',
        'Content-Length': '999999',
      }),
    );
    const all = await connection.untilClosed();
    expect(all).toContain('HTTP/1.1 413');
    expect(all).toContain('Connection: close');
    expect(all).not.toContain('100 Continue');
  });
});

/** A front that answers the first try with 503, breaks off the second, and passes the rest on. */
async function flaky(port: number): Promise<Server> {
  let tries = 0;
  const front = createServer((incoming, outgoing) => {
    tries += 1;
    if (tries === 1) {
      outgoing.writeHead(503).end();
      return;
    }
    if (tries === 2) {
      incoming.socket.destroy();
      return;
    }
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const { statusCode, body } = await request(`http://127.0.0.1:${String(port)}${incoming.url ?? ''}`, {
        method: 'PUT',
        headers: { 'x-token': incoming.headers['x-token'] as string },
        body: Buffer.concat(chunks),
      });
      outgoing.writeHead(statusCode).end(await body.text());
    })();
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  return front;
}
