import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { Audit } from '../engine/audit.js';
import { EngineFixture, newJob } from '../engine/fixture.js';
import { randomFrom } from '../support/random.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { ROUNDS, SEED } from '../support/scale.js';

/** Turns that the mutex is to be held; `npm run chaos` asks for 20 rounds of 50. */
const TURNS = ROUNDS * 50;
const TTR_MS = 60;
const WORKERS = 8;
/** On the average, on a busy machine. */
const LONGEST_TURN_MS = 600;

/** What the mutex guards: it takes a token only if it is newer than all before, as a fenced resource does. */
class Resource {
  readonly accepted: number[] = [];
  refused = 0;

  write(token: number): boolean {
    if (token <= (this.accepted.at(-1) ?? 0)) {
      this.refused++;
      return false;
    }
    this.accepted.push(token);
    return true;
  }
}

describe('a lease as a lock', () => {
  let redis: RedisProcess;
  let client: Redis;
  const open: { close(): Promise<void> }[] = [];
  beforeEach(async () => {
    redis = await startRedis();
    client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
  });
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
    client.disconnect();
    await redis.stop();
  });

  async function server(url = redis.url): Promise<EngineFixture> {
    const f = await EngineFixture.open({}, { url, commandTimeoutMs: 1_000 });
    f.engine.start();
    open.push(f);
    return f;
  }

  it('T5: is lost for ack, batch ack and undo of its owner once another worker has leased the job', async () => {
    const [one, two] = [await server(), await server()];
    const { ns } = one;
    const take = (engine: PoolEngine): Promise<LeasedJob[]> =>
      engine.lease(ns, { queues: ['q'], count: 1, ttrMs: TTR_MS, waitMs: 5_000 });
    const id = await one.engine.publish(ns, 'q', newJob({ tries: 3 }));
    const [old] = await take(one.engine);
    // The lease holder sleeps; the lease expires and another worker gets the job.
    const [present] = await two.engine.lease(ns, {
      queues: ['q'],
      count: 1,
      ttrMs: 600_000,
      waitMs: 5_000,
    });
    expect(present).toMatchObject({ id, lease: old!.lease + 1 });

    const state = async (): Promise<unknown> => client.dump(`{${ns}}:l1`);
    const before = await state();
    await expect(one.engine.ack(ns, 'q', id, old!.lease)).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await one.engine.ackMany(ns, [{ queue: 'q', id, lease: old!.lease }])).toEqual(['lease_lost']);
    await one.engine.undo(ns, [old!]);
    expect(await state()).toEqual(before);
    expect(await two.engine.jobs.peekJob(ns, 'q', id)).toMatchObject({ state: 'leased', triesLeft: 1 });

    expect(await two.engine.ack(ns, 'q', id, present!.lease)).toBe(true);
    expect(await one.engine.ack(ns, 'q', id, old!.lease)).toBe(false);
  });

  it(
    `T46: is exclusive in ${TURNS} turns: a worker within its lease always has the newest lease number`,
    async () => {
      const random = randomFrom(SEED);
      const proxy = await TcpProxy.start(redis.port);
      open.push({ close: () => proxy.stop() });
      const servers = [await server(), await server(proxy.url)];
      const { ns } = servers[0]!;
      const resource = new Resource();
      const held = new Set<number>();
      let isOver = false;
      let [stale, killed, owned] = [0, 0, 0];
      const goesOn = (): boolean => !isOver;
      await servers[0]!.engine.publish(ns, 'mutex', newJob({ tries: 65_535 }));

      const worker = async (): Promise<void> => {
        while (goesOn()) {
          const { engine } = servers[Math.floor(random() * servers.length)]!;
          const request = { queues: ['mutex'], count: 1, ttrMs: TTR_MS, waitMs: 200 };
          const sentMs = performance.now();
          const [job] = await engine.lease(ns, request).catch(() => []);
          if (!job) continue;
          // A token is given out only once.
          expect(held.has(job.lease)).toBe(false);
          held.add(job.lease);
          // Now and then one pauses for longer than its lease, and does not know; now and then one is killed.
          const fate = random();
          if (fate < 0.15) await sleep(TTR_MS * (1 + random()));
          else if (fate < 0.25) {
            killed++;
            continue;
          } else await sleep(random() * TTR_MS * 0.5);
          // A lease cannot have begun before it was requested: within its duration no worker has a newer token.
          const holdsLease = performance.now() < sentMs + TTR_MS;
          expect(resource.write(job.lease) || !holdsLease).toBe(true);
          owned += holdsLease ? 1 : 0;
          // A worker that is done releases the mutex; only the current lease can.
          await engine.undo(ns, [job]).catch(() => undefined);
          // Where there is a newer token, the old one ends nothing.
          if (job.lease === Math.max(...held)) continue;
          const result = await engine
            .ackMany(ns, [{ queue: 'mutex', id: job.id, lease: job.lease }])
            .catch(() => []);
          expect(result).not.toContain('acked');
          stale += result.length;
        }
      };
      const workers = Array.from({ length: WORKERS }, worker);
      const cutting = (async () => {
        while (goesOn()) {
          await sleep(100 + random() * 200);
          proxy.cut();
        }
      })();
      try {
        await waitFor(() => resource.accepted.length >= TURNS, TURNS * LONGEST_TURN_MS);
      } finally {
        // Otherwise the workers would go on for ever, on an engine that is closed.
        isOver = true;
        await Promise.allSettled([...workers, cutting]);
      }
      await Promise.all(workers);

      console.log(
        `seed ${SEED}: ${resource.accepted.length} turns, ${resource.refused} stale writes refused by the resource, ${stale} stale acks, ${killed} killed`,
      );
      expect(resource.accepted).toEqual([...new Set(resource.accepted)].sort((a, b) => a - b));
      expect(resource.accepted.every((token) => held.has(token))).toBe(true);
      expect(killed).toBeGreaterThan(0);
      expect(owned).toBeGreaterThan(0);
      expect(stale).toBeGreaterThan(0);
      expect(await client.keys(`{${ns}}j*`)).toHaveLength(1);
      await waitFor(async () => (await Audit.of(client, ns)).length === 0);
    },
    30_000 + TURNS * LONGEST_TURN_MS,
  );
});
