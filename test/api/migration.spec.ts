import { setTimeout as sleep } from 'node:timers/promises';
import type { OperationDetails } from '../../src/contract/operations.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { NO_QUOTAS } from '../../src/engine/core/quotas.js';
import { ScriptRunner } from '../../src/engine/core/scripts.js';
import { Engines } from '../../src/engine/engines.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { stepUndo } from '../../src/redis/scripts/extended.js';
import { newJob, silentLog, testPoolOptions } from '../engine/fixture.js';
import { TestApp } from '../support/app.js';
import { answerWith, PUSH, Receiver } from '../support/receiver.js';
import { type RedisProcess, startRedis, testRedisUrl, waitFor } from '../support/redis.js';

const SHOWN = { filter: { state: [] }, to: null, set: null };

/** The default pool, on a Redis of its own, moves to the tests' Redis. */
describe('a pool that moves to another Redis', () => {
  let redis: RedisProcess;
  let app: TestApp;
  let old: PoolEngine;
  let next: PoolEngine;

  beforeAll(async () => {
    redis = await startRedis();
    app = await TestApp.start({
      ...PUSH,
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
      PUMPHOUSE_POOLS__DEFAULT__MIGRATE_TO: 'fresh',
      PUMPHOUSE_POOLS__FRESH__URL: testRedisUrl(),
      PUMPHOUSE_TOKENS__URL: testRedisUrl(),
      PUMPHOUSE_REDIS__COMMAND_TIMEOUT_MS: '500',
    });
    [old, next] = app.server.api.app.get(Engines, { strict: false }).all() as [PoolEngine, PoolEngine];
  });
  afterAll(async () => {
    await app.stop();
    await redis.stop();
  });

  const store = (engine: PoolEngine, text: string): Promise<string> =>
    engine.publish(app.namespace, 'q', newJob({ body: Buffer.from(text), tries: 3 }));
  const idOf = ({ json }: { json: unknown }): string => (json as { job_id: string }).job_id;

  it('refuses a new operation, and stops those that ran when the move began', async () => {
    for (let i = 0; i < 40; i++) await old.publish(app.namespace, 'operated', newJob());
    const { details } = await old.operations.start(app.namespace, {
      ...{ action: 'delete', filter: { queue: 'operated' }, ratePerS: 10, shown: SHOWN },
    });
    const find = async (): Promise<unknown> =>
      (await app.call('GET', `/v1/${app.namespace}/operations/${details.id}`)).json;
    await waitFor(async () => ((await find()) as { state: string }).state !== 'running');
    expect(await find()).toMatchObject({ state: 'stopped', reason: 'pool_moving', done: 0 });
    const body = '{"action":"cancel","filter":{}}';
    const refused = await app.call('POST', `/v1/${app.namespace}/operations`, { body });
    expect(refused).toMatchObject({ status: 503, json: { code: 'pool_moving' } });
    await app.delete('operated');
  });

  it('refuses an undo, and stops one that ran when the move began: another server can go on after the move', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 40; i++) ids.push(await old.publish(app.namespace, 'undone', newJob()));
    // A server that does not know of the move yet.
    const pool = await RedisPool.connect('default', testPoolOptions({ url: redis.url }), silentLog);
    const before = new PoolEngine(pool);
    const { operations, operationRunner } = before.components;
    const { details } = await operations.start(app.namespace, {
      ...{ action: 'delete', filter: { queue: 'undone' }, undoMs: 600_000, shown: SHOWN },
    });
    const { id } = details;
    const find = async (): Promise<OperationDetails> => (await operations.find(app.namespace, id))!.details;
    const goOn = async (): Promise<void> => {
      while ((await operationRunner.runNow()) > 0) await sleep(2);
    };
    await waitFor(() => goOn().then(async () => (await find()).state === 'done'));
    await operations.undo(app.namespace, id);
    const args = { id, reason: '', limit: 10, quotas: NO_QUOTAS };
    await new ScriptRunner(pool, silentObserver, undefined).run(stepUndo, app.namespace, args);
    expect((await find()).undo).toMatchObject({ state: 'running', restored: 10 });

    const path = `/v1/${app.namespace}/operations/${id}`;
    await waitFor(async () => (await find()).undo?.state !== 'running', 20_000);
    expect((await app.call('GET', path)).json).toMatchObject({
      undo: { state: 'stopped', restored: 10, message: 'The pool is being moved to another Redis.' },
    });
    expect(await app.call('POST', `${path}/undo`)).toMatchObject({
      ...{ status: 503, json: { code: 'pool_moving' } },
    });
    expect((await app.get('undone?count=50')).json).toHaveLength(10);

    await operations.undo(app.namespace, id);
    await waitFor(() => goOn().then(async () => (await find()).undo?.state === 'done'));
    expect((await find()).undo).toMatchObject({ restored: 40, failed: 0 });
    expect((await app.get('undone?count=50')).json).toHaveLength(30);
    await Promise.all(ids.map((one) => app.delete(`undone/job/${one}`)));
    await before.stop();
    await pool.close();
  });

  // One escape in the path is enough to bypass the fast path.
  it.each([
    ['the fast path', 'q'],
    ['the router', '%71'],
  ])('serves the jobs of the old and the new pool by %s', async (_name, queue) => {
    const ids = [await store(old, 'one'), idOf(await app.put(queue, 'two')), await store(old, 'three')];
    expect(await app.get(`${queue}/size`)).toMatchObject({ json: { size: 3 } });
    expect(await next.queues.size(app.namespace, 'q')).toBe(1);

    const got = [idOf(await app.get(queue))];
    const batch = await app.get(`${queue}?count=5&timeout=1`);
    got.push(...(batch.json as { job_id: string }[]).map(({ job_id }) => job_id));
    expect(got).toEqual([ids[0], ids[2], ids[1]]);
    await app.delete(`${queue}/job/${got[0]!}`);
    const acks = JSON.stringify({ acks: got.map((id) => ({ queue: 'q', id, force: true })) });
    const answer = await app.call('POST', `/v1/${app.namespace}/acks`, {
      body: acks,
      headers: { 'content-type': 'application/json' },
    });
    expect((answer.json as { results: { status: string }[] }).results.map(({ status }) => status)).toEqual([
      'not_found',
      'acked',
      'acked',
    ]);
    expect((await app.put(`${queue}/bulk`, '[1,2]')).status).toBe(201);
    expect(await next.queues.size(app.namespace, 'q')).toBe(2);
    expect((await app.delete(queue)).status).toBe(204);
    expect(await next.queues.size(app.namespace, 'q')).toBe(0);
  });

  it('says of waiting jobs of both pools that the pool moves, beside their own cause', async () => {
    const ids = [
      await old.publish(app.namespace, 'explained', newJob({ delayMs: 60_000 })),
      await next.publish(app.namespace, 'explained', newJob()),
    ];
    const explain = async (path: string): Promise<unknown> =>
      (await app.call('GET', `/v1/${app.namespace}/${path}/explain`)).json;
    expect(await explain(`jobs/${ids[0]!}`)).toMatchObject({
      cause: 'scheduled',
      also: [{ cause: 'pool_moving' }, { cause: 'no_worker' }],
    });
    expect(await explain(`jobs/${ids[1]!}`)).toMatchObject({ cause: 'pool_moving' });
    expect(await explain('queues/explained')).toMatchObject({ cause: 'pool_moving' });
    await app.delete('explained');
  });

  it('T27: keeps a job whose republish is refused, and else replaces it by a job in the new pool', async () => {
    for (const engine of [old, next]) {
      const id = await store(engine, 'first');
      expect(await app.put(`q/job/${id}?ttl=x`, 'second')).toMatchObject({
        status: 400,
        json: { error: 'invalid ttl' },
      });
      expect((await app.put(`q/job/${id}`, 'x'.repeat(70_000))).status).toBe(413);
      expect((await engine.jobs.peekJob(app.namespace, 'q', id))?.body.toString()).toBe('first');

      const fresh = idOf(await app.put(`q/job/${id}`, 'second'));
      expect((await app.get(`q/job/${id}`)).status).toBe(404);
      expect((await next.jobs.peekJob(app.namespace, 'q', fresh))?.body.toString()).toBe('second');
      expect((await app.get('q/size')).json).toMatchObject({ size: 1 });
      await app.delete(`q/job/${fresh}`);
    }
  });

  it('leases jobs of the old and the new pool to a worker of the native API, and settles each in its pool', async () => {
    const v1 = (path: string, body: object) =>
      app.call('POST', `/v1/${app.namespace}/${path}`, { body: JSON.stringify(body) });
    const [inOld] = await old.jobs.publish(app.namespace, [
      { queue: 'n', id: 'o'.repeat(128), body: Buffer.from('1'), type: 't', retentionMs: 60_000 },
    ]);
    const published = await v1('jobs', {
      queue: 'n',
      id: 'n'.repeat(128),
      data: 2,
      priority: 1,
      retention_ms: 60_000,
    });
    expect((await v1('jobs', { queue: 'n', id: inOld!.id })).json).toMatchObject({ code: 'job_exists' });
    expect(published.status).toBe(201);
    const inNew = (published.json as { id: string }).id;
    const { json } = await v1('leases', { queues: ['n'], count: 5, worker: 'w' });
    const { jobs } = json as { jobs: { id: string; lease: number }[] };
    expect(jobs.map(({ id }) => id)).toEqual([inOld!.id, inNew]);
    for (const { id, lease } of jobs) {
      expect((await v1(`jobs/${id}/heartbeat`, { lease, progress: 1 })).status).toBe(200);
      expect((await v1(`jobs/${id}/ack`, { lease, result: 'done' })).status).toBe(200);
      expect((await app.get(`/v1/${app.namespace}/jobs/${id}`)).json).toMatchObject({ state: 'done' });
    }
    const unique = await v1('jobs', { queue: 'n', unique: { key: 'k', mode: 'reject' } });
    expect(unique).toMatchObject({
      status: 503,
      json: { code: 'pool_moving', detail: expect.stringContaining('unique') as string },
    });
    expect(unique.headers['retry-after']).toBe('1');
    expect((await app.get(`/v1/${app.namespace}/jobs?queue=n`)).json).toMatchObject({ code: 'pool_moving' });
  });

  describe('a push target that fails in the old pool', () => {
    let receiver: Receiver;
    beforeAll(async () => {
      receiver = await Receiver.start();
    });
    afterAll(() => receiver.stop());

    const v1 = async (method: string, path: string, body?: object): Promise<unknown> =>
      (await app.call(method, `/v1/${app.namespace}/${path}`, body ? { body: JSON.stringify(body) } : {}))
        .json;
    /** Pushes a queue, of which the old pool has a job. */
    async function push(name: string, status: number): Promise<void> {
      receiver.respond = answerWith(status);
      const breaker = { failures: 1, failure_percent: 1, min_requests: 1, open_ms: 60_000 };
      await v1('PUT', `targets/${name}`, { url: receiver.url, breaker });
      await v1('PATCH', `queues/${name}`, { push: { target: name } });
      await old.publish(app.namespace, name, newJob());
    }

    it('shows its open breaker, until a resume closes it', async () => {
      await push('breaks', 500);
      const breaker = async (): Promise<unknown> =>
        ((await v1('GET', 'targets/breaks')) as { breaker: { state: string } }).breaker.state;
      await waitFor(async () => (await old.targets.read(app.namespace)).breakers.has('breaks'));
      expect(await breaker()).toBe('open');
      receiver.respond = answerWith(200);
      await v1('POST', 'targets/breaks/resume');
      expect(await breaker()).toBe('closed');
    });

    it('is paused in both pools if its answer is 410', async () => {
      const before = receiver.received.length;
      await push('gone', 410);
      const paused = { paused_at: expect.any(String) as string, pause_reason: 'gone' };
      await waitFor(() => receiver.received.length > before);
      await waitFor(async () => {
        const shown = await v1('GET', 'targets/gone');
        return (shown as { pause_reason: string | null }).pause_reason === 'gone';
      });
      expect(await v1('GET', 'targets/gone')).toMatchObject(paused);
      for (const { targets } of [old, next])
        expect((await targets.read(app.namespace)).targets.get('gone')).toContain('"pauseReason":"gone"');
    });
  });

  it('lists the queues of the old and of the new pool', async () => {
    await old.publish(app.namespace, 'only-old', newJob());
    await next.publish(app.namespace, 'only-new', newJob());
    const { text } = await app.admin('GET', '/info?pool=default');

    expect((JSON.parse(text) as Record<string, string[]>)[app.namespace]).toEqual(
      expect.arrayContaining(['only-new', 'only-old']),
    );
  });

  it('is degraded, and publishes and leases, while the old Redis is down', async () => {
    const wait = app.get('q?timeout=20');
    await redis.kill9();
    const degraded = { status: 200, json: { status: 'degraded', degraded: ['default: down'] } };
    await waitFor(async () => (await app.get('/readyz?pool=default')).text.includes('default: down'));
    expect(await app.get('/readyz?pool=default')).toMatchObject(degraded);
    expect(await app.get('/readyz')).toMatchObject(degraded);

    const id = idOf(await app.put('q', 'one'));
    expect(idOf(await wait)).toBe(id);
    expect((await app.delete(`q/job/${id}`)).status).toBe(204);
    await app.put('q', 'two');
    expect((await app.get('q')).status).toBe(200);
    expect((await app.get('q')).status).toBe(404);
    expect((await app.get('q/size')).status).toBe(503);
    expect((await app.admin('GET', '/info?pool=default')).status).toBe(200);
    expect(await app.admin('GET', '/metrics')).toMatchObject({
      text: expect.not.stringContaining('pumphouse_redis_up{pool="default"} 1') as string,
    });
  });
});
