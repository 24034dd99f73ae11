import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { startRedis, waitFor, WITHOUT_FUNCTIONS } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';

const run = promisify(execFile);
const BODY = Buffer.alloc(1_024, 'x');

// Of a script Redis refuses commands one by one; functions that free memory may run, whatever they write.
describe.each([
  ['functions', []],
  ['scripts', WITHOUT_FUNCTIONS],
])('a full Redis with %s', (_form, args) => {
  let admin: Redis;
  let f: EngineFixture;
  const errors: unknown[] = [];
  beforeEach(async () => ({ client: admin, f } = await EngineFixture.alone(args)));
  afterEach(() => f.close());

  /** Publishes until the Redis is full to the last byte that it allows. */
  async function fill(): Promise<number> {
    const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1]);
    await admin.config('SET', 'maxmemory', used + 1_000_000);
    for (let count = 0; count < 20_000; count++) {
      const error: unknown = await f.publish('filler', { body: BODY }).then(
        () => null,
        (reason: unknown) => reason,
      );
      if (error === null) continue;
      expect(error).toMatchObject({ code: 'store_full' });
      // Not one byte more, whatever a script may free in passing.
      await admin.config('SET', 'maxmemory', 1_000_000);
      return count;
    }
    throw new Error('it never got full');
  }

  it('can be drained: all but publish goes on', async () => {
    // Its timers end with it: due jobs are pumped when Redis is full.
    const seeder = new PoolEngine(f.pool);
    const publish = (queue: string, count: number, job = {}): Promise<string[]> =>
      seeder.publishMany(
        f.ns,
        queue,
        Array.from({ length: count }, () => newJob({ attributes: { a: 'b' }, ...job })),
      );
    const reserve = (queue: string, ttrMs: number, engine = f.engine): Promise<LeasedJob[]> =>
      engine.lease(f.ns, { queues: [queue], count: 5, ttrMs, waitMs: 0 });
    await publish('q', 5, { ttlMs: 600_000 });
    await publish('mortal', 5);
    await publish('lapsing', 5, { tries: 3 });
    await publish('soon', 5, { delayMs: 700 });
    await publish('destroyed', 5);
    await publish('expiring', 5, { ttlMs: 1 });
    const undone = await reserve('q', 600_000, seeder);
    await reserve('mortal', 0, seeder);
    await waitFor(async () => {
      await seeder.pumpNow(f.ns);
      return (await f.engine.deadLetter.head(f.ns, 'mortal')).size === 5;
    });
    await reserve('lapsing', 500, seeder);
    await seeder.stop();
    const stored = await fill();
    expect(stored).toBeGreaterThan(100);
    await expect(f.publish('q')).rejects.toMatchObject({ code: 'store_full' });
    await expect(publish('q', 64)).rejects.toMatchObject({ code: 'store_full' });
    expect(f.pool.status.degraded).toContain('full');

    await f.engine.undo(f.ns, undone);
    expect(await f.size('q')).toBe(5);
    const leased = await reserve('q', 600_000);
    expect(leased.map(({ lease }) => lease)).toEqual([2, 2, 2, 2, 2]);
    for (const { id, lease } of leased) expect(await f.engine.ack(f.ns, 'q', id, lease)).toBe(true);
    expect(await f.engine.deadLetter.respawn(f.ns, 'mortal', 2, 60_000)).toBe(2);
    expect(await f.engine.deadLetter.delete(f.ns, 'mortal', 9)).toBe(3);
    expect(await f.engine.queues.destroy(f.ns, 'destroyed')).toBe(5);
    await sleep(750);
    await f.engine.pumpNow(f.ns);
    expect(await f.engine.queues.counts(f.ns, ['lapsing', 'soon'])).toMatchObject([
      { ready: 5, leased: 0 },
      { ready: 5, scheduled: 0 },
    ]);
    expect(await reserve('none-is-there', 1_000)).toEqual([]);
    await f.engine.tidyNow(f.ns);
    expect(await f.size('expiring')).toBe(0);
    // A ready job that is acknowledged leaves a stale entry, which takes a few bytes after its body is gone.
    const ready = await f.engine.queues.peek(f.ns, 'filler');
    expect(await f.engine.ack(f.ns, 'filler', ready?.id ?? '')).toBe(true);

    const drained = await drain();
    expect(drained).toBe(stored - 1);
    await admin.config('SET', 'maxmemory', 0);
    await f.publish('q');
  });

  async function drain(): Promise<number> {
    let count = 0;
    for (;;) {
      const jobs = await f.lease('filler', { count: 100 });
      if (jobs.length === 0) return count;
      for (const { id, lease } of jobs) expect(await f.engine.ack(f.ns, 'filler', id, lease)).toBe(true);
      count += jobs.length;
    }
  }

  it('lets consumers wait, and serves them as soon as there is room', async () => {
    await fill();
    const waiting = f.lease('q', { waitMs: 20_000 }).catch((error: unknown) => errors.push(error));
    await sleep(200);
    expect(errors).toEqual([]);
    await expect(f.publish('q')).rejects.toMatchObject({ code: 'store_full' });

    await admin.config('SET', 'maxmemory', 0);
    const id = await f.publish('q');
    expect(await waiting).toMatchObject([{ id }]);
  });
});

/** Sets how large the files of a process may get; the hard limit stays. */
async function limitFiles(pid: number, bytes: string): Promise<void> {
  await run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
}

const hasPrlimit = await run('prlimit', ['--version']).then(
  () => true,
  () => false,
);

describe('a full disk', () => {
  const before = process.env['PUMPHOUSE_REDIS_SERVER'];
  let dir: string;
  beforeEach(() => {
    // A file that would get too large ends a process, unless it does not want to hear of it.
    dir = mkdtempSync(join(tmpdir(), 'pumphouse-disk-'));
    const program = before ?? 'redis-server';
    const wrapper = join(dir, 'redis-server');
    writeFileSync(wrapper, `#!/bin/sh\ntrap '' XFSZ\nexec ${program} "$@"\n`, { mode: 0o755 });
    process.env['PUMPHOUSE_REDIS_SERVER'] = wrapper;
  });
  afterEach(() => {
    if (before === undefined) delete process.env['PUMPHOUSE_REDIS_SERVER'];
    else process.env['PUMPHOUSE_REDIS_SERVER'] = before;
    rmSync(dir, { recursive: true });
  });

  (hasPrlimit ? it : it.skip)(
    'is told with a code of its own, reads go on, and it ends by itself',
    async () => {
      const redis = await startRedis();
      const f = await EngineFixture.open({}, { url: redis.url });
      const first = await f.publish('q');
      await limitFiles(redis.pid, '2048');
      const error = await waitFor(
        () =>
          f.publish('q', { body: BODY }).then(
            () => null,
            (reason: unknown) => reason,
          ),
        10_000,
      );

      expect(error).toMatchObject({ code: 'disk_full' });
      await expect(f.lease('q')).rejects.toMatchObject({ code: 'disk_full' });
      expect(await f.engine.queues.peek(f.ns, 'q')).toMatchObject({ id: first });
      await waitFor(() => f.pool.status.degraded.includes('disk'));
      expect(f.pool.status.up).toBe(true);

      await limitFiles(redis.pid, 'unlimited');
      await waitFor(() => f.publish('q'), 10_000);
      expect(await f.lease('q')).toMatchObject([{ id: first }]);
      await f.close();
      await redis.stop();
    },
  );
});
