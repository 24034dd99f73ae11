import { Redis } from 'ioredis';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';

const LONG = newJob({ body: Buffer.alloc(60_000, 'x') });

/** Redis copies for a script each value that it reads: what bodies may be long must not be read by the hundred. */
describe('the values that a script reads at once', () => {
  let server: RedisProcess;
  let f: EngineFixture;
  let monitor: Redis;
  let reads: number[];
  beforeEach(async () => {
    server = await startRedis();
    reads = [];
    const redis = new Redis(server.url, { protocol: 2 });
    await redis.ping();
    // Before anybody sends anything: the driver takes a line that comes with MONITOR's own reply for an answer to nothing.
    monitor = await redis.monitor();
    redis.disconnect();
    f = await EngineFixture.open({}, { url: server.url });
  });
  afterEach(async () => {
    monitor.disconnect();
    await f.close();
    await server.stop();
  });

  /** Of how many jobs each MGET asked that was sent meanwhile; the namespace's marker is always the first key. */
  async function readsDuring<T>(call: () => Promise<T>): Promise<[T, number[]]> {
    let isOver = false;
    const hear = (_time: string, [command = '', ...keys]: string[]): void => {
      if (/^mget$/i.test(command)) reads.push(keys.length - 1);
      if (/^echo$/i.test(command)) isOver = true;
    };
    monitor.on('monitor', hear);
    const result = await call();
    await f.pool.read('ECHO', 'over');
    await waitFor(() => isOver);
    monitor.off('monitor', hear);
    return [result, reads.splice(0)];
  }

  async function publish(short: number, long: number, delayMs = 0): Promise<string[]> {
    const jobs = [
      ...new Array<typeof LONG>(short).fill(newJob()),
      ...new Array<typeof LONG>(long).fill(LONG),
    ];
    const ids: string[] = [];
    for (const job of jobs) ids.push(await f.engine.publish(f.ns, 'q', { ...job, delayMs }));
    return ids;
  }

  const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

  it('are few for one job, though every second place is a ghost', async () => {
    const ids = await publish(0, 120);
    for (let i = 0; i < ids.length; i += 2) await f.engine.ack(f.ns, 'q', ids[i]!);
    for (let i = 0; i < 10; i++) {
      const [jobs, counts] = await readsDuring(() => f.reserve('q'));
      expect(jobs).toHaveLength(1);
      expect(counts.length).toBeGreaterThan(0);
      expect(sumOf(counts)).toBeLessThanOrEqual(16);
    }
  });

  it('are at most twice as many as were seen to be short: a line', async () => {
    await publish(8, 92);
    const [jobs, counts] = await readsDuring(() => f.reserve('q', { count: 100 }));
    expect(jobs.length).toBeGreaterThan(50);
    expect(counts[0]).toBe(8);
    expect(Math.max(...counts)).toBeLessThanOrEqual(16);
  });

  it('are at most twice as many as were seen to be short: acknowledgements', async () => {
    const ids = await publish(8, 56);
    const acks = ids.map((id) => ({ queue: 'q', id }));
    const [, counts] = await readsDuring(() => f.engine.ackMany(f.ns, acks));
    expect(counts[0]).toBe(8);
    expect(Math.max(...counts)).toBeLessThanOrEqual(16);
  });
});
