import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BuiltServer } from '../../../test/support/built-server.js';
import { waitFor } from '../../../test/support/redis.js';
import { type LeasedJob, Pumphouse, type WorkerOptions } from '../src/node.js';
import { app, client, fresh, proxy, useServer } from './fixture.js';
import type { Fault } from './faulty-proxy.js';

useServer();

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface WorkerProcess {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly ended: Promise<[number | null, NodeJS.Signals | null]>;
}

async function start(queue: string, options: Partial<WorkerOptions> = {}): Promise<WorkerProcess> {
  const args = ['--import', file('../../../test/support/typescript-loader.mjs'), file('worker-process.ts')];
  const own = [proxy.url, app.namespace, app.token, queue, JSON.stringify(options)];
  const child = spawn(process.execPath, [...args, ...own], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const lines: string[] = [];
  child.stdout.on('data', (text: Buffer) => lines.push(...text.toString().trim().split('\n')));
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  await waitFor(() => lines.includes('running'), 20_000);
  return { child, lines, ended };
}

/** The next job of a queue, for another worker; it may take its time. */
async function leaseNext(queue: string): Promise<LeasedJob | undefined> {
  const { signal } = new AbortController();
  const request = { queues: [queue], count: 1, waitMs: 10_000, ttrMs: 60_000, signal };
  const [job] = await client.driver.lease(request);
  return job;
}

describe('a process with a client worker', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'ends its running job after %s, with heartbeats, and exits with 0',
    async (signal) => {
      const queue = fresh();
      const { id } = await client.publish({ queue, type: 'takes', data: 3_500, retentionMs: 60_000 });
      const { child, lines, ended } = await start(queue, { ttrMs: 1_500 });
      await waitFor(() => lines.includes('begun 1'), 10_000);
      child.kill(signal);
      expect(await ended).toEqual([0, null]);
      // On a busy machine the process may stand still for a moment, and say so.
      expect(lines.filter((line) => !line.startsWith('warn'))).toEqual([
        'running',
        'begun 1',
        'ended',
        'stopped',
      ]);
      expect(await client.jobs.get(id)).toMatchObject({
        state: 'done',
        attempts: 1,
        crashes: 0,
        result: { data: 'result' },
      });
    },
  );

  it('releases its job and exits at a second SIGTERM although the handler still runs', async () => {
    const queue = fresh();
    const { id } = await client.publish({ queue, type: 'ignores' });
    const { child, lines, ended } = await start(queue);
    await waitFor(() => lines.includes('begun'));
    child.kill('SIGTERM');
    await sleep(200);
    expect((await client.jobs.get(id)).state).toBe('leased');
    const beginMs = performance.now();
    child.kill('SIGTERM');
    expect(await ended).toEqual([143, null]);
    expect(performance.now() - beginMs).toBeLessThan(15_000);
    expect(await client.jobs.get(id)).toMatchObject({
      state: 'ready',
      triesLeft: 5,
      failures: 0,
      crashes: 0,
    });
  });

  it.each([
    ['takes', 'acknowledges nothing'],
    ['breaks', 'releases nothing'],
  ])(
    'sends no call for a job whose lease ended while the process was suspended (job type %s): the worker %s',
    async (type) => {
      const queue = fresh();
      const { id } = await client.publish({ queue, type, data: 1_500, retentionMs: 60_000 });
      // One job at a time: no lease request is open while it runs.
      const { child, lines } = await start(queue, { ttrMs: 2_000, concurrency: 1 });
      await waitFor(() => lines.includes('begun 1'), 10_000);
      child.kill('SIGSTOP');
      const job = await leaseNext(queue);
      expect(job).toMatchObject({ id, attempts: 2, crashes: 1 });
      proxy.seen.length = 0;
      child.kill('SIGCONT');
      await waitFor(() => lines.some((line) => line.startsWith('aborted')), 5_000);
      await waitFor(() => lines.includes('ended'), 5_000);
      await sleep(200);
      const about = proxy.seen.filter(({ path, body }) => path.includes(id) || body.includes(id));
      expect(about.map(({ path }) => path).filter((path) => !path.endsWith('/heartbeat'))).toEqual([]);
      expect((await client.jobs.get(id)).state).toBe('leased');
      expect(await client.driver.ack([{ id, queue, lease: job!.lease }])).toEqual(['acked']);
    },
  );

  it('sends no ack and logs the lost lease if the process was suspended between the end of the handler and the ack', async () => {
    const queue = fresh();
    // While it runs, acks wait for others.
    await client.publish({ queue, type: 'takes', data: 60_000, ttlMs: 120_000 });
    const { child, lines } = await start(queue, { ttrMs: 2_000, concurrency: 2, shutdownGraceMs: 0 });
    await waitFor(() => lines.includes('begun 1'), 10_000);
    const { id } = await client.publish({ queue, type: 'stops', retentionMs: 60_000 });
    await waitFor(() => lines.includes('stops'), 10_000);
    const { signal } = new AbortController();
    const request = { queues: [queue], count: 2, waitMs: 1_000, ttrMs: 60_000, signal };
    const leased = await waitFor(
      async () => (await client.driver.lease(request)).find((job) => job.id === id),
      10_000,
    );
    expect(proxy.of('/acks')).toEqual([]);
    child.kill('SIGCONT');
    await waitFor(() =>
      lines.some((line) => line.startsWith('warn the lease of a job') && line.endsWith(id)),
    );
    await waitFor(() => lines.includes('stops aborted'), 10_000);
    await sleep(200);
    expect(proxy.of('/acks')).toEqual([]);
    expect(await client.driver.ack([{ id, queue, lease: leased.lease }])).toEqual(['acked']);
  });

  it('begins no handler under a lease that was lost while the process was suspended', async () => {
    const queue = fresh();
    const { child, lines } = await start(queue, { ttrMs: 2_000 });
    await waitFor(() => proxy.of('/leases').length > 0);
    await sleep(100);
    child.kill('SIGSTOP');
    const { id } = await client.publish({ queue, type: 'takes', data: 10 });
    await waitFor(async () => (await client.jobs.get(id)).crashes === 1, 10_000);
    const job = await leaseNext(queue);
    expect(job).toMatchObject({ id, attempts: 2 });
    child.kill('SIGCONT');
    await waitFor(() => proxy.of('/heartbeat').length > 0, 5_000);
    await sleep(200);
    expect(lines.filter((line) => line.startsWith('begun'))).toEqual([]);
    expect((await client.jobs.get(id)).state).toBe('leased');
  });

  it('begins no handler under a lease that was lost while the event loop was blocked', async () => {
    const queue = fresh();
    const { child, lines } = await start(queue, { ttrMs: 2_000, concurrency: 1, prefetch: 1 });
    const [, waits] = await client.publishMany([
      { queue, type: 'blocks', data: 8_000 },
      { queue, type: 'takes', data: 10 },
    ]);
    await waitFor(() => lines.includes('blocks'));
    const { signal } = new AbortController();
    const leased = await waitFor(async () => {
      const request = { queues: [queue], count: 2, waitMs: 100, ttrMs: 60_000, signal };
      return (await client.driver.lease(request)).find(({ id }) => id === waits!.id);
    });
    expect(leased.attempts).toBe(2);
    // Of both jobs, when the block is over.
    await waitFor(
      () => proxy.seen.some(({ path, body }) => path.includes(waits!.id) || body.includes(waits!.id)),
      5_000,
    );
    await sleep(200);
    expect(lines.filter((line) => line.startsWith('begun'))).toEqual([]);
    expect((await client.jobs.get(waits!.id)).state).toBe('leased');
    child.kill('SIGKILL');
  });

  it('loses no job when it is killed: another worker runs the job', async () => {
    const queue = fresh();
    const { id } = await client.publish({ queue, type: 'takes', data: 60_000, retentionMs: 60_000 });
    const first = await start(queue, { ttrMs: 1_000 });
    await waitFor(() => first.lines.includes('begun 1'));
    first.child.kill('SIGKILL');
    const second = await start(queue, { ttrMs: 1_000 });
    await waitFor(() => second.lines.includes('begun 2'), 10_000);
    expect(await client.jobs.get(id)).toMatchObject({ state: 'leased', attempts: 2, crashes: 1 });
  });
});

