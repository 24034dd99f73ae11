import type { NewRichJob } from '../../src/domain/rich-job.js';
import { QueueEngine } from '../../src/engine/engine.js';
import { MigratingQueues } from '../../src/engine/migrating-queues.js';
import { RedisPool } from '../../src/redis/pool.js';
import { randomNamespace } from '../support/redis.js';
import { newJob, silentLog, testPoolOptions } from './fixture.js';

const AWAY = { code: 'pool_unavailable' };

/** Two pools: two key prefixes on the tests' Redis. */
describe('the native API, while a pool moves', () => {
  let ns: string;
  let pools: RedisPool[];
  let old: QueueEngine;
  let next: QueueEngine;
  let both: MigratingQueues;
  beforeEach(async () => {
    ns = randomNamespace();
    const connect = (name: string) =>
      RedisPool.connect(
        name,
        testPoolOptions({ keyPrefix: `${randomNamespace(name)}:`, commandTimeoutMs: 500 }),
        silentLog,
      );
    pools = [await connect('a'), await connect('b')];
    [old, next] = pools.map((pool) => new QueueEngine(pool)) as [QueueEngine, QueueEngine];
    both = new MigratingQueues(old, next);
  });
  afterEach(async () => {
    await Promise.all([old, next].map((engine) => engine.stop()));
    await Promise.all(pools.map((pool) => pool.close()));
  });

  const job = (more: Partial<NewRichJob> = {}): NewRichJob => ({
    queue: 'q',
    body: Buffer.from('x'),
    type: 't',
    ...more,
  });
  const put = async (where: { native: QueueEngine['native'] }, more: Partial<NewRichJob> = {}) =>
    (await where.native.publish(ns, [job(more)]))[0]!.id;
  const lease = async (count = 1) =>
    both.reserve(ns, { queues: ['q'], count, ttrMs: 60_000, waitMs: 0, worker: 'w' });
  const sizes = async () => [await old.size(ns, 'q'), await next.size(ns, 'q')];

  it('publishes to the new pool, with all that jobs may say and a key', async () => {
    const options = { idempotencyKey: 'k' };
    const first = await both.native.publish(ns, [job({ priority: 3, retentionMs: 1 }), job()], options);
    expect(await both.native.publish(ns, [job({ priority: 3, retentionMs: 1 }), job()], options)).toEqual(
      first,
    );
    expect(await sizes()).toEqual([0, 2]);
  });

  it('knows what was published under a key before it began to move, to the end of its jobs', async () => {
    const wish = [job({ priority: 3, retentionMs: 60_000, unique: { key: 'u', mode: 'existing' } })];
    const options = { idempotencyKey: 'k' };
    const before = await old.native.publish(ns, wish, options);

    expect(await both.native.publish(ns, wish, options)).toEqual(before);
    await expect(both.native.publish(ns, [job()], options)).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    expect(await sizes()).toEqual([1, 0]);
    const waits = both.native.waitForEnd(ns, before[0]!.id, 10_000, new AbortController().signal);
    await both.native.complete(ns, await lease());
    expect(await waits).toMatchObject({ id: before[0]!.id, state: 'done' });
    expect(await both.native.publish(ns, wish, options)).toEqual(before);
  });

  it.each<[string, Partial<NewRichJob>]>([
    ['unique', { unique: { key: 'k', mode: 'reject' } }],
    ['concurrency_key', { concurrencyKey: 'k' }],
    ['depends_on', { dependsOn: ['other'] }],
  ])('has %s wait, and says so: nobody could keep it over two stores', async (field, more) => {
    await expect(both.native.publish(ns, [job(), job(more)])).rejects.toMatchObject({
      code: 'pool_moving',
      message: expect.stringContaining(field) as string,
    });
    expect(await sizes()).toEqual([0, 0]);
  });

  it('has a chosen id free in both pools', async () => {
    await put(old, { id: 'mine' });
    await expect(put(both, { id: 'mine' })).rejects.toMatchObject({ code: 'job_exists' });
    await put(both, { id: 'other' });
    await expect(put(both, { id: 'other' })).rejects.toMatchObject({ code: 'job_exists' });
  });

  it('leases the jobs of the old pool first, and hears what their owners say where each is', async () => {
    const ids = [
      await put(old),
      await put(old),
      await put(old),
      await put(both),
      await put(both),
      await put(both),
    ];
    const jobs = await lease(6);
    expect(jobs.map(({ id }) => id)).toEqual(ids);
    const { native } = both;
    const [a, b, c, d, e, g] = jobs as [(typeof jobs)[0], ...typeof jobs] & (typeof jobs)[0][];
    for (const one of [a, d!]) {
      expect(await native.heartbeat(ns, one, { ttrMs: 90_000 })).toMatchObject({ cancelRequested: false });
      await native.log(ns, one.id, 'half way');
      expect(await native.find(ns, one.id)).toMatchObject({ state: 'leased', worker: 'w' });
    }
    for (const one of [b!, e!]) {
      expect(await native.retry(ns, { ...one, group: 'g', message: 'm', delayMs: 0 })).toMatchObject({
        state: 'ready',
      });
    }
    for (const one of [c!, g!]) {
      expect(await native.fail(ns, { ...one, group: 'g', message: 'm' })).toMatchObject({ state: 'dead' });
    }
    expect(await native.release(ns, a)).toMatchObject({ state: 'ready' });
    expect(await native.complete(ns, [d!, { id: 'nobody', lease: 1 }])).toEqual(['done', 'not_found']);
    expect((await old.counts(ns, ['q']))[0]).toMatchObject({ ready: 2, dead: 1, leased: 0 });
    expect((await next.counts(ns, ['q']))[0]).toMatchObject({ ready: 1, dead: 1, leased: 0 });
  });

  it('knows a stale lease in either pool, and a job that is in none', async () => {
    for (const id of [await put(old), await put(both)]) {
      await expect(both.native.heartbeat(ns, { id, lease: 7 })).rejects.toMatchObject({ code: 'lease_lost' });
      expect(await both.native.complete(ns, [{ id, lease: 7 }])).toEqual(['lease_lost']);
    }
    await expect(both.native.release(ns, { id: 'none', lease: 1 })).rejects.toMatchObject({
      code: 'job_not_found',
    });
    expect(await both.native.find(ns, 'none')).toBeNull();
  });

  it('moves a job on within its pool, cancels and changes it there; what it would wait for has to wait', async () => {
    const id = await put(old);
    const [leased] = await lease();
    expect(await both.native.complete(ns, [{ ...leased!, next: { queue: 'r' } }])).toEqual(['done']);
    expect(await both.native.change(ns, id, { priority: 4 })).toMatchObject({ state: 'ready' });
    expect(await old.native.find(ns, id)).toMatchObject({ queue: 'r', priority: 4 });
    for (const refused of [
      both.native.change(ns, id, { moreDependencies: ['x'] }),
      both.native.complete(ns, [{ ...leased!, next: { queue: 'r', dependsOn: ['x'] } }]),
    ])
      await expect(refused).rejects.toMatchObject({ code: 'pool_moving' });
    await both.native.cancel(ns, id);
    expect(await both.native.find(ns, id)).toBeNull();
  });

  it('tells how a job ended that was published meanwhile', async () => {
    const id = await put(both, { retentionMs: 60_000 });
    const waits = both.native.waitForEnd(ns, id, 10_000, new AbortController().signal);
    const [leased] = await lease();
    await both.native.complete(ns, [leased!]);
    expect(await waits).toMatchObject({ id, state: 'done' });
  });

  it('goes on without the old pool; what may be there is unknown', async () => {
    await pools[0]!.close();
    const id = await put(both, { id: 'mine' });
    const [leased] = await lease();
    expect(leased?.id).toBe(id);
    expect(await both.native.heartbeat(ns, leased!)).toMatchObject({ cancelRequested: false });
    await expect(both.native.find(ns, 'elsewhere')).rejects.toMatchObject(AWAY);
    expect(await both.native.complete(ns, [leased!])).toEqual(['done']);
    await expect(both.native.complete(ns, [leased!])).rejects.toMatchObject(AWAY);
  });

  it('drains the old pool while the new one is away', async () => {
    await put(old);
    await old.publish(ns, 'q', newJob());
    const [one, two] = await lease(2);
    await pools[1]!.close();
    expect(await both.native.complete(ns, [one!])).toEqual(['done']);
    expect(await both.native.retry(ns, { ...two!, group: 'g', message: '' })).toMatchObject({
      state: 'dead',
    });
    await expect(both.native.complete(ns, [one!])).rejects.toMatchObject(AWAY);
    await expect(put(both)).rejects.toMatchObject(AWAY);
  });
});
