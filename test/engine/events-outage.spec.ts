import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentObserver } from '../../src/engine/core/observer.js';
import { type RedisProcess, startRedis, waitFor } from '../support/redis.js';
import { Listening } from './events-fixture.js';
import { EngineFixture } from './fixture.js';

/** Redis goes away while there is a subscriber. */
describe('listeners to events', () => {
  let dir: string;
  let redis: RedisProcess;
  let f: EngineFixture;
  const dropped = { count: 0 };
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'pumphouse-events-'));
    redis = await startRedis({ dir, args: ['--appendfsync', 'always'] });
  });
  const open = async (eventsKeepMs: number, commandTimeoutMs: number): Promise<void> => {
    const emitted = (_written: number, left: number): void => void (dropped.count += left);
    const options = { eventsKeepMs, observer: { ...silentObserver, emitted } };
    f = await EngineFixture.open(options, { url: redis.url, commandTimeoutMs });
    f.engine.start();
  };
  afterEach(async () => {
    await f.close();
    await redis.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it('survive an outage, and learn of a possible gap', async () => {
    await open(1_000, 300);
    const listening = await Listening.to(f.engine, f.ns);
    await waitFor(async () => {
      await f.publish('q');
      return listening.events.length > 0;
    });
    await redis.kill9();
    await expect(f.publish('q')).rejects.toMatchObject({ code: 'pool_unavailable' });
    await expect(Listening.to(f.engine, f.ns)).rejects.toMatchObject({ code: 'pool_unavailable' });
    // Longer than the registration of a subscriber lasts.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    redis = await startRedis({ dir, port: redis.port, args: ['--appendfsync', 'always'] });
    await waitFor(() => listening.gaps.length > 0, 10_000);
    const before = listening.events.length;
    await waitFor(async () => {
      await f.publish('q');
      return listening.events.length > before;
    });
    expect(listening.isOver).toBe(false);
  });

  it('delay no call when Redis is full: the events are omitted', async () => {
    await open(60_000, 2_000);
    const listening = await Listening.to(f.engine, f.ns);
    for (let i = 0; i < 3; i++) await f.publish('q');
    await listening.received(3);
    await f.pool.read('CONFIG', 'SET', 'maxmemory', '1mb');
    const [job] = await f.lease('q', { ttrMs: 500 });
    await f.engine.ack(f.ns, 'q', job!.id);
    await f.lease('q', { ttrMs: 1_000 });
    await waitFor(async () => (await f.engine.queues.counts(f.ns, ['q']))[0]!.dead === 1, 5_000);
    await waitFor(() => dropped.count > 0, 5_000);

    await f.pool.read('CONFIG', 'SET', 'maxmemory', '0');
    const id = await f.publish('q');
    await waitFor(() => listening.events.some((event) => event.id === id), 10_000);
  });
});
