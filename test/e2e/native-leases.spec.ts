import { setTimeout as sleep } from 'node:timers/promises';
import { TokenStore } from '../../src/auth/token-store.js';
import { MAX_PERIOD_MS } from '../../src/domain/limits.js';
import { head, TestApp } from '../support/app.js';
import {
  app,
  useNativeApi,
  WAYS,
  spell,
  fresh,
  post,
  publish,
  lease,
  leaseOne,
  look,
  code,
  wrongFields,
} from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

useNativeApi();

describe.each(WAYS)('a lease on the native API, by %s', (_way, spelling) => {
  beforeAll(() => spell(spelling));

  it('gives the job with all that a worker needs', async () => {
    const queue = fresh();
    const { id } = await publish({ queue, data: [1], type: 'mail', tags: ['t'], ttl_ms: 600_000 });
    const job = await leaseOne(queue, { ttr_ms: 30_000, worker: 'w 1' });
    expect(job).toMatchObject({
      ...{
        id,
        queue,
        state: 'leased',
        data: [1],
        content_type: 'application/json',
        type: 'mail',
        tags: ['t'],
      },
      ...{
        attributes: null,
        priority: 0,
        tries_left: 2,
        attempts: 1,
        crashes: 0,
        failures: 0,
        lease: 1,
        progress: null,
      },
    });
    const publishedMs = Date.parse(job['published_at'] as string);
    const endsMs = Date.parse(job['lease_ends_at'] as string);
    expect(endsMs - publishedMs).toBeGreaterThanOrEqual(30_000);
    expect(Date.parse(job['expires_at'] as string) - publishedMs).toBeGreaterThanOrEqual(600_000);
    expect(await look(id)).toMatchObject({ state: 'leased', worker: 'w 1', lease: 1 });
  });

  it('gives data that is no JSON in base64, whoever published it', async () => {
    const queue = fresh();
    await app.publish(queue, Buffer.from([0xff, 0x00]));
    await app.publish(queue, 'plain text');
    await app.publish(queue, '{"a":1}');
    const jobs = await lease({ queues: [queue], count: 3 });
    expect(jobs.map(({ data, data_base64, content_type }) => ({ data, data_base64, content_type }))).toEqual([
      { data_base64: '/wA=', content_type: 'application/octet-stream' },
      { data_base64: Buffer.from('plain text').toString('base64'), content_type: 'application/octet-stream' },
      { data: { a: 1 }, content_type: 'application/json' },
    ]);
  });

  it('takes the lowest priority first, and of several queues in order or in turns', async () => {
    const [one, two] = [fresh(), fresh()];
    await publish({
      jobs: [0, 1, 2].flatMap((n) => [
        { queue: one, priority: -n, data: n },
        { queue: two, priority: 1, data: n },
      ]),
    });
    const ordered = await lease({ queues: [one, two], count: 4 });
    expect(ordered.map(({ queue, data }) => [queue, data])).toEqual([
      [one, 2],
      [one, 1],
      [one, 0],
      [two, 0],
    ]);
    for (const { id, lease: number } of ordered) {
      expect((await post(`jobs/${id}/release`, { lease: number })).status).toBe(200);
    }
    const turns = await lease({ queues: [one, two], count: 4, order: 'round_robin' });
    expect(turns.map(({ queue }) => queue).sort()).toEqual([one, one, two, two]);
  });

  it('waits for a job, and is an empty list when none comes', async () => {
    const queue = fresh();
    const waiting = lease({ queues: [queue], wait_ms: 20_000 });
    await waitFor(async () => (await app.admin('GET', '/metrics')).text.includes('waiters'), 5_000);
    const { id } = await publish({ queue, priority: 1 });
    expect((await waiting).map((job) => job.id)).toEqual([id]);
    expect(await lease({ queues: [queue], wait_ms: 1 })).toEqual([]);
    expect(await lease({ queues: [queue] })).toEqual([]);
  });

  it('of a client that is gone before its answer is undone: the jobs are ready again, their tries not spent', async () => {
    const other = await TestApp.start();
    try {
      for (let i = 0; i < 100; i++) await other.publish('heavy?tries=1', Buffer.alloc(65_000, 'x'));
      const body = JSON.stringify({ queues: ['heavy'], count: 100, ttr_ms: 600_000 });
      const connection = await other.open();
      connection.socket.pause();
      const headers = { 'X-Token': other.token, 'Content-Length': String(body.length) };
      connection.write(head('POST', `/v1/${other.namespace}/leases`, headers) + body);
      await waitFor(async () => (await other.engine.size(other.namespace, 'heavy')) < 100);
      // The answer is more than the system takes: most of it waits in the server.
      await sleep(100);
      connection.cut();
      await waitFor(async () => (await other.engine.size(other.namespace, 'heavy')) === 100, 5_000);
      expect(await other.get('heavy/peek')).toMatchObject({ json: { remain_tries: 1 } });
    } finally {
      await other.stop();
    }
  }, 20_000);

  it('of a token that was revoked while it waited is undone, and refused', async () => {
    const queue = fresh();
    const store = app.server.admin.app.get(TokenStore, { strict: false });
    const token = await store.create(app.namespace, 'default', 'short-lived');
    const waiting = post('leases', { queues: [queue], wait_ms: 20_000 }, { token });
    await sleep(1_200);
    await store.delete({ pool: 'default', namespace: app.namespace, token });
    const { id } = await publish({ queue, priority: 1, tries: 1 });
    const refused = await waiting;
    expect([refused.status, code(refused)]).toEqual([401, 'token_invalid']);
    await waitFor(async () => (await look(id))['state'] === 'ready', 5_000);
    expect(await look(id)).toMatchObject({ tries_left: 1, attempts: 0 });
  });

  it.each<[string, object, string[]]>([
    ['no queues', {}, ['queues']],
    ['an empty list', { queues: [] }, ['queues']],
    ['one queue twice', { queues: ['a', 'a'] }, ['queues']],
    ['a name that is none', { queues: ['_a'] }, ['queues']],
    ['no count', { queues: ['a'], count: 0 }, ['count']],
    ['too many', { queues: ['a'], count: 101 }, ['count']],
    ['a lease of no time', { queues: ['a'], ttr_ms: 0 }, ['ttr_ms']],
    ['an order of its own', { queues: ['a'], order: 'random' }, ['order']],
    ['a wait beyond measure', { queues: ['a'], wait_ms: MAX_PERIOD_MS + 1 }, ['wait_ms']],
    ['a worker of two lines', { queues: ['a'], worker: 'a\nb' }, ['worker']],
    ['what it does not know', { queues: ['a'], timeout: 1 }, ['timeout']],
  ])('is refused with %s', async (_, body, wrong) => {
    const answer = await post('leases', body);
    expect([answer.status, wrongFields(answer)]).toEqual([400, wrong]);
  });
});