describe('the client under faults', () => {
  it('stores each of 500 published jobs once, and runs each at least once', async () => {
    const queue = fresh();
    const faults: Fault[] = ['drop', 'lose', { status: 503 }, { afterMs: 20 }];
    proxy.rule = () => (Math.random() < 0.15 ? faults[Math.floor(Math.random() * faults.length)]! : 'pass');
    const { namespace, token } = app;
    const faulty = new Pumphouse({
      url: proxy.url,
      namespace,
      token,
      retry: { tries: 30, withinMs: 30_000, attemptMs: 5_000 },
    });
    const options = {
      queues: [queue],
      concurrency: 20,
      prefetch: 10,
      ttrMs: 2_000,
      waitMs: 500,
      shutdownGraceMs: 5_000,
    };
    const logger = { warn: () => undefined, error: () => undefined };
    const runs = new Map<string, number>();
    const make = () => {
      const worker = faulty.worker({ ...options, logger });
      worker.handle('work', async ({ id, data }) => {
        await sleep(Math.random() * 20);
        runs.set(id, (runs.get(id) ?? 0) + 1);
        if ((data as number) % 10 === 0 && runs.get(id) === 1) throw new Error('first');
      });
      void worker.run();
      return worker;
    };
    const workers = [make(), make()];
    const published = await Promise.all(
      Array.from({ length: 500 }, (_, data) => faulty.publish({ queue, type: 'work', data, tries: 20 })),
    );
    await workers[0]!.stop();
    workers[0] = make();
    const ids = new Set(published.map(({ id }) => id));
    expect(ids.size).toBe(500);
    await waitFor(async () => {
      const { length, counts } = await client.queues.get(queue);
      return length === 0 && counts['dead'] === 0 && runs.size >= 500;
    }, 60_000);
    proxy.rule = () => 'pass';
    await Promise.all(workers.map((worker) => worker.stop()));
    // Not one more than were published: no retry has stored a job twice.
    expect(new Set(runs.keys())).toEqual(ids);
    faulty.close();
  });
});

