import { setTimeout as sleep } from 'node:timers/promises';
import { OwnTime } from '../../../test/support/own-time.js';
import type { JobDriver, LeasedJob, LeaseRequest } from '../src/driver.js';
import { Bytes, Fail, Next, PumphouseError, Release, Retry, Worker } from '../src/node.js';

/** A driver, and what the suite needs beside it to see what it has done. */
export interface DriverUnderTest {
  readonly driver: JobDriver;
  /** State, tries that are left and number of failures of a job; null if it is gone. */
  find(
    id: string,
  ): Promise<{ readonly state: string; readonly triesLeft: number; readonly failures: number } | null>;
  cancel(id: string): Promise<unknown>;
  /** Its server does not say that a publish is a repeated one. */
  readonly isSilentOfReplays?: true;
}

let count = 0;
const fresh = (what: string): string => `${what}-${String(process.pid)}-${String(count++)}`;

/** What every driver promises. The worker and the producer rely on nothing else. */
export function driverContract(name: string, underTest: () => DriverUnderTest): void {
  describe(`the driver ${name}`, () => {
    let queue: string;
    let driver: JobDriver;
    let find: DriverUnderTest['find'];

    beforeEach(() => {
      queue = fresh('contract');
      ({ driver } = underTest());
      find = (id) => underTest().find(id);
    });

    const publish = async (...jobs: object[]): Promise<string[]> => {
      const published = await driver.publish(
        jobs.map((job) => ({ queue, ...job })),
        { idempotencyKey: fresh('key') },
      );
      return published.map(({ id }) => id);
    };
    const lease = (request: Partial<LeaseRequest> = {}): Promise<readonly LeasedJob[]> =>
      driver.lease({
        queues: [queue],
        count: 10,
        waitMs: 0,
        ttrMs: 60_000,
        signal: new AbortController().signal,
        ...request,
      });
    const leaseOne = async (): Promise<LeasedJob> => (await lease({ count: 1 }))[0]!;
    const codeOf = (promise: Promise<unknown>): Promise<string> =>
      promise.then(
        () => 'none',
        (error: unknown) => (error as PumphouseError).code,
      );

    it('stores no jobs twice for one idempotency key', async () => {
      const options = { idempotencyKey: fresh('key'), idempotencyTtlMs: 60_000 };
      const first = await driver.publish(
        [
          { queue, data: 1 },
          { queue, data: 2 },
        ],
        options,
      );
      expect(
        await driver.publish(
          [
            { queue, data: 1 },
            { queue, data: 2 },
          ],
          options,
        ),
      ).toEqual(first.map((job) => ({ ...job, replayed: underTest().isSilentOfReplays !== true })));
      expect(first.map(({ replayed }) => replayed)).toEqual([false, false]);
      expect((await lease()).map(({ data }) => data)).toEqual([1, 2]);
    });

    it('refuses to publish a job with an id that exists', async () => {
      const id = fresh('id');
      await publish({ id });
      expect(await codeOf(publish({ id }))).toBe('job_exists');
    });

    it('leases jobs by priority, then in the order of publishing, and each job once', async () => {
      const [a, b, c] = await publish({ priority: 1 }, {}, { priority: -1 });
      expect((await lease()).map(({ id }) => id)).toEqual([c, b, a]);
      expect(await lease()).toEqual([]);
    });

    it('leases only jobs of the types that a request names', async () => {
      const [a, b, c] = await publish({ type: 'a' }, { type: 'b' }, {});
      expect(await lease({ types: ['c'] })).toEqual([]);
      expect((await lease({ types: ['b'] })).map(({ id }) => id)).toEqual([b]);
      expect((await lease({ types: ['b', null] })).map(({ id }) => id)).toEqual([c]);
      expect((await lease()).map(({ id }) => id)).toEqual([a]);
    });

    it('lingers for more jobs, and leases none before it answers', async () => {
      const [a] = await publish({});
      const begunMs = performance.now();
      const lingering = lease({ lingerMs: 1_500 });
      await sleep(50);
      expect(await find(a!)).toMatchObject({ state: 'ready' });
      const [b] = await publish({});
      expect((await lingering).map(({ id }) => id)).toEqual([a, b]);
      expect(performance.now() - begunMs).toBeGreaterThan(1_490);
      const together = lease({ waitMs: 60_000, lingerMs: 60_000, min: 2 });
      const [c, d] = [await publish({}), await publish({})].flat();
      expect((await together).map(({ id }) => id)).toEqual([c, d]);
    });

    it('leases nothing if it is aborted while it lingers', async () => {
      const [id] = await publish({});
      const abort = new AbortController();
      const lingering = lease({ lingerMs: 60_000, signal: abort.signal });
      await sleep(50);
      abort.abort();
      expect(await lingering.catch(() => [])).toEqual([]);
      expect(await find(id!)).toMatchObject({ state: 'ready', triesLeft: 5 });
    });

    it('returns all fields of a leased job', async () => {
      const [id] = await publish({
        type: 't',
        data: { a: [1] },
        tags: ['x'],
        attributes: { shop: 'n' },
        tries: 4,
      });
      const job = await leaseOne();
      const {
        type,
        tags,
        attributes,
        data,
        text,
        attempts,
        tries,
        triesLeft,
        failures,
        crashes,
        contentType,
      } = job;
      expect({ id: job.id, queue: job.queue, type, tags, attributes, data, text }).toEqual({
        ...{ id, queue, type: 't', tags: ['x'], attributes: { shop: 'n' } },
        ...{ data: { a: [1] }, text: '{"a":[1]}' },
      });
      expect({ attempts, tries, triesLeft, failures, crashes, contentType }).toEqual({
        ...{ attempts: 1, tries: 4, triesLeft: 3, failures: 0, crashes: 0, contentType: 'application/json' },
      });
      expect(Date.parse(job.publishedAt!)).toBeGreaterThan(Date.now() - 60_000);
    });

    it('returns the limit of the run with a leased job, if it has one, and is told when its handler begins', async () => {
      await publish({ maxRunMs: 60_000 }, {});
      const [limited, free] = await lease();
      expect(limited).toMatchObject({ maxRunMs: 60_000 });
      expect(free).not.toHaveProperty('maxRunMs');
      for (const job of [limited!, free!, free!]) {
        const begin = { ttrMs: 60_000, timeoutMs: 5_000, begin: { maxRunMs: 50_000 } };
        expect(await driver.heartbeat(job, begin)).toEqual({ cancelRequested: false });
      }
    });

    it('leases a job of bytes with its unchanged bytes', async () => {
      await publish({ data: Uint8Array.from([0, 255]), contentType: 'image/x' });
      const { data, bytes, contentType } = await leaseOne();
      expect([[...bytes], [...(data as Uint8Array)], contentType]).toEqual([[0, 255], [0, 255], 'image/x']);
    });

    it('waits for a job that is published after the lease request', async () => {
      const leased = lease({ waitMs: 5_000 });
      await sleep(50);
      const [id] = await publish({});
      expect((await leased).map((job) => job.id)).toEqual([id]);
    });

    it('ends a lease request without a job after its wait time', async () => {
      const beginMs = performance.now();
      expect(await lease({ waitMs: 60 })).toEqual([]);
      expect(performance.now() - beginMs).toBeGreaterThan(50);
    });

    it('ends a lease request within a second after its signal aborts, and loses no job', async () => {
      const abort = new AbortController();
      const leased = lease({ waitMs: 20_000, signal: abort.signal });
      await sleep(50);
      const time = new OwnTime();
      abort.abort();
      expect(await leased.catch(() => [])).toEqual([]);
      expect(time.end()).toBeLessThan(1_000);
      const [id] = await publish({});
      expect((await leaseOne()).id).toBe(id);
    });

    it('acknowledges each job of a batch separately, and only under its current lease', async () => {
      await publish({}, {});
      const [one, two] = (await lease()) as [LeasedJob, LeasedJob];
      const unknown = { id: fresh('gone'), queue, lease: 1 };
      const stale = { id: two.id, queue, lease: two.lease + 1 };
      expect(await driver.ack([refOf(one), stale, unknown])).toEqual(['acked', 'lease_lost', 'not_found']);
      expect(await find(two.id)).toMatchObject({ state: 'leased' });
      expect(await driver.ack([refOf(one), refOf(two)])).toEqual(['not_found', 'acked']);
    });

    it('moves a job to a next queue with new data and all tries', async () => {
      const other = fresh('other');
      const [id] = await publish({ tries: 2, data: 1 });
      const job = await leaseOne();
      expect(
        await driver.ack([{ ...refOf(job), next: { queue: other }, data: { json: '{"step":2}' } }]),
      ).toEqual(['moved']);
      const [moved] = await lease({ queues: [other] });
      expect([moved!.id, moved!.data, moved!.triesLeft]).toEqual([id, { step: 2 }, 1]);
    });

    it('releases a job without using a try, at once or with a delay', async () => {
      const [id] = await publish({});
      const first = await leaseOne();
      await driver.release(first, {});
      expect(await find(id!)).toMatchObject({ state: 'ready', triesLeft: 5 });
      const second = await leaseOne();
      expect(second.lease).toBeGreaterThan(first.lease);
      await driver.release(second, { delayMs: 60_000 });
      expect(await find(id!)).toMatchObject({ state: 'scheduled', triesLeft: 5, failures: 0 });
    });

    it('retries a job by its policy until its tries are used up', async () => {
      const [id] = await publish({ tries: 2, retry: { kind: 'list', delaysMs: [0, 60_000] } });
      await driver.retry(await leaseOne(), { group: 'g', message: 'm' });
      expect(await find(id!)).toMatchObject({ state: 'ready', triesLeft: 1, failures: 1 });
      await driver.retry(await leaseOne(), { group: 'g', message: 'm', delayMs: 60_000 });
      expect(await find(id!)).toMatchObject({ state: 'dead', triesLeft: 0, failures: 2 });
    });

    it('retries a job after the given delay, and fails a job with a non-retryable failure group', async () => {
      const retry = { kind: 'fixed', delayMs: 0, nonRetryable: ['address'] };
      const [a, b] = await publish({ retry }, { retry });
      const [first, second] = (await lease()) as [LeasedJob, LeasedJob];
      await driver.retry(first, { group: 'smtp', message: '', delayMs: 60_000 });
      await driver.retry(second, { group: 'address', message: '' });
      expect([(await find(a!))?.state, (await find(b!))?.state]).toEqual(['scheduled', 'dead']);
    });

    it('retries a job after the given delay although its retry policy allows no retry, but not without tries', async () => {
      const final = { kind: 'fixed', delayMs: 0, nonRetryable: ['address'] };
      const none = { kind: 'none' };
      const ids = await publish({ retry: final }, { retry: none }, { retry: none, tries: 1 });
      const failure = { group: 'address', message: '', delayMs: 60_000 };
      for (const job of await lease()) await driver.retry(job, failure);
      const states = await Promise.all(ids.map(async (id) => (await find(id))?.state));
      expect(states).toEqual(['scheduled', 'scheduled', 'dead']);
    });

    it('fails a job for good', async () => {
      const [id] = await publish({});
      await driver.fail(await leaseOne(), { group: 'g', message: 'm' });
      expect(await find(id!)).toMatchObject({ state: 'dead', failures: 1 });
    });

    it('refuses heartbeat, release, retry and fail under an old lease', async () => {
      await publish({});
      const old = await leaseOne();
      await driver.release(old, {});
      const now = await leaseOne();
      const heartbeat = { ttrMs: 60_000, timeoutMs: 5_000 };
      const failure = { group: 'g', message: 'm' };
      expect(await codeOf(driver.heartbeat(old, heartbeat))).toBe('lease_lost');
      expect(await codeOf(driver.release(old, {}))).toBe('lease_lost');
      expect(await codeOf(driver.retry(old, failure))).toBe('lease_lost');
      expect(await codeOf(driver.fail(old, failure))).toBe('lease_lost');
      await driver.ack([refOf(now)]);
      expect(await codeOf(driver.heartbeat(now, heartbeat))).toBe('job_not_found');
    });

    it('reports a requested cancellation in the heartbeat, and cancels the job when the job is released', async () => {
      const [id] = await publish({});
      const job = await leaseOne();
      const heartbeat = { ttrMs: 60_000, timeoutMs: 5_000, progress: { rows: 1 } };
      expect(await driver.heartbeat(job, heartbeat)).toEqual({ cancelRequested: false });
      await underTest().cancel(id!);
      expect(await driver.heartbeat(job, heartbeat)).toEqual({ cancelRequested: true });
      await driver.release(job, {});
      expect((await find(id!))?.state ?? 'cancelled').toBe('cancelled');
      expect(await lease()).toEqual([]);
    });

    it('extends the leases of a session with one heartbeat, and returns the status of each lease', async () => {
      const [kept, wanted, lost, done] = (await publish({}, {}, {}, {})) as [string, string, string, string];
      const byId = new Map((await lease()).map((job) => [job.id, job]));
      await driver.release(byId.get(lost)!, {});
      await driver.ack([refOf(byId.get(done)!)]);
      await underTest().cancel(wanted);
      const session = fresh('session');
      const heartbeat = {
        session,
        info: {
          ...{ name: 'contract', version: '1.2.3', language: 'test', queues: [queue], concurrency: 4 },
          startedAt: new Date(),
        },
        leases: [kept, wanted, lost, done].map((id) => refOf(byId.get(id)!)),
        ...{ ttrMs: 60_000, timeoutMs: 5_000 },
      };
      expect(await driver.heartbeatSession(heartbeat)).toEqual({
        leases: [
          { status: 'extended', cancelRequested: false },
          { status: 'extended', cancelRequested: true },
          { status: 'lease_lost', cancelRequested: false },
          { status: 'not_found', cancelRequested: false },
        ],
        ...{ quiet: false, stop: false },
      });
      expect(await driver.heartbeatSession({ ...heartbeat, leases: [] })).toMatchObject({ leases: [] });
      await driver.endSession(session);
      await driver.endSession(session);
    });

    it('publishes a job and waits for its end, with the result or the failure', async () => {
      const call = { waitMs: 5_000, idempotencyKey: '' };
      const done = driver.publishAndWait(
        { queue, type: 'ok', data: 2 },
        { ...call, idempotencyKey: fresh('key') },
      );
      const dead = driver.publishAndWait(
        { queue, type: 'no' },
        { idempotencyKey: fresh('key'), waitMs: Infinity },
      );
      for (const waitMs of [0, 0.4, 1.5, -1, NaN]) {
        const waits = { idempotencyKey: fresh('key'), waitMs };
        const notEnded = await driver.publishAndWait({ queue, delayMs: 60_000 }, waits);
        expect(notEnded).toMatchObject({ state: 'scheduled', result: undefined, failure: null });
      }
      const worker = new Worker(driver, { queues: [queue], waitMs: 500, shutdownGraceMs: 0 });
      worker.handle('ok', ({ data }) => ({ twice: (data as number) * 2 }));
      worker.handle('no', () => Promise.reject(new Fail('never', { group: 'g' })));
      void worker.run();
      expect(await done).toMatchObject({ state: 'done', result: { twice: 4 }, failure: null });
      expect(await dead).toMatchObject({
        state: 'dead',
        result: undefined,
        failure: { group: 'g', message: 'never' },
      });
      await worker.stop();
      const late = await driver.publishAndWait(
        { queue },
        { ...call, idempotencyKey: fresh('key'), waitMs: 30 },
      );
      expect(late.state).toBe('ready');
    });

    it('settles the job of a worker whose handler throws or returns an unusual value', async () => {
      const logger = { warn: () => undefined, error: () => undefined };
      const worker = new Worker(driver, { queues: [queue], waitMs: 500, shutdownGraceMs: 0, logger });
      const after = (delayMs: number) => () => Promise.reject(new Retry('later', { delayMs }));
      const outcomes: Record<string, () => unknown> = {
        fraction: after(1_000 * 1.5 ** 11),
        ever: after(Infinity),
        number: after(NaN),
        released: () => Promise.reject(new Release({ delayMs: 60_000.5 })),
        half: () => Promise.reject(new Fail('\ud83d', { group: '\ud83d' })),
        textless: () => Promise.reject(Object.create(null) as Error),
        named: () => Promise.reject(Object.assign(new Error('x'), { name: { odd: 1n }, stack: 5 })),
        long: () => Promise.reject(new Error('x'.repeat(100_000))),
        queue: () => new Next({ queue: 'no queue', delayMs: -0.5 }),
        type: () => new Bytes(Buffer.from('x'), 'ä'),
        function: () => () => undefined,
        bigint: () => ({ n: 1n }),
      };
      for (const [type, outcome] of Object.entries(outcomes)) worker.handle(type, outcome);
      const retry = { kind: 'fixed', delayMs: 60_000 };
      const ids = await publish(...Object.keys(outcomes).map((type) => ({ type, retry })));
      void worker.run();
      const states = async () => (await Promise.all(ids.map(find))).map((job) => job?.state ?? 'gone');
      const endMs = performance.now() + 10_000;
      // A job may be leased, and its worker not have it yet.
      const isSettled = (state: string) => state !== 'ready' && state !== 'leased';
      while (!(await states()).every(isSettled) && performance.now() < endMs) await sleep(10);
      await worker.stop();
      expect((await states()).filter((state) => !isSettled(state))).toEqual([]);
      for (const at of [0, 1, 2, 3]) expect((await find(ids[at]!))?.state).toBe('scheduled');
    });

    it('runs 300 jobs in a worker once each, and 30 jobs that fail once a second time', async () => {
      const ids = (
        await Promise.all(
          Array.from({ length: 10 }, () => publish(...Array.from({ length: 30 }, () => ({})))),
        )
      ).flat();
      const runs = new Map<string, number>();
      const worker = new Worker(driver, {
        queues: [queue],
        concurrency: 20,
        prefetch: 20,
        waitMs: 500,
        shutdownGraceMs: 1_000,
      });
      worker.handle('*', () => undefined);
      worker.handle(
        { queue, type: undefined, input: undefined, output: undefined, options: {} },
        ({ id }) => {
          const run = (runs.get(id) ?? 0) + 1;
          runs.set(id, run);
          if (run === 1 && runs.size % 10 === 0) throw new Retry('again', { delayMs: 0 });
        },
      );
      void worker.run();
      const endMs = performance.now() + 20_000;
      while (
        (runs.size < 300 || worker.heldCount > 0 || [...runs.values()].filter((n) => n > 1).length < 30) &&
        performance.now() < endMs
      ) {
        await sleep(10);
      }
      await worker.stop();
      expect([...runs.keys()].sort()).toEqual([...ids].sort());
      expect([...runs.values()].reduce((sum, n) => sum + n)).toBe(330);
      expect(await lease()).toEqual([]);
    });
  });
}

function refOf({ id, queue, lease }: LeasedJob): { id: string; queue: string; lease: number } {
  return { id, queue, lease };
}
