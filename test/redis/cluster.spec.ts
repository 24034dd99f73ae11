import { QueueEngine } from '../../src/engine/engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { SlotMove, TestCluster } from '../support/cluster.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { newJob, silentLog } from './fixture.js';

describe('a Redis Cluster', () => {
  let cluster: TestCluster;
  let pool: RedisPool;
  let engine: QueueEngine;
  beforeAll(async () => {
    cluster = await TestCluster.start();
    const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 2_000 };
    pool = await RedisPool.connect('default', { ...options, clusterNodes: cluster.addresses }, silentLog);
    engine = new QueueEngine(pool);
    engine.start();
  });
  afterAll(async () => {
    await engine.stop();
    await pool.close();
    await cluster.stop();
  });

  it('takes every operation, in namespaces all over its nodes', async () => {
    const namespaces = Array.from({ length: 12 }, () => randomNamespace());
    const owners = await Promise.all(namespaces.map((ns) => cluster.ownerOf(`{${ns}}`)));
    expect(new Set(owners.map(({ owner }) => owner.id)).size).toBe(3);

    await Promise.all(namespaces.map((ns) => everyOperation(engine, ns)));

    expect(await engine.namespaces()).toEqual(expect.arrayContaining(namespaces));
  });

  it('publishes once, and counts for a quota on bytes what stands on whatever node', async () => {
    const namespaces = Array.from({ length: 12 }, () => randomNamespace());
    const publish = (ns: string): Promise<string> =>
      engine.publish(ns, 'q', newJob({ body: Buffer.from('12345') }), { idempotencyKey: 'key' });
    const ids = await Promise.all(namespaces.map(publish));
    expect(await Promise.all(namespaces.map(publish))).toEqual(ids);

    const counting = new QueueEngine(pool, { quotas: { queues: 0, jobsPerQueue: 0, bytes: 8 } });
    expect(await counting.countBytesNow()).toBeGreaterThanOrEqual(12);
    const refused = namespaces.map((ns) => counting.publish(ns, 'q', newJob({ body: Buffer.from('1234') })));
    for (const outcome of await Promise.allSettled(refused))
      expect(outcome).toMatchObject({ reason: { code: 'namespace_full' } });
  });

  it('wakes a waiting consumer', async () => {
    for (const ns of Array.from({ length: 6 }, () => randomNamespace())) {
      const waiting = engine.reserve(ns, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 10_000 });
      await waitFor(async () => (await pool.read('EXISTS', `{${ns}}:waiting`)) === 1);
      const since = performance.now();
      const id = await engine.publish(ns, 'q', newJob());

      expect((await waiting).map((job) => job.id)).toEqual([id]);
      // The second look would come after 850 ms.
      expect(performance.now() - since).toBeLessThan(500);
    }
  });

  it('serves on while a slot moves, one key at a time, and loses nothing', async () => {
    const ns = randomNamespace();
    const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 150 };
    const hasty = await RedisPool.connect(
      'hasty',
      { ...options, clusterNodes: cluster.addresses },
      silentLog,
    );
    const server = new QueueEngine(hasty);
    const stored = new Set<string>();
    const given = new Set<string>();
    const refusals: unknown[] = [];
    const bear = (error: unknown): void => void refusals.push(error);
    const work = (): Promise<unknown> =>
      Promise.all([
        server.publish(ns, 'q', newJob({ ttlMs: 600_000 })).then((id) => stored.add(id), bear),
        server
          .reserve(ns, { queues: ['q'], count: 1, ttrMs: 600_000, waitMs: 0 })
          .then((jobs) => jobs.forEach(({ id }) => given.add(id)), bear),
      ]);
    for (let i = 0; i < 8; i++) await engine.publish(ns, 'q', newJob()).then((id) => stored.add(id));
    await work();
    const move = await SlotMove.begin(cluster, `{${ns}}`);
    for (let [key] = await move.keysAt(move.source); key; [key] = await move.keysAt(move.source)) {
      await work();
      await move.moveKey(key);
    }
    await work();
    await move.finish();

    for (const error of refusals) expect(error).toMatchObject({ code: 'pool_unavailable' });
    expect(refusals).not.toEqual([]);
    await waitFor(() => engine.publish(ns, 'q', newJob()).then((id) => stored.add(id)), 5_000);
    const rest = await engine.reserve(ns, { queues: ['q'], count: 100, ttrMs: 600_000, waitMs: 0 });
    for (const { id } of rest) given.add(id);
    expect(given).toEqual(stored);
    await server.stop();
    await hasty.close();
  });

  it('refuses in time what a dead node has, and serves again when it is back', async () => {
    const options = { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 400 };
    const hasty = await RedisPool.connect(
      'hasty',
      { ...options, clusterNodes: cluster.addresses },
      silentLog,
    );
    const server = new QueueEngine(hasty);
    const ns = randomNamespace();
    const { owner } = await cluster.ownerOf(`{${ns}}`);
    const id = await server.publish(ns, 'q', newJob());
    const waiting = server.reserve(ns, { queues: ['waited'], count: 1, ttrMs: 60_000, waitMs: 25_000 });
    await waitFor(async () => (await hasty.read('EXISTS', `{${ns}}:waiting`)) === 1);
    await cluster.kill(owner);
    const calls = [
      (): Promise<unknown> => server.publish(ns, 'q', newJob()),
      (): Promise<unknown> => server.reserve(ns, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 0 }),
      (): Promise<unknown> => server.ack(ns, 'q', id),
      (): Promise<unknown> => server.size(ns, 'q'),
    ];
    for (let round = 0; round < 3; round++) {
      const since = performance.now();
      for (const result of await Promise.allSettled(calls.map((call) => call()))) {
        expect(result).toMatchObject({ status: 'rejected', reason: { code: 'pool_unavailable' } });
      }
      expect(performance.now() - since).toBeLessThan(800);
    }
    await cluster.restart(owner);

    await waitFor(() => server.publish(ns, 'waited', newJob()), 10_000);
    expect(await waiting).toHaveLength(1);
    expect(await server.peekQueue(ns, 'q')).toMatchObject({ id });
    await server.stop();
    await hasty.close();
  });
});