describe('a server that is killed', () => {
  it('loses no job and stores no job twice when it is killed during calls of a client', async () => {
    const server = await BuiltServer.create();
    try {
      await server.start();
      const namespace = 'killed';
      const token = await server.token(namespace);
      const limits = { tries: 1_000, withinMs: 45_000, attemptMs: 1_000 };
      const own = new Pumphouse({ url: server.url, namespace, token, retry: limits });
      const worker = own.worker({
        queues: ['q'],
        concurrency: 10,
        ttrMs: 5_000,
        waitMs: 1_000,
        logger: { warn: () => undefined, error: () => undefined },
      });
      const runs = new Map<unknown, number>();
      worker.handle('*', ({ data }) => void runs.set(data, (runs.get(data) ?? 0) + 1));
      worker.handle(
        { queue: 'q', type: undefined, input: undefined, output: undefined, options: {} },
        ({ data }) => void runs.set(data, (runs.get(data) ?? 0) + 1),
      );
      void worker.run();
      let isOver = false;
      const ids: string[] = [];
      const publishing = Array.from({ length: 8 }, async (_, chain) => {
        for (let i = 0; !isOver; i++) ids.push((await own.publish({ queue: 'q', data: `${chain}-${i}` })).id);
      });
      await waitFor(() => ids.length > 100, 10_000);
      await server.end('SIGKILL');
      await server.start();
      const before = ids.length;
      await waitFor(() => ids.length > before + 100, 20_000);
      isOver = true;
      await Promise.all(publishing);
      await waitFor(async () => (await own.queues.get('q')).length === 0, 20_000);
      await worker.stop();
      expect(new Set(ids).size).toBe(ids.length);
      expect(runs.size).toBe(ids.length);
      own.close();
    } finally {
      await server.remove();
    }
  });
});
