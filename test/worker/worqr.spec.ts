import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { follow, type ProducerUnderTest } from '../../packages/client/test/producer-contract.js';
import {
  isPumphouseError,
  type JobDriver,
  type LeasedJob,
  Pumphouse,
  PumphouseError,
  Release,
  type Worker,
} from '../../packages/client/src/node.js';
import { connect, type EnginePumphouse } from '../../packages/engine/src/index.js';
import { TestApp } from '../support/app.js';
import { randomNamespace, testTarget, waitFor } from '../support/redis.js';

/**
 * Defects that were seen in Worqr, under the numbers of docs/how-to/from-worqr.md. Each test fails if Pumphouse had the
 * defect.
 */
const ROOT = join(import.meta.dirname, '..', '..');
const quiet = { warn: () => undefined, error: () => undefined };

type Tested = ProducerUnderTest & { readonly driver: JobDriver };

let app: TestApp;
let http: [Pumphouse, Pumphouse];
let inProcess: [EnginePumphouse, EnginePumphouse];
beforeAll(async () => {
  app = await TestApp.start();
  const { namespace, token, port } = app;
  const open = (): Pumphouse => new Pumphouse({ url: `http://127.0.0.1:${String(port)}`, namespace, token });
  http = [open(), open()];
  // Underscores, above all in the prefix of keys, broke the events of Worqr (W14).
  const own = randomNamespace('worqr_defects_');
  const keyPrefix = 'a_prefix_of_';
  const openOwn = (): Promise<EnginePumphouse> => connect({ redis: testTarget(), namespace: own, keyPrefix });
  inProcess = await Promise.all([openOwn(), openOwn()]);
});
afterAll(async () => {
  for (const one of http) one.close();
  await Promise.all(inProcess.map((one) => one.close()));
  await app.stop();
});

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: unknown) => error,
  );
const codeOf = async (promise: Promise<unknown>): Promise<string> => {
  const error = await errorOf(promise);
  return isPumphouseError(error) ? error.code : String(error);
};

