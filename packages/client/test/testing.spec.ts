import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { momentOf } from '../../../src/domain/moment.js';
import { testRedisUrl, testTarget, testTargetEnv } from '../../../test/support/redis.js';
import { defineJob, type LeasedJob, type NewJob, Pumphouse, Retry } from '../src/node.js';
import { MemoryDriver, startTestServer, testWorker, type TestWorker } from '../src/testing/index.js';
import { aborted } from './fixture.js';

const mail = defineJob<{ to: string }, string>({
  queue: 'mail',
  type: 'welcome',
  tries: 3,
  retry: { kind: 'exponential', delayMs: 1_000 },
});

let test: TestWorker;
const made: TestWorker[] = [];
const make: typeof testWorker = (...args) => {
  const worker = testWorker(...args);
  made.push(worker);
  return worker;
};
afterEach(() => Promise.all(made.splice(0).map((worker) => worker.stop())));

describe('testWorker', () => {
  it('runs published jobs and the jobs that their handlers publish', async () => {
    const log = defineJob<string>({ queue: 'log' });
    test = make((worker) =>
      worker
        .handle(mail, async ({ data: { to } }) => {
          await test.publish(log, `mail to ${to}`);
          return `sent to ${to}`;
        })
        .handle(log, () => undefined),
    );
    const { id } = await test.publish(mail, { to: 'ada' });
    await test.drain();
    expect(test.job(id)).toMatchObject({ state: 'done', result: 'sent to ada', attempts: 1 });
    expect(test.jobs.map(({ queue, state, data }) => [queue, state, data])).toEqual([
      ['mail', 'done', { to: 'ada' }],
      ['log', 'done', 'mail to ada'],
    ]);
  });

  it.each([
    ...['2030-01-02T03:04:05Z', '2030-01-02T03:04:05.999999+00:00', '2030-01-02T03:04:05.123456789Z'],
    ...['2030-01-02t03:04:05z', '2030-01-02T03:04:05+14:00', '2030-01-02T03:04:05.67-03:30'],
    ...['2028-02-29T00:00:00Z', '2030-02-30T00:00:00Z', '2100-02-29T00:00:00Z', '2030-13-01T00:00:00Z'],
    ...['2030-01-01T24:00:00Z', '2016-12-31T23:59:60Z', '2030-01-01T00:00:00+24:00', '2030-01-01T00:00Z'],
    ...['2030-01-01', '2030-01-01T00:00:00', '2030-01-01 00:00:00Z', '12030-01-01T00:00:00Z', '1893456000'],
    ...['2030-01-01T00:00:00.1234567890Z', '2030-01-01T00:00:00+0200', 'tomorrow', ''],
  ])('reads the time "%s" as a server does', async (runAt) => {
    test = make((worker) => worker.handle(mail, ({ data }) => data.to));
    const publish = test.publish(mail, { to: 'ada' }, { runAt });
    const expected = momentOf(runAt);
    if (Number.isNaN(expected)) {
      await expect(publish).rejects.toMatchObject({
        code: 'invalid_argument',
        fields: [{ field: 'runAt', rule: expect.stringContaining('must be a time') as string }],
      });
    } else expect(test.job((await publish).id)?.dueMs).toBe(expected);
  });

  it('runs delayed jobs and retries up to the last try when its clock is advanced', async () => {
    const times: number[] = [];
    test = make((worker) =>
      worker.handle(mail, () => {
        times.push(test.nowMs - begunMs);
        throw new Retry('no answer', { group: 'smtp' });
      }),
    );
    const begunMs = test.nowMs;
    const { id } = await test.publish(mail, { to: 'ada' }, { delayMs: 500 });
    await test.advance(499);
    expect([times, test.job(id)?.state]).toEqual([[], 'scheduled']);
    await test.advance(1);
    expect(test.job(id)).toMatchObject({ state: 'scheduled', dueMs: begunMs + 1_500 });
    await test.advance(60_000);
    expect(times).toEqual([500, 1_500, 3_500]);
    expect(test.job(id)).toMatchObject({ state: 'dead', failure: { group: 'smtp', message: 'no answer' } });
    expect(test.nowMs - begunMs).toBe(60_500);
  });

  it('leaves a job without a handler ready', async () => {
    test = make((worker) => worker.handle(mail, () => 'sent'));
    const unknown = await test.publish({ queue: 'mail', type: 'unknown' });
    const { id } = await test.publish(mail, { to: 'ada' });
    await test.drain();
    await test.advance(60_000);
    expect(test.job(id)).toMatchObject({ state: 'done', result: 'sent' });
    expect(test.job(unknown.id)).toMatchObject({ state: 'ready', attempts: 0 });
  });

  it('aborts the signal of a running job that is cancelled', async () => {
    test = make((worker) => worker.handle(mail, (_job, { signal }) => aborted(signal)));
    const { id } = await test.publish(mail, { to: 'ada' });
    setTimeout(() => test.cancel(id), 20);
    await test.drain();
    expect(test.job(id)).toMatchObject({ state: 'done', result: 'cancelled' });
  });

  it('passes jobs to handlers whose JSON has the data', async () => {
    const seen: string[] = [];
    test = make((worker) => worker.handle(mail, (job) => JSON.stringify(seen.push(JSON.stringify(job)))));
    await test.publish(mail, { to: 'ada' });
    await test.drain();
    expect(JSON.parse(seen[0] ?? '')).toMatchObject({ queue: 'mail', attempts: 1, data: { to: 'ada' } });
  });

  it('lets its process end without stop()', async () => {
    const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
    const loader = file('../../../test/support/typescript-loader.mjs');
    const child = spawn(process.execPath, ['--import', loader, file('test-worker-process.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.on('data', (text: Buffer) => (printed += text.toString()));
    try {
      const [code] = (await once(child, 'exit', { signal: AbortSignal.timeout(60_000) })) as [number | null];
      expect([code, printed]).toEqual([0, 'done sent to ada\ndone waited\n']);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('refuses a job with a unique key, which it does not support', async () => {
    test = make(() => undefined);
    await expect(test.publish({ queue: 'q', unique: { key: 'k' } })).rejects.toThrow('unique');
  });
});

describe('the memory driver', () => {
  const driverOf = (): { driver: MemoryDriver; publish: (...jobs: NewJob[]) => Promise<string[]> } => {
    const driver = new MemoryDriver();
    let key = 0;
    const publish = async (...jobs: NewJob[]): Promise<string[]> => {
      const published = await driver.publish(jobs, { idempotencyKey: String(key++) });
      return published.map(({ id }) => id);
    };
    return { driver, publish };
  };
  const lease = (driver: MemoryDriver, more: object = {}): Promise<readonly LeasedJob[]> =>
    driver.lease({
      ...{ queues: ['q'], count: 1, waitMs: 0, ttrMs: 1_000, signal: new AbortController().signal },
      ...more,
    });
  const state = (driver: MemoryDriver, id: string) => driver.jobs.find((job) => job.id === id)?.state;

  it('ends leased, ready and scheduled jobs when their ttl is over', async () => {
    const { driver, publish } = driverOf();
    const [leased, ready, later, kept] = (await publish(
      ...[
        { queue: 'q', ttlMs: 500 },
        { queue: 'q', ttlMs: 500 },
      ],
      ...[{ queue: 'q', ttlMs: 500, delayMs: 900 }, { queue: 'q' }],
    )) as [string, string, string, string];
    const [job] = await lease(driver);
    expect([job!.id, Date.parse(job!.expiresAt!) - driver.nowMs]).toEqual([leased, 500]);
    driver.moveTo(driver.nowMs + 499);
    expect([leased, ready, later].map((id) => state(driver, id))).toEqual(['leased', 'ready', 'scheduled']);
    driver.moveTo(driver.nowMs + 1);
    expect([leased, ready, later, kept].map((id) => state(driver, id))).toEqual([
      ...['expired', 'expired', 'expired', 'ready'],
    ]);
    expect(await driver.ack([refOf(job!)])).toEqual(['not_found']);
  });

  it('retries a job after its lease expired, with a delay of at least leaseGraceMs, until the last try', async () => {
    const { driver, publish } = driverOf();
    const retry = { kind: 'fixed', delayMs: 100 } as const;
    const [id] = (await publish({ queue: 'q', tries: 2, retry, leaseGraceMs: 700 })) as [string];
    const [first] = await lease(driver);
    driver.moveTo(driver.nowMs + 999);
    await driver.heartbeat(first!, { ttrMs: 1_000, timeoutMs: 1 });
    driver.moveTo(driver.nowMs + 999);
    expect(state(driver, id)).toBe('leased');
    driver.moveTo(driver.nowMs + 1);
    expect(state(driver, id)).toBe('scheduled');
    await expect(driver.release(first!, {})).rejects.toMatchObject({ code: 'lease_lost' });
    driver.moveTo(driver.nowMs + 699);
    expect(await lease(driver)).toEqual([]);
    driver.moveTo(driver.nowMs + 1);
    expect((await lease(driver))[0]).toMatchObject({ id, crashes: 1, attempts: 2, triesLeft: 0 });
    driver.moveTo(driver.nowMs + 1_000);
    expect(driver.jobs).toMatchObject([{ state: 'dead', crashes: 2, failure: { group: 'lease_expired' } }]);
  });

  it.each<[string, (driver: MemoryDriver, job: LeasedJob) => unknown]>([
    ['a retry', (driver, job) => driver.retry(job, { group: 'g', message: 'm' })],
    ['an expired lease', (driver) => driver.moveTo(driver.nowMs + 1_000)],
  ])('ends a job with the retry policy none after %s', async (_name, end) => {
    const { driver, publish } = driverOf();
    const [id] = (await publish({ queue: 'q', retry: { kind: 'none' } })) as [string];
    const [job] = await lease(driver);
    await end(driver, job!);
    expect(state(driver, id)).toBe('dead');
  });

  it('counts failures and expired leases for the delay of a retry', async () => {
    const { driver, publish } = driverOf();
    const retry = { kind: 'linear', delayMs: 100 } as const;
    await publish({ queue: 'q', retry });
    for (const dueInMs of [100, 200, 300, 400]) {
      const [job] = await lease(driver);
      if (dueInMs % 200 === 0) await driver.retry(job!, { group: 'g', message: 'm' });
      else driver.moveTo(driver.nowMs + 1_000);
      expect(driver.jobs).toMatchObject([{ state: 'scheduled', dueMs: driver.nowMs + dueInMs }]);
      driver.moveTo(driver.nowMs + dueInMs);
    }
  });

  it('ends a run at maxRunMs, whatever the heartbeats', async () => {
    const { driver, publish } = driverOf();
    const retry = { kind: 'fixed', delayMs: 100, nonRetryable: ['max_run_exceeded'] } as const;
    const [id] = (await publish({ queue: 'q', retry, maxRunMs: 1_500 })) as [string];
    const [job] = await lease(driver);
    driver.moveTo(driver.nowMs + 999);
    await driver.heartbeat(job!, { ttrMs: 1_000, timeoutMs: 1 });
    driver.moveTo(driver.nowMs + 500);
    expect(state(driver, id)).toBe('leased');
    driver.moveTo(driver.nowMs + 1);
    expect(driver.jobs).toMatchObject([{ state: 'dead', failure: { group: 'max_run_exceeded' } }]);
    expect(await driver.ack([refOf(job!)])).toEqual(['lease_lost']);
  });

  it('counts a run from the first begin of its handler, under the shorter limit', async () => {
    const { driver, publish } = driverOf();
    await publish({ queue: 'q', maxRunMs: 1_500 });
    const [job] = await lease(driver);
    const begin = (maxRunMs?: number) =>
      driver.heartbeat(job!, { ttrMs: 5_000, timeoutMs: 1, begin: { maxRunMs } });
    driver.moveTo(driver.nowMs + 900);
    await begin(1_000);
    driver.moveTo(driver.nowMs + 900);
    await begin();
    driver.moveTo(driver.nowMs + 99);
    expect(driver.jobs).toMatchObject([{ state: 'leased' }]);
    driver.moveTo(driver.nowMs + 1);
    expect(driver.jobs).toMatchObject([{ state: 'scheduled', crashes: 1 }]);
  });

  it('leases one job of each queue in turn with the order round_robin', async () => {
    const { driver, publish } = driverOf();
    await publish(...['a', 'a', 'a', 'b', 'b', 'c'].map((queue) => ({ queue })));
    const taken = async (count: number): Promise<string[]> => {
      const request = { queues: ['a', 'b', 'c'], order: 'round_robin', count };
      return (await lease(driver, request)).map(({ queue }) => queue);
    };
    expect(await taken(4)).toEqual(['a', 'b', 'c', 'a']);
    expect(await taken(1)).toEqual(['b']);
    expect(await taken(9)).toEqual(['a']);
  });
});

describe('startTestServer', () => {
  it('starts and ends the pumphouse command', async () => {
    const bin = fileURLToPath(new URL('../../../dist/cli/pumphouse.js', import.meta.url));
    const { url } = testTarget();
    const server = await startTestServer({
      bin,
      ...(url === undefined ? { env: testTargetEnv() } : { redisUrl: url }),
    });
    const client = new Pumphouse(server);
    const { id } = await client.publish({ queue: 'mail', data: 1 });
    expect((await client.jobs.get(id)).data).toBe(1);
    client.close();
    await server.stop();
    expect(() => process.kill(server.pid, 0)).toThrow('ESRCH');
  });

  it('fails with the output of the server if the server does not start', async () => {
    const bin = fileURLToPath(new URL('../../../dist/cli/pumphouse.js', import.meta.url));
    const env = { PUMPHOUSE_SERVER__WORKERS: 'many' };
    await expect(startTestServer({ bin, redisUrl: testRedisUrl(), env })).rejects.toThrow('server.workers');
    await expect(startTestServer({ bin: '/nowhere.js' })).rejects.toThrow('nowhere');
  });
});

function refOf({ id, queue, lease }: LeasedJob): { id: string; queue: string; lease: number } {
  return { id, queue, lease };
}
