import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { head, TestApp } from '../support/app.js';
import {
  freePort,
  type RedisProcess,
  startRedis,
  testRedisUrl,
  waitFor,
  withoutWaitAof,
} from '../support/redis.js';

describe('durability', () => {
  const ONE = { 'X-Durability': 'replicated:1' };
  const ID = '01M7Z17XME660YPHBY512QCVQF';

  /** Through the fast path, and through the router: one escape in the path is enough. */
  describe.each([
    ['the fast path', 'q'],
    ['the router', '%71'],
  ])('durability over %s', (_name, queue) => {
    let master: RedisProcess;
    let replica: RedisProcess;
    let app: TestApp;
    beforeAll(async () => {
      // Redis waits for a disk that is busy with other things; the disk is not what this is about.
      const args = ['--repl-diskless-sync-delay', '0', '--appendfsync', 'no', ...withoutWaitAof()];
      master = await startRedis({ args });
      const of = `127.0.0.1 ${String(master.port)}`;
      replica = await startRedis({ args: ['--replicaof', of, '--appendonly', 'no'] });
      const link = new Redis(master.port, '127.0.0.1', { protocol: 2 });
      await waitFor(async () => (await link.info('replication')).includes('state=online'), 15_000);
      // Writes go to a new replica only after its first report, which it makes within a second.
      await link.set('first', '1');
      await waitFor(async () => (await link.wait(1, 1_000)) === 1, 15_000);
      link.disconnect();
      app = await TestApp.start({
        PUMPHOUSE_POOLS__DEFAULT__URL: master.url,
        PUMPHOUSE_REDIS__WAIT_TIMEOUT_MS: '650',
      });
    });
    afterAll(async () => {
      await app.stop();
      await replica.kill9();
      await replica.stop();
      await master.stop();
    });

    it('does not change the answer of a publish if X-Durability can be kept', async () => {
      for (const durability of ['memory', 'replicated:1']) {
        const headers = { 'X-Durability': durability };
        expect(await app.put(queue, 'x', { headers })).toMatchObject({
          status: 201,
          json: { msg: 'published' },
        });
        expect(await app.put(`${queue}/bulk`, '[1,2]', { headers })).toMatchObject({ status: 201 });
        expect(await app.put(`${queue}/job/${ID}`, 'x', { headers })).toMatchObject({ status: 201 });
      }
    });

    it.each(['', 'disk', 'replicated', 'replicated:0', 'replicated:10', 'AOF', 'aof, aof'])(
      'refuses the value %j',
      async (durability) => {
        const { status, json } = await app.put(queue, 'x', { headers: { 'X-Durability': durability } });
        expect({ status, json }).toEqual({
          status: 400,
          json: { error: 'X-Durability must be memory, aof, or replicated:N with N from 1 to 9' },
        });
      },
    );

    it('answers 503 durability_unavailable if the pool cannot give it', async () => {
      for (const durability of ['aof', 'replicated:2']) {
        const answer = await app.put(queue, 'x', { headers: { 'X-Durability': durability } });
        expect(answer).toMatchObject({ status: 503, json: { code: 'durability_unavailable' } });
        expect(answer.headers['x-job-id']).toBeUndefined();
      }
    });

    it('answers 503 with the job ids after a timeout, and a publish with these ids makes no second job', async () => {
      process.kill(replica.pid, 'SIGSTOP');
      const [single, bulk] = await Promise.all([
        app.put(`${queue}x`, 'x', { headers: ONE }),
        app.put(`${queue}x/bulk`, '[1,2]', { headers: ONE }),
      ]);
      process.kill(replica.pid, 'SIGCONT');
      for (const answer of [single, bulk]) {
        const ids = String(answer.headers['x-job-id']).split(',');
        expect(answer).toMatchObject({
          status: 503,
          json: { code: 'not_replicated', error: 'service unavailable', job_ids: ids },
        });
        expect(answer.headers['retry-after']).toBe('1');
        const headers = { ...ONE, 'X-Job-ID': ids.join(', ') };
        const [path, body] = ids.length === 1 ? [`${queue}x`, 'x'] : [`${queue}x/bulk`, '[1,2]'];
        const again = await waitFor(async () => {
          const { status, json } = await app.put(path, body, { headers });
          return status === 201 && json;
        }, 10_000);
        expect(again).toEqual({
          ...(ids.length === 1 ? { job_id: ids[0] } : { job_ids: ids }),
          msg: 'published',
        });
      }
      expect((await app.get(`${queue}x/size`)).json).toMatchObject({ size: 3 });
    });

    it.each([
      ['too many ids', `${ID},01M7Z17XME660YPHBY512QCVQG`],
      ['the same id twice', `${ID},${ID}`],
      ['an id that the server did not create', 'mine'],
      ['nothing', ''],
    ])('is refused with %s in X-Job-ID', async (_what, ids) => {
      const { status, json } = await app.put(queue, 'x', { headers: { 'X-Job-ID': ids } });
      expect({ status, json }).toEqual({
        status: 400,
        json: {
          error:
            'X-Job-ID must be ids that this call was refused with before, one for each job, separated by commas',
        },
      });
    });
  });
});

