import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../../test/support/redis.js';
import type { SeenRequest } from './faulty-proxy.js';
import {
  aborted,
  besidesFailures,
  client,
  deferred,
  faulty,
  fresh,
  passTime,
  proxy,
  TTR_MS,
  useServer,
  workerOf,
} from './fixture.js';

useServer();

const AT_ONCE = { kind: 'none' } as const;

/** What heartbeats of jobs have said when their handlers began. */
const begun = (): object[] =>
  proxy.seen.filter(isBegin).map(({ path, body }) => {
    const { begin, max_run_ms } = JSON.parse(body) as Record<string, unknown>;
    return { id: path.split('/').at(-2), begin, max_run_ms };
  });
const isBegin = ({ body }: SeenRequest): boolean => body.includes('"begin"');
const failureOf = async (id: string) => (await client.jobs.get(id)).failure?.group;

describe('a limit of the run in a client worker', () => {
  it('is told to the handler by its signal, and fails the job on the server', async () => {
    const queue = fresh();
    const { id } = await client.publish({ queue, retry: AT_ONCE });
    const { worker, log } = workerOf(queue, { through: faulty, ttrMs: 60_000 });
    const code = deferred<string>();
    worker.handle(
      '*',
      async (_job, { signal }) => {
        code.resolve(await aborted(signal));
        return 'too late';
      },
      { maxRunMs: 200 },
    );
    void worker.run();
    expect(await code.promise).toBe('max_run_exceeded');
    await waitFor(() => worker.heldCount === 0);
    expect(await failureOf(id)).toBe('max_run_exceeded');
    expect(begun()).toEqual([{ id, begin: true, max_run_ms: 200 }]);
    expect(proxy.of('/acks')).toEqual([]);
    expect(besidesFailures(log)).toEqual([expect.stringContaining('lost before it was settled')]);
    expect(log.at(-1)!.details).toMatchObject({ id, reason: 'max_run_exceeded' });
  });

  it.each([
    ['the job', { maxRunMs: 5_000 }, {}, 5_000],
    ['the handler', {}, { maxRunMs: 5_000 }, 5_000],
    ['the handler, which is shorter', { maxRunMs: 9_000 }, { maxRunMs: 5_000 }, 5_000],
    ['the job, which is shorter', { maxRunMs: 5_000 }, { maxRunMs: 9_000 }, 5_000],
  ])('aborts no sooner than that of %s', async (_whose, ofJob, ofHandler, limitMs) => {
    const queue = fresh();
    await client.publish({ queue, ...ofJob });
    const { worker } = workerOf(queue, { ttrMs: TTR_MS });
    const began = deferred<AbortSignal>();
    const end = deferred();
    worker.handle(
      '*',
      (_job, { signal }) => {
        began.resolve(signal);
        return end.promise;
      },
      ofHandler,
    );
    void worker.run();
    const signal = await began.promise;
    passTime(limitMs - 2_000);
    await sleep(600); // More than a tick.
    expect(signal.aborted).toBe(false);
    passTime(2_100);
    expect(await aborted(signal)).toBe('max_run_exceeded');
    end.resolve();
  });

  it('counts from the begin of the handler where jobs are leased ahead', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty, concurrency: 1, prefetch: 2, ttrMs: TTR_MS });
    const ids = (await client.publishMany([{ queue, maxRunMs: 60_000 }, { queue }])).map(({ id }) => id);
    const seen: number[] = [];
    worker.handle('*', () => void seen.push(begun().length));
    void worker.run();
    await waitFor(() => seen.length === 2 && worker.heldCount === 0);
    expect(begun()).toEqual([{ id: ids[0], begin: true, max_run_ms: undefined }]);
    // The server knew of it before the handler began.
    expect(seen).toEqual([1, 1]);
  });

  it('needs no call where no job is leased ahead', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty });
    await client.publish({ queue, maxRunMs: 60_000 });
    let runs = 0;
    worker.handle('*', () => void runs++);
    void worker.run();
    await waitFor(() => runs === 1 && worker.heldCount === 0);
    expect(begun()).toEqual([]);
  });

  it('begins no handler whose lease is lost by then', async () => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty });
    await client.publish({ queue });
    proxy.rule = (request) =>
      isBegin(request) ? { status: 409, body: { code: 'lease_lost', title: '', detail: '' } } : 'pass';
    let runs = 0;
    worker.handle('*', () => void runs++, { maxRunMs: 60_000 });
    void worker.run();
    await waitFor(() => begun().length === 1 && worker.heldCount === 0);
    expect(runs).toBe(0);
  });

  it.each([
    [
      'refuses the begin, as an older one does',
      { status: 400, body: { code: 'invalid_argument', title: '' } },
    ],
    ['does not answer it', 'drop'],
  ] as const)('is kept by the worker alone if the server %s', async (_name, fault) => {
    const queue = fresh();
    const { worker } = workerOf(queue, { through: faulty, ttrMs: TTR_MS });
    await client.publish({ queue });
    proxy.rule = (request) => (isBegin(request) ? fault : 'pass');
    const began = deferred<AbortSignal>();
    worker.handle(
      '*',
      async (_job, { signal }) => {
        began.resolve(signal);
        await aborted(signal);
      },
      { maxRunMs: 5_000 },
    );
    void worker.run();
    const signal = await began.promise;
    passTime(5_100);
    expect(await aborted(signal)).toBe('max_run_exceeded');
  });

  it.each([0, 1.5, -1, NaN, Infinity])('is refused as %p', (maxRunMs) => {
    const { worker } = workerOf(fresh());
    expect(() => worker.handle('*', () => 1, { maxRunMs })).toThrow(
      'maxRunMs: must be a whole number from 1',
    );
  });

  it('is refused under another name', () => {
    const { worker } = workerOf(fresh());
    const options = { maxRun: 5 } as object;
    expect(() => worker.handle('*', () => 1, options)).toThrow('unknown option maxRun');
  });
});
