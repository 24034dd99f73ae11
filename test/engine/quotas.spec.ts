import { Redis } from 'ioredis';
import type { LeasedJob, NewJob } from '../../src/domain/job/job.js';
import { NO_LIMITS, type Quotas } from '../../src/domain/job/quotas.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { BUILT_IN, SETTING_KEYS, SETTINGS } from '../../src/engine/queues/known-settings.js';
import { testRedisUrl, waitFor } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, type ExtendedJob, newJob } from './fixture.js';

describe('limits of a namespace', () => {
  const NONE = NO_LIMITS;
  const KEY = { idempotencyKey: 'key' };

  function jobsOf(count: number, bytes = 4): NewJob[] {
    return Array.from({ length: count }, () => newJob({ body: Buffer.alloc(bytes, 'x') }));
  }

  describe('quotas', () => {
    let redis: Redis;
    const open: EngineFixture[] = [];
    beforeAll(() => {
      redis = new Redis(testRedisUrl(), { protocol: 2 });
    });
    afterAll(() => redis.disconnect());
    afterEach(async () => {
      for (const f of open.splice(0)) await f.close();
    });

    async function withQuotas(quotas: Partial<Quotas>): Promise<EngineFixture> {
      const f = await EngineFixture.withClock({ quotas: { ...NONE, ...quotas } });
      open.push(f);
      return f;
    }

    /** Three servers at once; how often each outcome came. */
    async function race(
      f: EngineFixture,
      quotas: Partial<Quotas>,
      times: number,
      publish: (engine: PoolEngine, i: number) => Promise<unknown>,
    ): Promise<Record<string, number>> {
      const engines = [f.engine, (await withQuotas(quotas)).engine, (await withQuotas(quotas)).engine];
      const counts: Record<string, number> = {};
      await Promise.all(
        Array.from({ length: times }, async (_, i) => {
          const code = await publish(engines[i % 3]!, i).then(
            () => 'stored',
            (error: unknown) => String(Reflect.get(Object(error) as object, 'code')),
          );
          counts[code] = (counts[code] ?? 0) + 1;
        }),
      );
      return counts;
    }

    const total = async (f: EngineFixture, queue = 'q'): Promise<number> => {
      const [counts] = await f.engine.queues.counts(f.ns, [queue]);
      return counts!.ready + counts!.scheduled + counts!.leased + counts!.dead;
    };
    const bytes = async (f: EngineFixture): Promise<number> =>
      Number(await redis.hget(f.pool.keys.namespace(f.ns).meta, 'bytes'));

    describe('quotas on jobs of a queue', () => {
      const quotas = { jobsPerQueue: 10 };

      it('are exact with many servers publishing at once', async () => {
        const f = await withQuotas(quotas);
        const outcomes = await race(f, quotas, 300, (engine) => engine.publish(f.ns, 'q', newJob()));
        expect(outcomes).toEqual({ stored: 10, queue_full: 290 });
        expect(await total(f)).toBe(10);
      });

      it('refuse a bulk as a whole, and no other call of its batch', async () => {
        const f = await withQuotas(quotas);
        const results = await Promise.allSettled([
          f.engine.publishMany(f.ns, 'q', jobsOf(8)),
          f.engine.publishMany(f.ns, 'q', jobsOf(3)),
          f.engine.publishMany(f.ns, 'other', jobsOf(10)),
          f.engine.publish(f.ns, 'q', newJob()),
          f.engine.publishMany(f.ns, 'q', jobsOf(1)),
          f.engine.publish(f.ns, 'q', newJob()),
        ]);
        const order = results.map(({ status }) => status === 'fulfilled');
        expect(order).toEqual([true, false, true, true, true, false]);
        expect(results[1]).toMatchObject({ reason: { code: 'queue_full' } });
        expect([await total(f), await total(f, 'other')]).toEqual([10, 10]);
      });

      it('count scheduled, leased and dead jobs, and far ones', async () => {
        const f = await withQuotas({ jobsPerQueue: 5 });
        await f.publish('q', { tries: 1 });
        await f.lease('q', { ttrMs: 1_000 });
        f.nowMs += 1_000;
        await f.engine.pumpNow(f.ns);
        await f.publish('q');
        await f.lease('q');
        await f.publish('q', { delayMs: 1_000 });
        await f.publish('q', { delayMs: 3_600_000 });
        await f.publish('q');
        expect((await f.engine.queues.counts(f.ns, ['q']))[0]).toMatchObject({
          ready: 1,
          scheduled: 2,
          leased: 1,
          dead: 1,
        });
        await expect(f.publish('q')).rejects.toMatchObject({ code: 'queue_full' });

        expect(await f.engine.deadLetter.delete(f.ns, 'q', 1)).toBe(1);
        await f.publish('q');
      });

      it("have room for one job after one acknowledgement, although the job's entry is still listed", async () => {
        const f = await withQuotas({ jobsPerQueue: 2 });
        const ids = [await f.publish('q'), await f.publish('q')];
        await expect(f.publish('q')).rejects.toMatchObject({ code: 'queue_full' });
        await f.engine.ack(f.ns, 'q', ids[1]!);
        await f.publish('q');
        await expect(f.publish('q')).rejects.toMatchObject({ code: 'queue_full' });
      });

      it('allow a replacement in a full queue, but no additional job', async () => {
        const f = await withQuotas({ jobsPerQueue: 1 });
        const old = await f.publish('q');
        const fresh = await f.engine.republish(f.ns, 'q', old, newJob());
        const refused = f.engine.republish(f.ns, 'q', old, newJob());
        await expect(refused).rejects.toMatchObject({ code: 'queue_full' });
        expect((await f.engine.queues.peek(f.ns, 'q'))?.id).toBe(fresh);
      });

      it('allow a replacement by a recurring job in a full queue, but no additional job', async () => {
        const f = await withQuotas({ jobsPerQueue: 1 });
        const { recurrings } = f.engine.components;
        const template = { queue: 'q', body: Buffer.from('x') };
        await recurrings.set(f.ns, { id: 'r', schedule: { everyMs: 1_000 }, overlap: 'replace', template });
        for (const made of [1, 2, 3]) {
          await f.pass(made === 1 ? 0 : 1_000);
          expect(await recurrings.get(f.ns, 'r')).toMatchObject({ made, skipped: 0 });
          expect(await f.counts()).toMatchObject({ ready: 1 });
        }
        await recurrings.set(f.ns, { id: 's', schedule: { everyMs: 1_000 }, overlap: 'replace', template });
        await f.pass(0);
        expect(await recurrings.get(f.ns, 's')).toMatchObject({ made: 0, lastSkip: { reason: 'quota' } });
        expect(await f.audit()).toEqual([]);
      });

      it.each([
        ['the room of its queue', { jobsPerQueue: 2 }, 'q', 'q', 0],
        ['the room for a queue', { queues: 2 }, 'refused', 'made', 0],
        ['the room for a key', { bytes: 1_000_000, keys: 1 }, 'q', 'q', 60_000],
      ])(
        'do not count a slot that a unique key refuses: %s',
        async (_what, some, first, second, windowMs) => {
          const f = await withQuotas(some);
          const { recurrings } = f.engine.components;
          await f.put('q', { unique: { key: 'held', mode: 'reject' } });
          for (const [id, queue, key] of [
            ['a', first, 'held'],
            ['b', second, 'free'],
          ] as const) {
            const template = {
              queue,
              body: Buffer.from('x'),
              unique: { key, mode: 'reject', windowMs },
            } as const;
            await recurrings.set(f.ns, { id, schedule: { everyMs: 1_000 }, template });
          }
          await f.pass(0);
          expect(await recurrings.get(f.ns, 'a')).toMatchObject({
            made: 0,
            lastSkip: { reason: 'unique_key' },
          });
          expect(await recurrings.get(f.ns, 'b')).toMatchObject({ made: 1, skipped: 0 });
          expect(await f.engine.queues.names(f.ns)).toEqual([...new Set([second, 'q'])].sort());
          expect(await f.audit()).toEqual([]);
        },
      );

      it('keep the old job when the new one is refused', async () => {
        const f = await withQuotas({ bytes: 10 });
        const old = await f.publish('q', { text: '0123456789' });
        const refused = f.engine.republish(f.ns, 'q', old, newJob({ body: Buffer.alloc(11) }));
        await expect(refused).rejects.toMatchObject({ code: 'namespace_full' });
        expect(await f.drain('q')).toEqual(['0123456789']);
      });

      it('never refuse a respawn of dead jobs', async () => {
        const f = await withQuotas({ jobsPerQueue: 1 });
        await f.publish('q');
        await f.lease('q', { ttrMs: 1 });
        f.nowMs += 1;
        await f.engine.pumpNow(f.ns);
        expect(await f.engine.deadLetter.respawn(f.ns, 'q', 1, 0)).toBe(1);
      });
    });

    describe('quotas on queues', () => {
      const quotas = { queues: 3 };

      it('are exact with many servers publishing at once', async () => {
        const f = await withQuotas(quotas);
        const outcomes = await race(f, quotas, 90, (engine, i) =>
          engine.publish(f.ns, `q${String(Math.floor(i / 3))}`, newJob()),
        );
        expect(outcomes).toEqual({ stored: 9, too_many_queues: 81 });
        expect(await f.engine.queues.names(f.ns)).toHaveLength(3);
      });

      it('allow existing queues, and have room when one is removed', async () => {
        const f = await withQuotas({ queues: 1 });
        const id = await f.publish('a');
        await expect(f.publish('b')).rejects.toMatchObject({ code: 'too_many_queues' });
        await f.publish('a');
        await f.engine.ack(f.ns, 'a', id);
        await f.engine.queues.destroy(f.ns, 'a');
        await f.engine.tidyNow(f.ns);
        await f.publish('b');
        expect(await f.engine.queues.names(f.ns)).toEqual(['b']);
      });

      it('create no queue for a call that another quota refuses', async () => {
        const f = await withQuotas({ queues: 5, bytes: 3 });
        await f.publish('a', { text: 'abc' });
        await expect(f.publish('b', { text: 'x' })).rejects.toMatchObject({ code: 'namespace_full' });
        expect(await f.engine.queues.names(f.ns)).toEqual(['a']);
        expect(await Audit.of(redis, f.ns)).toEqual([]);
      });
    });

    describe('quotas on bytes', () => {
      const quotas = { bytes: 1_000 };

      it('are exact with many servers publishing at once', async () => {
        const f = await withQuotas(quotas);
        const outcomes = await race(f, quotas, 200, (engine) => engine.publish(f.ns, 'q', jobsOf(1, 30)[0]!));
        expect(outcomes).toEqual({ stored: 33, namespace_full: 167 });
        expect(await bytes(f)).toBe(990);
      });

      it('count over all queues, and always accept an empty body', async () => {
        const f = await withQuotas({ bytes: 10 });
        await f.publish('a', { text: '12345' });
        await f.publish('b', { text: '12345' });
        await expect(f.publish('c', { text: '1' })).rejects.toMatchObject({ code: 'namespace_full' });
        await f.publish('c', { text: '' });
      });

      it('count only the difference when a job replaces another', async () => {
        const f = await withQuotas({ bytes: 10 });
        const old = await f.publish('q', { text: '12345678' });
        const id = await f.engine.republish(f.ns, 'q', old, newJob({ body: Buffer.from('1234567890') }));
        expect(await bytes(f)).toBe(10);
        await f.engine.ack(f.ns, 'q', id);
        expect(await bytes(f)).toBe(0);
      });

      it('count an acknowledgement by a server without a quota', async () => {
        const f = await withQuotas(quotas);
        const fixture = await EngineFixture.open();
        open.push(fixture);
        const id = await f.publish('q', { text: 'counted' });
        await fixture.engine.publish(f.ns, 'q', newJob());
        expect(await bytes(f)).toBe(7);
        await fixture.engine.ack(f.ns, 'q', id);
        expect(await bytes(f)).toBe(0);
      });

      it('count the body once in a publish with attributes that is repeated under an idempotency key', async () => {
        const f = await withQuotas({ bytes: 10 });
        const job = newJob({ body: Buffer.from('12345'), attributes: { a: 'b' } });
        await f.engine.publish(f.ns, 'q', job, KEY);
        await f.engine.publish(f.ns, 'q', job, KEY);
        expect(await bytes(f)).toBe(5);
        const refused = f.engine.publishMany(f.ns, 'q', jobsOf(2, 3), { idempotencyKey: 'other' });
        await expect(refused).rejects.toMatchObject({ code: 'namespace_full' });
        expect((await f.lease('q'))[0]).toMatchObject({ attributes: { a: 'b' } });
        await f.engine.publishMany(f.ns, 'q', jobsOf(1, 3), { idempotencyKey: 'another' });
        expect(await Audit.of(redis, f.ns)).toEqual([]);
      });
    });

    describe('quotas on bytes beside the body', () => {
      const LONG = 'x'.repeat(3_000);
      const full = { code: 'namespace_full' };

      async function leased(quota: number, job: ExtendedJob = {}) {
        const f = await withQuotas({ bytes: quota });
        const id = await f.put('q', { text: '', ...job });
        const [{ lease }] = (await f.lease('q', { ttrMs: 10_000 })) as [LeasedJob];
        return { f, id, lease, ops: f.engine.settle, jobs: f.engine.jobs };
      }

      afterEach(async () => {
        for (const f of open) expect(await Audit.of(redis, f.ns)).toEqual([]);
      });

      it('count log entries, and refuse one beyond the quota', async () => {
        const { f, id, lease, jobs } = await leased(10_000);
        for (let i = 0; i < 3; i++) await jobs.log(f.ns, id, LONG);
        const before = await bytes(f);
        expect(before).toBeGreaterThan(8_500);
        const refused = jobs.log(f.ns, id, LONG);
        await expect(refused).rejects.toMatchObject(full);
        await expect(refused).rejects.toThrow(
          `${String(before)} of 10000 bytes: quota max_bytes_per_namespace of namespace ${f.ns}`,
        );
        await expect(f.put('q', { text: LONG })).rejects.toMatchObject(full);
        expect(await bytes(f)).toBe(before);
        await f.engine.ack(f.ns, 'q', id, lease);
        expect(await bytes(f)).toBe(0);
      });

      it('do not count an entry that a later one replaced', async () => {
        const { f, id, jobs } = await leased(1_000_000);
        for (let i = 0; i < 250; i++) await jobs.log(f.ns, id, 'message');
        expect(await bytes(f)).toBeLessThan(99 * 70);
      });

      it('drop progress beyond the quota, and extend the lease of the heartbeat', async () => {
        const { f, id, lease, ops } = await leased(2_000);
        const read = () => f.engine.jobs.find(f.ns, id);
        await ops.heartbeat(f.ns, { id, lease }, { progress: 'some' });
        f.nowMs += 1_000;
        const { leaseEndsAtMs } = await ops.heartbeat(f.ns, { id, lease }, { ttrMs: 10_000, progress: LONG });
        expect(leaseEndsAtMs).toBe(f.nowMs + 10_000);
        expect(await read()).toMatchObject({ progress: 'some' });
        await ops.heartbeat(f.ns, { id, lease }, { progress: 'else' });
        expect(await read()).toMatchObject({ progress: 'else' });
      });

      it('count a result, and drop a result beyond the quota', async () => {
        const { f, id, lease, ops } = await leased(4_000);
        const other = await f.put('q', { text: '' });
        const [next] = (await f.lease('q', { ttrMs: 10_000 })) as [LeasedJob];
        const result = { body: Buffer.from(LONG), contentType: 'text/plain' };
        const done = (ref: { id: string; lease: number }) =>
          ops.complete(f.ns, [{ ...ref, queue: 'q', result, retentionMs: 60_000 }]);
        expect(await done({ id, lease })).toEqual(['done']);
        const counted = await bytes(f);
        expect(counted).toBeGreaterThan(2_500);
        expect(await done({ id: other, lease: next.lease })).toEqual(['done']);
        const read = (one: string) => f.engine.jobs.find(f.ns, one);
        expect(await read(id)).toMatchObject({ state: 'done', result: { body: result.body } });
        const without = await read(other);
        expect(without).toMatchObject({ state: 'done', result: null });
        expect(without?.timeline.at(-1)).toMatchObject({ what: 'acked', left_out: 'result' });
        expect(await bytes(f)).toBe(counted);
        f.nowMs += 60_000;
        await f.engine.pumpNow(f.ns);
        expect(await bytes(f)).toBe(0);
      });

      it('refuse longer new data of a lease holder, and keep the lease', async () => {
        const { f, id, lease, ops } = await leased(2_000);
        const data = { body: Buffer.from(LONG) };
        const failure = { id, lease, group: 'g', message: 'm', data };
        await expect(ops.heartbeat(f.ns, { id, lease }, { data: data.body })).rejects.toMatchObject(full);
        await expect(ops.retry(f.ns, failure)).rejects.toMatchObject(full);
        await expect(ops.fail(f.ns, failure)).rejects.toMatchObject(full);
        const next = { queue: 'next' };
        expect(await ops.complete(f.ns, [{ id, lease, data, next }])).toEqual(['namespace_full']);
        // It would be stored nowhere.
        expect(await ops.complete(f.ns, [{ id, lease, data }])).toEqual(['done']);
      });

      it('count dependencies, and refuse dependencies beyond the quota', async () => {
        const f = await withQuotas({ bytes: 5_000 });
        const ids: string[] = [];
        for (let i = 0; i < 60; i++) ids.push(await f.put('q', { text: '' }));
        const put = (dependsOn: string[]) => f.put('q', { text: '', dependsOn });
        await expect(put(ids)).rejects.toMatchObject(full);
        const waits = await put(ids.slice(0, 20));
        expect(await bytes(f)).toBeGreaterThan(2_000);
        const more = f.engine.jobs.change(f.ns, waits, { moreDependencies: ids.slice(20) });
        await expect(more).rejects.toMatchObject(full);
        for (const id of [waits, ...ids]) await f.engine.jobs.remove(f.ns, id);
        expect(await bytes(f)).toBe(0);
      });

      it('count attributes of jobs of both APIs', async () => {
        const f = await withQuotas({ bytes: 2_000 });
        const attributes = Object.fromEntries(
          Array.from({ length: 16 }, (_, i) => [String(i), 'x'.repeat(128)]),
        );
        const simple = () => f.engine.publish(f.ns, 'q', newJob({ body: Buffer.alloc(0), attributes }));
        await simple();
        expect(await bytes(f)).toBeGreaterThan(1_500);
        await expect(simple()).rejects.toMatchObject(full);
        await expect(f.put('q', { text: '', attributes })).rejects.toMatchObject(full);
        const [one] = await f.lease('q');
        await f.engine.ack(f.ns, 'q', one!.id, one!.lease);
        expect(await bytes(f)).toBe(0);
      });

      it('count down the bytes of each removed queue in a purge of the namespace', async () => {
        const f = await withQuotas({ bytes: 10_000 });
        const id = await f.put('q', { text: 'body' });
        await f.engine.jobs.log(f.ns, id, LONG);
        await f.put('other', { text: 'stays' });
        type Step = (ns: string, index: object, endsAtMs: number) => Promise<{ readonly removed: number }>;
        const step = (Reflect.get(f.engine.purge, 'purgeIndex') as Step).bind(f.engine.purge);
        expect(await step(f.ns, { queue: 'q', kind: 'r' }, Number.POSITIVE_INFINITY)).toMatchObject({
          removed: 1,
        });
        expect(await bytes(f)).toBe(5);
        await f.engine.purge.run(f.ns);
        expect(await bytes(f)).toBe(0);
      });

      it('cut the message of a failure beyond the quota, and never refuse the failure', async () => {
        const { f, id, lease, ops } = await leased(1_000);
        await ops.fail(f.ns, { id, lease, group: 'g', message: 'ä'.repeat(3_000) });
        const job = await f.engine.jobs.find(f.ns, id);
        expect(job).toMatchObject({ state: 'dead', failure: { message: 'ä'.repeat(100) } });
        expect(await bytes(f)).toBeLessThan(1_000);
        expect(await f.engine.deadLetter.delete(f.ns, 'q', 1)).toBe(1);
        expect(await bytes(f)).toBe(0);
      });

      it('count tags, also of new jobs, and refuse more beyond the quota', async () => {
        const f = await withQuotas({ bytes: 1_000 });
        const many = (letter: string) => Array.from({ length: 8 }, (_, i) => letter.repeat(100) + String(i));
        const id = await f.put('q', { text: '', tags: many('a') });
        const { tags, jobUpdater } = f.engine.components;
        expect(await bytes(f)).toBeGreaterThan(300);
        await expect(tags.addTags(f.ns, id, many('b'))).rejects.toMatchObject(full);
        const both = [...many('a'), ...many('b')];
        await expect(jobUpdater.change(f.ns, id, { tags: both })).rejects.toMatchObject(full);
        await expect(f.put('q', { text: '', tags: both })).rejects.toMatchObject(full);
        const tagged = { queue: 'q', body: Buffer.alloc(0), tags: both };
        await expect(f.engine.jobs.publish(f.ns, [tagged])).rejects.toMatchObject(full);
        await tags.removeTags(f.ns, id, many('a'));
        expect(await bytes(f)).toBe(0);
      });

      it('count tags of jobs that the simple path stores', async () => {
        const f = await withQuotas({ bytes: 10_000 });
        const tags = Array.from({ length: 8 }, (_, i) => 'a'.repeat(100) + String(i));
        await f.engine.jobs.publish(f.ns, [{ queue: 'q', body: Buffer.from('body'), tags }]);
        expect(await bytes(f)).toBeGreaterThan(300);
      });

      it('refuse a longer body of a debounced job beyond the quota', async () => {
        const f = await withQuotas({ bytes: 10 });
        const put = (text: string) =>
          f.put('q', { text, unique: { key: 'k', mode: 'debounce' }, delayMs: 1_000 });
        const id = await put('12345678');
        await expect(put('12345678901')).rejects.toMatchObject(full);
        expect(await put('1234567890')).toBe(id);
        expect(await bytes(f)).toBe(10);
      });

      it('refuse a longer body beyond the quota, and accept a shorter one', async () => {
        const f = await withQuotas({ bytes: 10 });
        const id = await f.put('q', { text: '12345678' });
        const change = (text: string) =>
          f.engine.jobs.change(f.ns, id, { data: { body: Buffer.from(text) } });
        await expect(change('12345678901')).rejects.toMatchObject(full);
        await change('1234567890');
        await change('1');
        expect(await bytes(f)).toBe(1);
      });
    });

    describe('quotas on jobs that move to another queue', () => {
      const FULL = {
        code: 'queue_full',
        message: expect.stringMatching(/^2 of 2 jobs: quota max_jobs_per_queue/) as unknown,
      };
      const RESET = { ttlMs: 0, tries: 'reset' } as const;

      afterEach(async () => {
        for (const f of open) expect(await Audit.of(redis, f.ns)).toEqual([]);
      });

      /** Jobs that are dead in their queue. */
      const dead = async (f: EngineFixture, queue: string, count: number): Promise<string[]> => {
        const ids = [];
        for (let i = 0; i < count; i++) ids.push(await f.put(queue, { tries: 1 }));
        for (const { id, lease } of await f.lease(queue, { count }))
          await f.engine.settle.fail(f.ns, { id, lease, group: 'g', message: 'm' });
        return ids;
      };

      it('refuse a change of the queue of a job', async () => {
        const f = await withQuotas({ jobsPerQueue: 2, queues: 3 });
        for (const queue of ['q', 'full', 'full', 'third']) await f.put(queue);
        const id = await f.put('q');
        const before = await f.find(id);
        await expect(f.engine.jobs.change(f.ns, id, { queue: 'full' })).rejects.toMatchObject(FULL);
        const toNew = f.engine.jobs.change(f.ns, id, { queue: 'fourth' });
        await expect(toNew).rejects.toMatchObject({
          code: 'too_many_queues',
          message: expect.stringMatching(/^3 of 3 queues/) as unknown,
        });
        expect(await f.find(id)).toEqual(before);
        expect(await f.engine.queues.names(f.ns)).toEqual(['full', 'q', 'third']);
        // Its own queue is full, too: the job is counted there already.
        await f.engine.jobs.change(f.ns, id, { queue: 'q' });
        await f.engine.jobs.change(f.ns, id, { queue: 'third' });
        expect(await f.find(id)).toMatchObject({ queue: 'third', state: 'ready' });
      });

      it('refuse the next queue of an acknowledgement, and keep the lease', async () => {
        const f = await withQuotas({ jobsPerQueue: 2, queues: 2 });
        await f.put('next');
        for (let i = 0; i < 2; i++) await f.put('q');
        const leases = await f.lease('q', { count: 2 });
        const acks = leases.map(({ id, lease }) => ({ id, lease, next: { queue: 'next' } }));
        const of = (queue: string) => f.engine.settle.complete(f.ns, [{ ...acks[1]!, next: { queue } }]);
        expect(await of('new')).toEqual(['too_many_queues']);
        // Both in one script: the second one finds the place of the first one taken.
        expect(await f.engine.settle.complete(f.ns, acks)).toEqual(['done', 'queue_full']);
        expect(await f.find(acks[1]!.id)).toMatchObject({ queue: 'q', state: 'leased' });
        const [first] = await f.lease('next');
        await f.engine.ack(f.ns, 'next', first!.id);
        expect(await of('next')).toEqual(['done']);
      });

      it('leave dead jobs where they are that have no room in another queue', async () => {
        const f = await withQuotas({ jobsPerQueue: 3 });
        await dead(f, 'q', 3);
        await f.put('next');
        const { deadJobs } = f.engine.components;
        const move = (dryRun: boolean) =>
          deadJobs.respawnSelected(f.ns, { dryRun, limit: 10 }, { ...RESET, queue: 'next' });
        expect(await move(true)).toEqual({ done: 2, cursor: null });
        expect(await move(false)).toEqual({ done: 2, cursor: null });
        expect([await total(f, 'next'), await total(f)]).toEqual([3, 1]);
        // In its own queue it takes no more room than before.
        expect(await deadJobs.respawnSelected(f.ns, { dryRun: false, limit: 10 }, RESET)).toMatchObject({
          done: 1,
        });
      });

      it('refuse jobs of an operation, and say why', async () => {
        const f = await withQuotas({ jobsPerQueue: 4, queues: 2 });
        await dead(f, 'q', 2);
        for (let i = 0; i < 2; i++) await f.put('q');
        await f.put('next');
        const move = async (to: string): Promise<unknown> => {
          f.nowMs += 200;
          const { operations, operationRunner } = f.engine.components;
          const shown = { filter: {}, to: null, set: null } as never;
          const { details } = await operations.start(f.ns, {
            ...{ action: 'move', filter: { queue: 'q', state: ['ready', 'dead'] }, to, shown },
          });
          f.nowMs += 200;
          await operationRunner.runNow();
          return (await operations.find(f.ns, details.id))?.details;
        };
        expect(await move('new')).toMatchObject({
          ...{ done: 0, failed: 4, refusals: [{ reason: 'too_many_queues', jobs: 4 }] },
        });
        expect(await move('next')).toMatchObject({
          ...{ done: 3, failed: 1, refusals: [{ reason: 'queue_full', jobs: 1 }] },
        });
        expect([await total(f, 'next'), await total(f)]).toEqual([4, 1]);
      });

      it('make no queue for a publish that finds the holder of its unique key', async () => {
        const f = await withQuotas({ queues: 1 });
        const put = (queue: string) => f.put(queue, { unique: { key: 'k', mode: 'existing' } });
        const id = await put('q');
        expect([await put('new'), await put('newer')]).toEqual([id, id]);
        expect(await f.engine.queues.names(f.ns)).toEqual(['q']);
      });
    });

    describe('quotas on recurring jobs, workers and keys', () => {
      const full = { code: 'namespace_full' };
      const HOURLY = { everyMs: 3_600_000, offsetMs: 3_600_000 };

      afterEach(async () => {
        for (const f of open) expect(await Audit.of(redis, f.ns)).toEqual([]);
      });

      const recurring = (id: string, text = '') => ({
        ...{ id, schedule: HOURLY, template: { queue: 'q', body: Buffer.from(text) } },
      });

      it('count recurring jobs as bytes, and refuse one beyond the quota', async () => {
        const f = await withQuotas({ bytes: 2_000 });
        const { recurrings } = f.engine.components;
        await recurrings.set(f.ns, recurring('a', 'x'.repeat(500)));
        const counted = await bytes(f);
        expect(counted).toBeGreaterThan(1_100);
        await expect(recurrings.set(f.ns, recurring('b', 'x'.repeat(500)))).rejects.toMatchObject(full);
        await expect(recurrings.set(f.ns, recurring('a', 'x'.repeat(1_500)))).rejects.toThrow(
          `${String(counted)} of 2000 bytes: quota max_bytes_per_namespace of namespace ${f.ns}`,
        );
        await recurrings.set(f.ns, recurring('a', 'x'.repeat(100)));
        expect(await bytes(f)).toBe(counted - 400);
        await recurrings.pause(f.ns, 'a', 'note');
        expect(await recurrings.remove(f.ns, 'a')).toBe(true);
        expect(await bytes(f)).toBe(0);
      });

      const session = (f: EngineFixture, id: string, ttrMs = 60_000) =>
        f.engine.sessions.heartbeat(f.ns, id, { ttrMs, leases: [], info: { name: id } });
      const names = async (f: EngineFixture) => {
        const { items } = await f.engine.sessions.list(f.ns, { limit: 100 });
        return items.map(({ name }) => name).sort();
      };

      it('refuse a session beyond the quota on workers, and remove workers that are not alive', async () => {
        const f = await withQuotas({ workers: 2 });
        await session(f, 'a', 10_000);
        f.nowMs += 1_000;
        await session(f, 'b');
        await expect(session(f, 'c')).rejects.toThrow(
          `2 of 2 workers: quota max_workers_per_namespace of namespace ${f.ns}`,
        );
        await session(f, 'a', 10_000);
        f.nowMs += 10_001;
        await f.engine.pumpNow(f.ns); // The first is lost.
        await session(f, 'b');
        await session(f, 'c');
        expect(await names(f)).toEqual(['b', 'c']);
      });

      it('omit names of workers beyond the quota', async () => {
        const f = await withQuotas({ workers: 2 });
        await session(f, 'a');
        await session(f, 'b');
        const id = await f.put('q', { text: '' });
        await f.engine.sessions.heartbeat(f.ns, 'a', { ttrMs: 60_000, leases: [] });
        f.engine.sessions.see(f.ns, 'c');
        // After the record of it, in the same connection.
        await f.engine.jobs.find(f.ns, id);
        await session(f, 'a');
        expect(await names(f)).toEqual(['a', 'b']);
      });

      it('refuse idempotency keys beyond the quota until others have ended', async () => {
        const f = await withQuotas({ bytes: 1_000_000, keys: 3 });
        const put = (key: string, type?: string) =>
          f.engine.jobs.publish(
            f.ns,
            [{ queue: 'q', body: Buffer.from('b'), ...(type === undefined ? {} : { type, priority: 3 }) }],
            { idempotencyKey: key, idempotencyTtlMs: 10_000 },
          );
        const [first] = await put('a');
        await put('b', 'extended');
        await f.engine.publishMany(f.ns, 'q', jobsOf(1), { idempotencyKey: 'c', idempotencyTtlMs: 10_000 });
        const refusal = `3 of 3 keys: quota max_keys_per_namespace of namespace ${f.ns}`;
        await expect(put('d')).rejects.toThrow(refusal);
        await expect(put('d', 'extended')).rejects.toThrow(refusal);
        await expect(put('d')).rejects.toMatchObject(full);
        expect(await put('a')).toMatchObject([{ id: first!.id }]);
        await f.publish('q');
        f.nowMs += 12_000;
        await put('d');
      });

      it('count unique keys that are held for a time', async () => {
        const f = await withQuotas({ bytes: 1_000_000, keys: 1 });
        const put = (key: string, windowMs = 0) =>
          f.put('q', { text: '', unique: { key, mode: 'reject', windowMs } });
        await put('a', 60_000);
        await expect(put('b', 60_000)).rejects.toMatchObject(full);
        await put('c');
      });

      it('refuse settings of a queue beyond the quota on queues', async () => {
        const f = await withQuotas({ queues: 1 });
        const { queueControls: controls } = f.engine.components;
        await controls.change(f.ns, 'a', { maxRunning: 1 });
        await expect(controls.pause(f.ns, 'b')).rejects.toThrow(
          `1 of 1 queues: quota max_queues_per_namespace of namespace ${f.ns}`,
        );
        await controls.pause(f.ns, 'a');
      });

      it('remember the last 10,000 tracked jobs that ended', async () => {
        const f = await withQuotas({});
        const key = `{${f.ns}}:traces`;
        const old = Array.from({ length: 10_000 }, (_, i) => [i, `old-${String(i)}`]).flat();
        const id = await f.put('q', { text: '' });
        await f.engine.jobs.track(f.ns, id);
        await redis.zadd(key, ...old);
        await f.engine.jobs.remove(f.ns, id);
        expect(await redis.zcard(key)).toBe(10_000);
        expect(await redis.zscore(key, 'old-0')).toBeNull();
        const shown = await f.engine.jobs.traces(f.ns);
        expect([shown.length, shown[0]?.goneAtMs, shown.at(-1)?.id]).toEqual([1_000, 9_001, id]);
        await redis.del(key);
      });
    });

    it('leave the key of a refused publish free for the next try', async () => {
      const f = await withQuotas({ jobsPerQueue: 1 });
      const id = await f.publish('q');
      await expect(f.engine.publish(f.ns, 'q', newJob(), KEY)).rejects.toMatchObject({ code: 'queue_full' });
      await f.engine.ack(f.ns, 'q', id);
      await f.engine.publish(f.ns, 'q', newJob(), KEY);
      expect(await total(f)).toBe(1);
    });
  });
});