describe.each([
  ['without a server', () => inProcess],
  ['over HTTP', () => http],
] as [string, () => readonly [Tested, Tested]][])('defects of Worqr, %s', (_, both) => {
  let one: Tested;
  let other: Tested;
  let queue: string;
  let count = 0;
  const workers: Worker[] = [];
  beforeEach(() => {
    [one, other] = both();
    queue = `task_queue_${String(count++)}`;
  });
  afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.stop())));

  const workerOf = (of: Tested, options: object = {}): Worker => {
    const worker = of.worker({
      ...{ queues: [queue], ttrMs: 900, waitMs: 5_000, shutdownGraceMs: 0, shutdownAbortMs: 200 },
      ...{ logger: quiet, ...options },
    });
    workers.push(worker);
    return worker;
  };
  const lease = async (count = 1, ttrMs = 60_000, from = queue): Promise<LeasedJob[]> => {
    const { signal } = new AbortController();
    return [...(await one.driver.lease({ queues: [from], count, waitMs: 0, ttrMs, signal }))];
  };
  const leaseOne = async (ttrMs?: number, from?: string): Promise<LeasedJob> =>
    (await lease(1, ttrMs, from))[0]!;
  const counts = async (): Promise<Readonly<Record<string, number>>> => (await one.queues.get(queue)).counts;
  const unique = (key: string): object => ({ unique: { key: `${queue}:${key}`, mode: 'reject' } });

  it('W1: a stopping worker returns only its own jobs', async () => {
    await one.publishMany([{ queue }, { queue }]);
    const runs = new Map<string, number>();
    const both = [one, other].map((of) =>
      workerOf(of, { concurrency: 1 }).handle('*', async ({ id }, { signal }) => {
        runs.set(id, (runs.get(id) ?? 0) + 1);
        await sleep(60_000, undefined, { signal });
      }),
    );
    for (const worker of both) void worker.run();
    await waitFor(() => runs.size === 2, 5_000);
    await both[0]!.stop();
    expect(await counts()).toMatchObject({ ready: 1, leased: 1 });
    await sleep(200);
    expect([...runs.values()]).toEqual([1, 1]);
  });

  it('W2: released jobs and jobs of a lost worker come before jobs published later', async () => {
    await one.queues.update(queue, {
      expired: 'front',
      defaults: { tries: 100, retry: { kind: 'fixed', delayMs: 0 } },
    });
    await one.publishMany(['a', 'b', 'c'].map((data) => ({ queue, data })));
    await one.driver.release(await leaseOne(), {});
    const [a, b] = await lease(2, 200);
    expect([a!.data, b!.data]).toEqual(['a', 'b']);
    await waitFor(async () => (await counts())['leased'] === 0, 5_000);
    expect((await lease(3)).map(({ data }) => data)).toEqual(['a', 'b', 'c']);
  });

  it('W3: a waiting worker gets the job of a lost worker within 3 s', async () => {
    await one.publish({ queue, retry: { kind: 'fixed', delayMs: 0 } });
    await leaseOne(500);
    const begunMs = performance.now();
    const { promise, resolve } = deferred<number>();
    const worker = workerOf(other, { waitMs: 20_000 });
    worker.handle('*', () => resolve(performance.now() - begunMs));
    void worker.run();
    expect(await promise).toBeLessThan(3_000);
  });

  it('W4: a worker that lost its job cannot finish it', async () => {
    const { events, stop } = await follow(one, { queues: [queue], events: ['acked', 'timed_out'] });
    await one.publish({ queue, type: 't', retry: { kind: 'fixed', delayMs: 0 } });
    const lost = await leaseOne(100);
    await waitFor(async () => (await counts())['leased'] === 0, 5_000);
    const now = await leaseOne();
    expect(now.id).toBe(lost.id);
    expect(await one.driver.ack([refOf(lost)])).toEqual(['lease_lost']);
    expect(await codeOf(one.driver.release(lost, {}))).toBe('lease_lost');
    expect(await counts()).toMatchObject({ ready: 0, leased: 1 });
    await waitFor(() => events.length > 0, 5_000);
    expect(events.map(({ event }) => event)).toEqual(['timed_out']);
    expect(await one.driver.ack([refOf(now)])).toEqual(['acked']);
    await waitFor(() => events.length > 1, 5_000);
    await stop();
    expect(events.map(({ event }) => event)).toEqual(['timed_out', 'acked']);
  });

  it('W5: cancelling a unique task, and deleting its queue, frees its unique key', async () => {
    const { id } = await one.publish({ queue, ...unique('k') });
    await one.jobs.cancel(id);
    await one.publish({ queue, ...unique('k') });
    await one.queues.purge(queue, ['ready']);
    await one.queues.delete(queue);
    expect((await one.publish({ queue, ...unique('k') })).existing).toBe(false);
  });

  it('W6: equal tasks of two queues are separate if the key names the queue', async () => {
    const from = (name: string): Promise<unknown> =>
      one.publish({ queue: name, data: 'same', unique: { key: `${name}:same`, mode: 'reject' } });
    await from(queue);
    await from(`${queue}-b`);
    expect(await codeOf(from(queue))).toBe('unique_key_taken');
  });

  it('W7: names that could not be found again are refused, and all others are listed', async () => {
    expect(await codeOf(one.publish({ queue: `${queue}:a` }))).toBe('invalid_argument');
    const names = [`${queue}-a_b`, `${queue}_a`, `${queue}-a`];
    await one.publishMany(names.map((name) => ({ queue: name })));
    const found: string[] = [];
    for await (const { queue: name } of one.queues.each()) found.push(name);
    expect(found.filter((name) => names.includes(name))).toEqual([...names].sort());
  });

  it('W8: a worker that lost its lease stops its handler, and acknowledges nothing', async () => {
    const { id } = await one.publish({ queue });
    const { promise, resolve } = deferred<string>();
    const worker = workerOf(one, { ttrMs: 600 }).handle('*', async (_job, { signal }) => {
      await sleep(60_000, undefined, { signal }).catch(() => undefined);
      resolve((signal.reason as { code: string }).code);
      return 'too late';
    });
    void worker.run();
    await waitFor(() => worker.heldCount === 1, 5_000);
    worker.quiet();
    await one.jobs.revoke(id);
    const now = await leaseOne();
    expect(await promise).toBe('lease_lost');
    await worker.stop();
    expect(await one.jobs.get(id)).toMatchObject({ state: 'leased' });
    expect(await one.driver.ack([refOf(now)])).toEqual(['acked']);
  });

  it('W10: one of several equal unique tasks is stored, from several processes at once', async () => {
    for (let round = 0; round < 20; round++) {
      const publish = (of: Tested): Promise<string> =>
        of.publish({ queue, ...unique(String(round)) }).then(
          () => 'stored',
          (error: unknown) => (isPumphouseError(error) ? error.code : String(error)),
        );
      const results = await Promise.all([one, other, one, other, one].map(publish));
      expect([...results].sort()).toEqual(['stored', ...Array<string>(4).fill('unique_key_taken')]);
    }
    expect(await counts()).toMatchObject({ ready: 20 });
  });

  it('W11: finishing an equal task that is not unique frees no key', async () => {
    await one.publish({ queue, data: 'same', delayMs: 60_000, ...unique('same') });
    const second = `${queue}-second`;
    await one.publishMany([
      { queue, data: 'same' },
      { queue: second, data: 'same' },
    ]);
    expect(await one.driver.ack([refOf(await leaseOne())])).toEqual(['acked']);
    expect(await one.driver.ack([refOf(await leaseOne(60_000, second))])).toEqual(['acked']);
    expect(await codeOf(one.publish({ queue, data: 'same', ...unique('same') }))).toBe('unique_key_taken');
  });

  it('W12: finishing a task twice is reported, and makes one event', async () => {
    const { events, stop } = await follow(one, { queues: [queue], events: ['acked'] });
    const { id } = await one.publish({ queue, type: 't' });
    const job = await leaseOne();
    expect(await one.driver.ack([refOf(job)])).toEqual(['acked']);
    expect(await one.driver.ack([refOf(job)])).toEqual(['not_found']);
    const last = await one.publish({ queue, type: 't' });
    await one.driver.ack([refOf(await leaseOne())]);
    await waitFor(() => events.some((event) => event.id === last.id), 5_000);
    await stop();
    expect(events.map((event) => event.id)).toEqual([id, last.id]);
  });

  it('W13: calls for unknown jobs, queues and workers reject with errors that have a code', async () => {
    const errors = await Promise.all([
      errorOf(one.jobs.get('none')),
      errorOf(one.queues.delete(`${queue}-none`)),
      errorOf(one.workers.get('none')),
      errorOf(one.driver.release({ id: 'none', queue, lease: 1 }, {})),
    ]);
    for (const error of errors) expect(error).toBeInstanceOf(PumphouseError);
    expect(errors.map((error) => (error as PumphouseError).code)).toEqual([
      ...['job_not_found', 'queue_not_found', 'worker_not_found', 'job_not_found'],
    ]);
  });

  it('W14: queues with underscores in their names have events', async () => {
    const name = `${queue}_with_more`;
    const { events, stop } = await follow(one, { queues: [name] });
    await one.publish({ queue: name, type: 't' });
    await waitFor(() => events.length === 1, 5_000);
    await stop();
    expect(events[0]).toMatchObject({ event: 'published', queue: name });
  });

  it('W15: an empty list of tasks can be published', async () => {
    expect(await one.publishMany([])).toEqual([]);
  });

  it('W16: results that are false, zero or empty arrive, and so does an empty task', async () => {
    const worker = workerOf(one).handle('*', ({ data }) => data);
    void worker.run();
    for (const value of ['', 0, false, null, []]) {
      const ended = await one.publishAndWait({ queue, data: value });
      expect(ended).toMatchObject({ state: 'done', result: value });
    }
  });

  it('W17: a lease length of zero is refused', () => {
    expect(() => one.worker({ queues: [queue], ttrMs: 0 })).toThrow(/ttrMs/);
  });

  it('W18: a list has the requested order, by default the oldest first', async () => {
    await one.publishMany(['a', 'b'].map((data) => ({ queue, data })));
    const data = async (filter: object): Promise<unknown[]> =>
      (await one.jobs.list({ queue, fields: ['data'], ...filter })).items.map((job) => job.data);
    expect(await data({})).toEqual(['a', 'b']);
    expect(await data({ order: 'newest' })).toEqual(['b', 'a']);
  });

  it('W19: a worker that another process stops leases no more jobs', async () => {
    const ran: unknown[] = [];
    const worker = workerOf(one).handle('*', ({ data }) => void ran.push(data));
    const running = worker.run();
    await waitFor(() => other.workers.get(worker.id).catch(() => null), 5_000);
    await other.workers.stop(worker.id);
    await running;
    await one.publish({ queue, data: 'later' });
    await sleep(200);
    expect(ran).toEqual([]);
    expect(await counts()).toMatchObject({ ready: 1 });
  });

  it('W20: a released task wakes a waiting worker', async () => {
    await one.publish({ queue });
    const runs: string[] = [];
    const first = workerOf(one, { concurrency: 1 }).handle('*', async () => {
      runs.push('first');
      await sleep(300);
      first.quiet();
      throw new Release();
    });
    void first.run();
    await waitFor(() => runs.length === 1, 5_000);
    const second = workerOf(other, { waitMs: 20_000 }).handle('*', () => void runs.push('second'));
    void second.run();
    await waitFor(() => runs.length === 2, 3_000);
    expect(runs).toEqual(['first', 'second']);
  });

  it('W21: unique tasks are published together, all or none', async () => {
    await one.publish({ queue, ...unique('b') });
    const many = ['a', 'b'].map((key) => ({ queue, ...unique(key) }));
    expect(await codeOf(one.publishMany(many))).toBe('unique_key_taken');
    expect(await counts()).toMatchObject({ ready: 1 });
    await one.publishMany([
      { queue, ...unique('a') },
      { queue, ...unique('c') },
    ]);
    expect(await counts()).toMatchObject({ ready: 3 });
  });

  it('W22: a worker is listed before its first task', async () => {
    const worker = workerOf(one).handle('*', () => undefined);
    void worker.run();
    const found = await waitFor(() => one.workers.get(worker.id).catch(() => null), 5_000);
    expect(found).toMatchObject({ queues: [queue], jobsAtHand: 0, leased: 0 });
    // It ends cleanly: nothing of it is left to be cleaned up.
    await worker.stop();
    expect(await codeOf(other.workers.get(worker.id))).toBe('worker_not_found');
    expect((await other.workers.list()).items.filter(({ name }) => name === worker.id)).toEqual([]);
  });

  it('W23: cancelling a running task makes an event', async () => {
    const { events, stop } = await follow(one, { queues: [queue] });
    const { id } = await one.publish({ queue });
    await leaseOne();
    expect((await one.jobs.cancel(id, { graceMs: 60_000 })).outcome).toBe('requested');
    await waitFor(() => events.some(({ event }) => event === 'cancel_requested'), 5_000);
    await stop();
    expect(events.find(({ event }) => event === 'cancel_requested')).toMatchObject({ id, queue });
  });

  it('W24: deleting a queue is an event', async () => {
    const { events, stop } = await follow(other, { queues: [queue] });
    await one.publish({ queue });
    await one.queues.purge(queue, ['ready']);
    await one.queues.delete(queue);
    await waitFor(() => events.some(({ event }) => event === 'queue_deleted'), 5_000);
    await stop();
    expect(events.at(-1)).toMatchObject({ event: 'queue_deleted', queue });
  });

  it('W25: lists have the data of the tasks', async () => {
    await one.publishMany(['a', { b: [1] }].map((data) => ({ queue, data })));
    const { items } = await other.jobs.list({ queue, fields: ['data'] });
    expect(items.map(({ data }) => data)).toEqual(['a', { b: [1] }]);
  });

  it('W26: the event of a done task has its worker and its result', async () => {
    const { events, stop } = await follow(other, { queues: [queue], events: ['acked'] });
    const worker = workerOf(one).handle('*', () => ({ sum: 3 }));
    void worker.run();
    const { id } = await one.publish({ queue, type: 't' });
    await waitFor(() => events.length === 1, 5_000);
    await stop();
    expect(events[0]).toMatchObject({ id, worker: worker.id, result: { data: { sum: 3 } } });
  });
});