describe('readiness', () => {
  /** Long enough for a replica to be in step on a busy machine, and for a pool to be looked at again, in ms. */
  const SOON_MS = 20_000;

  describe('a pool of durability replicated:1', () => {
    const processes: RedisProcess[] = [];
    let app: TestApp;
    beforeAll(async () => {
      const port = await freePort();
      processes.push(
        await startRedis({ port, args: ['--repl-diskless-sync-delay', '0', '--appendfsync', 'no'] }),
      );
      app = await TestApp.start({
        PUMPHOUSE_POOLS__DEFAULT__URL: processes[0]!.url,
        PUMPHOUSE_POOLS__DEFAULT__DURABILITY: 'replicated:1',
      });
    });
    afterAll(async () => {
      await app.stop();
      for (const redis of processes.reverse()) {
        await redis.kill9();
        await redis.stop();
      }
    });

    const readyz = async (): Promise<unknown> => {
      const { status, json } = await app.get('/readyz');
      return { status, ...(json as object) };
    };
    const statusOf = async (): Promise<string> =>
      ((await app.get('/readyz')).json as { status: string }).status;
    const DEGRADED = { status: 'degraded', degraded: ['default: durability'] };

    it('is degraded, not down, while it has too few replicas', async () => {
      expect((await app.get('/readyz')).status).toBe(200);
      expect(await readyz()).toMatchObject(DEGRADED);
      expect(await app.put('q')).toMatchObject({ status: 503, json: { code: 'durability_unavailable' } });
      expect(await app.put('q', 'x', { headers: { 'X-Durability': 'memory' } })).toMatchObject({
        status: 201,
      });
      expect(await app.get('q')).toMatchObject({ status: 200 });
      const { text } = await app.admin('GET', '/metrics');
      expect(text).toMatch(/^pumphouse_degraded\{pool="default",reason="durability"\} 1$/m);

      const of = `127.0.0.1 ${String(processes[0]!.port)}`;
      processes.push(await startRedis({ args: ['--replicaof', of, '--appendonly', 'no'] }));
      await waitFor(async () => (await statusOf()) === 'ready', SOON_MS);
      await waitFor(async () => (await app.put('q')).status === 201, SOON_MS);

      await processes[1]!.kill9();
      // A publish that is refused has the pool looked at.
      await waitFor(async () => {
        expect(await app.put('q')).toMatchObject({ status: 503 });
        return (await statusOf()) === 'degraded';
      }, SOON_MS);
      expect(await readyz()).toMatchObject(DEGRADED);
      expect(await app.get('/healthz')).toMatchObject({ status: 200 });
    });
  });
});

describe('delivery records', () => {
  /** Between two ticks in which a record could go, and more. */
  const A_WHILE_MS = 800;

  describe('the delivery log entry of an answer with leases', () => {
    let app: TestApp;
    let redis: Redis;
    beforeAll(async () => {
      app = await TestApp.start();
      redis = new Redis(testRedisUrl(), { protocol: 2 });
    });
    afterAll(async () => {
      redis.disconnect();
      await app.stop();
    });
    const records = (): Promise<number> => redis.hlen(`{${app.namespace}}:sending`);

    it.each([
      ['over the fast path', 'quick'],
      ['over the router', 'quic%6B'],
    ])('is removed when the answer was sent, %s', async (_way, path) => {
      await app.publish('quick?tries=1');
      expect(await app.get(`${path}?ttr=600`)).toMatchObject({ status: 200 });
      await waitFor(async () => (await records()) === 0);
    });

    it('stays until the client has read the answer', async () => {
      for (let i = 0; i < 70; i++) await app.publish('heavy?tries=1', Buffer.alloc(65_000, 'x'));
      const connection = await app.open();
      connection.socket.pause();
      connection.write(
        head('GET', `/api/${app.namespace}/heavy?count=100&ttr=600`, { 'X-Token': app.token }),
      );
      await waitFor(async () => (await app.engine.queues.size(app.namespace, 'heavy')) < 70);
      await sleep(A_WHILE_MS);
      expect(await records()).toBeGreaterThan(0);
      connection.socket.resume();
      await waitFor(async () => (await records()) === 0, 5_000);
      connection.cut();
    });

    it('is removed when its client disconnects, and the leases are undone', async () => {
      for (let i = 0; i < 70; i++) await app.publish('left?tries=1', Buffer.alloc(65_000, 'x'));
      const connection = await app.open();
      connection.socket.pause();
      connection.write(head('GET', `/api/${app.namespace}/left?count=100&ttr=600`, { 'X-Token': app.token }));
      // Of each part of the answer that was leased in a script of its own.
      await waitFor(async () => (await records()) > 0);
      await sleep(100);
      connection.cut();
      await waitFor(async () => (await app.engine.queues.size(app.namespace, 'left')) === 70, 5_000);
      await waitFor(async () => (await records()) === 0);
    });
  });
});
