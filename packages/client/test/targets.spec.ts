import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isPumphouseError, verify } from '../src/node.js';
import { app, client, clientOf, faulty, fresh, proxy, useServer } from './fixture.js';

useServer({
  PUMPHOUSE_PUSH__ENABLED: 'true',
  PUMPHOUSE_PUSH__ALLOW_HTTP: 'true',
  PUMPHOUSE_PUSH__ALLOW: '127.0.0.1',
  PUMPHOUSE_PUSH__PORTS: '443,1024-65535',
});

const HOOK = 'https://billing.example/hook';
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error: unknown) => (isPumphouseError(error) ? error.code : String(error)),
  );

describe('push targets of the client', () => {
  let receiver: Server;
  let url: string;
  let received: { readonly headers: IncomingHttpHeaders; readonly body: string }[];

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        received.push({ headers: request.headers, body });
        response.writeHead(404).end('no such hook');
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${String((receiver.address() as AddressInfo).port)}/hook`;
  });
  afterAll(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  beforeEach(() => (received = []));

  it('are stored and changed, with the secret only in the first answer and header values in no answer', async () => {
    const name = fresh('target');
    const headers = { Authorization: 'Bearer hidden', 'X-My-Header': 'hidden too' };
    const stored = await client.targets.put(name, {
      url: HOOK,
      headers,
      timeoutMs: 5_000,
      onStatus: { '404': 'fail', '4xx': 'release' },
    });
    expect(stored).toMatchObject({
      ...{ name, url: HOOK, method: 'POST', timeoutMs: 5_000, maxRetryAfterMs: 3_600_000 },
      ...{ headerNames: ['authorization', 'x-my-header'], onStatus: { '404': 'fail', '4xx': 'release' } },
      ...{ queues: [], pausedAt: null, breaker: { state: 'closed', openUntil: null, openings: 0 } },
      secret: expect.stringMatching(/^whsec_/) as string,
    });
    const opened = await client.targets.patch(name, { breaker: { failures: 3, openMs: 10_000 } });
    expect(opened.breaker.settings).toEqual({
      ...{ failures: 3, failurePercent: 50, minRequests: 10, openMs: 10_000, maxOpenMs: 300_000 },
    });
    const changed = await client.targets.patch(name, { timeoutMs: 6_000, breaker: null });
    expect(changed.breaker).toMatchObject({ state: 'off', settings: null });
    const replaced = await client.targets.put(name, { url: HOOK, sign: 'none' });
    const found = await client.targets.get(name);
    expect(changed).toMatchObject({ timeoutMs: 6_000, onStatus: { '404': 'fail' } });
    expect(found).toMatchObject({ timeoutMs: 30_000, sign: 'none', headerNames: [] });
    const listed = await client.targets.list();
    expect(listed.find((one) => one.name === name)).toEqual(found);
    for (const later of [changed, replaced, found]) expect(later).not.toHaveProperty('secret');
    expect(JSON.stringify([stored, changed, replaced, found, listed])).not.toContain('hidden');
  });

  it('are paused and resumed, and deleted while no queue is pushed to them', async () => {
    const [name, queue] = [fresh('target'), fresh()];
    await client.targets.put(name, { url: HOOK });
    expect(await client.targets.pause(name)).toMatchObject({ pauseReason: 'operator' });
    expect(await client.targets.resume(name)).toMatchObject({ pausedAt: null, pauseReason: null });
    await client.queues.update(queue, { push: { target: name, maxRunning: 3 } });
    expect(await client.targets.get(name)).toMatchObject({ queues: [queue] });
    expect(await codeOf(client.targets.delete(name))).toBe('target_in_use');
    await client.queues.update(queue, { push: null });
    await client.targets.delete(name);
    const { targets } = client;
    const calls = [
      ...[targets.get(name), targets.patch(name, {}), targets.delete(name), targets.rotate(name)],
      ...[targets.pause(name), targets.resume(name), targets.test(name)],
    ];
    const codes = await Promise.all(calls.map(codeOf));
    expect(codes).toEqual(calls.map(() => 'target_not_found'));
  });

  it('are tested with one request that is signed with both secrets during a rotation', async () => {
    const name = fresh('target');
    const { secret: first = '' } = await client.targets.put(name, { url, headers: { 'X-Shop': 'north' } });
    const rotated = await client.targets.rotate(name, { keepOldMs: 60_000 });
    const { secret: second = '' } = rotated;
    expect(second).not.toBe(first);
    expect(rotated.oldSecretUntil).not.toBeNull();
    expect(await client.targets.test(name)).toMatchObject({
      ...{ status: 404, problem: null, body: 'no such hook', action: 'retry', signed: true },
    });
    const [{ headers, body }] = received as [(typeof received)[number]];
    expect(headers['x-shop']).toBe('north');
    for (const secret of [first, second]) {
      expect(await verify(secret, headers as Record<string, string>, body)).toBe(headers['webhook-id']);
    }
    const chosen = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    expect((await client.targets.rotate(name, { secret: chosen, keepOldMs: 0 })).secret).toBe(chosen);
  });

  it('are rotated by one request, which is not sent again after a lost answer', async () => {
    const name = fresh('target');
    await client.targets.put(name, { url: HOOK });
    proxy.rule = () => 'lose';
    expect(await codeOf(faulty.targets.rotate(name))).toBe('network');
    expect(proxy.seen.filter(({ path }) => path.endsWith('/rotate'))).toHaveLength(1);
  });

  it('are refused with an invalid URL, and to a token that is limited to some queues', async () => {
    const error = await client.targets
      .put(fresh('target'), { url: 'ftp://x' })
      .catch((reason: unknown) => reason);
    expect(isPumphouseError(error, 'invalid_argument') && error.fields).toEqual([
      expect.objectContaining({ field: 'url' }),
    ]);
    const some = await app.admin('POST', `/token/${app.namespace}?description=x&queues=mail`);
    const { token } = some.json as { token: string };
    expect(await codeOf(clientOf({ token }).targets.list())).toBe('queue_not_allowed');
  });
});

describe('failure groups in the client', () => {
  it('are listed with their number of jobs, and in all pages', async () => {
    const queue = fresh();
    for (const group of ['smtp', 'smtp', 'address']) {
      const { id } = await client.publish({ queue, type: 'x' });
      const abort = new AbortController();
      const [job] = await client.driver.lease({
        ...{ queues: [queue], count: 1, waitMs: 0, ttrMs: 5_000, signal: abort.signal },
      });
      expect(job?.id).toBe(id);
      await client.driver.fail(job!, { group, message: 'no' });
    }
    expect(await client.deadLetter.groups()).toMatchObject({
      items: [
        { name: 'smtp', jobs: 2 },
        { name: 'address', jobs: 1 },
      ],
    });
    const each: string[] = [];
    for await (const { name } of client.deadLetter.eachGroup({ limit: 1 })) each.push(name);
    expect(each).toEqual(['smtp', 'address']);
  });
});