it('W9: no command depends on others of the same connection, and none scans all keys', () => {
  const files = ['src', 'packages/engine/src', 'packages/cli/src', 'lua'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(ts|lua)$/.test(path) && !path.endsWith('.spec.ts'))
      .map((path) => join(folder, path)),
  );
  const COMMAND =
    /["'`](?:WATCH|MULTI|KEYS)["'`]|(?:call|read)\(\s*["'`](?:watch|multi|keys)["'`]|(?:redis|client)\.watch\(|\.multi\(|\.keys\(\s*["'`]/;
  const wrong = ['redis.multi()', "redis.watch('k')", "redis.call('KEYS', '*')", 'client.call("WATCH", key)'];
  expect(wrong.filter((code) => !COMMAND.test(code))).toEqual([]);
  expect(COMMAND.test('map.keys()')).toBe(false);
  const found = files.filter((file) => COMMAND.test(readFileSync(join(ROOT, file), 'utf8')));
  expect(files.length).toBeGreaterThan(100);
  // The import from a store of lmstfy has a connection of its own, and sends one transaction at once, without WATCH.
  expect(found).toEqual(['packages/cli/src/import/source.ts']);
  expect(readFileSync(join(ROOT, found[0]!), 'utf8')).not.toMatch(/watch\(/i);
});

function refOf({ id, queue, lease }: LeasedJob): { id: string; queue: string; lease: number } {
  return { id, queue, lease };
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}