describe('settings of a namespace', () => {
  const DAY_MS = 86_400_000;

  describe('the settings of a namespace', () => {
    let f: EngineFixture;
    beforeEach(async () => {
      f = await EngineFixture.withClock({ stats: { historyDays: 7, maxQueues: 10 } });
    });
    afterEach(() => f.close());

    const settings = (): PoolEngine['settings'] => f.engine.settings;

    it('have their defaults until they are set, and after a reset', async () => {
      expect(await settings().of(f.ns)).toEqual({ ...BUILT_IN, history_days: 7 });
      await settings().set(f.ns, 'grace_ms', 500);
      await settings().set(f.ns, 'retention_count', 0);

      expect(await settings().of(f.ns)).toEqual({
        ...BUILT_IN,
        history_days: 7,
        grace_ms: 500,
        retention_count: 0,
      });
      expect(await settings().chosen(f.ns)).toEqual({ grace_ms: 500, retention_count: 0 });
      expect(await settings().unset(f.ns, 'grace_ms')).toBe(true);
      expect(await settings().unset(f.ns, 'grace_ms')).toBe(false);
      expect(await settings().chosen(f.ns)).toEqual({ retention_count: 0 });
    });

    it('accept only values within their bounds', async () => {
      for (const key of SETTING_KEYS) {
        const { min, max } = SETTINGS[key];
        for (const value of [min - 1, max + 1, min + 0.5, Number.NaN]) {
          const refused = settings().set(f.ns, key, value);
          await expect(refused).rejects.toMatchObject({ code: 'invalid_argument' });
          await expect(refused).rejects.toThrow(key);
        }
        for (const value of [min, max]) await settings().set(f.ns, key, value);
        expect(await settings().chosen(f.ns)).toMatchObject({ [key]: max });
      }
      await expect(settings().set(f.ns, 'toString', 1)).rejects.toMatchObject({ code: 'invalid_argument' });
      await expect(settings().unset(f.ns, 'color')).rejects.toMatchObject({ code: 'invalid_argument' });
      await expect(settings().set('a}b', 'grace_ms', 1)).rejects.toMatchObject({ code: 'invalid_argument' });
    });

    it('apply at once on the server that changes them, and within a second on others', async () => {
      const other = new PoolEngine(f.pool);
      expect(await other.settings.of(f.ns)).toMatchObject({ ttr_ms: 60_000 });
      await settings().of(f.ns);
      await settings().set(f.ns, 'ttr_ms', 5_000);

      expect(await settings().of(f.ns)).toMatchObject({ ttr_ms: 5_000 });
      await waitFor(async () => (await other.settings.of(f.ns)).ttr_ms === 5_000, 10_000);
    });

    it('cost at most one command a second for any number of reads', async () => {
      let commands = 0;
      const read = Reflect.get(f.pool, 'read');
      Reflect.set(f.pool, 'read', (...args: Parameters<typeof read>) => {
        commands += 1;
        return read.apply(f.pool, args);
      });
      const beganMs = performance.now();
      await Promise.all(Array.from({ length: 100 }, async () => settings().of(f.ns)));
      for (let i = 0; i < 100; i++) expect(settings().of(f.ns)).not.toBeInstanceOf(Promise);

      expect(commands).toBeLessThanOrEqual(1 + (performance.now() - beganMs) / 1_000);
    });

    it('are read again after a failure', async () => {
      const read = Reflect.get(f.pool, 'read');
      Reflect.set(f.pool, 'read', () => Promise.reject(new Error('away')));
      await expect(settings().of(f.ns)).rejects.toThrow('away');
      Reflect.set(f.pool, 'read', read);

      expect(await settings().of(f.ns)).toMatchObject({ grace_ms: 10_000 });
    });

    it('outlive the queues of their namespace, and are purged with it', async () => {
      await settings().set(f.ns, 'grace_ms', 500);
      await f.publish('q');
      const [job] = await f.lease('q');
      await f.engine.ack(f.ns, 'q', job!.id);
      f.nowMs += 60_000;
      await f.engine.tidyNow(f.ns);

      expect(await f.keys()).toEqual([`{${f.ns}}:settings`]);
      expect(await f.engine.namespaces()).not.toContain(f.ns);
      await f.publish('q');
      expect(await new PoolEngine(f.pool).settings.of(f.ns)).toMatchObject({ grace_ms: 500 });
      await f.engine.purge.run(f.ns);
      expect(await f.keys()).toEqual([]);
    });

    it('set how long existing and new statistics are kept', async () => {
      const today = Math.floor(f.nowMs / DAY_MS);
      const count = async (): Promise<void> => {
        f.engine.stats.of(f.ns, 'q').failures += 1;
        await f.engine.stats.flush();
      };
      const endOf = (day: number): Promise<unknown> => f.pool.read('PEXPIRETIME', f.pool.keys.day(f.ns, day));
      f.nowMs -= 2 * DAY_MS;
      await count();
      f.nowMs += 2 * DAY_MS;
      await count();
      expect(await endOf(today - 2)).toBe((today - 2 + 8) * DAY_MS);

      await settings().set(f.ns, 'history_days', 3);
      expect(await endOf(today - 2)).toBe((today - 2 + 4) * DAY_MS);
      expect(await endOf(today)).toBe((today + 4) * DAY_MS);
      await settings().set(f.ns, 'history_days', 1);
      expect((await f.engine.stats.read(f.ns, 'q', today - 2)).failures).toBe(0);
      await count();
      expect((await f.engine.stats.read(f.ns, 'q', today)).failures).toBe(2);
      expect(await endOf(today)).toBe((today + 2) * DAY_MS);

      await settings().set(f.ns, 'history_days', 0);
      await count();
      expect(await f.keys()).toEqual([`{${f.ns}}:settings`]);
      await settings().unset(f.ns, 'history_days');
      await count();
      expect(await endOf(today)).toBe((today + 8) * DAY_MS);
    });
  });
});
