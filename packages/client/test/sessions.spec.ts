import { BuiltServer } from '../../../test/support/built-server.js';
import { startRedis, waitFor, type RedisProcess } from '../../../test/support/redis.js';
import { Pumphouse, type WorkerSession } from '../src/node.js';
import { FaultyProxy } from './faulty-proxy.js';
import { deferred } from './fixture.js';

const TTR_MS = 8_000;
const SAFE = ['--appendfsync', 'always'];

describe('a worker session with several servers', () => {
  let redis: RedisProcess;
  let servers: BuiltServer[];
  let balancer: FaultyProxy;
  let client: Pumphouse;

  beforeAll(async () => {
    redis = await startRedis({ args: SAFE });
    const env = { PUMPHOUSE_POOLS__DEFAULT__URL: redis.url };
    servers = await Promise.all([BuiltServer.create(env), BuiltServer.create(env)]);
    await Promise.all(servers.map((server) => server.start()));
    balancer = await FaultyProxy.start(servers[0]!.apiPort);
    const token = await servers[0]!.token('sessions');
    client = new Pumphouse({ url: balancer.url, namespace: 'sessions', token });
  });
  afterAll(async () => {
    client.close();
    await balancer.stop();
    await Promise.all(servers.map((server) => server.remove()));
    await redis.stop();
  });

  it('stays one session, without a lost lease, when the server changes, a server is killed and Redis restarts', async () => {
    const [one, other] = servers as [BuiltServer, BuiltServer];
    const { id } = await client.publish({ queue: 'q', retentionMs: 60_000 });
    const worker = client.worker({
      ...{ queues: ['q'], concurrency: 1, ttrMs: TTR_MS, shutdownGraceMs: 5_000 },
      logger: { warn: () => undefined, error: () => undefined },
    });
    const end = deferred();
    const aborts: unknown[] = [];
    worker.handle('*', async (_job, { signal }) => {
      signal.addEventListener('abort', () => aborts.push(signal.reason));
      await end.promise;
      return 'done';
    });
    void worker.run();
    await waitFor(() => worker.heldCount === 1, 5_000);
    const listed = async (): Promise<readonly WorkerSession[]> =>
      (await client.workers.list()).items.filter(({ displayName }) => displayName !== null);
    const beaten = async (): Promise<number> => Date.parse((await listed())[0]?.heartbeatAt ?? '');
    /** Until a heartbeat is answered that was sent after now. */
    const heartbeat = async (): Promise<void> => {
      const before = await beaten();
      await waitFor(async () => (await beaten()) > before, 10_000);
    };

    // In turns.
    for (const { apiPort } of [other, one]) {
      balancer.targetPort = apiPort;
      await heartbeat();
    }
    await one.end('SIGKILL');
    balancer.targetPort = other.apiPort;
    await heartbeat();
    await redis.kill9();
    redis = await startRedis({ args: SAFE, dir: redis.dir, port: redis.port });
    await heartbeat();
    await heartbeat();

    expect(await listed()).toMatchObject([{ name: worker.id, jobsAtHand: 1, lost: false }]);
    expect(await client.jobs.get(id)).toMatchObject({ state: 'leased', attempts: 1, crashes: 0 });
    expect(aborts).toEqual([]);
    // Asked of one server, and heard from the other one.
    await one.start();
    balancer.targetPort = one.apiPort;
    await client.workers.quiet(worker.id);
    balancer.targetPort = other.apiPort;
    await heartbeat();
    // It is sent when the one before is answered.
    await heartbeat();
    const later = await client.publish({ queue: 'q' });
    end.resolve();
    await waitFor(async () => (await client.jobs.get(id)).state === 'done', 5_000);
    expect((await client.jobs.get(id)).result?.data).toBe('done');
    expect((await client.jobs.get(later.id)).state).toBe('ready');
    await worker.stop();
    expect(await listed()).toEqual([]);
  });
});
