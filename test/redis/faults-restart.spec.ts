import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedis, waitFor } from '../support/redis.js';
import { EngineFixture } from './fixture.js';

describe('a Redis that forgets its scripts, or dies', () => {
  it('fails nobody when its scripts are flushed under load', async () => {
    const redis = await startRedis();
    const f = await EngineFixture.open({}, { url: redis.url });
    f.engine.start();
    const admin = new Redis(redis.port, '127.0.0.1');
    const flushes = setInterval(() => void admin.script('FLUSH'), 20);
    let cycles = 0;
    const until = Date.now() + 1_500;
    const work = async (queue: string): Promise<void> => {
      while (Date.now() < until) {
        await f.publish(queue, { delayMs: cycles % 5 === 0 ? 5 : 0 });
        const [job] = await f.reserve(queue, { waitMs: 5_000 });
        expect(await f.engine.ack(f.ns, queue, job?.id ?? '', job?.lease)).toBe(true);
        cycles++;
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, i) => work(`q${i % 3}`)));
    clearInterval(flushes);

    expect(cycles).toBeGreaterThan(50);
    admin.disconnect();
    await f.close();
    await redis.stop();
  });

  it('keeps what was acknowledged over kill -9 (appendfsync always), and who waits goes on waiting', async () => {
    const args = ['--appendfsync', 'always'];
    let redis = await startRedis({ args });
    const f = await EngineFixture.open({}, { url: redis.url, commandTimeoutMs: 500 });
    f.engine.start();
    const stored = new Set<string>();
    const acked = new Set<string>();
    const unsure = new Set<string>();
    const state = { isOver: false };
    const produce = async (): Promise<void> => {
      while (!state.isOver) {
        await f.publish('q', { tries: 9 }).then(
          (id) => stored.add(id),
          () => sleep(20),
        );
      }
    };
    const consume = async (): Promise<void> => {
      while (!state.isOver) {
        const [job] = await f.reserve('q', { ttrMs: 2_000 }).catch(() => []);
        if (!job) await sleep(5);
        else if (await f.engine.ack(f.ns, 'q', job.id, job.lease).catch(() => false)) acked.add(job.id);
        // It may have been applied, while its answer died with Redis.
        else unsure.add(job.id);
      }
    };
    const waiting = f.reserve('waited', { waitMs: 25_000 });
    const work = Promise.all([produce(), produce(), produce(), consume()]);
    for (let i = 0; i < 3; i++) {
      await sleep(400);
      await redis.kill9();
      redis = await startRedis({ args, dir: redis.dir, port: redis.port });
      await waitFor(() => f.publish('other'), 5_000);
    }
    state.isOver = true;
    await work;
    const last = await f.publish('waited');
    expect((await waiting).map(({ id }) => id)).toEqual([last]);

    expect(stored.size).toBeGreaterThan(100);
    expect(acked.size).toBeGreaterThan(20);
    for (const id of stored) {
      if (!acked.has(id) && !unsure.has(id)) expect(await f.engine.peekJob(f.ns, 'q', id)).not.toBeNull();
    }
    expect(unsure.size).toBeLessThan(10);
    for (const id of acked) expect(await f.engine.peekJob(f.ns, 'q', id)).toBeNull();
    await f.close();
    await redis.stop();
    rmSync(redis.dir, { recursive: true, force: true });
  });
});
