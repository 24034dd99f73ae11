import { TestApp } from '../support/app.js';
import { freePort, startRedis, waitFor, type RedisProcess } from '../support/redis.js';

/** Long enough for a replica to be in step on a busy machine, and for a pool to be looked at again, in ms. */
const SOON_MS = 20_000;

describe('a pool of durability replicated:1', () => {
  const processes: RedisProcess[] = [];
  let app: TestApp;
  beforeAll(async () => {
    const port = await freePort();
    processes.push(
      await startRedis({ port, args: ['--repl-diskless-sync-delay', '0', '--appendfsync', 'no'] }),
    );
    app = await TestApp.start({
      PUMPHOUSE_POOLS__DEFAULT__URL: processes[0]!.url,
      PUMPHOUSE_POOLS__DEFAULT__DURABILITY: 'replicated:1',
    });
  });
  afterAll(async () => {
    await app.stop();
    for (const redis of processes.reverse()) {
      await redis.kill9();
      await redis.stop();
    }
  });

  const readyz = async (): Promise<unknown> => {
    const { status, json } = await app.get('/readyz');
    return { status, ...(json as object) };
  };
  const statusOf = async (): Promise<string> =>
    ((await app.get('/readyz')).json as { status: string }).status;
  const DEGRADED = { status: 'degraded', degraded: ['default: durability'] };

  it('is degraded while it has too few replicas, and nothing else', async () => {
    expect((await app.get('/readyz')).status).toBe(200);
    expect(await readyz()).toMatchObject(DEGRADED);
    expect(await app.put('q')).toMatchObject({ status: 503, json: { code: 'durability_unavailable' } });
    expect(await app.put('q', 'x', { headers: { 'X-Durability': 'memory' } })).toMatchObject({ status: 201 });
    expect(await app.get('q')).toMatchObject({ status: 200 });
    const { text } = await app.admin('GET', '/metrics');
    expect(text).toMatch(/^pumphouse_degraded\{pool="default",reason="durability"\} 1$/m);

    const of = `127.0.0.1 ${String(processes[0]!.port)}`;
    processes.push(await startRedis({ args: ['--replicaof', of, '--appendonly', 'no'] }));
    await waitFor(async () => (await statusOf()) === 'ready', SOON_MS);
    await waitFor(async () => (await app.put('q')).status === 201, SOON_MS);

    await processes[1]!.kill9();
    // A publish that is refused has the pool looked at.
    await waitFor(async () => {
      expect(await app.put('q')).toMatchObject({ status: 503 });
      return (await statusOf()) === 'degraded';
    }, SOON_MS);
    expect(await readyz()).toMatchObject(DEGRADED);
    expect(await app.get('/healthz')).toMatchObject({ status: 200 });
  }, 60_000);
});
