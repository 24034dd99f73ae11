import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis, type RedisProcess, waitFor } from '../support/redis.js';
import { BuiltServer } from '../support/built-server.js';

const RUN_MS = 4_000;
/** Until then the server's record of the delivery is there: the lease of a killed server would cost no try, and not fail. */
const DELIVERED_MS = 1_500;
const HOUR_MS = 3_600_000;

interface LeasedJob {
  readonly id: string;
  readonly lease: number;
}

describe('a run that ends while its server is killed', () => {
  let redis: RedisProcess;
  let servers: BuiltServer[];
  let token: string;
  beforeAll(async () => {
    redis = await startRedis();
    const env = { PUMPHOUSE_POOLS__DEFAULT__URL: redis.url };
    servers = [await BuiltServer.create(env), await BuiltServer.create(env)];
    await Promise.all(servers.map((server) => server.start()));
    token = await servers[0]!.token('kill');
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.remove()));
    await redis.stop();
  });

  const call = (server: BuiltServer, method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${server.url}/v1/kill/${path}`, {
      method,
      headers: { 'X-Token': token },
      ...(body && { body: JSON.stringify(body) }),
    });
  const find = async (server: BuiltServer, id: string): Promise<Record<string, unknown>> =>
    (await (await call(server, 'GET', `jobs/${id}`)).json()) as Record<string, unknown>;
  const leaseBy = async (server: BuiltServer, queue: string, job: object): Promise<LeasedJob> => {
    await call(server, 'POST', 'jobs', { queue, retry: { kind: 'fixed', delay_ms: HOUR_MS }, ...job });
    const answer = await call(server, 'POST', 'leases', { queues: [queue], ttr_ms: HOUR_MS });
    return ((await answer.json()) as { jobs: LeasedJob[] }).jobs[0]!;
  };
  const refused = async (server: BuiltServer, { id, lease }: LeasedJob): Promise<void> => {
    const ack = await call(server, 'POST', `jobs/${id}/ack`, { lease });
    expect([ack.status, await ack.json()]).toEqual([409, expect.objectContaining({ code: 'lease_lost' })]);
  };

  it('is ended by another server, with the limit that a handler began under', async () => {
    const [one, other] = servers as [BuiltServer, BuiltServer];
    const job = await leaseBy(one, 'begun', {});
    await call(one, 'POST', `jobs/${job.id}/heartbeat`, {
      ...{ lease: job.lease, ttr_ms: HOUR_MS, begin: true, max_run_ms: RUN_MS },
    });
    await sleep(DELIVERED_MS);
    await one.end('SIGKILL');
    await waitFor(async () => (await find(other, job.id))['state'] === 'scheduled', 10_000);
    expect(await find(other, job.id)).toMatchObject({ crashes: 1, failure: { group: 'max_run_exceeded' } });
    await refused(other, job);
    await one.start();
    await refused(one, job);
  });

  it('is over for its holder, also if no server lived to end it', async () => {
    const [one, other] = servers as [BuiltServer, BuiltServer];
    const job = await leaseBy(one, 'alone', { max_run_ms: RUN_MS });
    const startMs = Date.now();
    await sleep(DELIVERED_MS);
    await Promise.all(servers.map((server) => server.end('SIGKILL')));
    await waitFor(() => Date.now() > startMs + RUN_MS + 1, 10_000);
    await other.start();
    await refused(other, job);
    await waitFor(async () => (await find(other, job.id))['state'] === 'scheduled', 10_000);
    expect(await find(other, job.id)).toMatchObject({ crashes: 1, failure: { group: 'max_run_exceeded' } });
    await one.start();
  });
});
