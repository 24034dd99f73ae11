import { rmSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { PoolEngine } from '../../src/engine/pool-engine.js';
import { type RedisProcess, startRedis, waitFor } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { EngineFixture, newJob } from './fixture.js';

describe('connections', () => {
  const TIMEOUT_MS = 300;
  /** What a call may take beyond its time-out on a busy machine. Without the time-out no call would end. */
  const SLACK_MS = 5_000;

  describe('a pool behind a bad network', () => {
    let redis: RedisProcess;
    let proxy: TcpProxy;
    /** The server under test, behind the proxy. */
    let f: EngineFixture;
    /** Another server, with a connection of its own. */
    let witness: EngineFixture;
    let admin: Redis;
    beforeAll(async () => {
      redis = await startRedis();
      admin = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
      witness = await EngineFixture.open({}, { url: redis.url });
    });
    afterAll(async () => {
      await witness.close();
      admin.disconnect();
      await redis.stop();
    });
    beforeEach(async () => {
      proxy = await TcpProxy.start(redis.port);
      f = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: TIMEOUT_MS });
      // The first call of a new connection may take longer than its time-out.
      await waitFor(() => f.publish('warm'));
    });
    afterEach(async () => {
      await f.close();
      await proxy.stop();
    });

    /** Right after a probe none comes for a second: it would find the connection bad and replace it. */
    async function afterProbe(): Promise<void> {
      await proxy.request('TIME');
      await sleep(20);
    }

    /** Ids of the connections to Redis that are subscribed to a channel. */
    async function subscribers(): Promise<string[]> {
      const clients = await admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub');
      return [...String(clients).matchAll(/^id=(\d+) /gm)].map(([, id = '']) => id);
    }

    function calls(engine: PoolEngine): Record<string, () => Promise<unknown>> {
      const { ns } = f;
      const request = { queues: ['q'], count: 1, ttrMs: 1_000 };
      return {
        publish: () => engine.publish(ns, 'q', newJob()),
        publishMany: () => engine.publishMany(ns, 'q', [newJob(), newJob()]),
        republish: () => engine.republish(ns, 'q', 'old', newJob()),
        lease: () => engine.lease(ns, { ...request, waitMs: 0 }),
        wait: () => engine.lease(ns, { ...request, waitMs: 60_000 }),
        undo: () => engine.undo(ns, [{ id: 'x', lease: 1 }]),
        ack: () => engine.ack(ns, 'q', 'x'),
        peekQueue: () => engine.queues.peek(ns, 'q'),
        peekJob: () => engine.jobs.peekJob(ns, 'q', 'x'),
        counts: () => engine.queues.counts(ns, ['q']),
        destroy: () => engine.queues.destroy(ns, 'q'),
        deadLetterHead: () => engine.deadLetter.head(ns, 'q'),
        respawn: () => engine.deadLetter.respawn(ns, 'q', 1, 0),
        deleteDead: () => engine.deadLetter.delete(ns, 'q', 1),
        namespaces: () => engine.namespaces(),
        queues: () => engine.queues.names(ns),
      };
    }

    async function expectAllRefused(): Promise<void> {
      await Promise.all(
        Object.entries(calls(f.engine)).map(async ([name, call]) => {
          const since = performance.now();
          const error: unknown = await call().then(
            () => `${name} was served`,
            (reason: unknown) => reason,
          );
          expect({ name, error }).toMatchObject({ name, error: { code: 'pool_unavailable' } });
          expect(performance.now() - since).toBeLessThan(TIMEOUT_MS + SLACK_MS);
        }),
      );
    }

    it('refuses every call in time while Redis is down, and serves again afterwards', async () => {
      await proxy.down();
      await expectAllRefused();
      await sleep(500);
      await expectAllRefused();
      expect(f.pool.status.up).toBe(false);

      await proxy.up();
      await waitFor(() => f.publish('q'), 3_000);
      await waitFor(() => f.pool.status.up, 3_000);
    });

    it('refuses every call in time while Redis is silent', async () => {
      proxy.dropsReplies = true;
      await expectAllRefused();
      proxy.dropsReplies = false;
      await waitFor(() => f.publish('q'), 5_000);
    });

    it.each([
      ['publish', (engine: PoolEngine, ns: string) => engine.publish(ns, 'q', newJob()), 1],
      [
        'publishMany',
        (engine: PoolEngine, ns: string) => engine.publishMany(ns, 'q', [newJob(), newJob()]),
        2,
      ],
      ['republish', (engine: PoolEngine, ns: string) => engine.republish(ns, 'q', 'old', newJob()), 1],
    ])('sends %s again when its reply is lost, and stores the jobs once', async (_name, send, jobs) => {
      // What is sent again is bound by the time-out of its call: on a busy machine 300 ms may be over before the first attempt is.
      const patient = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 20_000 });
      await patient.publish('warm');
      await witness.engine.publish(f.ns, 'q', newJob({ id: 'old' }));
      proxy.dropsReplies = true;
      const sent = send(patient.engine, f.ns);
      await waitFor(async () => (await witness.engine.queues.names(f.ns)).includes('q'));
      await waitFor(
        async () =>
          (await witness.engine.jobs.peekJob(f.ns, 'q', 'old')) === null ||
          (await witness.engine.queues.size(f.ns, 'q')) > 1,
      );
      proxy.dropsReplies = false;
      proxy.cut();

      const ids = [await sent].flat();

      const left = (
        await witness.engine.lease(f.ns, { queues: ['q'], count: 10, ttrMs: 1_000, waitMs: 0 })
      ).map(({ id }) => id);
      expect(left.filter((id) => id !== 'old')).toEqual(ids);
      expect(ids).toHaveLength(jobs);
      await patient.close();
    });

    const id = 'chosen';
    const job = { queue: 'q', id, type: 't', body: Buffer.from('x') };
    it.each<[string, (engine: PoolEngine, ns: string) => Promise<unknown>]>([
      ['a simple publish', (engine, ns) => engine.publish(ns, 'q', newJob({ id }))],
      ['an extended publish', (engine, ns) => engine.components.extendedPublisher.publish(ns, [job])],
      ['a PUT', (engine, ns) => engine.jobs.put(ns, job)],
    ])(
      'does not refuse %s with a chosen id for the job that it stored before its reply was lost',
      async (_name, send) => {
        const patient = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 20_000 });
        await patient.publish('warm');
        await patient.engine.jobs.put(f.ns, { ...job, id: 'warm' });
        proxy.dropsReplies = true;
        const outcome = send(patient.engine, f.ns).catch((error: unknown) => error);
        await waitFor(() => witness.engine.jobs.peekJob(f.ns, 'q', id));
        const request = { queues: ['q'], count: 2, ttrMs: 60_000, waitMs: 0 };
        expect(await witness.engine.lease(f.ns, request)).toMatchObject([{ id: 'warm' }, { id }]);
        proxy.dropsReplies = false;
        proxy.cut();

        expect(await outcome).toMatchObject({ code: 'pool_unavailable' });
        await patient.close();
      },
    );

    it('never sends a lease call twice', async () => {
      await witness.engine.lease(f.ns, { queues: ['none'], count: 1, ttrMs: 1_000, waitMs: 0 });
      for (let i = 0; i < 2; i++) await witness.engine.publish(f.ns, 'q', newJob());
      proxy.dropsReplies = true;
      const refused = f.lease('q').catch((error: unknown) => error);
      await waitFor(async () => (await witness.engine.queues.counts(f.ns, ['q']))[0]?.leased === 1);
      proxy.dropsReplies = false;
      proxy.cut();

      expect(await refused).toMatchObject({ code: 'pool_unavailable' });
      await waitFor(() => f.publish('other'));
      // What it leased has come back. Had it run twice, the second job would be leased, or under its second lease now.
      await waitFor(async () => (await witness.engine.queues.size(f.ns, 'q')) === 2);
      const request = { queues: ['q'], count: 2, ttrMs: 1_000, waitMs: 0 };
      expect(await witness.engine.lease(f.ns, request)).toMatchObject([{ lease: 2 }, { lease: 1 }]);
    });

    it('undoes the lease in a late reply of a lease call, without using a try', async () => {
      // Redis knows the script from here on.
      await witness.engine.lease(f.ns, { queues: ['none'], count: 1, ttrMs: 1_000, waitMs: 0 });
      await afterProbe();
      const ends = async (queue: string) => {
        const [counts] = await witness.engine.queues.counts(f.ns, [queue]);
        return counts?.ready === 2 ? 'undone' : counts?.dead === 1 ? 'expired' : null;
      };
      // So short a lease has no record by which it could be found. On a busy machine it may end before it is undone.
      for (const queue of ['first', 'second', 'third']) {
        const first = await witness.engine.publish(f.ns, queue, newJob({ tries: 1 }));
        const second = await witness.engine.publish(f.ns, queue, newJob({ tries: 1 }));
        proxy.replyDelayMs = TIMEOUT_MS + 150;
        await expect(f.lease(queue, { ttrMs: 999 })).rejects.toMatchObject({ code: 'pool_unavailable' });
        expect(await witness.engine.queues.size(f.ns, queue)).toBe(1);
        proxy.replyDelayMs = 0;
        if ((await waitFor(() => ends(queue))) === 'expired') continue;

        const request = { queues: [queue], count: 2, ttrMs: 1_000, waitMs: 0 };
        expect(await witness.engine.lease(f.ns, request)).toMatchObject([
          // The second lease in all: the script ran once, and the number did not go back.
          { id: first, triesLeft: 0, attempts: 1, lease: 2 },
          { id: second, triesLeft: 0, attempts: 1, lease: 1 },
        ]);
        return;
      }
      throw new Error('no lease was undone');
    });

    it.each(['away', 'silent'])('undoes leases later if Redis was %s, without using a try', async (state) => {
      const { ns } = f;
      await witness.engine.publish(ns, 'q', newJob({ tries: 1 }));
      await witness.engine.jobs.publish(ns, [
        { queue: 'q', body: Buffer.from('x'), tries: 1, tags: ['extended'] },
      ]);
      // On a busy machine a call may take longer than its time-out; its leases come back then.
      const jobs = await waitFor(async () => {
        const some = await f.lease('q', { count: 2, ttrMs: 600_000, confirms: true });
        return some.length === 2 ? some : null;
      });
      if (state === 'away') await proxy.down();
      else proxy.dropsReplies = true;
      await expect(f.engine.undo(ns, jobs)).rejects.toMatchObject({ code: 'pool_unavailable' });
      await sleep(500);
      if (state === 'away') await proxy.up();
      else proxy.dropsReplies = false;

      await waitFor(async () => (await witness.engine.queues.counts(ns, ['q']))[0]?.ready === 2);
      // The record of the leases is gone, too.
      await waitFor(async () => (await witness.pool.read('EXISTS', f.pool.keys.namespace(ns).sending)) === 0);
      const request = { queues: ['q'], count: 2, ttrMs: 60_000, waitMs: 0 };
      expect(await witness.engine.lease(ns, request)).toMatchObject([{ triesLeft: 0 }, { triesLeft: 0 }]);
    });

    it('keeps a long poll over an outage of 1.5 s, and gives it a job afterwards', async () => {
      const waiting = f.lease('q', { waitMs: 20_000 });
      await waitFor(async () => (await f.pool.read('EXISTS', `{${f.ns}}:waiting`)) === 1);
      await proxy.down();
      await sleep(1_500);
      await proxy.up();
      const id = await witness.engine.publish(f.ns, 'q', newJob());

      const since = performance.now();
      expect((await waiting).map((job) => job.id)).toEqual([id]);
      expect(performance.now() - since).toBeLessThan(10_000);
    });

    it('fails a long poll that ends while Redis is down, instead of "no job"', async () => {
      const waiting = f.lease('q', { waitMs: 2_500 }).catch((error: unknown) => error);
      await waitFor(async () => (await f.pool.read('EXISTS', `{${f.ns}}:waiting`)) === 1);
      await proxy.down();
      expect(await waiting).toMatchObject({ code: 'pool_unavailable' });
      await proxy.up();
    });

    it.each(['info', 'subscribe'])(
      'opens although a connection is lost at its first `%s`',
      async (command) => {
        void proxy.request(command).then(() => proxy.cut());
        const late = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 5_000 });
        expect(await late.publish('q')).not.toBe('');
        await late.close();
      },
    );

    it('detects a half-open connection within ten seconds, and gives a long poll its job', async () => {
      const waiting = f.lease('q', { waitMs: 20_000 });
      await waitFor(async () => (await f.pool.read('EXISTS', `{${f.ns}}:waiting`)) === 1);
      const since = performance.now();
      proxy.halfOpen();
      const id = await witness.engine.publish(f.ns, 'q', newJob());

      expect((await waiting).map((job) => job.id)).toEqual([id]);
      await waitFor(() => f.publish('other'), 10_000);
      expect(performance.now() - since).toBeLessThan(10_000);
    });

    it('can be closed while it subscribes to wake-ups again', async () => {
      const closing = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: TIMEOUT_MS });
      const before = await subscribers();
      proxy.replyDelayMs = 200;
      proxy.cut();
      // Both pools behind the proxy have sent SUBSCRIBE again; the replies are on their way.
      await waitFor(
        async () => (await subscribers()).filter((id) => !before.includes(id)).length === 2,
        10_000,
      );
      await closing.close();
      proxy.replyDelayMs = 0;
      // Jest fails the test by the rejection of a promise that is not handled. Node.js would end the process.
      await sleep(50);
    });

    it('subscribes to wake-ups again when Redis allows it', async () => {
      await admin.call('ACL', 'SETUSER', 'default', 'resetchannels');
      await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await waitFor(() => !f.pool.status.up, 10_000);
      await admin.call('ACL', 'SETUSER', 'default', 'allchannels');
      await waitFor(() => f.pool.status.up && witness.pool.status.up, 10_000);
      const waiting = f.lease('q', { waitMs: 20_000 });
      await afterProbe();
      const woken = new Promise((resolve) => f.pool.onWake((...given) => resolve(given)));
      await witness.engine.publish(f.ns, 'q', newJob());
      expect(await woken).toEqual([f.ns, 'q']);
      expect(await waiting).toHaveLength(1);
    });

    it('stores no job of a publish that failed by its timeout', async () => {
      const admin = new Redis(redis.port, '127.0.0.1');
      await afterProbe();
      await admin.call('CLIENT', 'PAUSE', TIMEOUT_MS * 3, 'ALL');
      const refused = await Promise.allSettled([
        f.publish('q'),
        f.publish('q', { delayMs: 60_000 }),
        f.publish('q'),
      ]);
      expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
      await waitFor(() => f.publish('other'), 5_000);
      await sleep(100);

      expect(await witness.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, scheduled: 0 }]);
      admin.disconnect();
    });

    it('keeps the count of leased jobs correct after truncated replies', async () => {
      const stored = new Set<string>();
      const given: string[] = [];
      // On a busy machine fewer of them get through.
      for (let i = 0; i < 60 || (i < 600 && stored.size <= 20); i++) {
        proxy.cutAfterReplyBytes(1 + ((i * 37) % 90));
        await f.publish('q', { tries: 5 }).then(
          (id) => stored.add(id),
          () => undefined,
        );
        if (i % 3 === 0) await f.lease('q', { ttrMs: 1 }).catch(() => undefined);
      }
      proxy.cutAfterReplyBytes(Number.POSITIVE_INFINITY);
      await sleep(20);
      await waitFor(() => f.engine.pumpNow(f.ns).then(() => true), 5_000);
      for (let jobs = await f.drain('q'); jobs.length > 0; jobs = await f.drain('q')) given.push(...jobs);

      const [counts] = await witness.engine.queues.counts(f.ns, ['q']);
      expect(counts?.leased).toBe(given.length);
      expect(given.length).toBeGreaterThanOrEqual(stored.size);
      expect(stored.size).toBeGreaterThan(20);
      for (const id of stored)
        expect(await witness.engine.jobs.peekJob(f.ns, 'q', id)).toMatchObject({ state: 'leased' });
    });
  });
});