async function everyOperation(engine: QueueEngine, ns: string): Promise<void> {
  const reserve = (queue: string, ttrMs = 60_000): Promise<{ id: string; lease: number }[]> =>
    engine.reserve(ns, { queues: ['none', queue], count: 10, ttrMs, waitMs: 2_000 });
  const first = await engine.publish(ns, 'q', newJob({ tries: 3, attributes: { a: 'b' }, ttlMs: 60_000 }));
  await engine.publishMany(ns, 'later', [newJob({ delayMs: 50 }), newJob({ delayMs: 60 })]);
  expect((await engine.peekQueue(ns, 'q'))?.id).toBe(first);
  const leased = await reserve('q');
  await engine.undo(ns, leased);
  const again = await reserve('q');
  expect(await engine.ack(ns, 'q', first, again[0]?.lease)).toBe(true);
  expect(await engine.peekJob(ns, 'q', first)).toBeNull();
  expect(await reserve('later', 10)).not.toEqual([]);
  await waitFor(async () => (await engine.deadLetterHead(ns, 'later')).size > 0);
  expect(await engine.respawn(ns, 'later', 1, 60_000)).toBe(1);
  await engine.deleteDead(ns, 'later', 5);
  const old = await engine.publish(ns, 'q', newJob());
  await engine.republish(ns, 'q', old, newJob());
  expect(await engine.size(ns, 'q')).toBe(1);
  expect(await engine.destroy(ns, 'q')).toBe(1);
  expect(await engine.queues(ns)).toEqual(['later', 'q']);
  expect(await engine.tidyNow(ns)).toBeGreaterThanOrEqual(1);
}
