import { startRedis } from '../support/redis.js';
import { type LogLine, request, startAdmin, testParts, testPools } from './admin-fixture.js';

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

describe('the admin port with accounts', () => {
  const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` });
  const PATHS = [
    ['GET', '/info'],
    ['GET', '/version'],
    ['GET', '/pools'],
    ['GET', '/metrics'],
    ['GET', '/limits'],
    ['GET', '/accesslog'],
    ['POST', '/accesslog?status=enable'],
    ['GET', '/token/ns'],
    ['POST', '/token/ns?description=d'],
    ['DELETE', '/token/ns/x'],
    ['GET', '/token/ns/x/limit'],
    ['GET', '/debug/pprof/'],
    ['GET', '/nope'],
    ['POST', '/healthz'],
  ] as const;

  async function withAdmin(isMetricsPublic: boolean, use: (url: string, log: LogLine[]) => Promise<void>) {
    const { parts, log } = testParts(testPools(), (config) => {
      config.admin.accounts = { ops: 'secret' };
      config.metrics.public = isMetricsPublic;
    });
    const { server, url } = await startAdmin(parts);
    try {
      await use(url, log);
    } finally {
      await server.stop();
    }
  }

  it('D20: opens nothing but the probes to whoever does not say who they are', async () => {
    await withAdmin(false, async (url) => {
      for (const [method, path] of PATHS) {
        for (const headers of [{}, basic('ops:wrong'), basic(':'), { Authorization: 'Bearer secret' }]) {
          const answer = await request(url + path, { method, headers });
          expect(answer).toMatchObject({ status: 401, body: { error: 'unauthorized' } });
          expect(answer.headers.get('www-authenticate')).toContain('Basic realm=');
          expect(answer.headers.get('x-request-id')).toMatch(ULID);
        }
      }
      expect(await request(`${url}/healthz`)).toMatchObject({ status: 200 });
      expect(await request(`${url}/readyz`)).toMatchObject({ status: 200 });
      for (const path of ['/info', '/version', '/pools', '/metrics', '/limits', '/accesslog']) {
        expect(await request(url + path, { headers: basic('ops:secret') })).toMatchObject({ status: 200 });
      }
    });
  });

  it('opens /metrics too when it is public', async () => {
    await withAdmin(true, async (url) => {
      expect(await request(`${url}/metrics`)).toMatchObject({ status: 200 });
      expect(await request(`${url}/metrics?x=1`)).toMatchObject({ status: 200 });
      expect(await request(`${url}/metrics/`)).toMatchObject({ status: 401 });
      expect(await request(`${url}/info`)).toMatchObject({ status: 401 });
    });
  });

  it('says in the audit log who did it', async () => {
    await withAdmin(false, async (url, log) => {
      await request(`${url}/token/ns?description=d`, { method: 'POST', headers: basic('ops:secret') });
      expect(log.find(({ details }) => details['audit'] === 'token.create')).toMatchObject({
        details: { account: 'ops' },
      });
      expect(JSON.stringify(log)).not.toContain('secret');
    });
  });

  it('D20: does not start on an address that others can reach unless there are accounts', async () => {
    const { parts } = testParts(testPools(), (config) => {
      config.admin.host = '0.0.0.0';
    });
    await expect(startAdmin(parts)).rejects.toThrow(/admin\.accounts/);
  });
});

describe('the admin port without its Redis', () => {
  it('answers 503 in time, and says when to come back', async () => {
    const redis = await startRedis();
    const { parts } = testParts(testPools(redis.url, 300));
    const { server, url } = await startAdmin(parts);
    try {
      await redis.kill9();
      for (const path of ['/token/ns', '/limits', '/info', '/token/ns/x/limit']) {
        const answer = await request(url + path, { signal: AbortSignal.timeout(2_000) });
        expect(answer).toMatchObject({ status: 503, body: { error: 'service unavailable' } });
        expect(answer.headers.get('retry-after')).toBe('1');
      }
      expect(await request(`${url}/pools`)).toMatchObject({ status: 200 });
    } finally {
      await server.stop();
      await redis.stop();
    }
  });
});
