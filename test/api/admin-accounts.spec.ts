import { jest } from '@jest/globals';
import dns from 'node:dns';
import { run } from '../../packages/cli/src/program.js';
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
    ['GET', '/loops'],
    ['GET', '/redis'],
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

  it('D20: opens nothing but the probes without an account', async () => {
    await withAdmin(false, async (url) => {
      for (const [i, [method, path]] of PATHS.entries()) {
        // Wrong passwords are answered more and more slowly: one is enough here.
        const wrong = [basic('ops:wrong'), basic(':'), { Authorization: 'Bearer secret' }][i];
        for (const headers of [{}, ...(wrong === undefined ? [] : [wrong])]) {
          const answer = await request(url + path, { method, headers });
          expect(answer).toMatchObject({ status: 401, body: { error: 'unauthorized' } });
          expect(answer.headers.get('www-authenticate')).toContain('Basic realm=');
          expect(answer.headers.get('x-request-id')).toMatch(ULID);
        }
      }
      expect(await request(`${url}/healthz`)).toMatchObject({ status: 200 });
      expect(await request(`${url}/readyz`)).toMatchObject({ status: 200 });
      for (const path of [
        '/info',
        '/version',
        '/pools',
        '/metrics',
        '/limits',
        '/loops',
        '/redis',
        '/accesslog',
      ]) {
        expect(await request(url + path, { headers: basic('ops:secret') })).toMatchObject({ status: 200 });
      }
    });
  });

  it('opens /metrics to all when it is public', async () => {
    await withAdmin(true, async (url) => {
      expect(await request(`${url}/metrics`)).toMatchObject({ status: 200 });
      expect(await request(`${url}/metrics?x=1`)).toMatchObject({ status: 200 });
      expect(await request(`${url}/metrics/`)).toMatchObject({ status: 401 });
      expect(await request(`${url}/info`)).toMatchObject({ status: 401 });
    });
  });

  it('names the account in the audit log', async () => {
    await withAdmin(false, async (url, log) => {
      await request(`${url}/token/ns?description=d`, { method: 'POST', headers: basic('ops:secret') });
      expect(log.find(({ details }) => details['audit'] === 'token.create')).toMatchObject({
        details: { account: 'ops' },
      });
      expect(JSON.stringify(log)).not.toContain('secret');
    });
  });

  it('D20: refuses to start on a public address without accounts', async () => {
    const { parts } = testParts(testPools(), (config) => {
      config.admin.host = '0.0.0.0';
    });
    await expect(startAdmin(parts)).rejects.toThrow(/admin\.accounts/);
  });
});

