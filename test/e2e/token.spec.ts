import type { PoolOptions } from '../../src/domain/pool.js';
import { randomNamespace, startRedis, waitFor } from '../support/redis.js';
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

describe('tokens on the queue API', () => {
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

  it.each([
    ['none', null, 401, 'token not found'],
    ['an empty one', '', 401, 'token not found'],
    ['a prefix and nothing else', 'default:', 401, 'token not found'],
    ['a wrong one', 'nope', 401, 'invalid token'],
    ['two colons', 'default:a:b', 401, 'invalid token'],
    ['an unknown pool', 'nopool:x', 404, 'pool not found'],
  ])('refuse %s', async (_what, sent, status, error) => {
    expect(await publish({ token: sent })).toMatchObject({
      status,
      type: 'application/json',
      body: { error },
    });
  });

  it('are taken with the default pool named, with an empty prefix, and from the query', async () => {
    for (const sent of [token, `default:${token}`, `:${token}`]) {
      expect(await publish({ token: sent })).toMatchObject({ status: 201 });
    }
    const path = `${namespace}/q?token=${token}`;
    expect(await call(path, { method: 'PUT', token: null })).toMatchObject({ status: 201 });
    expect(await call(`${path}&token=bad`, { method: 'PUT', token: null })).toMatchObject({ status: 201 });
    expect(await call(path, { method: 'PUT', token: 'bad' })).toMatchObject({ status: 401 });
    expect(await call(`${namespace}/q?token=bad`, { method: 'PUT' })).toMatchObject({ status: 201 });
  });

  it('D5: open their own namespace in their own pool, and no other', async () => {
    const neighbour = `${namespace}x`;
    const theirs = await newToken('', neighbour);
    const elsewhere = await newToken('&pool=other');
    expect(await publish()).toMatchObject({ status: 201 });
    expect(await publish({ token: elsewhere })).toMatchObject({ status: 201 });
    for (const sent of [
      theirs,
      `x${theirs}`,
      elsewhere.replace('other:', ''),
      `other:${token}`,
      `${token} `,
    ]) {
      if (sent.trim() === token) continue;
      expect(await publish({ token: sent })).toMatchObject({ status: 401, body: { error: 'invalid token' } });
    }
    expect(await call(`${neighbour}/q`, { method: 'PUT' })).toMatchObject({ status: 401 });
    // Moved boundaries: namespace "ab" with token "c…" is not "a" with "bc…".
    const chosen = `${'c'.repeat(20)}-${namespace}`;
    await newToken(`&token=x${chosen}`);
    expect(await call(`${neighbour}/q`, { method: 'PUT', token: chosen })).toMatchObject({ status: 401 });
    expect(await publish({ token: `x${chosen}` })).toMatchObject({ status: 201 });
  });

  it('are checked after names and pool, on the size calls too', async () => {
    expect(await call(`${namespace}/p.1`, { token: null })).toMatchObject({ status: 400 });
    expect(await call(`${namespace}/q/size`, { token: null })).toMatchObject({ status: 401 });
    expect(await call(`${namespace}/q/deadletter/size`, { token: null })).toMatchObject({ status: 401 });
    expect(await call(`${namespace}/q/size`, { token: 'nopool:x' })).toMatchObject({ status: 404 });
    expect(await call(`${namespace}/q/size`)).toMatchObject({ status: 200, body: { size: 0 } });
  });

  it('work at once on every server, even where they were refused a moment ago', async () => {
    const chosen = `${'n'.repeat(20)}-${namespace}`;
    for (const server of [0, 1])
      expect(await publish({ token: chosen, server })).toMatchObject({ status: 401 });
    await newToken(`&token=${chosen}`);
    for (const server of [0, 1])
      expect(await publish({ token: chosen, server })).toMatchObject({ status: 201 });
  });

  it('D6: are refused by every server within a second of being revoked, however busy they are', async () => {
    let isRevoked = false;
    let revokedAtMs = Number.POSITIVE_INFINITY;
    const lastServedMs = await Promise.all(
      [0, 1].map(async (server) => {
        for (let lastMs = 0; ;) {
          const sentMs = Date.now();
          const { status } = await call(`${namespace}/q/size`, { server });
          if (status === 401 && isRevoked) return lastMs;
          expect(status).toBe(200);
          lastMs = sentMs;
          if (sentMs > revokedAtMs + 3_000) return lastMs;
          if (server === 0 && !isRevoked) {
            await new Promise((resolve) => setTimeout(resolve, 700));
            isRevoked = true;
            await request(`${admin.url}/token/${namespace}/${token}`, { method: 'DELETE' });
            revokedAtMs = Date.now();
          }
        }
      }),
    );
    for (const lastMs of lastServedMs) expect(lastMs - revokedAtMs).toBeLessThanOrEqual(1_000);
    for (const server of [0, 1]) expect(await publish({ server })).toMatchObject({ status: 401 });
  });
});

describe('the queue API with public sizes', () => {
  it('asks for no token on the size calls, but for a pool that exists', async () => {
    const { parts } = testParts(testPools(), (config) => {
      config.lmstfy.public_sizes = true;
    });
    const { server, url } = await startApi(parts);
    try {
      for (const path of ['/api/ns/q/size', '/api/ns/q/deadletter/size']) {
        expect(await request(url + path)).toMatchObject({ status: 200, body: { size: 0 } });
        expect(await request(url + path, { headers: { 'X-Token': 'nopool:x' } })).toMatchObject({
          status: 404,
        });
      }
      expect(await request(`${url}/api/ns/q/peek`)).toMatchObject({ status: 401 });
    } finally {
      await server.stop();
    }
  });
});

describe('the queue API without the Redis of its tokens', () => {
  it('D6: serves known tokens for their second and then says 503, never 401', async () => {
    const tokens = await startRedis();
    const { parts } = testParts(testPools(), (config) => {
      config.tokens.url = tokens.url;
      config.redis.command_timeout_ms = 300;
    });
    const admin = await startAdmin(parts);
    const api = await startApi(parts);
    try {
      const made = await request(`${admin.url}/token/ns?description=d`, { method: 'POST' });
      const { token } = made.body as { token: string };
      const size = (sent: string) => request(`${api.url}/api/ns/q/size`, { headers: { 'X-Token': sent } });
      expect(await size(token)).toMatchObject({ status: 200 });
      await tokens.kill9();
      const unknown = await size('unknown');
      expect(unknown).toMatchObject({ status: 503, body: { error: 'service unavailable' } });
      expect(unknown.headers.get('retry-after')).not.toBeNull();
      await waitFor(async () => {
        const { status } = await size(token);
        expect([200, 503]).toContain(status);
        return status === 503;
      });
    } finally {
      await api.server.stop();
      await admin.server.stop();
      await tokens.stop();
    }
  });
});
