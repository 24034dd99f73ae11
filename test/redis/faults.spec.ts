import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { QueueEngine } from '../../src/engine/engine.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { EngineFixture, newJob } from './fixture.js';

const TIMEOUT_MS = 300;
/** What a call may take beyond its time-out on a busy machine. */
const SLACK_MS = 400;

describe('a pool behind a bad network', () => {
  let redis: RedisProcess;
  let proxy: TcpProxy;
  /** The server under test, behind the proxy. */
  let f: EngineFixture;
  /** Another server, with a connection of its own. */
  let witness: EngineFixture;
  beforeAll(async () => {
    redis = await startRedis();
    witness = await EngineFixture.open({}, { url: redis.url });
  });
  afterAll(async () => {
    await witness.close();
    await redis.stop();
  });
  beforeEach(async () => {
    proxy = await TcpProxy.start(redis.port);
    f = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: TIMEOUT_MS });
    await f.publish('warm');
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

  function calls(engine: QueueEngine): Record<string, () => Promise<unknown>> {
    const { ns } = f;
    const request = { queues: ['q'], count: 1, ttrMs: 1_000 };
    return {
      publish: () => engine.publish(ns, 'q', newJob()),
      publishMany: () => engine.publishMany(ns, 'q', [newJob(), newJob()]),
      republish: () => engine.republish(ns, 'q', 'old', newJob()),
      reserve: () => engine.reserve(ns, { ...request, waitMs: 0 }),
      wait: () => engine.reserve(ns, { ...request, waitMs: 60_000 }),
      undo: () => engine.undo(ns, [{ id: 'x', lease: 1 }]),
      ack: () => engine.ack(ns, 'q', 'x'),
      peekQueue: () => engine.peekQueue(ns, 'q'),
      peekJob: () => engine.peekJob(ns, 'q', 'x'),
      counts: () => engine.counts(ns, ['q']),
      destroy: () => engine.destroy(ns, 'q'),
      deadLetterHead: () => engine.deadLetterHead(ns, 'q'),
      respawn: () => engine.respawn(ns, 'q', 1, 0),
      deleteDead: () => engine.deleteDead(ns, 'q', 1),
      namespaces: () => engine.namespaces(),
      queues: () => engine.queues(ns),
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

  it('refuses every call in time while Redis is away, and serves again by itself', async () => {
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
    ['publish', (engine: QueueEngine, ns: string) => engine.publish(ns, 'q', newJob()), 1],
    [
      'publishMany',
      (engine: QueueEngine, ns: string) => engine.publishMany(ns, 'q', [newJob(), newJob()]),
      2,
    ],
    ['republish', (engine: QueueEngine, ns: string) => engine.republish(ns, 'q', 'old', newJob()), 1],
  ])('%s is sent again when its reply is lost, and happens once', async (_name, send, jobs) => {
    await witness.engine.publish(f.ns, 'q', newJob({ id: 'old' }));
    proxy.dropsReplies = true;
    const sent = send(f.engine, f.ns);
    await waitFor(async () => (await witness.engine.queues(f.ns)).includes('q'));
    await waitFor(
      async () =>
        (await witness.engine.peekJob(f.ns, 'q', 'old')) === null ||
        (await witness.engine.size(f.ns, 'q')) > 1,
    );
    proxy.dropsReplies = false;
    proxy.cut();

    const ids = [await sent].flat();

    const left = (
      await witness.engine.reserve(f.ns, { queues: ['q'], count: 10, ttrMs: 1_000, waitMs: 0 })
    ).map(({ id }) => id);
    expect(left.filter((id) => id !== 'old')).toEqual(ids);
    expect(ids).toHaveLength(jobs);
  });

  it('reserve is never sent twice', async () => {
    await f.publish('q');
    await f.publish('q');
    proxy.dropsReplies = true;
    const refused = f.reserve('q').catch((error: unknown) => error);
    await waitFor(async () => (await witness.engine.counts(f.ns, ['q']))[0]?.leased === 1);
    proxy.dropsReplies = false;
    proxy.cut();

    expect(await refused).toMatchObject({ code: 'pool_unavailable' });
    await waitFor(() => f.publish('other'));
    expect(await witness.engine.counts(f.ns, ['q'])).toMatchObject([{ ready: 1, leased: 1 }]);
    // Had it run twice and been undone, the other job would be under its second lease now.
    const request = { queues: ['q'], count: 1, ttrMs: 1_000, waitMs: 0 };
    expect(await witness.engine.reserve(f.ns, request)).toMatchObject([{ lease: 1 }]);
  });

  it('what a late reply of reserve brings goes back to the front, the try not spent', async () => {
    const first = await f.publish('q', { tries: 1 });
    const second = await f.publish('q', { tries: 1 });
    // Redis must know the script: its text would be sent when the late answer says that it does not, and that is too late.
    await f.reserve('nothing-there');
    await afterProbe();
    proxy.replyDelayMs = TIMEOUT_MS + 150;

    await expect(f.reserve('q')).rejects.toMatchObject({ code: 'pool_unavailable' });
    expect(await witness.engine.size(f.ns, 'q')).toBe(1);
    proxy.replyDelayMs = 0;
    await waitFor(async () => (await witness.engine.size(f.ns, 'q')) === 2);

    const request = { queues: ['q'], count: 2, ttrMs: 1_000, waitMs: 0 };
    expect(await witness.engine.reserve(f.ns, request)).toMatchObject([
      // The second lease in all: the script ran once, and the number did not go back.
      { id: first, triesLeft: 0, attempts: 1, lease: 2 },
      { id: second, triesLeft: 0, attempts: 1, lease: 1 },
    ]);
  });

  it('a consumer that waits survives a short outage and gets its job afterwards', async () => {
    const waiting = f.reserve('q', { waitMs: 20_000 });
    await waitFor(async () => (await f.pool.read('EXISTS', `{${f.ns}}:waiting`)) === 1);
    await proxy.down();
    await sleep(1_500);
    await proxy.up();
    const id = await witness.engine.publish(f.ns, 'q', newJob());

    const since = performance.now();
    expect((await waiting).map((job) => job.id)).toEqual([id]);
    expect(performance.now() - since).toBeLessThan(3_000);
  });

  it('a wait that ends while Redis is away fails, rather than saying that there is no job', async () => {
    const waiting = f.reserve('q', { waitMs: 2_500 }).catch((error: unknown) => error);
    await waitFor(async () => (await f.pool.read('EXISTS', `{${f.ns}}:waiting`)) === 1);
    await proxy.down();
    expect(await waiting).toMatchObject({ code: 'pool_unavailable' });
    await proxy.up();
  });

  it('finds a half-open connection out within ten seconds; nobody waits in vain', async () => {
    const waiting = f.reserve('q', { waitMs: 20_000 });
    await waitFor(async () => (await f.pool.read('EXISTS', `{${f.ns}}:waiting`)) === 1);
    const since = performance.now();
    proxy.halfOpen();
    const id = await witness.engine.publish(f.ns, 'q', newJob());

    expect((await waiting).map((job) => job.id)).toEqual([id]);
    await waitFor(() => f.publish('other'), 10_000);
    expect(performance.now() - since).toBeLessThan(10_000);
  });

  it('does nothing behind the backs of callers that were told 503', async () => {
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

    expect(await witness.engine.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, scheduled: 0 }]);
    admin.disconnect();
  });

  it('keeps its books straight over torn replies', async () => {
    const stored = new Set<string>();
    const given: string[] = [];
    for (let i = 0; i < 60; i++) {
      proxy.cutAfterReplyBytes(1 + ((i * 37) % 90));
      await f.publish('q', { tries: 5 }).then(
        (id) => stored.add(id),
        () => undefined,
      );
      if (i % 3 === 0) await f.reserve('q', { ttrMs: 1 }).catch(() => undefined);
    }
    proxy.cutAfterReplyBytes(Number.POSITIVE_INFINITY);
    await sleep(20);
    await waitFor(() => f.engine.pumpNow(f.ns).then(() => true), 5_000);
    for (let jobs = await f.drain('q'); jobs.length > 0; jobs = await f.drain('q')) given.push(...jobs);

    const [counts] = await witness.engine.counts(f.ns, ['q']);
    expect(counts?.leased).toBe(given.length);
    expect(given.length).toBeGreaterThanOrEqual(stored.size);
    expect(stored.size).toBeGreaterThan(20);
    for (const id of stored)
      expect(await witness.engine.peekJob(f.ns, 'q', id)).toMatchObject({ state: 'leased' });
  });
});
