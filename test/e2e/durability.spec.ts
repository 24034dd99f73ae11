import { TestApp } from '../support/app.js';
import { startRedis, waitFor, withoutWaitAof, type RedisProcess } from '../support/redis.js';
import { Redis } from 'ioredis';

const ONE = { 'X-Durability': 'replicated:1' };
const ID = '01M7Z17XME660YPHBY512QCVQF';

/** By the hot lane, and by the router: an escape in the path is all that it takes. */
describe.each([
  ['the hot lane', 'q'],
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

  it('is what X-Durability asks for, and changes nothing about the answer', async () => {
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
    'is refused when it is %j',
    async (durability) => {
      const { status, json } = await app.put(queue, 'x', { headers: { 'X-Durability': durability } });
      expect({ status, json }).toEqual({
        status: 400,
        json: { error: 'X-Durability must be memory, aof, or replicated:N with N from 1 to 9' },
      });
    },
  );

  it('that cannot be had is 503 with its code', async () => {
    for (const durability of ['aof', 'replicated:2']) {
      const answer = await app.put(queue, 'x', { headers: { 'X-Durability': durability } });
      expect(answer).toMatchObject({ status: 503, json: { code: 'durability_unavailable' } });
      expect(answer.headers['x-job-id']).toBeUndefined();
    }
  });

  it('that is not reached in time is 503 with the ids; sent again with them, it is the same jobs', async () => {
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
    ['what is no id of ours', 'mine'],
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
