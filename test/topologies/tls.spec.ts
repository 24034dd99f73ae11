import { PoolEngine } from '../../src/engine/pool-engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import type { PoolTarget } from '../../src/domain/pool.js';
import { randomNamespace, slotOf, waitFor } from '../support/redis.js';
import { tlsCluster, tlsSentinelGroup, type TlsGroup } from '../support/tls-topology.js';
import { newJob, silentLog } from '../engine/fixture.js';

const USUAL = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 8_000 };
const TTR_MS = 60_000;
/** Until another master serves, on a busy machine, in ms. */
const SOON_MS = 25_000;

/** A group, how a pool finds it, and how its master gives way to a replica. */
interface Case {
  readonly name: string;
  readonly start: () => Promise<TlsGroup>;
  readonly targetOf: (group: TlsGroup) => PoolTarget;
  readonly failOver: (group: TlsGroup) => Promise<unknown>;
  /** Who is refused is told why. */
  readonly givesReason: boolean;
}

const CASES: readonly Case[] = [
  {
    name: 'a Sentinel group',
    start: tlsSentinelGroup,
    targetOf: ({ sentinels, tls }) => ({
      sentinels: sentinels.map(({ address }) => address),
      masterName: 'mymaster',
      tls,
    }),
    // Its sentinels choose: the master is dead to them and to all other processes.
    failOver: ({ nodes }) => nodes[0]!.server.kill9(),
    givesReason: true,
  },
  {
    name: 'a Cluster',
    start: tlsCluster,
    targetOf: ({ addresses, tls }) => ({ clusterNodes: addresses.slice(0, 2), tls }),
    failOver: ({ nodes }) => nodes[3]!.redis.call('CLUSTER', 'FAILOVER'),
    givesReason: false,
  },
];

/** Masters have equal parts of the slots, in order. */
function namespaceOn(master: number): string {
  for (;;) {
    const ns = randomNamespace('tls');
    if (Math.floor((slotOf(ns) * 3) / 16_384) === master) return ns;
  }
}

describe.each(CASES)('$name that accepts only TLS', ({ start, targetOf, failOver, givesReason }) => {
  let group: TlsGroup;
  let pool: RedisPool;
  let engine: PoolEngine;
  /** As another process: its jobs come by wake-ups. */
  let producer: PoolEngine;
  const closing: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    group = await start();
    closing.push(() => group.stop());
    pool = await RedisPool.connect('default', { ...USUAL, ...targetOf(group) }, silentLog);
    closing.push(() => pool.close());
    engine = new PoolEngine(pool);
    closing.push(() => engine.stop());
    producer = new PoolEngine(pool);
    closing.push(() => producer.stop());
    engine.start();
  });
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });

  /** Two on each of three masters. */
  const namespaces = [0, 1, 2, 0, 1, 2].map(namespaceOn);

  /** A consumer waits, a job comes, it is woken, and acknowledges. */
  async function work(ns: string, withinMs = 10_000): Promise<void> {
    const request = { queues: ['q'], count: 1, ttrMs: TTR_MS, waitMs: withinMs };
    const waiting = engine.lease(ns, request);
    const id = await waitFor(() => producer.publish(ns, 'q', newJob()), withinMs);
    const [job] = await waiting;
    expect(job).toMatchObject({ id });
    expect(await engine.ack(ns, 'q', id, job!.lease)).toBe(true);
  }

  it('holds queues on every master: publish, long poll, wake-up, acknowledge', async () => {
    await Promise.all(namespaces.map((ns) => work(ns)));
  });

  // Of a Cluster the driver keeps the reason to itself: there a start fails after ten seconds.
  if (givesReason) {
    it('is not opened without a certificate or with another CA: at once, with the reason', async () => {
      const { tls, ...target } = targetOf(group);
      for (const other of [{ ca: tls!.ca! }, { cert: tls!.cert!, key: tls!.key! }]) {
        const options = { ...USUAL, ...target, tls: other };
        await expect(RedisPool.connect('default', options, silentLog)).rejects.toThrow(
          /the Redis of pool default at 127.*cannot be used: .*certificate/,
        );
      }
    });
  }

  it('serves on when a replica takes over, and keeps long polls', async () => {
    const request = { queues: ['later'], count: 1, ttrMs: TTR_MS, waitMs: SOON_MS };
    const waiting = namespaces.map((ns) => engine.lease(ns, request));
    for (const ns of namespaces)
      await waitFor(async () => (await pool.read('EXISTS', `{${ns}}:waiting`)) === 1);
    await failOver(group);
    await Promise.all(
      namespaces.map((ns) => waitFor(() => producer.publish(ns, 'later', newJob()), SOON_MS)),
    );
    for (const jobs of await Promise.all(waiting)) expect(jobs).toHaveLength(1);
    await Promise.all(namespaces.map((ns) => work(ns)));
  });
});
