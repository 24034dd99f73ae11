import { fileURLToPath } from 'node:url';
import { testRedisUrl } from '../../../test/support/redis.js';
import { defineJob, Pumphouse, Retry } from '../src/node.js';
import { startTestServer, testWorker, type TestWorker } from '../src/testing/index.js';
import { aborted } from './fixture.js';

const mail = defineJob<{ to: string }, { to: string }, string>({
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
  it('runs what is published, and what that publishes', async () => {
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

  it('moves the time: delays, retries and their end', async () => {
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

  it('cancels a running job', async () => {
    test = make((worker) => worker.handle(mail, (_job, { signal }) => aborted(signal)), { ttrMs: 300 });
    const { id } = await test.publish(mail, { to: 'ada' });
    setTimeout(() => test.cancel(id), 20);
    await test.drain();
    expect(test.job(id)).toMatchObject({ state: 'done', result: 'cancelled' });
  });

  it('says what it cannot do', async () => {
    test = make(() => undefined);
    await expect(test.publish({ queue: 'q', unique: { key: 'k' } })).rejects.toThrow('unique');
  });
});

describe('startTestServer', () => {
  it('starts the pumphouse command, and ends it', async () => {
    const bin = fileURLToPath(new URL('../../../dist/cli/pumphouse.js', import.meta.url));
    const server = await startTestServer({ bin, redisUrl: testRedisUrl() });
    const client = new Pumphouse(server);
    const { id } = await client.publish({ queue: 'mail', data: 1 });
    expect((await client.jobs.get(id)).data).toBe(1);
    client.close();
    await server.stop();
    expect(() => process.kill(server.pid, 0)).toThrow('ESRCH');
  });

  it('says what the server printed when it does not start', async () => {
    const bin = fileURLToPath(new URL('../../../dist/cli/pumphouse.js', import.meta.url));
    const env = { PUMPHOUSE_SERVER__WORKERS: 'many' };
    await expect(startTestServer({ bin, redisUrl: testRedisUrl(), env })).rejects.toThrow('server.workers');
    await expect(startTestServer({ bin: '/nowhere.js' })).rejects.toThrow('nowhere');
  });
});
