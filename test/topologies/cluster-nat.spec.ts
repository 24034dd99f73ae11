import { PoolEngine } from '../../src/engine/pool-engine.js';
import type { NodeAddress, PoolOptions } from '../../src/domain/pool.js';
import { Keys } from '../../src/redis/keys.js';
import { RedisPool } from '../../src/redis/pool.js';
import { SlotMove, TestCluster } from '../support/cluster.js';
import { freePort, randomNamespace, waitFor } from '../support/redis.js';
import { newJob, silentLog } from '../engine/fixture.js';

const USUAL = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 2_000 };
const TTR_MS = 60_000;
/** An address of this machine on which the nodes reach each other. */
const INSIDE = '127.0.0.2';

const textOf = ({ host, port }: NodeAddress): string => `${host}:${String(port)}`;

/** As behind NAT, or in the network of containers. */
describe('a Cluster whose nodes announce addresses that this server does not reach', () => {
  let cluster: TestCluster;
  /** What each node announces; nothing listens there. */
  const announced: NodeAddress[] = [];
  beforeAll(async () => {
    cluster = await TestCluster.start(3, 0, 5_000, ['--bind', '127.0.0.1', INSIDE]);
    for (const node of cluster.masters) {
      const address = { host: INSIDE, port: await freePort() };
      announced.push(address);
      await cluster.announce(node, address);
    }
  });
  afterAll(() => cluster.stop());

  /** @param isMapped which of the nodes are mapped, by their numbers */
  const optionsOf = (isMapped: (node: number) => boolean): PoolOptions => ({
    ...{ ...USUAL, clusterNodes: cluster.addresses },
    natMap: Object.fromEntries(
      announced.flatMap((one, i) => (isMapped(i) ? [[textOf(one), cluster.addresses[i]!]] : [])),
    ),
  });
  const all = (): boolean => true;
  const none = (): boolean => false;

  it('stops the start with each of these addresses, the node that announces it, and the remedy', async () => {
    const opening = RedisPool.connect('default', optionsOf(none), silentLog);
    const lines = announced.map(
      (one, i) => `${textOf(one)} (announced by ${textOf(cluster.addresses[i]!)}: ECONNREFUSED)`,
    );
    await expect(opening).rejects.toThrow(
      `addresses that nodes of the Cluster announce cannot be reached: ${lines.sort().join(', ')}; ` +
        'set cluster-announce-ip and cluster-announce-port of the nodes, or nat_map of the pool',
    );
  });

  it('stops the start with the mapped address if nothing listens there', async () => {
    const nowhere = { host: '127.0.0.1', port: await freePort() };
    const options = {
      ...optionsOf(all),
      natMap: Object.fromEntries(announced.map((one) => [textOf(one), nowhere])),
    };
    await expect(RedisPool.connect('default', options, silentLog)).rejects.toThrow(
      `${textOf(announced[0]!)} (announced by ${textOf(cluster.addresses[0]!)}, mapped to ${textOf(nowhere)}: ECONNREFUSED)`,
    );
  });

  it('is used through a map: publishes, leases and wake-ups on all nodes, and a slot that moves', async () => {
    const pool = await RedisPool.connect('default', optionsOf(all), silentLog);
    const engine = new PoolEngine(pool);
    engine.start();
    try {
      const masters = new Set<string>();
      while (masters.size < 3) {
        const ns = randomNamespace();
        const waiting = engine.lease(ns, { queues: ['q'], count: 1, ttrMs: TTR_MS, waitMs: 20_000 });
        const id = await engine.publish(ns, 'q', newJob());
        const [job] = await waiting;
        expect(job?.id).toBe(id);
        expect(await engine.ack(ns, 'q', id, job!.lease)).toBe(true);
        masters.add((await cluster.ownerOf(`{${ns}}`)).owner.id);
      }
      const ns = randomNamespace();
      const id = await engine.publish(ns, 'q', newJob());
      const move = await SlotMove.begin(cluster, `{${ns}}`);
      await move.complete();
      const [job] = await engine.lease(ns, { queues: ['q'], count: 1, ttrMs: TTR_MS, waitMs: 0 });
      expect(job?.id).toBe(id);
      await waitFor(() => pool.status.up && pool.status.degraded.length === 0);
    } finally {
      await engine.stop();
      await pool.close();
    }
  });

  /** The node that has what a server reads first, and another one. */
  const firstAndOther = async (): Promise<[number, number]> => {
    const { owner } = await cluster.ownerOf(new Keys('').format);
    const first = cluster.masters.indexOf(owner);
    return [first, (first + 1) % 3];
  };

  it('stops the start if the node with what is read first is not mapped, and the error names it', async () => {
    const [first] = await firstAndOther();
    const opening = RedisPool.connect(
      'default',
      optionsOf((node) => node !== first),
      silentLog,
    );
    await expect(opening).rejects.toThrow(
      `cannot be used: addresses that nodes of the Cluster announce cannot be reached: ${textOf(announced[first]!)} (announced by`,
    );
  });

  it('names another node that is not mapped in the log, and serves from the others', async () => {
    const [, other] = await firstAndOther();
    const warned: unknown[] = [];
    const log = {
      ...silentLog,
      warn: (fields: object, text: string) => void warned.push({ ...fields, text }),
    };
    const pool = await RedisPool.connect(
      'default',
      optionsOf((node) => node !== other),
      log,
    );
    try {
      expect(pool.status).toMatchObject({ up: true, degraded: ['node_down'] });
      expect(warned).toEqual([
        {
          pool: 'default',
          nodes: [textOf(announced[other]!)],
          text: 'nodes of the Cluster do not answer at these addresses',
        },
      ]);
    } finally {
      await pool.close();
    }
  });
});
