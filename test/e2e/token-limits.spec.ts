import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { jest } from '@jest/globals';
import { TokenStore } from '../../src/auth/token-store.js';
import type { PoolOptions } from '../../src/domain/pool.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import {
  type Answer,
  type LogLine,
  request,
  startAdmin,
  startApi,
  testParts,
  testPools,
} from './admin-fixture.js';

type Api = Awaited<ReturnType<typeof startApi>>;
type Admin = Awaited<ReturnType<typeof startAdmin>>;

describe('limits of tokens on the queue API', () => {
  let pools: Record<string, PoolOptions>;
  let admin: Admin;
  let servers: Api[];
  let log: LogLine[];
  let namespace: string;
  let token: string;

  /** Two servers over the same Redis, as replicas. */
  beforeAll(async () => {
    pools = testPools();
    const made = testParts(pools);
    log = made.log;
    admin = await startAdmin(testParts(pools).parts);
    servers = [await startApi(made.parts), await startApi(testParts(pools).parts)];
  });

  afterAll(async () => {
    for (const { server } of [...servers, admin]) await server.stop();
  });

  beforeEach(async () => {
    namespace = randomNamespace();
    token = await newToken();
    log.length = 0;
  });

  async function newToken(query = '', ns = namespace): Promise<string> {
    const { body } = await request(`${admin.url}/token/${ns}?description=d${query}`, { method: 'POST' });
    return (body as { token: string }).token;
  }

  interface Call {
    readonly method?: string;
    readonly token?: string | null;
    readonly server?: number;
  }

  /** A call on a queue; with the namespace's token unless another one or none is given. */
  function call(
    path: string,
    { method = 'GET', token: sent = token, server = 0 }: Call = {},
  ): Promise<Answer> {
    const headers: Record<string, string> = sent === null ? {} : { 'X-Token': sent };
    return request(`${servers[server]!.url}/api/${path}`, {
      method,
      headers,
      ...(method === 'PUT' ? { body: 'x' } : {}),
    });
  }
  const publish = (options: Call = {}, queue = 'q') =>
    call(`${namespace}/${queue}`, { method: 'PUT', ...options });

  async function setLimit(limit: object, of = token, ns = namespace): Promise<void> {
    const answer = await request(`${admin.url}/token/${ns}/${of}/limit`, {
      method: 'PUT',
      body: JSON.stringify(limit),
    });
    expect(answer.status).toBe(200);
  }

  it('D19: count over all servers, publish and consume apart, and show four characters of the token', async () => {
    await setLimit({ read: 1, write: 3, interval: 60 });
    const published = [];
    for (let i = 0; i < 5; i++) published.push(await publish({ server: i % 2 }));
    expect(published.map(({ status }) => status)).toEqual([201, 201, 201, 429, 429]);
    expect(published[4]).toMatchObject({
      type: 'application/json',
      body: { msg: `token(${token.slice(0, 4)}…) produce reach the limit rate, please retry later` },
    });
    expect(await call(`${namespace}/q`)).toMatchObject({ status: 200 });
    const refused = await call(`${namespace}/q?token=${token}`, { token: null, server: 1 });
    expect(refused).toMatchObject({
      status: 429,
      body: { msg: `token(${token.slice(0, 4)}…) consume reach the limit rate, please retry later` },
    });
    expect(JSON.stringify(log)).not.toContain(token.slice(0, 5));
  });

  it('D19: give back what was answered with neither 200 nor 201', async () => {
    await setLimit({ read: 2, write: 1, interval: 60 });
    for (let i = 0; i < 5; i++) expect(await call(`${namespace}/empty`)).toMatchObject({ status: 404 });
    for (let i = 0; i < 3; i++) {
      expect(await call(`${namespace}/q?tries=0`, { method: 'PUT' })).toMatchObject({ status: 400 });
    }
    expect(await publish()).toMatchObject({ status: 201 });
    expect(await publish()).toMatchObject({ status: 429 });
    expect(await call(`${namespace}/q`)).toMatchObject({ status: 200 });
  });

  it('D19: give back what a consumer asked for that went away', async () => {
    await setLimit({ read: 1, write: 0, interval: 60 });
    const halt = new AbortController();
    const gone = fetch(`${servers[0]!.url}/api/${namespace}/q?timeout=20`, {
      headers: { 'X-Token': token },
      signal: halt.signal,
    }).catch(() => null);
    await waitFor(async () => (await call(`${namespace}/q`)).status === 429);
    halt.abort();
    await gone;
    await waitFor(async () => (await call(`${namespace}/q`)).status === 404);
  });

  it('D19: give back what was asked for by a client that went while its request was counted', async () => {
    await setLimit({ read: 1, write: 0, interval: 60 });
    const { server } = servers[0]!;
    const store = server.app.get(TokenStore, { strict: false });
    const count = store.count.bind(store);
    let counted = false;
    let goOn = (): void => undefined;
    const halt = new Promise<void>((resolve) => (goOn = resolve));
    const counting = jest.spyOn(store, 'count').mockImplementation(async (...args) => {
      const started = await count(...args);
      counted = true;
      await halt;
      return started;
    });
    const client = connect(server.port, '127.0.0.1');
    const [seen] = (await once(server.app.getHttpServer(), 'connection')) as [Socket];
    client.write(`GET /api/${namespace}/q HTTP/1.1\r\nHost: a\r\nX-Token: ${token}\r\n\r\n`);
    await waitFor(() => counted);
    client.resetAndDestroy();
    await waitFor(() => seen.destroyed);
    counting.mockRestore();
    expect(await call(`${namespace}/q`)).toMatchObject({ status: 429 });
    goOn();

    await waitFor(async () => (await call(`${namespace}/q`)).status === 404);
  });

  it('count a bulk once, and republish, ack, peek and size never', async () => {
    await setLimit({ read: 1, write: 2, interval: 60 });
    const bulk = await request(`${servers[0]!.url}/api/${namespace}/q/bulk`, {
      method: 'PUT',
      headers: { 'X-Token': token },
      body: '[1,2,3,4]',
    });
    expect(bulk).toMatchObject({ status: 201 });
    expect(await publish()).toMatchObject({ status: 201 });
    expect(await publish()).toMatchObject({ status: 429 });
    expect(await call(`${namespace}/q/job/abc`, { method: 'PUT' })).toMatchObject({ status: 201 });
    for (let i = 0; i < 3; i++) {
      expect(await call(`${namespace}/q/size`)).toMatchObject({ status: 200 });
      expect(await call(`${namespace}/q/peek`)).toMatchObject({ status: 200 });
      expect(await call(`${namespace}/q/job/x`, { method: 'DELETE' })).toMatchObject({ status: 204 });
    }
    expect(await call(`${namespace}/q`)).toMatchObject({ status: 200 });
  });

  it('D7: are each token’s own', async () => {
    const tokens = [];
    for (const allowed of [1, 2, 3]) {
      const own = await newToken();
      await setLimit({ read: 0, write: allowed, interval: 60 }, own);
      tokens.push({ own, allowed });
    }
    for (const { own, allowed } of tokens) {
      const statuses = [];
      for (let i = 0; i < 5; i++) statuses.push((await publish({ token: own, server: i % 2 })).status);
      expect(statuses.filter((status) => status === 201)).toHaveLength(allowed);
    }
    for (let i = 0; i < 5; i++) expect(await publish()).toMatchObject({ status: 201 });
  });

  it('end with their window, and change within a second', async () => {
    await setLimit({ read: 0, write: 1, interval: 1 });
    expect(await publish()).toMatchObject({ status: 201 });
    expect(await publish()).toMatchObject({ status: 429 });
    await waitFor(async () => (await publish()).status === 201);
    await setLimit({ read: 0, write: 1_000, interval: 60 });
    const changedMs = Date.now();
    await waitFor(async () => (await publish()).status === 201 && (await publish()).status === 201, 5_000);
    expect(Date.now() - changedMs).toBeLessThan(2_000);
  });
});
