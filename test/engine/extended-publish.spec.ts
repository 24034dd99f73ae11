import { Redis } from 'ioredis';
import type { QueueError } from '../../src/domain/errors.js';
import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import type { PublishedJob, RetryPolicy } from '../../src/domain/job/extended-job.js';
import { fieldsOf } from '../../src/contract/fields/field.js';
import { insideName } from '../../src/contract/fields/wire.js';
import { KeptOptions } from '../../src/contract/job/options.js';
import { DefaultsFields, type QueueDefaults } from '../../src/contract/queue-settings.js';
import { NO_LIMITS } from '../../src/domain/job/quotas.js';
import { encodeId } from '../../src/engine/core/ids.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { decodeHeader, HEADER_BYTES } from '../../src/redis/scripts/header.js';
import { randomNamespace, testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture } from './fixture.js';

/** Names of scripts in metrics. */
const [SIMPLE, EXTENDED] = ['simple_publish', 'extended_publish'];

const withoutIds = (published: readonly PublishedJob[]): object[] =>
  published.map(({ state, existing }) => ({ state, existing }));

type Options = Partial<Omit<NewExtendedJob, 'queue' | 'body'>>;

describe('a publish of extended jobs', () => {
  let f: EngineFixture;
  let redis: Redis;
  const scripts: string[] = [];
  const namespaces: string[] = [];
  beforeEach(async () => {
    scripts.length = 0;
    const script = (name: string): void => void scripts.push(name);
    redis = new Redis(testRedisUrl(), { protocol: 2 });
    f = await EngineFixture.withClock({ observer: { ...silentObserver, script } });
  });
  afterEach(async () => {
    for (const ns of [f.ns, ...namespaces.splice(0)]) expect(await Audit.of(redis, ns)).toEqual([]);
    redis.disconnect();
    await f.close();
  });

  const jobsOf = (...all: readonly Options[]): NewExtendedJob[] =>
    all.map((options, i) => ({ queue: 'q', body: Buffer.from(`body ${String(i)}`), ...options }));

  /** All keys of a namespace, with the ids of its jobs replaced by their places, and without entry numbers. */
  async function contentOf(ns: string, ids: readonly string[]): Promise<Record<string, unknown>> {
    const encoded = ids.map((id) => encodeId(id)!.toString('latin1'));
    const named = (bytes: Buffer): string =>
      encoded.reduce((text, id, i) => text.replaceAll(id, `<job ${String(i)}>`), bytes.toString('latin1'));
    const content: Record<string, unknown> = {};
    for (const key of await redis.keysBuffer(`{${ns}}*`)) {
      content[named(key).replace(ns, '')] = await valueOf(key, named);
    }
    return content;
  }

  async function valueOf(key: Buffer, named: (bytes: Buffer) => string): Promise<unknown> {
    switch (await redis.type(key)) {
      case 'hash': {
        const fields = Object.entries(await redis.hgetall(key));
        return Object.fromEntries(
          fields.map(([field, text]) => [field, field === 'h0' ? (JSON.parse(text) as object) : text]),
        );
      }
      case 'zset':
        return ((await redis.callBuffer('ZRANGE', key, '0', '-1', 'WITHSCORES')) as Buffer[]).map(named);
      case 'list':
        return (await redis.lrangeBuffer(key, 0, -1)).map((entry) => named(entry.subarray(0, -1)));
      case 'set':
        return (await redis.smembersBuffer(key)).map(named).sort();
      default: {
        const value = (await redis.getBuffer(key))!;
        return { ...decodeHeader(value), entry: null, body: value.subarray(HEADER_BYTES).toString() };
      }
    }
  }

  async function publishBoth(jobs: readonly NewExtendedJob[], prepare?: (ns: string) => Promise<unknown>) {
    const [one, other] = [randomNamespace(), randomNamespace()];
    namespaces.push(one, other);
    await prepare?.(one);
    await prepare?.(other);
    scripts.length = 0;
    const simple = await f.engine.jobs.publish(one, jobs);
    const used = scripts.splice(0);
    const extended = await f.engine.components.extendedPublisher.publish(other, jobs);
    expect(withoutIds(simple)).toEqual(withoutIds(extended));
    const [its, others] = [simple, extended].map((all) => all.map(({ id }) => id));
    expect(await contentOf(one, its!)).toEqual(await contentOf(other, others!));
    return used;
  }

  it.each<[string, Options[]]>([
    ['a type', [{ type: 'mail' }]],
    ['tags, one of them twice', [{ tags: ['a', 'b', 'a'] }]],
    ['a retry policy', [{ retry: { kind: 'exponential', delayMs: 5, maxMs: 10 }, tries: 7 }]],
    [
      'a ttr, a content type and attributes',
      [{ ttrMs: 5_000, contentType: 'text/plain', attributes: { a: '"1"' } }],
    ],
    ['a retention', [{ retentionMs: 60_000, type: 'mail' }]],
    ['an id of its own', [{ id: 'order-17', type: 'mail' }]],
    [
      'a batch of several kinds',
      [
        { type: 'a', tags: ['x'] },
        { type: 'b', tags: ['x', 'y'] },
        { type: 'a', tags: ['x'] },
      ],
    ],
  ])('stores the same with %s by the simple script and the extended one', async (_name, options) => {
    expect(await publishBoth(jobsOf(...options))).toContain(SIMPLE);
  });

  it('keeps jobs as long as their namespace says', async () => {
    const used = await publishBoth(jobsOf({ type: 'mail' }), (ns) =>
      f.engine.settings.set(ns, 'retention_ms', 5_000),
    );
    expect(used).not.toContain(EXTENDED);
  });

  it.each([
    ['the simple script', {}],
    ['the extended script', { priority: 1 }],
  ])('keeps the order of a batch in which some jobs have a type, with %s', async (_name, more) => {
    const jobs = jobsOf({ type: 'a', ...more }, more, { type: 'b', ...more }, more);
    const ids = (await f.engine.jobs.publish(f.ns, jobs)).map(({ id }) => id);
    expect((await f.lease('q', { count: 4 })).map(({ id }) => id)).toEqual(ids);
  });

  it('makes a queue with simple jobs extended, and keeps their order', async () => {
    const first = await f.publish('q');
    const [second] = await f.engine.jobs.publish(f.ns, jobsOf({ type: 'mail', tags: ['t'] }));
    const third = await f.publish('q');
    expect(scripts).not.toContain(EXTENDED);

    const leased = await f.lease('q', { count: 3 });
    expect(leased.map(({ id }) => id)).toEqual([first, second?.id, third]);
    expect(leased[1]).toMatchObject({ extended: { type: 'mail', tags: ['t'] }, triesLeft: 4 });
    expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ leased: 3 }]);
  });

  it.each<[string, Options]>([
    ['a delay', { delayMs: 1_000 }],
    ['a time', { dueMs: Date.now() + 60_000 }],
    ['a ttl', { ttlMs: 1_000 }],
    ['a priority', { priority: 1 }],
    ['a unique key', { unique: { key: 'k', mode: 'reject' } }],
    ['a concurrency key', { concurrencyKey: 'k' }],
  ])('uses the extended script with a type and %s', async (_name, options) => {
    await f.engine.jobs.publish(f.ns, jobsOf({ type: 'mail', ...options }));
    expect(scripts).toContain(EXTENDED);
    expect(scripts).not.toContain(SIMPLE);
  });

  describe('calls of one moment', () => {
    /** The results of calls that are made at once, each with its jobs; a code in place of one that is refused. */
    const atOnce = (
      ...calls: readonly (readonly Options[])[]
    ): Promise<(readonly PublishedJob[] | string)[]> =>
      Promise.all(
        calls.map((options) =>
          f.engine.jobs
            .publish(f.ns, jobsOf(...options))
            .catch((error: unknown) => (error as QueueError).code),
        ),
      );

    it('share a script, and each gets what is its own', async () => {
      await f.engine.jobs.publish(f.ns, jobsOf({ id: 'first', priority: 1 }));
      scripts.length = 0;
      const results = await atOnce(
        [{ priority: 1 }, { priority: -1 }],
        [{ priority: 0, dependsOn: ['first', 'none'] }],
        [{ priority: 1, delayMs: 60_000 }],
        [{ dependsOn: ['absent', 'first'] }, { id: 'chosen', priority: 2 }],
      );
      expect(scripts.filter((name) => name === EXTENDED)).toHaveLength(1);
      expect(results.map((all) => (typeof all === 'string' ? all : all.map(({ state }) => state)))).toEqual([
        ['ready', 'ready'],
        ['blocked'],
        ['scheduled'],
        ['blocked', 'ready'],
      ]);
      const missing = results.flatMap((all) =>
        typeof all === 'string' ? [] : all.map(({ missingDependencies = [] }) => missingDependencies),
      );
      expect(missing).toEqual([[], [], ['none'], [], ['absent'], []]);
      const ids = results.flatMap((all) => (typeof all === 'string' ? [] : all.map(({ id }) => id)));
      expect(ids[5]).toBe('chosen');
      for (const id of ids) expect(await f.find(id)).toMatchObject({ id });
      const leased = (await f.lease('q', { count: 10 })).map(({ id }) => id);
      expect(leased).toEqual([ids[1], 'first', ids[0], 'chosen']);
    });

    it('are stored each by itself if a job of one is refused', async () => {
      await f.engine.jobs.publish(f.ns, jobsOf({ id: 'taken', priority: 1 }));
      const results = await atOnce(
        [{ priority: 1 }],
        [{ id: 'taken', priority: 1 }, { priority: 5 }],
        [{ id: 'same', priority: 1 }],
        [{ id: 'same', priority: 1 }],
        [{ dependsOn: ['absent'], onMissingDependency: 'refuse' }],
        [{ priority: 2 }],
      );
      const what = results.map((all) =>
        typeof all === 'string' ? all : all.map(({ state }) => state).join(),
      );
      expect(what).toEqual(['ready', 'job_exists', 'ready', 'job_exists', 'missing_dependency', 'ready']);
      expect((await f.lease('q', { count: 10 })).map(({ extended }) => extended?.priority)).toEqual([
        1, 1, 1, 2,
      ]);
    });

    it('are stored as far as a quota has room', async () => {
      const limited = await EngineFixture.withClock({ quotas: { ...NO_LIMITS, jobsPerQueue: 3 } });
      const publish = (): Promise<string> =>
        limited.engine.jobs.publish(limited.ns, jobsOf({ priority: 1 })).then(
          () => 'stored',
          (error: unknown) => (error as QueueError).code,
        );
      expect(await Promise.all([publish(), publish(), publish(), publish(), publish()])).toEqual([
        ...['stored', 'stored', 'stored', 'queue_full', 'queue_full'],
      ]);
      await limited.close();
    });

    it('do not block one another in a cycle', async () => {
      const results = await atOnce([{ id: 'a', dependsOn: ['b'] }], [{ id: 'b', dependsOn: ['a'] }]);
      expect(results).toMatchObject([[{ state: 'ready' }], [{ state: 'blocked' }]]);
    });

    it('do not use up what a script has time for: dependencies', async () => {
      await f.engine.jobs.publish(f.ns, jobsOf({ id: 'done', priority: 1, retentionMs: 60_000 }));
      const [job] = await f.lease('q');
      await f.engine.ack(f.ns, 'q', job!.id, job!.lease);
      const results = await atOnce(...Array.from({ length: 64 }, () => [{ dependsOn: ['done'] }]));
      expect(results).toMatchObject(results.map(() => [{ state: 'ready' }]));
    });

    it('do not use up what a script has time for: concurrency keys', async () => {
      await f.engine.components.queueControls.change(f.ns, 'q', { maxRunningPerKey: 1 });
      const keys = Array.from({ length: 30 }, (_, i) => `k${String(i)}`);
      for (const concurrencyKey of keys)
        await f.engine.jobs.publish(f.ns, jobsOf({ concurrencyKey, priority: 5 }));
      const results = await atOnce(...keys.map((concurrencyKey) => [{ concurrencyKey, priority: 0 }]));
      expect(results).toMatchObject(results.map(() => [{ state: 'ready' }]));
    });

    it('find the job that holds their unique key', async () => {
      const unique = { key: 'k', mode: 'existing' } as const;
      const results = await atOnce([{ unique }], [{ unique }], [{ priority: 1 }]);
      const [first, second] = results.map((all) => (typeof all === 'string' ? undefined : all[0]));
      expect([first?.existing, second]).toEqual([false, { ...first, existing: true }]);
    });
  });

  describe('a publish of simple jobs only, by the simple script', () => {
    const publish = async (...jobs: Partial<NewExtendedJob>[]): Promise<readonly PublishedJob[]> =>
      f.engine.jobs.publish(
        f.ns,
        jobs.map((job, i) => ({ queue: 'q', body: Buffer.from(String(i)), ...job })),
      );
    const codeOf = (call: Promise<unknown>): Promise<string> =>
      call.then(
        () => 'stored',
        (error: unknown) => (error as QueueError).code,
      );
    /** Queues of the extended path have numbers below zero. */
    const extendedQueues = async (): Promise<string[]> =>
      Object.entries(await redis.hgetall(`{${f.ns}}:queues`)).flatMap(([queue, number]) =>
        number.startsWith('-') ? [queue] : [],
      );

    it('makes jobs ready at their time by Redis’s clock', async () => {
      const dueMs = f.nowMs + 5_000;
      const [late, now] = await publish({ dueMs }, { dueMs: f.nowMs });
      const [far] = await publish({ dueMs: f.nowMs + 86_400_000 });
      expect([late, now, far].map((job) => job?.state)).toEqual(['scheduled', 'ready', 'scheduled']);
      expect(scripts).not.toContain(EXTENDED);
      expect(await f.find(late!.id)).toMatchObject({ state: 'scheduled', dueAtMs: dueMs });
      expect(await f.find(far!.id)).toMatchObject({ dueAtMs: f.nowMs + 86_400_000 });
      await f.pass(4_999);
      expect((await f.lease('q', { count: 9 })).map(({ id }) => id)).toEqual([now?.id]);
      await f.pass(1);
      expect((await f.lease('q', { count: 9 })).map(({ id }) => id)).toEqual([late?.id]);
      await f.engine.ackMany(
        f.ns,
        [late, now].map((job) => ({ queue: 'q', id: job!.id })),
      );
      f.nowMs = dueMs - 5_000 + 86_400_000 - 1;
      await f.engine.pumpNow(f.ns);
      expect(await f.lease('q')).toEqual([]);
      await f.pass(1);
      expect((await f.lease('q')).map(({ id }) => id)).toEqual([far?.id]);
      expect(await extendedQueues()).toEqual([]);
    });

    it('returns the first result again under an idempotency key after the time of the job', async () => {
      const job = { queue: 'q', body: Buffer.from('x'), dueMs: f.nowMs + 1_000 };
      const options = { idempotencyKey: 'k' };
      const first = await f.engine.jobs.publish(f.ns, [job], options);
      await f.pass(1_000);
      expect(await f.engine.jobs.publish(f.ns, [job], options)).toEqual(first);
    });

    it('stores jobs of several queues in order', async () => {
      const published = await publish({ queue: 'a' }, { queue: 'b' }, { queue: 'a', delayMs: 1_000 });
      expect(published.map(({ state }) => state)).toEqual(['ready', 'ready', 'scheduled']);
      expect(scripts).not.toContain(EXTENDED);
      expect(await f.engine.queues.counts(f.ns, ['a', 'b'])).toMatchObject([
        { ready: 1, scheduled: 1 },
        { ready: 1, scheduled: 0 },
      ]);
      await f.pass(1_000);
      expect((await f.lease('a', { count: 9 })).map(({ body }) => body.toString())).toEqual(['0', '2']);
      expect(await extendedQueues()).toEqual([]);
    });

    it('stores all or none with chosen ids', async () => {
      const published = await publish({ id: 'a' }, { id: 'b' }, {});
      expect(published.slice(0, 2).map(({ id }) => id)).toEqual(['a', 'b']);
      expect(scripts).not.toContain(EXTENDED);
      expect(await codeOf(publish({ queue: 'new' }, { queue: 'other', id: 'c' }, { id: 'b' }))).toBe(
        'job_exists',
      );
      expect(await f.find('c')).toBeNull();
      expect(await f.engine.queues.counts(f.ns, ['q', 'new'])).toMatchObject([{ ready: 3 }, { ready: 0 }]);
      expect(await redis.hkeys(`{${f.ns}}:queues`)).toEqual(['q']);
      expect(await codeOf(publish({ id: 'd' }, { id: 'd' }))).toBe('invalid_argument');
      expect(await extendedQueues()).toEqual([]);
    });

    it('fails only the refused call of a batch', async () => {
      await publish({ id: 'taken' });
      const calls = [
        codeOf(publish({ id: 'x' }, { id: 'taken' })),
        codeOf(publish({ id: 'x' })),
        codeOf(publish({ queue: 'other' }, { id: 'y' })),
        codeOf(publish({})),
      ];
      expect(await Promise.all(calls)).toEqual(['job_exists', 'stored', 'stored', 'stored']);
      expect(await f.find('x')).toMatchObject({ state: 'ready' });
      expect(await f.engine.queues.counts(f.ns, ['q', 'other'])).toMatchObject([{ ready: 4 }, { ready: 1 }]);
    });

    it('is refused by a drained queue', async () => {
      await publish({ queue: 'full' });
      await f.engine.components.queueControls.drain(f.ns, 'full');
      expect(await codeOf(publish({ queue: 'free' }, { queue: 'full' }))).toBe('queue_draining');
      expect(await f.engine.queues.counts(f.ns, ['free'])).toMatchObject([{ ready: 0 }]);
    });

    it('returns the first result again under an idempotency key, with chosen ids', async () => {
      const jobs = ['a', 'b'].map((id, i) => ({ queue: `q${String(i)}`, id, body: Buffer.from(id) }));
      const options = { idempotencyKey: 'k' };
      const first = await f.engine.jobs.publish(f.ns, jobs, options);
      expect(await f.engine.jobs.publish(f.ns, jobs, options)).toEqual(first);
      expect(scripts).not.toContain(EXTENDED);
    });

    it('is refused as a whole if one of its queues is full', async () => {
      const small = await EngineFixture.withClock({ quotas: { queues: 0, jobsPerQueue: 1, bytes: 0 } });
      try {
        const jobs = (...queues: string[]) => queues.map((queue) => ({ queue, body: Buffer.from('x') }));
        await small.engine.jobs.publish(small.ns, jobs('a', 'b'));
        expect(await codeOf(small.engine.jobs.publish(small.ns, jobs('c', 'b')))).toBe('queue_full');
        expect(await small.engine.queues.counts(small.ns, ['c'])).toMatchObject([{ ready: 0 }]);
      } finally {
        await small.close();
      }
    });
  });

  describe('a publish into a queue with defaults', () => {
    const retry: RetryPolicy = { kind: 'list', delaysMs: [0, 1_000], nonRetryable: ['g'] };
    const DEFAULTS: QueueDefaults[] = [
      { tries: 9 },
      { ttlMs: 4_000 },
      { ttlMs: 0, tries: 9 },
      { ttrMs: 5_000 },
      { maxRunMs: 5_000 },
      { retry },
      { retentionMs: 60_000 },
      { retentionMs: 0 },
      { retry, retentionMs: 60_000, tries: 2 },
      { retry, ttlMs: 4_000 },
      { maxRunMs: 5_000, retentionMs: 0 },
      { priority: 0, tries: 9 },
      { priority: 3 },
    ];
    const JOBS: Options[] = [
      {},
      { tries: 2 },
      { ttlMs: 0 },
      { ttlMs: 3_000, tries: 2 },
      { delayMs: 500 },
      { delayMs: 500, ttlMs: 0 },
      { delayMs: 5_000 },
      { delayMs: 5_000, ttlMs: 3_000 },
      { delayMs: 1_000_000, ttlMs: 2_000_000 },
      { retentionMs: 0 },
      { retentionMs: 7_000 },
      { attributes: { a: '"1"' } },
      { attributes: { a: '1' }, retentionMs: 0, delayMs: 500 },
      { type: 'mail', tags: ['t'] },
      { type: 'mail', ttlMs: 0, retentionMs: 0 },
      { retry: { kind: 'none' }, tries: 1 },
      { ttrMs: 3_000 },
      { maxRunMs: 3_000 },
      { priority: 0 },
    ];

    it.each([...fieldsOf(DefaultsFields)].map(([name, field]) => insideName(name, field)))(
      'is compared with a default and with a job that sets it: %s',
      (name) => {
        const naming = (all: readonly object[]): object[] => all.filter((one) => name in one);
        expect(naming(DEFAULTS)).not.toEqual([]);
        expect(naming(JOBS)).not.toEqual([]);
      },
    );

    /** Defaults that a job keeps. One of `ttrMs` is read from the queue by each lease. */
    const kept = [...fieldsOf(DefaultsFields).keys()].filter(
      (name) => fieldsOf(KeptOptions).has(name) && name !== 'ttr_ms',
    );
    it.each(kept)('stores the default with the job: %s', async (name) => {
      const inside = insideName(name, fieldsOf(DefaultsFields).get(name)!);
      const defaults = DEFAULTS.find((one) => inside in one)!;
      await having(defaults)(f.ns);
      const [job] = await f.engine.jobs.publish(f.ns, jobsOf({}));
      expect(await f.find(job!.id)).toMatchObject(defaults);
    });

    /** What only the extended script can store: a priority, fields beside a delay or a ttl, a due time to be remembered. */
    function needsExtended(defaults: QueueDefaults, job: Options): boolean {
      const { delayMs = 0, ttlMs = 0, retentionMs = 0, id, ...all } = { ...defaults, ...job };
      const stored = [all.type, all.retry, all.maxRunMs, job.ttrMs];
      const hasFields = retentionMs > 0 || stored.some((value) => value !== undefined);
      const forgetsDue = (ttlMs > 0 && ttlMs < delayMs) || (delayMs > 600_000 && id === undefined);
      return (defaults.priority ?? 0) !== 0 || (hasFields && delayMs + ttlMs > 0) || forgetsDue;
    }

    /** What both ways must agree on of any job. The timeline of a simple one does not name the queue. */
    async function factsOf(ns: string, ids: readonly string[]): Promise<object[]> {
      return Promise.all(
        ids.map(async (id) => {
          const facts = (await f.engine.jobs.find(ns, id))!;
          return { ...facts, id: '', timeline: facts.timeline.map(({ what, atMs }) => ({ what, atMs })) };
        }),
      );
    }

    /** @returns whether the extended script was used */
    async function publishBothIn(
      jobs: readonly NewExtendedJob[],
      prepare: (ns: string) => Promise<unknown>,
    ): Promise<boolean> {
      const [one, other] = [randomNamespace(), randomNamespace()];
      namespaces.push(one, other);
      for (const ns of [one, other]) await prepare(ns);
      scripts.length = 0;
      const simple = await f.engine.jobs.publish(one, jobs);
      const used = scripts.includes(EXTENDED);
      const extended = await f.engine.components.extendedPublisher.publish(other, jobs);
      expect(withoutIds(simple)).toEqual(withoutIds(extended));
      const [its, others] = [simple.map(({ id }) => id), extended.map(({ id }) => id)];
      expect(await factsOf(one, its)).toEqual(await factsOf(other, others));
      const timelines = its.map((id) => redis.hexists(keyOfFields(one, id), 'hn'));
      const areExtended = (await Promise.all(timelines)).every((has) => has === 1);
      expect(await Promise.all(its.map((id) => retentionOf(one, id)))).toEqual(
        await Promise.all(others.map((id) => retentionOf(other, id))),
      );
      if (areExtended) expect(await contentOf(one, its)).toEqual(await contentOf(other, others));
      return used;
    }

    async function retentionOf(ns: string, id: string): Promise<number> {
      return Number(await redis.hget(keyOfFields(ns, id), 'keep'));
    }

    function keyOfFields(ns: string, id: string): Buffer {
      return Buffer.concat([Buffer.from(`{${ns}}x`), encodeId(id)!]);
    }

    const having =
      (defaults: QueueDefaults) =>
      (ns: string): Promise<unknown> =>
        f.engine.components.queueControls.change(ns, 'q', { defaults });

    it.each(DEFAULTS)('stores the same by the simple script and the extended one: %j', async (defaults) => {
      const chosen = JOBS.map((job, i) => ({ ...job, id: `own-${String(i)}` }));
      for (const job of [...JOBS, ...chosen]) {
        const used = await publishBothIn(jobsOf(job), having(defaults));
        expect({ job, used }).toEqual({ job, used: needsExtended(defaults, job) });
      }
    });

    it.each(DEFAULTS)(
      'stores the same in batches by the simple script and the extended one: %j',
      async (defaults) => {
        for (const size of [2, 3, 7])
          for (let at = 0; at < JOBS.length; at += size) {
            const jobs = JOBS.slice(at, at + size);
            const used = await publishBothIn(jobsOf(...jobs), having(defaults));
            expect({ jobs, used }).toEqual({ jobs, used: jobs.some((job) => needsExtended(defaults, job)) });
          }
      },
    );

    it('keeps jobs as long as the namespace says, unless they or the queue say it', async () => {
      const used: boolean[] = [];
      for (const [defaults, job] of [
        [{ tries: 9 }, {}],
        [{ tries: 9 }, { retentionMs: 0 }],
        [{ retentionMs: 0 }, {}],
        [{ retry }, { retentionMs: 0 }],
      ] as const)
        used.push(
          await publishBothIn(jobsOf(job), async (ns) => {
            await f.engine.settings.set(ns, 'retention_ms', 5_000);
            await having(defaults)(ns);
          }),
        );
      expect(used).toEqual([false, false, false, false]);
    });

    it.each(DEFAULTS)('stores once under an idempotency key, with equal answers: %j', async (defaults) => {
      await having(defaults)(f.ns);
      for (const [i, jobs] of [
        jobsOf({}),
        jobsOf({}, { tries: 2 }),
        jobsOf({ delayMs: 500 }, {}),
      ].entries()) {
        const options = { idempotencyKey: `order-${String(i)}` };
        const all = await Promise.all([1, 2, 3].map(() => f.engine.jobs.publish(f.ns, jobs, options)));
        expect(new Set(all.flat().map(({ id }) => id)).size).toBe(jobs.length);
        expect(await f.engine.components.extendedPublisher.publish(f.ns, jobs, options)).toEqual(all[0]);
        for (const { id } of all[0]!) expect((await f.find(id))?.tries).toBeGreaterThan(0);
      }
    });

    it('uses the extended script only for those calls of a batch that need it', async () => {
      await having({ retry, tries: 9 })(f.ns);
      const calls = [
        jobsOf({}, { tries: 2 }),
        jobsOf({}, { delayMs: 500 }),
        jobsOf({}),
        jobsOf({ ttlMs: 700 }),
      ];
      scripts.length = 0;
      const all = await Promise.all(calls.map((jobs) => f.engine.jobs.publish(f.ns, jobs)));
      expect(scripts.filter((name) => name === SIMPLE)).toHaveLength(1);
      expect(scripts.filter((name) => name === EXTENDED)).toHaveLength(1);
      for (const { id } of all.flat()) expect(await f.find(id)).toMatchObject({ retry });
      expect(await f.counts()).toMatchObject({ ready: 5, scheduled: 1 });
    });

    it("does not apply tries, ttl and priority of the queue to a job of lmstfy's API", async () => {
      await having({ retry, tries: 9, ttlMs: 4_000, priority: 3 })(f.ns);
      const id = await f.publish('q', { tries: 2 });
      expect(scripts).not.toContain(EXTENDED);
      expect(await f.find(id)).toMatchObject({ tries: 2, expiresAtMs: null, priority: 0 });
    });
  });

  it('is refused by a drained queue', async () => {
    await f.publish('q');
    await f.engine.components.queueControls.drain(f.ns, 'q');
    await expect(f.engine.jobs.publish(f.ns, jobsOf({ type: 'mail' }))).rejects.toMatchObject({
      code: 'queue_draining',
    });
    expect(await f.counts()).toMatchObject({ ready: 1 });
  });

  it('refuses an id in use, and accepts that of an expired job', async () => {
    const id = await f.put('q', { id: 'order-17', type: 'mail', ttlMs: 1_000 });
    await expect(f.put('q', { id, type: 'mail' })).rejects.toMatchObject({ code: 'job_exists' });
    f.nowMs += 1_001;
    expect(await f.put('q', { id, type: 'post' })).toBe(id);
    expect(await f.find(id)).toMatchObject({ type: 'post', state: 'ready' });
    expect(await f.counts()).toMatchObject({ ready: 1 });
  });

  it('stores once with an idempotency key, with equal answers', async () => {
    const jobs = jobsOf({ type: 'mail' }, { type: 'mail', tags: ['t'] });
    const options = { idempotencyKey: 'order-17' };
    const all = await Promise.all([1, 2, 3].map(() => f.engine.jobs.publish(f.ns, jobs, options)));
    expect(new Set(all.flat().map(({ id }) => id)).size).toBe(2);
    expect(await f.counts()).toMatchObject({ ready: 2 });
    expect(await f.engine.components.extendedPublisher.publish(f.ns, jobs, options)).toEqual(all[0]);
    expect(scripts).toContain(SIMPLE);
  });

  it('stores 64 jobs with 32 tags in at least eight scripts', async () => {
    await f.publish('q');
    scripts.length = 0;
    const tags = Array.from({ length: 32 }, (_, i) => `tag ${String(i)}`);
    const all = await Promise.all(
      Array.from({ length: 64 }, () => f.engine.jobs.publish(f.ns, jobsOf({ tags }))),
    );
    expect(new Set(all.flat().map(({ id }) => id)).size).toBe(64);
    expect(scripts.filter((name) => name === SIMPLE).length).toBeGreaterThanOrEqual(8);
  });

  it('refuses invalid tries, ttr, ids and text without a script', async () => {
    const wrong: Options[] = [
      { type: 'a', tries: 0 },
      { type: 'a', ttrMs: -1 },
      { type: 'a', id: 'no id' },
      { type: '\ud800' },
      { tags: ['ok', 'x\udc00'] },
    ];
    for (const options of wrong)
      await expect(f.engine.jobs.publish(f.ns, jobsOf(options))).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    expect(scripts).toEqual([]);
  });

  it('is refused as a whole beyond the quota on jobs of the queue', async () => {
    const quotas = { queues: 0, jobsPerQueue: 2, bytes: 0 };
    const own = await EngineFixture.withClock({ quotas });
    try {
      await own.put('q', { type: 'a' });
      await expect(
        own.engine.jobs.publish(own.ns, jobsOf({ type: 'a' }, { type: 'a' })),
      ).rejects.toMatchObject({
        code: 'queue_full',
      });
      expect(await own.counts()).toMatchObject({ ready: 1 });
      expect(await own.find(await own.put('q', { type: 'a' }))).toMatchObject({ state: 'ready' });
    } finally {
      await own.close();
    }
  });
});
