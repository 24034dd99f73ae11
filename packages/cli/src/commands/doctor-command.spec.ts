import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Redis } from 'ioredis';
import { FaultyProxy } from '../../../client/test/faulty-proxy.js';
import { TestApp } from '../../../../test/support/app.js';
import { Cli } from '../../../../test/support/cli.js';
import { waitFor } from '../../../../test/support/redis.js';

interface Finding {
  readonly status: string;
  readonly check: string;
  readonly found: string;
  readonly action?: string;
}

/** A call of the API, with Redis behind it, takes less than so many requests that do nothing. */
const EMPTY_REQUESTS = 20;

/** Settings of Redis of which doctor reports nothing. */
const HEALTHY = { appendonly: 'yes', appendfsync: 'everysec', maxmemory: '1gb' };

describe('pumphouse doctor', () => {
  let app: TestApp;
  /** Answers at once: its time is that of this machine, now. */
  let empty: Server;
  let redis: Redis;
  let cli: Cli;

  beforeAll(async () => {
    ({ app, client: redis } = await TestApp.alone({ PUMPHOUSE_POOLS__DEFAULT__ALLOW_UNSAFE: 'true' }));
    empty = createServer((_request, response) => response.end());
    await new Promise<void>((resolve) => empty.listen(0, '127.0.0.1', resolve));
    const { port } = app.server.admin.app.getHttpServer().address() as AddressInfo;
    cli = new Cli({
      PUMPHOUSE_URL: `http://127.0.0.1:${String(app.port)}`,
      ...{ PUMPHOUSE_NAMESPACE: app.namespace, PUMPHOUSE_TOKEN: app.token },
      PUMPHOUSE_ADMIN_URL: `http://127.0.0.1:${String(port)}`,
    });
  });
  afterAll(async () => {
    cli.remove();
    empty.close();
    await app.stop();
  });

  /** The middle one of some empty requests, in ms. */
  async function emptyMs(): Promise<number> {
    const tookMs: number[] = [];
    for (let i = 0; i < 5; i++) {
      const begunMs = performance.now();
      await new Promise((resolve, reject) => {
        const { port } = empty.address() as AddressInfo;
        get({ host: '127.0.0.1', port }, (response) => response.resume().on('end', resolve)).on(
          'error',
          reject,
        );
      });
      tookMs.push(performance.now() - begunMs);
    }
    return tookMs.sort((a, b) => a - b)[2]!;
  }

  /** Findings, and those that are no fault of this machine alone: of a busy one each time is long. */
  async function findings(
    ...args: string[]
  ): Promise<{ code: number | null; all: Finding[]; bad: Finding[] }> {
    const beforeMs = await emptyMs();
    const { code, out } = await cli.call('doctor', '--json', ...args);
    const mostMs = EMPTY_REQUESTS * Math.max(beforeMs, await emptyMs());
    const all = JSON.parse(out) as Finding[];
    const isOfMachine = ({ status, found }: Finding): boolean =>
      status === 'warning' && Number(/([\d.]+) ms/.exec(found)?.[1] ?? Infinity) < mostMs;
    return { code, all, bad: all.filter((one) => one.status !== 'ok' && !isOfMachine(one)) };
  }

  /** The server reads the settings of Redis from time to time: it must know them before each test. */
  async function isHealthy(): Promise<boolean> {
    const { json } = await app.admin('GET', '/redis');
    const { pools } = json as { pools: { degraded: string[]; facts: { appendfsync?: string } | null }[] };
    return pools.every(({ degraded, facts }) => degraded.length === 0 && facts?.appendfsync === 'everysec');
  }
  beforeEach(async () => {
    for (const [name, value] of Object.entries(HEALTHY)) await redis.config('SET', name, value);
    await waitFor(isHealthy, 20_000);
  });

  it('reports no problem for a healthy installation', async () => {
    const { code, all, bad } = await findings();
    expect(bad).toEqual([]);
    expect(code).toBe(0);
    expect(all.map(({ check }) => check)).toEqual([
      ...['token', 'API', 'version', 'clock of the server', 'Redis of pool default', 'Redis of pool default'],
      ...['Redis of pool default', 'Redis of pool default', 'Redis of pool default'],
      ...['clock of Redis of pool default', 'loops', `tokens of ${app.namespace}`],
    ]);
    const { out } = await cli.call('doctor');
    expect(out).toMatch(/^ok {7}token: it is valid\n/);
    expect(out).not.toContain(app.token);
  });

  it('reports settings of Redis that may lose jobs, with the setting to use', async () => {
    await redis.config('SET', 'appendonly', 'no');
    await redis.config('SET', 'maxmemory', '0');
    const { code, bad } = await findings();
    expect(code).toBe(1);
    expect(bad).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          ...{
            status: 'problem',
            found: 'AOF is off',
            action: expect.stringContaining('appendonly yes') as string,
          },
        }),
        expect.objectContaining({
          status: 'warning',
          action: expect.stringContaining('Set maxmemory') as string,
        }),
      ]),
    );
  });

  it('reports appendfsync no, and nothing else, once the other settings are right', async () => {
    await redis.config('SET', 'appendfsync', 'no');
    expect((await findings()).bad).toEqual([
      expect.objectContaining({ status: 'warning', found: 'appendfsync no' }),
    ]);
  });

  it('reports an API that takes 60 ms per call', async () => {
    const proxy = await FaultyProxy.start(app.port);
    proxy.rule = () => ({ afterMs: 60 });
    const { code, all } = await findings('--url', proxy.url);
    await proxy.stop();
    expect(code).toBe(0);
    expect(all).toContainEqual({
      ...{ status: 'warning', check: 'API', found: expect.stringContaining('ms per call') as string },
      action: expect.stringContaining('slow') as string,
    });
  });

  it('reports a token that expires in two days, and prints at most seven characters of the token', async () => {
    const made = await app.admin('POST', `/token/${app.namespace}?description=night%1Bjob&expires=2d`);
    const { token } = made.json as { token: string };
    const [ending] = (await findings()).bad;
    expect(ending).toMatchObject({ status: 'warning', check: `tokens of ${app.namespace}` });
    expect(ending?.found).toContain(token.slice(0, 4));
    const { out } = await cli.call('doctor');
    expect(out).not.toContain(token.slice(0, 8));
    expect(out.replaceAll('\n', '')).not.toMatch(/[^ -~…]/);
    await app.admin('DELETE', `/token/${app.namespace}/${token}`);
  });

  it('reports a wrong token, a missing API, a missing admin port or no token, and makes the other checks', async () => {
    const wrong = await findings('--token', 'secret-token-1');
    expect([wrong.code, wrong.bad]).toEqual([
      ...[1, [expect.objectContaining({ status: 'problem', check: 'token' })]],
    ]);
    expect(JSON.stringify(wrong)).not.toContain('secret-token-1');
    const noApi = await findings('--url', 'http://127.0.0.1:1', '--timeout', '0.5');
    expect(noApi.bad).toEqual([expect.objectContaining({ status: 'problem', check: 'API' })]);
    const noAdmin = await findings('--admin', 'http://127.0.0.1:1');
    expect(noAdmin.bad.map(({ check }) => check)).toEqual(['admin port', 'Redis', 'loops', 'tokens']);
    delete cli.env['PUMPHOUSE_TOKEN'];
    const none = await findings();
    expect([none.code, none.bad]).toEqual([
      ...[0, [expect.objectContaining({ status: 'warning', check: 'API', found: 'not checked' })]],
    ]);
  });

  it('has the facts of each pool from GET /redis of the admin port, without address and password', async () => {
    const { status, json } = await app.admin('GET', '/redis');
    expect(status).toBe(200);
    expect(json).toEqual({
      now: expect.stringMatching(/Z$/) as string,
      pools: [
        {
          ...{ pool: 'default', up: true, degraded: [], error: null },
          facts: {
            ...{ version: expect.any(String) as string, mode: 'standalone', role: 'master' },
            ...{ used_memory: expect.any(Number) as number, maxmemory: 1_073_741_824 },
            ...{ maxmemory_policy: 'noeviction', aof_enabled: true, aof_last_write_status: 'ok' },
            ...{ aof_last_bgrewrite_status: 'ok', appendfsync: 'everysec', connected_slaves: 0 },
            connected_clients: expect.any(Number) as number,
            maxclients: expect.any(Number) as number,
            latency_ms: expect.any(Number) as number,
            max_latency_ms: expect.any(Number) as number,
            clock_offset_ms: expect.any(Number) as number,
          },
        },
      ],
    });
  });
});