describe('T51: the admin port against other sites and guessed passwords', () => {
  let admin: Awaited<ReturnType<typeof startAdmin>>;
  let log: LogLine[];
  const OPS = `Basic ${Buffer.from('ops:secret').toString('base64')}`;
  beforeAll(async () => {
    const made = testParts(testPools(), (config) => {
      config.admin.accounts = { ops: 'secret' };
      config.admin.hosts = ['admin.internal'];
      config.metrics.public = true;
    });
    log = made.log;
    admin = await startAdmin(made.parts);
  });
  afterAll(() => admin.server.stop());

  async function call(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string,
  ): Promise<{ status: number; error: unknown; text: string }> {
    const sent = { method, headers: { authorization: OPS, ...headers }, body };
    const { status, text, body: json } = await request(admin.url + path, sent);
    const error = text.startsWith('{') ? (json as { error?: unknown }).error : undefined;
    return { status, error, text };
  }
  const tokens = async (): Promise<string> => (await call('GET', '/token/ns')).text;
  const form = { 'content-type': 'application/x-www-form-urlencoded' };

  it.each<[string, Record<string, string>, string]>([
    [
      'a form, with the password that the browser stores',
      { 'sec-fetch-site': 'cross-site', origin: 'null' },
      'another site',
    ],
    ['an old browser', { origin: 'https://evil.example' }, 'another origin'],
    [
      'a foreign host name that leads to this server',
      { host: 'evil.example', origin: 'http://evil.example' },
      'admin.hosts',
    ],
  ])(
    'refuses a request of another site with 403, and logs it in the audit log: %s',
    async (_name, headers, error) => {
      const before = await tokens();
      for (const [method, path] of [
        ['POST', '/token/ns/a-token-to-be-kept-secret/rotate'],
        ['POST', '/token/ns?description=d'],
        ['DELETE', '/namespaces/ns'],
        ['GET', '/token/ns'],
        ['GET', '/nope'],
      ] as const) {
        const answer = await call(
          method,
          path,
          { ...form, ...headers },
          method === 'POST' ? 'description=d' : undefined,
        );
        expect(answer).toMatchObject({ status: 403, error: expect.stringContaining(error) as string });
        expect(log.at(-1)).toMatchObject({
          level: 'warn',
          details: {
            audit: 'request.refused',
            method,
            remote: '127.0.0.1',
            origin: headers['origin'] ?? null,
          },
        });
      }
      expect(await tokens()).toBe(before);
      expect(JSON.stringify(log)).not.toContain('a-token-to-be-kept-secret');
      for (const path of ['/healthz', '/readyz', '/metrics'])
        expect((await call('GET', path, headers)).status).toBe(200);
    },
  );

  it.each<[string, string, Record<string, string>]>([
    ['curl -d', '/token/ns', form],
    ['the address of a pod', '/token/ns', { ...form, host: '10.42.0.17:7778' }],
    ['an IPv6 address with a port', '/token/ns', { ...form, host: '[fd00::17]:7778' }],
    ['a name of admin.hosts', '/token/ns', { ...form, host: 'admin.internal:7778' }],
    ['a page of its own', '/token/ns', { ...form, 'sec-fetch-site': 'same-origin' }],
  ])('accepts a request of a program or an operator: %s', async (_name, path, headers) => {
    expect((await call('POST', path, headers, 'description=d')).status).toBe(201);
  });

  it('answers /metrics to Prometheus under the host name of a service', async () => {
    const answer = await call('GET', '/metrics', { host: 'pumphouse-admin:7778', authorization: '' });
    expect(answer).toMatchObject({ status: 200 });
  });

  it.each(['localhost', 'admin.internal'])('answers the command line under a host name: %s', async (name) => {
    // A machine without a resolver has not even localhost.
    type Found = (error: null, addresses: { address: string; family: number }[]) => void;
    const found = [{ address: '127.0.0.1', family: 4 }];
    const lookup = jest
      .spyOn(dns, 'lookup')
      .mockImplementation(((_name: string, _options: object, take: Found) => take(null, found)) as never);
    const url = admin.url.replace('127.0.0.1', name);
    let output = '';
    const append = (text: string): void => void (output += text);
    const args = ['token', 'list', 'ns', '--admin', url.replace('//', '//ops:secret@')];
    expect([await run(args, { out: append, err: append }), output]).toEqual([0, output]);
    expect(lookup).toHaveBeenCalledWith(name, expect.anything(), expect.anything());
    lookup.mockRestore();
  });

  it.each(['', 'text', 'text/plain;;', '/', 'multipart/form-data'])(
    'accepts bodies of any content type, as lmstfy does: %j',
    async (type) => {
      const path = '/token/ns?description=d';
      expect(await call('POST', path, { 'content-type': type }, '')).toMatchObject({ status: 201 });
      const limit = `/token/ns/${(JSON.parse((await call('POST', path)).text) as { token: string }).token}/limit`;
      const body = '{"read":1,"write":1,"interval":1}';
      expect(await call('PUT', limit, { 'content-type': type }, body)).toMatchObject({ status: 200 });
    },
  );

  it('checks one wrong password of an address a second, lets at least four wait, and logs each', async () => {
    const wrong = { authorization: `Basic ${Buffer.from('ops:guess').toString('base64')}` };
    const began = performance.now();
    expect((await call('GET', '/info', wrong)).status).toBe(401);
    const answers = await Promise.all(Array.from({ length: 20 }, () => call('GET', '/info', wrong)));
    // Four wait; on a busy machine some more come when these are answered.
    const seen = answers.filter(({ status }) => status === 401).length;
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20 - seen);
    expect([seen >= 4, seen <= 12]).toEqual([true, true]);
    expect(performance.now() - began).toBeGreaterThan(3_500);
    const lines = log.filter(({ details }) => details['audit'] === 'password.failed');
    const failures = lines.map(({ details }) => Number(details['failures'])).sort((a, b) => a - b);
    expect(failures).toEqual(Array.from({ length: seen + 1 }, (_, i) => i + 1));
    expect(lines[0]).toMatchObject({ level: 'warn', details: { remote: '127.0.0.1', route: '/info' } });
    expect(JSON.stringify(log)).not.toContain('guess');
    expect((await call('GET', '/healthz', wrong)).status).toBe(200);
  });

  it('accepts the right password while the same address sends wrong passwords', async () => {
    expect((await call('GET', '/info')).status).toBe(200);
    let isOver = false;
    const guess = async (password: string): Promise<void> => {
      const authorization = `Basic ${Buffer.from(password).toString('base64')}`;
      while (!isOver) await call('GET', '/info', { authorization });
    };
    const guesses = ['ops:1', 'ops:2', 'dev:1', ':', 'ops:', 'x:secret'].flatMap((one) => [
      guess(one),
      guess(one),
    ]);
    const statuses: number[] = [];
    for (let i = 0; i < 40; i++) statuses.push((await call('GET', '/info')).status);
    isOver = true;
    await Promise.all(guesses);
    expect(statuses).toEqual(Array.from({ length: 40 }, () => 200));
  });
});

describe('the admin port without its Redis', () => {
  it('answers 503 within two seconds, with Retry-After', async () => {
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
