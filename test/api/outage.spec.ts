import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newJob } from '../engine/fixture.js';
import { type Answer, TestApp } from '../support/app.js';
import { type RedisProcess, startRedis, waitFor } from '../support/redis.js';

const TIMEOUT_MS = 500;
/** Without the time-out no call would end. */
const SLACK_MS = 5_000;

/** Redis goes away and comes back; the server stays. */
describe('an outage of Redis', () => {
  let dir: string;
  let redis: RedisProcess;
  let app: TestApp;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'pumphouse-outage-'));
    redis = await startRedis({ dir, args: ['--appendfsync', 'always'] });
    app = await TestApp.start({
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
      PUMPHOUSE_REDIS__COMMAND_TIMEOUT_MS: String(TIMEOUT_MS),
    });
  });
  afterAll(async () => {
    await app.stop();
    await redis.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const restart = async (): Promise<void> => {
    redis = await startRedis({ dir, port: redis.port, args: ['--appendfsync', 'always'] });
  };
  const timed = async (call: Promise<Answer>): Promise<Answer & { ms: number }> => {
    const start = performance.now();
    const answer = await call;
    return { ...answer, ms: performance.now() - start };
  };

  it("causes 503 for every call of lmstfy's API, within 5.5 s, never 401, until it ends", async () => {
    const id = await app.publish('out?tries=3');
    await redis.kill9();
    const calls = (): Promise<Answer>[] => [
      app.put('out'),
      app.put('out/bulk', '[1]'),
      app.put(`out/job/${id}`),
      app.get('out'),
      app.get('out?count=10'),
      app.get(`out/job/${id}`),
      app.get('out/peek'),
      app.get('out/size'),
      app.delete(`out/job/${id}`),
      app.delete('out'),
      app.get('out/deadletter'),
      app.put('out/deadletter'),
      app.delete('out/deadletter'),
    ];
    for (let round = 0; round < 2; round++) {
      for (const answer of await Promise.all(calls().map(timed))) {
        expect(answer).toMatchObject({ status: 503, json: { error: 'service unavailable' } });
        expect(answer.headers['retry-after']).toBe('1');
        expect(answer.ms).toBeLessThan(TIMEOUT_MS + SLACK_MS);
      }
      // The second round comes when no token is remembered any more.
      await sleep(1_100);
    }
    await waitFor(async () => (await app.get('/readyz')).status === 503, 5_000);
    expect(await app.get('/healthz')).toMatchObject({ status: 200 });
    await restart();
    await waitFor(async () => (await app.get('/readyz')).status === 200, 10_000);
    expect(await waitFor(async () => (await app.get('out?timeout=3')).json, 5_000)).toMatchObject({
      job_id: id,
    });
  });

  it('is the cause in an explanation, within the time-out of commands', async () => {
    const id = await app.publish('explained?delay=60');
    const explain = (path: string): Promise<Answer & { ms: number }> =>
      timed(app.call('GET', `/v1/${app.namespace}/${path}/explain`));
    expect(await explain(`jobs/${id}`)).toMatchObject({ status: 200, json: { cause: 'scheduled' } });
    await redis.kill9();
    for (const path of [`jobs/${id}`, 'queues/explained']) {
      const answer = await explain(path);
      expect(answer).toMatchObject({
        status: 200,
        json: { cause: 'store_unavailable', facts: { seen_by: 'this server' } },
      });
      expect(answer.ms).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    }
    await restart();
    await waitFor(async () => (await app.get('/readyz')).status === 200, 10_000);
    expect(await explain(`jobs/${id}`)).toMatchObject({ json: { cause: 'scheduled' } });
  });

  it('leaves a long poll waiting, which gets a job published after it', async () => {
    const poll = app.get('patient?timeout=60');
    const metrics = async (): Promise<string> => (await app.admin('GET', '/metrics')).text;
    await waitFor(async () => (await metrics()).includes('pumphouse_waiters{pool="default"} 1\n'));
    await redis.kill9();
    await sleep(300);
    await restart();
    // As another process does: by a wake-up, or by a check.
    await waitFor(() => app.engine.publish(app.namespace, 'patient', newJob()), 10_000);
    const { status, ms } = await timed(poll);
    expect(status).toBe(200);
    expect(ms).toBeLessThan(30_000);
  });
});
