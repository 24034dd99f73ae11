import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Engines } from '../../src/engine/engines.js';
import type { PoolEngine } from '../../src/engine/pool-engine.js';
import { type Answer, TestApp } from '../support/app.js';
import { type RedisProcess, startRedis, waitFor } from '../support/redis.js';

interface Explanation {
  readonly cause: string;
  readonly message: string;
  readonly facts: Record<string, unknown>;
  readonly remedies: readonly { call: string }[];
  readonly also: readonly { cause: string }[];
}

/** On a busy machine Redis may get no CPU for a while. */
const TIMEOUT_MS = 3_000;
/** Without the time-out no call would end. */
const SLACK_MS = 5_000;
const HOUR_MS = 3_600_000;
const PATHS = ['jobs/waits', 'queues/q', 'recurring/nightly'];
/** Five milliseconds for each key that it loads; after each KiB it answers what it was sent. */
const SLOW_LOAD = [
  ...['--appendonly', 'no', '--key-load-delay', '5000'],
  ...['--loading-process-events-interval-bytes', '1024'],
];
const KEYS = 3_000;

/** What is wrong with Redis, or with the server that answers. */
describe('an explanation', () => {
  let dir: string;
  let redis: RedisProcess;
  let client: Redis;
  let app: TestApp;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'pumphouse-explain-'));
    redis = await startRedis({ dir });
    client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    app = await start();
  });
  afterAll(async () => {
    await app.stop();
    client.disconnect();
    await redis.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const start = (): Promise<TestApp> =>
    TestApp.start({
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
      PUMPHOUSE_REDIS__COMMAND_TIMEOUT_MS: String(TIMEOUT_MS),
    });
  const call = (method: string, path: string, body?: object, token = app.token): Promise<Answer> =>
    app.call(method, `/v1/${app.namespace}/${path}`, {
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      token,
    });
  const given = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const { status, json, text } = await call(method, path, body);
    if (status >= 300) throw new Error(`${String(status)} ${text}`);
    return json as T;
  };
  const explain = (path: string): Promise<Explanation> => given('GET', `${path}/explain`);
  const doRemedy = async ({ remedies }: Explanation): Promise<void> => {
    const [, method = '', path = '', body] = /^(\w+) \/v1\/[^/]+\/(\S+)(?: (.*))?$/.exec(remedies[0]!.call)!;
    await given(method, path, body === undefined ? undefined : (JSON.parse(body) as object));
  };

  /** The answers of all calls that explain, while Redis cannot be used. */
  async function outages(token?: string): Promise<Explanation[]> {
    const found: Explanation[] = [];
    for (const path of PATHS) {
      const startMs = performance.now();
      const { status, json } = await call('GET', `${path}/explain`, undefined, token);
      expect([path, status]).toEqual([path, 200]);
      expect(performance.now() - startMs).toBeLessThan(TIMEOUT_MS + SLACK_MS);
      found.push(json as Explanation);
    }
    return found;
  }

  /** Waits until each call names the reason; the connection may be lost and made again meanwhile. */
  async function areAll(reason: string): Promise<void> {
    for (const path of PATHS)
      await waitFor(async () => {
        const { cause, facts } = await explain(path);
        return cause === 'store_unavailable' && facts['reason'] === reason;
      }, 10_000);
  }

  const isUsable = (): Promise<boolean> =>
    call('GET', 'jobs/waits/explain').then(
      ({ status, json }) => status === 200 && (json as Explanation).cause === 'scheduled',
    );

  beforeAll(async () => {
    await waitFor(() => given('PUT', 'jobs/waits', { queue: 'q', delay_ms: 2 * HOUR_MS }), 10_000);
    await given('PUT', 'recurring/nightly', { schedule: { every_ms: HOUR_MS }, job: { queue: 'made' } });
  });

  it('is store_unavailable while Redis hangs, also for a token that cannot be checked', async () => {
    process.kill(redis.pid, 'SIGSTOP');
    try {
      const known = await outages();
      // By then no token is remembered any more; and a wrong one learns what every call says.
      await sleep(1_100);
      for (const found of [...known, ...(await outages()), ...(await outages('wrong'))]) {
        expect(found).toMatchObject({ cause: 'store_unavailable', remedies: [], also: [] });
        expect(found.facts).toEqual({
          ...{ reason: expect.stringMatching(/^(no_answer|unreachable)$/) as string, seen_by: 'this server' },
        });
        expect(JSON.stringify(found)).not.toMatch(/waits|nightly|default/);
      }
    } finally {
      process.kill(redis.pid, 'SIGCONT');
    }
    await waitFor(isUsable, 10_000);
    expect((await call('GET', 'jobs/waits/explain', undefined, 'wrong')).status).toBe(401);
  });

  it('is store_unavailable while Redis is a replica, which takes no writes', async () => {
    await client.call('REPLICAOF', '127.0.0.1', '1');
    try {
      await areAll('read_only');
    } finally {
      await client.call('REPLICAOF', 'NO', 'ONE');
    }
    await waitFor(isUsable, 10_000);
  });

  it('is store_unavailable while Redis loads its data', async () => {
    const { port } = redis;
    await client.mset(
      Array.from({ length: KEYS }, (_, i) => [`key${String(i)}`, randomBytes(400).toString('base64')]).flat(),
    );
    await client.call('SAVE');
    client.disconnect();
    await redis.kill9();
    redis = await startRedis({ dir, port, isLoading: true, args: SLOW_LOAD });
    try {
      await areAll('loading');
    } finally {
      await redis.kill9();
      redis = await startRedis({ dir, port });
    }
    client = new Redis(port, '127.0.0.1', { protocol: 2 });
    await waitFor(isUsable, 10_000);
  });

  it('is store_full while Redis has used its maxmemory, and the remedy makes room', async () => {
    const data = 'x'.repeat(50_000);
    await given('PUT', 'recurring/often', {
      ...{ schedule: { every_ms: 1_000 }, job: { queue: 'made', data: 1 } },
    });
    for (let i = 0; i < 100; i++) {
      const { id } = await given<{ id: string }>('POST', 'jobs', { queue: 'q', data, retention_ms: HOUR_MS });
      await given('POST', `jobs/${id}/cancel`);
    }
    const used = Number(/used_memory:(\d+)/.exec(await client.info('memory'))![1]);
    await client.config('SET', 'maxmemory', used - 1_000_000);
    const found = await explain('queues/q');
    expect(found).toMatchObject({ cause: 'store_full', facts: { queue: 'q' } });
    expect(found.message).toContain('Redis has used all of its maxmemory');
    expect((await explain('jobs/waits')).cause).toBe('store_full');
    expect((await explain('jobs/waits')).also[0]).toMatchObject({ cause: 'scheduled' });
    await waitFor(
      async () => (await explain('recurring/often')).facts['last_skip_reason'] === 'store_full',
      10_000,
    );
    const recurring = await explain('recurring/often');
    expect(recurring).toMatchObject({ cause: 'store_full', also: [{ cause: 'scheduled' }, {}] });
    expect(recurring.also[0]).toMatchObject({ message: expect.stringContaining('Redis was full') as string });
    await doRemedy(found);
    await waitFor(async () => (await explain('queues/q')).cause !== 'store_full', 10_000);
    await client.config('SET', 'maxmemory', 0);
    await call('DELETE', 'recurring/often');
  });

  it.each([
    ['the remedy returns the job', true],
    ['another server returns the job', false],
  ])('is lease_ended while no server returns a job: %s', async (_name, byRemedy) => {
    const engine = app.server.api.app.get(Engines, { strict: false }).of('default') as PoolEngine;
    await engine.components.pump.stop();
    const queue = byRemedy ? 'late' : 'later';
    const { id } = await given<{ id: string }>('POST', 'jobs', { queue, type: 'mail', tries: 3 });
    await given('POST', 'leases', { queues: [queue], worker: 'w1', ttr_ms: 1_000 });
    await waitFor(async () => (await explain(`jobs/${id}`)).cause === 'lease_ended', 5_000);
    const found = await explain(`jobs/${id}`);
    expect(found).toMatchObject({ facts: { worker: 'w1', attempt: 1, seen_by: 'this server' } });
    expect(found.message).toContain('no server has returned the job yet: the pump of this server');
    if (byRemedy) {
      await doRemedy(found);
      expect((await explain(`jobs/${id}`)).cause).toBe('behind');
      return;
    }
    const other = await start();
    await waitFor(async () => (await explain(`jobs/${id}`)).cause !== 'lease_ended', 5_000);
    await other.stop();
  });
});