describe('restarts', () => {
  describe('a Redis that loses its scripts or dies', () => {
    it('fails no call when its scripts are flushed under load', async () => {
      const redis = await startRedis();
      const f = await EngineFixture.open({}, { url: redis.url });
      f.engine.start();
      const admin = new Redis(redis.port, '127.0.0.1');
      const flushes = setInterval(() => void admin.script('FLUSH'), 20);
      let cycles = 0;
      const ENOUGH = 50;
      const begunMs = Date.now();
      // A busy machine needs longer for as many.
      const goesOn = () => Date.now() < begunMs + (cycles > ENOUGH ? 1_500 : 20_000);
      const work = async (queue: string): Promise<void> => {
        while (goesOn()) {
          await f.publish(queue, { delayMs: cycles % 5 === 0 ? 5 : 0 });
          const [job] = await f.lease(queue, { waitMs: 5_000 });
          expect(await f.engine.ack(f.ns, queue, job?.id ?? '', job?.lease)).toBe(true);
          cycles++;
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, i) => work(`q${i % 3}`)));
      clearInterval(flushes);

      expect(cycles).toBeGreaterThan(ENOUGH);
      admin.disconnect();
      await f.close();
      await redis.stop();
    });

    it('keeps what was acknowledged over kill -9 (appendfsync always), and long polls survive', async () => {
      const args = ['--appendfsync', 'always'];
      let redis = await startRedis({ args });
      const f = await EngineFixture.open({}, { url: redis.url, commandTimeoutMs: 500 });
      f.engine.start();
      const stored = new Set<string>();
      const acked = new Set<string>();
      const unsure = new Set<string>();
      const state = { isOver: false };
      const produce = async (): Promise<void> => {
        while (!state.isOver) {
          await f.publish('q', { tries: 9 }).then(
            (id) => stored.add(id),
            () => sleep(20),
          );
        }
      };
      const consume = async (): Promise<void> => {
        while (!state.isOver) {
          const [job] = await f.lease('q', { ttrMs: 2_000 }).catch(() => []);
          if (!job) await sleep(5);
          else if (await f.engine.ack(f.ns, 'q', job.id, job.lease).catch(() => false)) acked.add(job.id);
          // It may have been applied, while its answer died with Redis.
          else unsure.add(job.id);
        }
      };
      const waiting = f.lease('waited', { waitMs: 25_000 });
      const work = Promise.all([produce(), produce(), produce(), consume()]);
      for (let i = 0; i < 3; i++) {
        await sleep(400);
        await redis.kill9();
        redis = await startRedis({ args, dir: redis.dir, port: redis.port });
        await waitFor(() => f.publish('other'), 5_000);
      }
      state.isOver = true;
      await work;
      const last = await f.publishFromOtherEngine('waited');
      expect((await waiting).map(({ id }) => id)).toEqual([last]);

      expect(stored.size).toBeGreaterThan(30);
      expect(acked.size).toBeGreaterThan(5);
      for (const id of stored) {
        if (!acked.has(id) && !unsure.has(id))
          expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).not.toBeNull();
      }
      expect(unsure.size).toBeLessThan(10);
      for (const id of acked) expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toBeNull();
      await f.close();
      await redis.stop();
      rmSync(redis.dir, { recursive: true, force: true });
    });
  });
});

