import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BuiltServer } from '../support/built-server.js';
import { type RedisProcess, startRedis, testTargetEnv, waitFor } from '../support/redis.js';

const PRELOADED = fileURLToPath(new URL('../support/loaded-code.mjs', import.meta.url));
const LATE = fileURLToPath(new URL('../support/late-listen.mjs', import.meta.url));
/** What no server needs to serve. */
const NEEDLESS = ['pino-pretty', 'ajv'];
const ON_DEMAND = ['@nestjs/swagger', 'swagger-ui-dist'];
/** What an application is made of. */
const APPLICATION = ['fastify', 'rxjs', 'prom-client', 'ioredis'];

describe('the start of a server of two workers', () => {
  let folder: string;
  let server: BuiltServer;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'pumphouse-loaded-'));
    server = await BuiltServer.create({
      NODE_OPTIONS: `--import ${PRELOADED}`,
      PUMPHOUSE_TEST_LOADED: folder,
      PUMPHOUSE_SERVER__WORKERS: '2',
      ...testTargetEnv(),
    });
    await server.start();
    await server.end('SIGTERM');
  });
  afterAll(() => [folder, server.dir].forEach((dir) => rmSync(dir, { recursive: true, force: true })));

  /** What each process had loaded at a moment, by package and file. */
  function loadedAt(moment: string): string[][] {
    const names = readdirSync(folder).filter((name) => name.startsWith(`${moment}-`));
    return names.map((name) =>
      (JSON.parse(readFileSync(join(folder, name), 'utf8')) as string[]).map((path) =>
        path.split('node_modules/').at(-1)!,
      ),
    );
  }
  const of = (loaded: readonly string[], packages: readonly string[]): string[] =>
    packages.filter((one) => loaded.some((path) => path.startsWith(`${one}/`) || path.startsWith(one)));

  it('loads only what requests need', () => {
    const processes = [...loadedAt('primary'), ...loadedAt('worker')];
    expect(processes).toHaveLength(3);
    for (const loaded of processes) {
      expect(of(loaded, APPLICATION)).toEqual(APPLICATION);
      expect(of(loaded, [...NEEDLESS, ...ON_DEMAND])).toEqual([]);
    }
  });

  it('forks before its primary loads an application', () => {
    const [atFork] = loadedAt('fork');
    expect(of(atFork!, ['class-validator'])).toHaveLength(1);
    expect(of(atFork!, APPLICATION)).toEqual([]);
  });
});

describe.each([1, 2])('a server of %s processes whose Redis does not answer', (count) => {
  it('ends with code 0 at a signal', async () => {
    const redis = createServer().listen(0, '127.0.0.1');
    await once(redis, 'listening');
    const { port } = redis.address() as AddressInfo;
    const server = await BuiltServer.create({
      PUMPHOUSE_SERVER__WORKERS: String(count),
      PUMPHOUSE_POOLS__DEFAULT__URL: `redis://127.0.0.1:${String(port)}`,
    });
    try {
      const connection = once(redis, 'connection');
      const started = server.start().catch((error: unknown) => error);
      const [socket] = (await connection) as [Socket];
      socket.on('error', () => undefined);
      // Of its own accord it would end after ten seconds, with code 1.
      expect(await server.end('SIGTERM')).toBe(0);
      expect(server.output).toContain('the start was not complete');
      await started;
    } finally {
      redis.close();
      rmSync(server.dir, { recursive: true, force: true });
    }
  });
});

describe.each([1, 2])('the readiness of a server of %s processes', (count) => {
  it('is starting until the admin port is open', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pumphouse-late-'));
    const opens = join(folder, 'opens');
    const server = await BuiltServer.create({
      NODE_OPTIONS: `--import ${LATE}`,
      PUMPHOUSE_TEST_LATE_FILE: opens,
      PUMPHOUSE_SERVER__WORKERS: String(count),
      ...testTargetEnv(),
    });
    // Its ports are known when it is made.
    const started = server.start(undefined, { PUMPHOUSE_TEST_LATE_PORT: String(server.adminPort) });
    const readiness = async (): Promise<string> => {
      const answer = await fetch(`${server.url}/readyz`).catch(() => null);
      return answer === null ? 'closed' : `${String(answer.status)} ${await answer.text()}`;
    };
    try {
      await waitFor(async () => (await readiness()) !== 'closed', 40_000);
      for (let i = 0; i < 5; i++) expect(await readiness()).toBe('503 {"degraded":[],"status":"starting"}');
      writeFileSync(opens, '');
      await started;
      expect(await readiness()).toBe('200 {"degraded":[],"status":"ready"}');
    } finally {
      writeFileSync(opens, '');
      await started.catch(() => undefined);
      await server.end('SIGTERM');
      [folder, server.dir].forEach((dir) => rmSync(dir, { recursive: true, force: true }));
    }
  });
});

describe('a server of two workers that cannot start', () => {
  const servers: BuiltServer[] = [];
  let blocker: Server | undefined;
  afterEach(async () => {
    blocker?.close();
    for (const { dir } of servers.splice(0)) rmSync(dir, { recursive: true, force: true });
    await Promise.resolve();
  });

  /** Starts it and waits for its end. */
  async function failure(env: Record<string, string>, prepare?: (server: BuiltServer) => Promise<void>) {
    const target = env['PUMPHOUSE_POOLS__DEFAULT__URL'] === undefined ? testTargetEnv() : {};
    const server = await BuiltServer.create({ PUMPHOUSE_SERVER__WORKERS: '2', ...target, ...env });
    servers.push(server);
    await prepare?.(server);
    await expect(server.start()).rejects.toThrow('has ended');
    return server.output.split('\n').filter((line) => line.startsWith('pumphouse: '));
  }

  describe('a wrong password', () => {
    let redis: RedisProcess;
    let url: string;
    beforeAll(async () => {
      redis = await startRedis();
      url = redis.url.replace('redis://', 'redis://unknown:wrong@');
    });
    afterAll(() => redis.stop());

    it('reports once what is wrong with a Redis', async () => {
      const lines = await failure({ PUMPHOUSE_POOLS__DEFAULT__URL: url });
      expect(lines).toEqual([expect.stringMatching(/the Redis of pool default at .* WRONGPASS/)]);
    });

    it('reports once what is wrong with the Redis of the tokens', async () => {
      const lines = await failure({ PUMPHOUSE_TOKENS__URL: url });
      expect(lines).toEqual([expect.stringMatching(/the Redis of pool tokens at .* WRONGPASS/)]);
    });
  });

  it('serves no request before it fails for its admin port', async () => {
    let served = 0;
    const lines = await failure({}, async ({ adminPort, url }) => {
      blocker = createServer().listen(adminPort, '127.0.0.1');
      await waitFor(() => blocker?.listening);
      const asking = setInterval(
        () =>
          void fetch(url).then(
            () => served++,
            () => undefined,
          ),
        20,
      );
      blocker.once('close', () => clearInterval(asking));
    });
    expect(lines).toEqual([expect.stringContaining('EADDRINUSE')]);
    expect(served).toBe(0);
  });
});
