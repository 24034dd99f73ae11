import { Redis } from 'ioredis';
import type { DependencyFailure } from '../../src/domain/rich-job.js';
import { startRedis, type RedisProcess } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';

/** The rule is 3 ms on a quiet machine; this one may be slow, and busy with other tests. */
const LIMIT_MS = 15;
const MANY = 1_000;

describe('no script that has to do with dependencies holds Redis for long', () => {
  let redis: RedisProcess;
  let admin: Redis;
  let f: EngineFixture;
  beforeAll(async () => {
    redis = await startRedis({ args: ['--slowlog-log-slower-than', '500', '--slowlog-max-len', '10000'] });
    admin = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
  });
  beforeEach(open);
  afterEach(() => f.close());
  afterAll(async () => {
    admin.disconnect();
    await redis.stop();
  });

  /** A namespace of its own. */
  async function open(): Promise<void> {
    const nowMs = Date.now();
    f = await EngineFixture.open({ clock: () => nowMs }, { url: redis.url });
  }

  async function plainJobs(): Promise<string[]> {
    const ids: string[] = [];
    for (let left = MANY; left > 0; left -= 50) {
      const jobs = Array.from({ length: 50 }, () => newJob({ ttlMs: 600_000 }));
      ids.push(...(await f.engine.publishMany(f.ns, 'q', jobs)));
    }
    return ids;
  }

  const put = (id: string, dependsOn: readonly string[], onDependencyFailure: DependencyFailure = 'block') =>
    f.engine.full.publishing.publish(f.ns, [
      { queue: 'users', id, body: Buffer.from('x'), dependsOn, onDependencyFailure },
    ]);

  /** Jobs that wait for one, until it is cancelled. */
  async function users(policy: DependencyFailure): Promise<void> {
    await put('one', []);
    for (let i = 0; i < MANY; i++) await put(`user${String(i)}`, ['one'], policy);
  }

  /** A ladder: each job waits for the one before it, and for many others that are not done. */
  async function ladder(): Promise<void> {
    const others = await plainJobs();
    for (let i = 0; i < 100; i++) {
      const below = i === 0 ? [] : [`step${String(i - 1)}`];
      await put(`step${String(i)}`, [...below, ...others.slice(i * 9, i * 9 + 9)]);
    }
  }

  async function cancelAll(): Promise<void> {
    await f.engine.full.cancelling.cancel(f.ns, 'one', { cascade: true });
    await f.engine.pumpNow(f.ns);
  }

  /** What is prepared, and then timed. */
  const cases: Record<string, () => Promise<() => Promise<unknown>>> = {
    'to tie a job to 1,000 plain ones, and tell it of their ends': async () => {
      const ids = await plainJobs();
      return async () => {
        await put('parent', ids);
        await f.engine.pumpNow(f.ns);
        for (let i = 0; i < MANY; i += 50)
          await f.engine.ackMany(
            f.ns,
            ids.slice(i, i + 50).map((id) => ({ queue: 'q', id })),
          );
        await f.engine.pumpNow(f.ns);
      };
    },
    'to have 1,000 jobs die with one': async () => (await users('fail'), cancelLeased),
    'to block 1,000 jobs with one': async () => (await users('block'), cancelLeased),
    'to cancel 1,000 jobs with one': async () => (await users('cancel'), cancelAll),
    'to look for a circle along a thousand ways': async () => {
      await ladder();
      return () =>
        f.engine.full.changing.change(f.ns, 'step0', { moreDependencies: ['step99'] }).catch(() => 0);
    },
    'to look at a job with a thousand of each': async () => {
      await users('block');
      await f.engine.full.changing.change(f.ns, 'one', { dependsOn: await plainJobs() });
      await f.engine.pumpNow(f.ns);
      return () => f.engine.full.looking.find(f.ns, 'one');
    },
  };

  /** Its owner fails it, so that its dependents do as they are told. */
  async function cancelLeased(): Promise<void> {
    const [job] = await f.reserve('users');
    await f.engine.full.owners.fail(f.ns, { id: 'one', lease: job?.lease ?? 0, group: 'g', message: '' });
    await f.engine.pumpNow(f.ns);
  }

  /** The time of the longest script of a case, in ms. */
  async function slowest(name: string): Promise<number> {
    const work = await cases[name]!();
    await admin.call('SLOWLOG', 'RESET');
    await work();
    const entries = (await admin.call('SLOWLOG', 'GET', -1)) as [number, number, number, string[]][];
    const scripts = entries.filter(([, , , [command = '']]) => /^EVAL(SHA)?$/i.test(command));
    return Math.max(0, ...scripts.map(([, , micros]) => micros / 1_000));
  }

  it.each(Object.keys(cases))('%s', async (name) => {
    let best = Number.POSITIVE_INFINITY;
    // A busy machine only adds to it.
    for (let tries = 0; tries < 4 && best >= LIMIT_MS; tries++) {
      await f.close();
      await open();
      best = Math.min(best, await slowest(name));
    }
    console.log(`${name}: ${best.toFixed(2)} ms`);
    expect(best).toBeLessThan(LIMIT_MS);
  });
});