describe('how much a script reads', () => {
  const LONG = newJob({ body: Buffer.alloc(60_000, 'x') });

  /** Redis copies for a script each value that it reads: what bodies may be long must not be read by the hundred. */
  describe('the values that a script reads at once', () => {
    let server: RedisProcess;
    let f: EngineFixture;
    let monitor: Redis;
    let reads: number[];
    beforeEach(async () => {
      server = await startRedis();
      reads = [];
      const redis = new Redis(server.url, { protocol: 2 });
      await redis.ping();
      // Before any command is sent: the driver takes a line that arrives with MONITOR's own reply for an answer without
      // a command.
      monitor = await redis.monitor();
      redis.disconnect();
      f = await EngineFixture.open({}, { url: server.url });
    });
    afterEach(async () => {
      monitor.disconnect();
      await f.close();
      await server.stop();
    });

    /** Of how many jobs each MGET asked that was sent meanwhile; the namespace's marker is always the first key. */
    async function readsDuring<T>(call: () => Promise<T>): Promise<[T, number[]]> {
      let isOver = false;
      const onCommand = (_time: string, [command = '', ...keys]: string[]): void => {
        if (/^mget$/i.test(command)) reads.push(keys.length - 1);
        if (/^echo$/i.test(command)) isOver = true;
      };
      monitor.on('monitor', onCommand);
      const result = await call();
      await f.pool.read('ECHO', 'over');
      await waitFor(() => isOver);
      monitor.off('monitor', onCommand);
      return [result, reads.splice(0)];
    }

    async function publish(short: number, long: number, delayMs = 0): Promise<string[]> {
      const jobs = [
        ...new Array<typeof LONG>(short).fill(newJob()),
        ...new Array<typeof LONG>(long).fill(LONG),
      ];
      const ids: string[] = [];
      for (const job of jobs) ids.push(await f.engine.publish(f.ns, 'q', { ...job, delayMs }));
      return ids;
    }

    const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

    it('are at most 16 for one job although every second entry is stale', async () => {
      const ids = await publish(0, 120);
      for (let i = 0; i < ids.length; i += 2) await f.engine.ack(f.ns, 'q', ids[i]!);
      for (let i = 0; i < 10; i++) {
        const [jobs, counts] = await readsDuring(() => f.lease('q'));
        expect(jobs).toHaveLength(1);
        expect(counts.length).toBeGreaterThan(0);
        expect(sumOf(counts)).toBeLessThanOrEqual(16);
      }
    });

    it('are at most 16 after 8 short ones: ready list', async () => {
      await publish(8, 92);
      const [jobs, counts] = await readsDuring(() => f.lease('q', { count: 100 }));
      expect(jobs.length).toBeGreaterThan(50);
      expect(counts[0]).toBe(8);
      expect(Math.max(...counts)).toBeLessThanOrEqual(16);
    });

    it('are at most 16 after 8 short ones: lists of types', async () => {
      await f.lease('q', { types: ['mail'] });
      const job = (i: number) => ({ text: i < 8 ? 'short' : 'x'.repeat(60_000), type: 'mail' });
      for (let i = 0; i < 60; i++) await f.put('q', job(i));
      const [jobs, counts] = await readsDuring(() => f.lease('q', { count: 40, types: ['mail'] }));
      expect(jobs).toHaveLength(40);
      expect(counts[0]).toBe(1);
      expect(Math.max(...counts)).toBeLessThanOrEqual(16);
      expect(sumOf(counts)).toBeLessThanOrEqual(50);
    });

    it('are one of each fair key that gives one job', async () => {
      await f.engine.components.queueControls.change(f.ns, 'q', { fair: true });
      for (let i = 0; i < 200; i++)
        await f.put('q', { text: 'x'.repeat(i < 150 ? 10 : 60_000), fairKey: String(i % 20) });
      const [jobs, counts] = await readsDuring(() => f.lease('q', { count: 20 }));
      expect(new Set(jobs.map(({ id }) => id)).size).toBe(20);
      expect(sumOf(counts)).toBe(20);
    });

    it('are at most 16 after 8 short ones: acknowledgements', async () => {
      const ids = await publish(8, 56);
      const acks = ids.map((id) => ({ queue: 'q', id }));
      const [, counts] = await readsDuring(() => f.engine.ackMany(f.ns, acks));
      expect(counts[0]).toBe(8);
      expect(Math.max(...counts)).toBeLessThanOrEqual(16);
    });
  });
});
