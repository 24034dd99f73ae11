import { QueueEngine } from '../../src/engine/engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { TestCluster, type ClusterNode } from '../support/cluster.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { newJob, silentLog } from './fixture.js';

const LIST = 'pumphouse:namespaces';
/** Longer than a replica is stopped here: nobody is to take over. */
const NODE_TIMEOUT_MS = 60_000;

describe('a namespace of a Cluster with durability replicated:1', () => {
  let cluster: TestCluster;
  let pool: RedisPool;
  let engine: QueueEngine;
  let replica: ClusterNode;
  beforeAll(async () => {
    cluster = await TestCluster.start(3, 1, NODE_TIMEOUT_MS);
    const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 3_000, waitTimeoutMs: 600 };
    pool = await RedisPool.connect(
      'default',
      { ...options, clusterNodes: cluster.addresses, durability: 'replicated:1' },
      silentLog,
    );
    engine = new QueueEngine(pool);
    const { owner } = await cluster.ownerOf(LIST);
    replica = cluster.replicas[cluster.masters.indexOf(owner)]!;
  }, 60_000);
  afterAll(async () => {
    process.kill(replica.server.pid, 'SIGCONT');
    await engine.stop();
    await pool.close();
    await cluster.stop();
  });

  /** Its jobs are on another node than the list of namespaces. */
  async function elsewhere(): Promise<string> {
    const { owner } = await cluster.ownerOf(LIST);
    for (;;) {
      const ns = randomNamespace('listed');
      if ((await cluster.ownerOf(`{${ns}}`)).owner !== owner) return ns;
    }
  }

  it('is on the list as safely as its first job, and that is asked once', async () => {
    const [known, ns] = [await elsewhere(), await elsewhere()];
    await waitFor(() => engine.publish(known, 'q', newJob()), 15_000);
    process.kill(replica.server.pid, 'SIGSTOP');
    const refused = await engine.publish(ns, 'q', newJob()).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'not_replicated', jobIds: [expect.any(String)] });
    // The job is as safe as it was to be; what it is listed in is not.
    expect(await engine.size(ns, 'q')).toBe(1);
    await engine.publish(known, 'q', newJob());

    process.kill(replica.server.pid, 'SIGCONT');
    const { jobIds } = refused as { jobIds: string[] };
    const again = (): Promise<string> => engine.publish(ns, 'q', newJob(), { retryOf: jobIds });
    expect(await waitFor(again, 15_000)).toBe(jobIds[0]);
    expect(await engine.size(ns, 'q')).toBe(1);
    await replica.redis.call('READONLY');
    expect(await replica.redis.sismember(LIST, ns)).toBe(1);
  }, 60_000);
});
