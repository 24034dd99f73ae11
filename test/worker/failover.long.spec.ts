import { Redis } from 'ioredis';
import { connect } from '../../packages/engine/src/index.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { SentinelGroup } from '../support/sentinel.js';

const TTR_MS = 20_000;

it('a worker keeps a lease that the new master of a Sentinel group has', async () => {
  const group = await SentinelGroup.start();
  const redis = { sentinels: group.addresses, masterName: 'mymaster' };
  const pumphouse = await connect({ redis, namespace: randomNamespace('failover'), commandTimeoutMs: 1_000 });
  const replica = new Redis(group.replica.url, { protocol: 2 });
  try {
    const { id } = await pumphouse.publish({ queue: 'q', retentionMs: 600_000 });
    const quiet = { warn: () => undefined, error: () => undefined };
    const worker = pumphouse.worker({ queues: ['q'], ttrMs: TTR_MS, logger: quiet });
    const aborts: unknown[] = [];
    let end = (): void => undefined;
    worker.handle('*', async (_job, { signal }) => {
      signal.addEventListener('abort', () => aborts.push(signal.reason));
      await new Promise<void>((resolve) => (end = resolve));
      return 'done';
    });
    void worker.run();
    await waitFor(() => worker.heldCount === 1, 5_000);
    const leased = async (): Promise<number> =>
      (await pumphouse.jobs.list({ state: ['leased'] })).items.length;
    await waitFor(async () => (await leased()) === 1, 5_000);
    await waitFor(async () => (await replica.keys('*')).length > 0, 5_000);

    await group.master.kill9();
    const before = Date.now();
    const leaseEnd = async (): Promise<number> =>
      Date.parse((await pumphouse.jobs.get(id)).leaseEndsAt ?? '') - TTR_MS;
    // A heartbeat that the new master has answered.
    await waitFor(async () => (await leaseEnd()) > before + 1_000, TTR_MS);
    expect(aborts).toEqual([]);
    end();
    await waitFor(async () => (await pumphouse.jobs.get(id)).state === 'done', 10_000);
    expect(await pumphouse.jobs.get(id)).toMatchObject({ attempts: 1, crashes: 0, result: { data: 'done' } });
  } finally {
    replica.disconnect();
    await pumphouse.close();
    await group.stop();
  }
});
