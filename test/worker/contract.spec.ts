import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { driverContract } from '../../packages/client/test/driver-contract.js';
import { follow, producerContract } from '../../packages/client/test/producer-contract.js';
import {
  connect,
  type EnginePumphouse,
  isPumphouseError,
  Next,
  Retry,
} from '../../packages/engine/src/index.js';
import { OwnTime } from '../support/own-time.js';
import { randomNamespace, startRedis, testTarget, waitFor } from '../support/redis.js';

let pumphouse: EnginePumphouse;
const namespace = randomNamespace('worker');
const open = (): Promise<EnginePumphouse> => connect({ redis: testTarget(), namespace });

beforeAll(async () => {
  pumphouse = await open();
});
afterAll(() => pumphouse.close());

driverContract('over the engine', () => ({
  driver: pumphouse.driver,
  find: (id) =>
    pumphouse.jobs.get(id).catch((error: unknown) => {
      if (isPumphouseError(error, 'job_not_found')) return null;
      throw error;
    }),
  cancel: (id) => pumphouse.jobs.cancel(id),
}));

producerContract('over the engine', () => pumphouse);

describe('a Pumphouse without a server', () => {
  const queue = 'mail';

  it('has the calls of the HTTP client for jobs: get, update, log, list, put, cancel', async () => {
    const { jobs } = pumphouse;
    const { id } = await pumphouse.publish({
      queue,
      type: 't',
      data: { a: 1 },
      delayMs: 60_000,
      tags: ['x'],
    });
    expect(await jobs.get(id)).toMatchObject({
      id,
      state: 'scheduled',
      data: { a: 1 },
      tags: ['x'],
      tries: 5,
    });
    expect(await jobs.update(id, { priority: 5, data: [1] })).toMatchObject({ id, state: 'scheduled' });
    await jobs.log(id, 'seen', { by: 'me' });
    const page = await jobs.list({ queue, tag: 'x', fields: ['data'] });
    expect(page.items).toMatchObject([{ id, priority: 5, data: [1], contentType: 'application/json' }]);
    const { timeline } = await jobs.get(id);
    expect(timeline.at(-1)).toMatchObject({ message: 'seen', data: { by: 'me' } });
    expect(await jobs.put(id, { queue, data: 2 })).toMatchObject({ id, state: 'ready' });
    expect((await jobs.cancel(id)).outcome).toBe('cancelled');
    await jobs.delete(id).catch(() => undefined);
    await expect(jobs.get(id)).rejects.toMatchObject({ code: 'job_not_found', name: 'PumphouseError' });
  });

  it('has workers that lease jobs of all types from a Redis with an older data format', async () => {
    const redis = await startRedis({ args: ['--appendfsync', 'always'] });
    const store = new Redis(redis.url);
    await store.set('pumphouse:format', 3);
    store.disconnect();
    const one = await connect({ redis: redis.url, namespace });
    try {
      const lines: string[] = [];
      const logger = { warn: (line: string) => void lines.push(line), error: () => undefined };
      const worker = one.worker({ queues: ['q'], waitMs: 100, shutdownGraceMs: 0, logger });
      worker.handle('known', () => 'done');
      const known = await one.publish({ queue: 'q', type: 'known', retentionMs: 60_000 });
      const other = await one.publish({ queue: 'q', type: 'other' });
      const running = worker.run();
      await waitFor(async () => (await one.jobs.get(known.id)).state === 'done', 10_000);
      await waitFor(async () => (await one.jobs.get(other.id)).noHandler !== null, 10_000);
      await worker.stop();
      await running;
      expect(lines).toEqual([
        expect.stringContaining('cannot lease by type'),
        expect.stringContaining('no handler for jobs of this type'),
      ]);
    } finally {
      await one.close();
      await redis.stop();
    }
  });

  it('fails a job whose handler returns an invalid next queue or dependency', async () => {
    const queue = `next-${String(Date.now())}`;
    const logger = { warn: () => undefined, error: () => undefined };
    const worker = pumphouse.worker({ queues: [queue], waitMs: 500, shutdownGraceMs: 0, logger });
    worker.handle('name', () => new Next({ queue: 'no queue' }));
    worker.handle('id', () => new Next({ queue: 'next', dependsOn: ['no id'] }));
    const jobs = await pumphouse.publishMany([
      { queue, type: 'name' },
      { queue, type: 'id' },
    ]);
    void worker.run();
    for (const { id } of jobs) {
      await waitFor(async () => (await pumphouse.jobs.get(id)).state === 'dead');
      expect((await pumphouse.jobs.get(id)).failure).toMatchObject({ group: 'invalid_outcome' });
    }
    await worker.stop();
  });

  it('refuses an option that does not exist, and names those that there are', async () => {
    const options = { redis: testTarget(), namespace, ...{ keyPrefx: 'a:' } };
    await expect(connect(options)).rejects.toThrow(
      new TypeError(
        'connect: unknown option keyPrefx; known: redis, namespace, keyPrefix, allowUnsafe, commandTimeoutMs, durability, engine, logger',
      ),
    );
  });

  it('keeps lease_grace_ms of a job', async () => {
    const queue = `grace-${String(Date.now())}`;
    const { id } = await pumphouse.publish({
      queue,
      leaseGraceMs: 90_000,
      retry: { kind: 'fixed', delayMs: 0 },
    });
    const { signal } = new AbortController();
    await pumphouse.driver.lease({ queues: [queue], count: 1, waitMs: 0, ttrMs: 50, signal });
    const job = await waitFor(async () => {
      const found = await pumphouse.jobs.get(id);
      return found.state === 'scheduled' ? found : null;
    }, 5_000);
    expect(Date.parse(job.dueAt!) - Date.now()).toBeGreaterThan(60_000);
  });

  it('throws "needs a server" for push targets', () => {
    expect(() => pumphouse.targets).toThrow(/^unsupported: `targets` needs a server/);
  });

  it('selects events of types and tags that have commas', async () => {
    let isReading = false;
    const onOpen = (): void => void (isReading = true);
    const events = pumphouse.events({ types: ['x', 'a,b'], tags: ['c', 'd,e'], onOpen });
    const first = events.next();
    await waitFor(() => isReading);
    await pumphouse.publishMany([
      { queue: 'commas', id: 'other-1', type: 'a', tags: ['d'] },
      { queue: 'commas', id: 'other-2', type: 'b', tags: ['e'] },
      { queue: 'commas', id: 'wanted', type: 'a,b', tags: ['d,e'] },
    ]);
    expect((await first).value).toMatchObject({ id: 'wanted' });
    await events.return();
  });

  it('delivers all events in order to a slow reader', async () => {
    const queue = 'slow-reader';
    const read: number[] = [];
    let isReading = false;
    const onOpen = (): void => void (isReading = true);
    const events = pumphouse.events({ queues: [queue], events: ['cancelled'], onOpen });
    const first = events.next();
    await waitFor(() => isReading);
    // More than a reader has room for, and none of them is read yet.
    for (let at = 0; at < 2_560; at += 64) {
      const jobs = Array.from({ length: 64 }, (_, i) => ({ queue, id: `slow-${String(at + i)}` }));
      await pumphouse.publishMany(jobs);
      for (const { id } of jobs) await pumphouse.jobs.cancel(id);
    }
    await sleep(300);
    const number = (id: string | undefined): number => Number(id?.slice('slow-'.length));
    const { value } = (await first) as { value: { id: string } };
    read.push(number(value.id));
    while (read.length < 2_560)
      read.push(number(((await events.next()) as { value: { id: string } }).value.id));
    await events.return();
    expect(read).toEqual(Array.from({ length: 2_560 }, (_, i) => i));
  });

  it('ends event streams when it is closed, and starts none afterwards', async () => {
    const one = await open();
    const { events } = await follow(one);
    const waiting = one.events().next();
    await sleep(100);
    await one.close();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await one.events().next()).toEqual({ done: true, value: undefined });
    expect(events.some(({ event }) => event === 'missed')).toBe(false);
  });

  it('continues events after an outage of Redis', async () => {
    const first = await startRedis({ args: ['--appendfsync', 'always'] });
    let now = first;
    const one = await connect({ redis: first.url, namespace, commandTimeoutMs: 500 });
    try {
      const { events, stop } = await follow(one, { events: ['published'] });
      await one.publish({ queue: 'q', type: 't' });
      await waitFor(() => events.length === 1, 5_000);
      await first.kill9();
      await sleep(300);
      now = await startRedis({ args: ['--appendfsync', 'always'], dir: first.dir, port: first.port });
      await waitFor(async () => {
        await one.publish({ queue: 'later', type: 't' });
        return events.some(({ queue }) => queue === 'later');
      });
      await stop();
    } finally {
      await one.close();
      await now.stop();
      await first.stop();
    }
  });

  it('rejects with the reason of a signal, `SyntaxError` for invalid JSON text, and `TypeError` for data that is not JSON', async () => {
    const reason = new Error('enough');
    await expect(pumphouse.publish({ queue }, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(pumphouse.publish({ queue, json: '{' })).rejects.toThrow(SyntaxError);
    await expect(pumphouse.publish({ queue, data: () => 1 })).rejects.toThrow(TypeError);
  });

  it('undoes the leases of an aborted lease request', async () => {
    const own = 'aborted';
    const ids = (await pumphouse.publishMany(Array.from({ length: 5 }, () => ({ queue: own })))).map(
      ({ id }) => id,
    );
    const abort = new AbortController();
    const request = { queues: [own], count: 5, waitMs: 0, ttrMs: 60_000, signal: abort.signal };
    const leasing = pumphouse.driver.lease(request);
    // The request is sent in this turn of the event loop; its answer comes later.
    setImmediate(() => abort.abort());
    const leased = await leasing;
    const back = await waitFor(async () => {
      const { items } = await pumphouse.jobs.list({ queue: own, state: ['ready'] });
      return items.length === ids.length - leased.length ? items : null;
    });
    expect(back.every(({ triesLeft }) => triesLeft === 5)).toBe(true);
    expect(leased).toEqual([]);
  });

  it('closes within 3 s during a long poll and a running handler, and returns the job', async () => {
    const one = await open();
    const { id } = await pumphouse.publish({ queue: 'closing' });
    const idle = one.worker({ queues: ['empty'] });
    const busy = one.worker({ queues: ['closing'], shutdownGraceMs: 0 });
    busy.handle('*', (_job, { signal }) => sleep(60_000, undefined, { signal }));
    void idle.run();
    void busy.run();
    await waitFor(() => busy.heldCount === 1);
    const time = new OwnTime();
    await Promise.all([one.close(), one.close()]);
    expect(time.end()).toBeLessThan(3_000);
    expect(await pumphouse.jobs.get(id)).toMatchObject({ state: 'ready', triesLeft: 5, failures: 0 });
  });

  it('loses nothing when Redis is killed and returns during work', async () => {
    const first = await startRedis({ args: ['--appendfsync', 'always'] });
    let now = first;
    const quiet = { warn: () => undefined, error: () => undefined };
    const one = await connect({ redis: first.url, namespace, commandTimeoutMs: 500 });
    try {
      const runs = new Map<string, number>();
      const worker = one.worker({ queues: ['q'], concurrency: 8, ttrMs: 2_000, waitMs: 500, logger: quiet });
      worker.handle('*', async ({ id }) => {
        runs.set(id, (runs.get(id) ?? 0) + 1);
        await sleep(5);
        if (runs.size % 7 === 0 && runs.get(id) === 1) throw new Retry('again', { delayMs: 10 });
      });
      const ids: string[] = [];
      const publish = async (): Promise<void> => {
        for (let i = 0; i < 20; i++) {
          const published = await one.publishMany(
            Array.from({ length: 10 }, () => ({ queue: 'q', tries: 10 })),
          );
          ids.push(...published.map(({ id }) => id));
          await sleep(10);
        }
      };
      void worker.run();
      const publishing = publish();
      await waitFor(() => runs.size > 20);
      await first.kill9();
      await sleep(300);
      now = await startRedis({ args: ['--appendfsync', 'always'], dir: first.dir, port: first.port });
      await publishing;
      await waitFor(() => ids.every((id) => runs.has(id)), 15_000);
      await waitFor(async () => (await one.jobs.list({ queue: 'q' })).items.length === 0, 15_000);
      expect(ids).toHaveLength(200);
      expect(new Set(ids).size).toBe(200);
    } finally {
      await one.close();
      await now.stop();
      await first.stop();
    }
  });
});
