import { Redis } from 'ioredis';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { Engines } from '../../src/engine/engines.js';
import type { RecordMover } from '../../src/engine/moving/record-mover.js';
import type { Engine } from '../../src/engine/engine.js';
import { kindOf, type MoveRule, RECORD_KINDS } from '../../src/redis/record-kinds.js';
import { RAISED_TO } from '../../src/domain/data-format.js';
import { RedisPool } from '../../src/redis/pool.js';
import { randomNamespace, startRedis, type RedisProcess, waitFor } from '../support/redis.js';
import { Audit } from './audit.js';
import { fillWithEveryKind, restsOf } from './every-kind.js';
import { newJob, silentLog, testPoolOptions } from './fixture.js';

const HOUR_MS = 3_600_000;
const LEFT: ReadonlySet<MoveRule> = new Set(['drains', 'temporary']);

describe('a pool moved to another Redis', () => {
  let stores: RedisProcess[];
  let clients: [Redis, Redis];
  let pools: RedisPool[];
  let nowMs: number;
  let old: PoolEngine;
  let next: PoolEngine;
  let mover: RecordMover;
  let queues: Engine;
  let ns: string;

  beforeAll(async () => {
    stores = await Promise.all([startRedis(), startRedis()]);
    const [one, two] = stores.map(({ url }) => new Redis(url, { protocol: 2 }));
    clients = [one!, two!];
    pools = await Promise.all(
      stores.map(({ url }, i) =>
        RedisPool.connect(i === 0 ? 'default' : 'fresh', testPoolOptions({ url }), silentLog),
      ),
    );
  });
  afterAll(async () => {
    for (const client of clients) client.disconnect();
    await Promise.all(pools.map((pool) => pool.close()));
    await Promise.all(stores.map((store) => store.stop()));
  });
  beforeEach(() => {
    ns = randomNamespace('move');
    nowMs = Date.now();
    [old, next] = enginesOf();
    ({ mover, queues } = moveOf(old, next));
  });

  /** Engines of one process, without loops. */
  function enginesOf(): [PoolEngine, PoolEngine] {
    const [one, two] = pools.map((pool) => new PoolEngine(pool, { clock: () => nowMs }));
    return [one!, two!];
  }

  function moveOf(from: PoolEngine, to: PoolEngine): { mover: RecordMover; queues: Engine } {
    const engines = new Map([
      ['default', from],
      ['fresh', to],
    ]);
    const registry = new Engines(engines, new Map([['default', 'fresh']]));
    return { mover: from.moveTo(to), queues: registry.of('default') };
  }

  /** A key's value in a form that does not depend on the order of its members. */
  async function valueOf(client: Redis, rest: string): Promise<unknown> {
    const key = Buffer.from(`{${ns}}${rest}`, 'latin1');
    const type = await client.type(key);
    if (type === 'hash') return client.hgetall(key);
    if (type === 'string') return (await client.getBuffer(key))?.toString('hex');
    if (type === 'set') return (await client.smembers(key)).sort();
    return type === 'zset' ? client.zrange(key, '0', '-1', 'WITHSCORES') : type;
  }

  /** Values of the records of some rules, by what follows `{ns}` in their keys. */
  async function recordsOf(client: Redis, ...rules: MoveRule[]): Promise<Record<string, unknown>> {
    const found: Record<string, unknown> = {};
    for (const rest of await restsOf(client, ns)) {
      if (!rules.includes(kindOf(rest)?.move ?? 'drains')) continue;
      // The log of changes is each store's own.
      if (rest === ':target_changes') continue;
      const value = await valueOf(client, rest);
      // Numbers of changes and of batches, and the way that a recurring job came.
      if (rest === ':targets') delete (value as Record<string, string>)['v'];
      const isOwn = (field: string): boolean => field.startsWith(':') || field === 'from';
      found[rest] =
        typeof value === 'object' && !Array.isArray(value) && value !== null
          ? Object.fromEntries(Object.entries(value).filter(([field]) => !isOwn(field)))
          : value;
    }
    return found;
  }

  it('T58: has a record of every kind in the new Redis, with the same values, once', async () => {
    await fillWithEveryKind(old, ns);
    const same = [
      'copied',
      'settings',
      'variables',
      'targets',
      'recurring jobs',
      'sessions',
      'statistics',
    ] as const;
    const found = await recordsOf(clients[0], ...same);
    const kinds = new Set((await restsOf(clients[0], ns)).map((rest) => kindOf(rest)?.form));
    // During a move an operation stops before it ends a job, and keeps nothing to undo.
    const unseen = RECORD_KINDS.map(({ form }) => form).filter((form) => !kinds.has(form));
    expect(unseen).toEqual([':undoable', ':V:<operation>', ':U:<operation>']);
    const settings = await old.components.queueControls.settings(ns, ['limited', 'paused']);
    // What another process had set aside is added to the day. A unique key that is held while its job is live goes with it.
    const aside = Object.keys(found).find((rest) => rest.endsWith(':leaving')) ?? '';
    const day = aside.replace(':leaving', '');
    const { ou: _live, [aside]: before, ...others } = found;
    const expected = { ...others, [day]: { ...(found[day] as object), ...(before as object) } };

    await mover.moveAll();
    await mover.bring(ns);

    expect(await recordsOf(clients[1], ...same)).toEqual(expected);
    expect(await next.components.queueControls.settings(ns, ['limited', 'paused'])).toEqual(settings);
    const left = await restsOf(clients[0], ns);
    // Of statistics the numbers of batches stay.
    expect(await recordsOf(clients[0], 'recurring jobs', 'statistics')).toEqual({ [day]: {} });
    expect(left).not.toContain(':W:session-1');
    expect(await Audit.of(clients[1], ns)).toEqual([]);
    const notMoved = RECORD_KINDS.filter(({ move }) => LEFT.has(move)).map(({ form }) => form);
    const arrived = new Set((await restsOf(clients[1], ns)).map((rest) => kindOf(rest)?.form));
    const own = [
      ':meta',
      ':target_changes',
      ':queues',
      ':i<n>',
      ':due',
      ':timers',
      ':waiting',
      ':events',
      ':listening',
      ':pace<n>',
    ];
    expect(notMoved.filter((form) => arrived.has(form) && !own.includes(form))).toEqual([]);
  });

  it('keeps the Redis TTL of copied records', async () => {
    await old.publish(ns, 'q', newJob(), { idempotencyKey: 'once' });
    await mover.moveAll();
    const [rest = ''] = (await restsOf(clients[1], ns)).filter((one) => one.startsWith(':k'));
    const key = Buffer.from(`{${ns}}${rest}`, 'latin1');
    const [before, after] = [await clients[0].pttl(key), await clients[1].pttl(key)];

    expect(before - after).toBeLessThan(10_000);
    expect(after).toBeGreaterThan(HOUR_MS);
  });

  describe('a pool with recurring jobs during a move', () => {
    const template = { queue: 'made', body: Buffer.from('x') };
    const made = async (engine: PoolEngine): Promise<string[]> => {
      const ids: string[] = [];
      for (;;) {
        const jobs = await engine.lease(ns, { queues: ['made'], count: 100, ttrMs: HOUR_MS, waitMs: 0 });
        if (jobs.length === 0) return ids;
        for (const job of jobs) {
          ids.push(job.id);
          await engine.ack(ns, 'made', job.id, job.lease);
        }
      }
    };
    const pass = async (ms: number): Promise<void> => {
      nowMs += ms;
      for (const engine of [old, next]) await engine.pumpNow(ns);
    };
    const every = (overlap: 'allow' | 'skip' = 'allow'): Promise<unknown> =>
      old.recurring.set(ns, {
        ...{ id: 'tick', schedule: { everyMs: 1_000, offsetMs: 1_000 }, template, overlap },
      });

    it('makes one job for each slot, before, during and after moves in both directions', async () => {
      await every();
      for (const [from, to] of [
        [old, next],
        [next, old],
        [old, next],
      ] as const) {
        await pass(1_000);
        expect(await moveOf(...([from, to] as const)).mover.moveRecurring(ns, 'tick')).toBe('moved');
        await pass(1_000);
      }

      const ids = [...(await made(old)), ...(await made(next))];
      expect(ids.sort()).toEqual(['tick-1', 'tick-2', 'tick-3', 'tick-4', 'tick-5', 'tick-6']);
      expect(await old.recurring.find(ns, 'tick')).toBeNull();
      expect(await next.recurring.get(ns, 'tick')).toMatchObject({ made: 6, skipped: 0 });
    });

    it('makes no job while a killed process has it half moved, and makes it after the next process moved it', async () => {
      await every();
      const { records } = old.movingStore();
      const leaving = await records.leaveRecurring(ns, 'tick');
      await pass(1_000);
      expect([...(await made(old)), ...(await made(next))]).toEqual([]);
      // Killed before and after it had come.
      expect(await mover.moveRecurring(ns, 'tick')).toBe('moved');
      expect(await next.movingStore().records.arriveRecurring(ns, 'tick', leaving as never)).toBe('gone');
      await pass(0);

      expect(await made(next)).toEqual(['tick-1']);
      await pass(1_000);
      expect(await made(next)).toEqual(['tick-2']);
    });

    it('does not store a recurring job again that was removed during the move', async () => {
      await every();
      const leaving = await old.movingStore().records.leaveRecurring(ns, 'tick');
      expect(await queues.recurring.remove(ns, 'tick')).toBe(true);
      expect(await next.movingStore().records.arriveRecurring(ns, 'tick', leaving as never)).toBe('gone');

      expect((await queues.recurring.list(ns, 10)).items).toEqual([]);
    });

    it('makes jobs in the old Redis when the move is cancelled halfway', async () => {
      await every();
      const leaving = await old.movingStore().records.leaveRecurring(ns, 'tick');
      const back = moveOf(...reversed());
      await back.mover.resume();
      // The process that had stopped it is late.
      expect(await next.movingStore().records.arriveRecurring(ns, 'tick', leaving as never)).toBe('kept');
      await pass(1_000);
      expect(await made(old)).toEqual(['tick-1']);

      expect(await mover.moveRecurring(ns, 'tick')).toBe('moved');
      await pass(1_000);
      expect(await made(next)).toEqual(['tick-2']);
    });

    describe('one full Redis', () => {
      let full: Redis;
      const fill = (which: 0 | 1): Promise<unknown> => {
        full = clients[which];
        return full.config('SET', 'maxmemory', '1');
      };
      afterEach(() => full.config('SET', 'maxmemory', '0'));
      const add = (id: string): Promise<unknown> =>
        old.recurring.set(ns, { id, schedule: { everyMs: 1_000, offsetMs: 1_000 }, template });
      const idsIn = async (engine: PoolEngine): Promise<string[]> =>
        (await engine.recurring.list(ns, 10)).items.map(({ id }) => id);

      it('has all of them in the new one, if it is the old one', async () => {
        for (const id of ['one', 'two']) await add(id);
        // It was there before.
        for (const [from, to] of [
          [old, next],
          [next, old],
        ] as const)
          // oxfmt-ignore
          expect(await moveOf(from, to).mover.moveRecurring(ns, 'two')).toBe('moved');
        await old.queues.stored.change(ns, 'made', { maxRunning: 3 });
        await fill(0);

        const loop = old.moveTo(next);
        loop.start();
        await waitFor(async () => (await idsIn(next)).length === 2, 5_000);
        await waitFor(() => loop.loop.status().moved !== null, 5_000);
        await loop.stop();

        expect(loop.loop.status().lastError).toBeNull();
        expect([await idsIn(old), await idsIn(next)]).toEqual([[], ['one', 'two']]);
        expect(await queues.queues.stored.settings(ns, ['made'])).toMatchObject([{ maxRunning: 3 }]);
      });

      it('shows all of them and the queues, if it is the new one', async () => {
        // So that the new one has the functions: one that is full does not load them.
        await old.queues.stored.change(ns, 'other', { maxRunning: 3 });
        await mover.bring(ns);
        for (const id of ['one', 'two']) await add(id);
        await old.queues.stored.change(ns, 'made', { maxRunning: 3 });
        await old.sessions.heartbeat(ns, 'w', { ttrMs: HOUR_MS, leases: [], info: { name: 'w' } });
        old.stats.of(ns, 'made').failures += 1;
        await old.stats.flush();
        await fill(1);

        const { items } = await queues.recurring.list(ns, 10);

        expect(items.map(({ id }) => id)).toEqual(['one', 'two']);
        expect(await queues.recurring.get(ns, 'one')).toMatchObject({ id: 'one' });
        expect(await queues.recurring.find(ns, 'none')).toBeNull();
        await expect(queues.recurring.pause(ns, 'one')).rejects.toMatchObject({ code: 'store_full' });
        await expect(queues.sessions.deregister(ns, 'w')).rejects.toMatchObject({ code: 'store_full' });
        expect(await queues.queues.stored.settings(ns, ['made'])).toMatchObject([{ maxRunning: 3 }]);
        await full.config('SET', 'maxmemory', '0');
        await mover.bring(ns);
        expect([await idsIn(old), await idsIn(next)]).toEqual([[], ['one', 'two']]);
      });
    });

    it('does not move a recurring job whose overlap needs both pools', async () => {
      await every('skip');
      await pass(1_000);
      expect(await mover.moveRecurring(ns, 'tick')).toBe('stays');
      await pass(1_000);
      expect((await queues.recurring.get(ns, 'tick')).skipped).toBe(1);

      expect(await made(old)).toEqual(['tick-1']);
      expect(await mover.moveRecurring(ns, 'tick')).toBe('moved');
      await pass(1_000);
      expect(await made(next)).toEqual(['tick-2']);
    });

    it.each(['ignore', 'refuse'] as const)(
      'does not move a recurring job whose jobs depend on a job in the old Redis: on_missing_dependency %s',
      async (onMissingDependency) => {
        await old.jobs.publish(ns, [
          { queue: 'first', body: Buffer.from('x'), id: 'first', type: 't', retentionMs: 60_000 },
        ]);
        await old.recurring.set(ns, {
          ...{ id: 'tick', schedule: { everyMs: 1_000, offsetMs: 1_000 } },
          template: { ...template, dependsOn: ['first'], onMissingDependency },
        });
        expect(await mover.moveRecurring(ns, 'tick')).toBe('stays');
        await pass(1_000);
        expect(await made(old)).toEqual([]);
        expect(await made(next)).toEqual([]);

        const [job] = await old.lease(ns, { queues: ['first'], count: 1, ttrMs: 1_000, waitMs: 0 });
        await old.ack(ns, 'first', 'first', job!.lease);
        await pass(0);
        expect(await made(old)).toEqual(['tick-1']);
        // It is done, and kept: for `refuse` it must be there.
        const outcome = onMissingDependency === 'refuse' ? 'stays' : 'moved';
        expect(await mover.moveRecurring(ns, 'tick')).toBe(outcome);
        await pass(60_001);
        expect(await mover.moveRecurring(ns, 'tick')).toBe(outcome === 'stays' ? 'moved' : 'none');
      },
    );

    function reversed(): [PoolEngine, PoolEngine] {
      const [one, two] = enginesOf();
      return [two, one];
    }
  });

  it('counts statistics once if their move stops anywhere', async () => {
    const today = next.stats.today();
    const count = async (engine: PoolEngine, times: number): Promise<void> => {
      for (let i = 0; i < times; i++) engine.stats.of(ns, 'q').retries += 1;
      await engine.stats.flush();
    };
    await count(old, 3);
    await count(next, 2);
    const [from, to] = [old.movingStore().records, next.movingStore().records];
    // A process is killed after it has added them, and before it has removed them.
    const { tallies } = await from.takeDay(ns, today);
    const number = await from.numberDay(ns, today, await to.lastBatch(ns, today));
    await to.addDay(ns, today, Number(number), tallies, nowMs);
    await count(old, 4);
    await mover.moveAll();
    await mover.moveAll();

    expect((await next.stats.read(ns, 'q', today)).retries).toBe(9);
    expect((await old.stats.read(ns, 'q', today)).retries).toBe(0);
  });

  it('counts statistics once that a server adds again, as the answer was lost', async () => {
    const [from, day] = [old.movingStore().records, next.stats.today()];
    // A batch has a number of its server: here it is sent as a move sends its own.
    const add = (tally: string): Promise<void> => from.addDay(ns, day, 0, new Map([['q', tally]]), nowMs);
    const dayKey = `{${ns}}:t${String(day)}`;
    await add(';;1;0');
    const ttlMs = await clients[0].pttl(dayKey);
    expect((await from.takeDay(ns, day)).tallies.get('q')).toBe(';;1;0');
    await add(';;1;0');
    await mover.moveAll();

    expect((await next.stats.read(ns, 'q', day)).failures).toBe(1);
    // What stays is not taken again, and goes by its TTL.
    expect((await from.takeDay(ns, day)).tallies.size).toBe(0);
    expect(await clients[0].exists(`${dayKey}:leaving`)).toBe(0);
    expect(ttlMs - (await clients[0].pttl(dayKey))).toBeLessThan(10_000);
    expect(ttlMs).toBeGreaterThan(HOUR_MS);
  });

  describe('a queue that the old Redis does not have', () => {
    const leaseOf = (queue: string) =>
      queues.lease(ns, { queues: [queue], count: 1, ttrMs: HOUR_MS, waitMs: 0 });
    /** A job of the old Redis goes on to the queue. */
    async function goOn(): Promise<void> {
      await old.publish(ns, 'first', newJob());
      const [job] = await leaseOf('first');
      expect(await queues.settle.complete(ns, [{ ...job!, next: { queue: 'second' } }])).toEqual(['done']);
    }

    it('is paused there, too: a job may go on to it', async () => {
      await queues.queues.stored.pause(ns, 'second');
      await goOn();

      expect(await leaseOf('second')).toEqual([]);
      expect((await queues.queues.stored.names(ns)).toSorted()).toEqual(['first', 'second']);
      await queues.queues.stored.resume(ns, 'second');
      expect(await leaseOf('second')).toHaveLength(1);
    });

    it('is new to clients, has its limits in both, and is removed from both', async () => {
      expect(await queues.queues.stored.change(ns, 'second', { maxRunning: 1 })).toBe(true);
      expect(await queues.queues.stored.change(ns, 'second', { maxRunning: 1 })).toBe(false);
      await goOn();
      await goOn();

      expect(await leaseOf('second')).toHaveLength(1);
      expect(await leaseOf('second')).toEqual([]);
      await queues.queues.stored.purge(ns, 'second', ['ready', 'leased']);
      await queues.queues.stored.forget(ns, 'second');
      await mover.moveAll();
      expect(await queues.queues.stored.names(ns)).not.toContain('second');
    });

    it('is paused although the old Redis is full, and makes none', async () => {
      await queues.queues.stored.pause(ns, 'other');
      await clients[0].config('SET', 'maxmemory', '1');
      try {
        await queues.queues.stored.pause(ns, 'second');
      } finally {
        await clients[0].config('SET', 'maxmemory', '0');
      }
      expect(await queues.queues.stored.settings(ns, ['second'])).toMatchObject([{ pausedAtMs: nowMs }]);
      expect(await old.queues.stored.settings(ns, ['second'])).toEqual([null]);
    });

    it('has paused fair keys, although no queue of its name is fair in the old Redis', async () => {
      await next.queues.change(ns, 'second', { fair: true });
      await queues.queues.stored.pause(ns, 'second', undefined, { fairKey: 'a' });
      expect((await next.queues.stored.settings(ns, ['second']))[0]?.pauses).toHaveLength(1);
      await expect(
        queues.queues.stored.pause(ns, 'other', undefined, { fairKey: 'a' }),
      ).rejects.toMatchObject({ code: 'invalid_argument' });
      expect(await old.queues.stored.names(ns)).toEqual([]);
    });

    describe('an old Redis with an older data format', () => {
      let format: string | null;
      let older: RedisPool;
      beforeEach(async () => {
        format = await clients[0].get('pumphouse:format');
        await clients[0].set('pumphouse:format', RAISED_TO);
        older = await RedisPool.connect('default', testPoolOptions({ url: stores[0]!.url }), silentLog);
        old = new PoolEngine(older, { clock: () => nowMs });
        ({ queues } = moveOf(old, next));
        await queues.publish(ns, 'second', newJob());
      });
      afterEach(async () => {
        await clients[0].set('pumphouse:format', format!);
        await older.close();
      });

      it.each<[string, (stored: Engine['queues']['stored']) => Promise<unknown>, object]>([
        ['a strict order', (stored) => stored.change(ns, 'second', { order: 'strict' }), { order: 'strict' }],
        ['turns of fair keys', (stored) => stored.change(ns, 'second', { fair: true }), { fair: true }],
        [
          'paused types',
          (stored) => stored.pause(ns, 'second', undefined, { type: 't' }),
          { pauses: [{ type: 't' }] },
        ],
      ])('does not refuse %s, unless a queue of its name is there', async (_what, change, settings) => {
        await change(queues.queues.stored);
        expect(await next.queues.stored.settings(ns, ['second'])).toMatchObject([settings]);
        expect(await old.queues.stored.settings(ns, ['second'])).toEqual([null]);

        await old.publish(ns, 'second', newJob());
        await expect(change(queues.queues.stored)).rejects.toMatchObject({ code: 'format_too_old' });
      });
    });
  });

  it('changes and removes settings of queues and targets in both Redis servers', async () => {
    await old.publish(ns, 'q', newJob());
    const { queues: controls, targets } = queues;
    await targets.change(ns, 't', () => ({ value: '{"url":"x"}' }));
    await targets.push(ns, 'q', 't');
    await controls.change(ns, 'q', { maxRunning: 3 });
    await controls.pause(ns, 'q');
    for (const engine of [old, next]) {
      expect((await engine.targets.read(ns)).targets.get('t')).toBe('{"url":"x"}');
      expect(await engine.targets.ofQueues(ns, ['q'])).toEqual(['t']);
      expect(await engine.components.queueControls.settings(ns, ['q'])).toMatchObject([
        { maxRunning: 3, pausedAtMs: nowMs },
      ]);
    }

    await targets.push(ns, 'q', null);
    await targets.change(ns, 't', () => ({ value: null }));
    await controls.change(ns, 'q', { maxRunning: null });
    await mover.moveAll();
    for (const engine of [old, next]) {
      expect((await engine.targets.read(ns)).targets.size).toBe(0);
      expect(await engine.components.queueControls.settings(ns, ['q'])).toMatchObject([{ maxRunning: null }]);
    }
  });

  describe('a push target of both Redis servers', () => {
    const change = (from: string | null, to: string | null) => (text: string | null) =>
      text === from ? { value: to } : null;
    const texts = async (): Promise<unknown[]> => [
      (await old.targets.read(ns)).targets.get('t'),
      (await next.targets.read(ns)).targets.get('t'),
    ];
    beforeEach(() => queues.targets.change(ns, 't', () => ({ value: '1' })));

    it('is changed in the old one though it has the change in the new one', async () => {
      await next.targets.change(ns, 't', () => ({ value: '2' }));
      await queues.targets.change(ns, 't', change('1', '2'));
      expect(await texts()).toEqual(['2', '2']);
    });

    it.each<[string, () => Promise<unknown>, unknown[]]>([
      ['a change', () => queues.targets.change(ns, 't', () => ({ value: '3' })), ['3', '3']],
      ['a removal', () => queues.targets.change(ns, 't', () => ({ value: null })), [undefined, undefined]],
    ])('is the same in both after two changes at once: %s', async (_name, other, expected) => {
      const ofOld = old.targets.change.bind(old.targets);
      let isFirst = true;
      jest.spyOn(old.targets, 'change').mockImplementation(async (...args) => {
        if (isFirst) {
          isFirst = false;
          await other();
        }
        return ofOld(...args);
      });
      const both = moveOf(old, next).queues;
      await both.targets.change(ns, 't', () => ({ value: '2' }));
      expect(await texts()).toEqual(expected);
    });
  });

  describe('a removal while the record is copied', () => {
    it.each<[string, () => Promise<unknown>, () => Promise<unknown>, () => Promise<unknown>]>([
      [
        'a target',
        () => old.targets.change(ns, 't', () => ({ value: '1' })),
        () => queues.targets.change(ns, 't', () => ({ value: null })),
        async () => [(await old.targets.read(ns)).targets.size, (await next.targets.read(ns)).targets.size],
      ],
      [
        'the push of a queue',
        async () => {
          await queues.targets.change(ns, 't', () => ({ value: '{}' }));
          await old.targets.push(ns, 'q', 't');
        },
        () => queues.targets.push(ns, 'q', null),
        async () => [(await old.targets.read(ns)).queues.size, (await next.targets.read(ns)).queues.size],
      ],
      [
        'a setting of a queue',
        async () => {
          await old.publish(ns, 'q', newJob());
          await queues.queues.change(ns, 'q', { maxRunning: 3 });
        },
        () => queues.queues.change(ns, 'q', { maxRunning: null }),
        async () => {
          const stored = async ({ components }: PoolEngine): Promise<number> =>
            (await components.queueControls.settings(ns, ['q']))[0]?.maxRunning ?? 0;
          return [await stored(old), await stored(next)];
        },
      ],
    ])('is not undone by the copy: %s', async (_name, set, remove, sizes) => {
      await set();
      await mover.bring(ns);
      // The round of another process comes between the two Redis servers.
      const rounds = moveOf(old, next).mover;
      const round = (): Promise<void> => rounds.bring(ns);
      for (const [of, method] of [
        [old.targets, 'change'],
        [next.targets, 'change'],
        [old.targets, 'push'],
        [next.targets, 'push'],
        [old.queues.stored, 'change'],
        [next.queues.stored, 'change'],
      ] as unknown as [Record<string, (...args: unknown[]) => Promise<unknown>>, string][]) {
        const before = of[method]!.bind(of);
        const spy = jest.spyOn(of, method).mockImplementation(async (...args) => {
          spy.mockRestore();
          const result = await before(...args);
          await round();
          return result;
        });
      }
      ({ queues } = moveOf(old, next));
      await remove();
      expect(await sizes()).toEqual([0, 0]);
    });
  });

  it('stores what a killed process left half stored: it ends, too', async () => {
    await old.sessions.heartbeat(ns, 'session-1', { ttrMs: HOUR_MS, leases: [], info: { name: 'host-1' } });
    const [session] = (await restsOf(clients[0], ns)).filter((rest) => rest.startsWith(':W:'));
    const [of, to] = [`{${ns}}${session!}`, clients[1]];
    const [[field, value]] = Object.entries(await clients[0].hgetall(of)) as [[string, string]];
    await to.hset(of, field, value);
    const set = `{${ns}}:imported`;
    for (const client of clients) await client.sadd(set, 'a');
    await clients[0].pexpire(set, HOUR_MS);
    await mover.moveAll();
    await mover.moveAll();

    expect(await to.hgetall(of)).toMatchObject({ at: String(nowMs), ttr: String(HOUR_MS) });
    for (const key of [of, set]) expect(await to.pttl(key)).toBeGreaterThan(0);
    expect(await next.sessions.countSessions(ns)).toBe(1);
  });

  it('changes and removes variables in both Redis servers, and overwrites no change', async () => {
    const { variables } = queues;
    await old.variables.set(ns, 'a', '1');
    await old.variables.set(ns, 'b', '1');
    expect([...(await variables.list(ns))].sort()).toEqual([
      ['a', '1'],
      ['b', '1'],
    ]);
    await variables.set(ns, 'a', '2');
    expect(await variables.delete(ns, 'b')).toBe(true);
    // The copy of what was read before the change arrives after it.
    await next.variables.add(ns, 'a', '1');
    await mover.moveAll();
    for (const engine of [old, next]) expect([...(await engine.variables.list(ns))]).toEqual([['a', '2']]);
  });

  describe('a record that is changed while it is copied', () => {
    interface Kind {
      /** Where the mover reads what the new Redis has. */
      readonly reads: () => [of: object, method: string];
      readonly set: (of: PoolEngine, value: 1 | 2 | null) => Promise<unknown>;
      readonly get: (of: PoolEngine) => Promise<unknown>;
    }
    const KINDS: Readonly<Record<string, Kind>> = {
      'a setting': {
        reads: () => [next.settings, 'chosen'],
        set: ({ settings }, value) =>
          value === null ? settings.unset(ns, 'grace_ms') : settings.set(ns, 'grace_ms', value),
        get: async ({ settings }) => (await settings.chosen(ns)).grace_ms ?? null,
      },
      'a variable': {
        reads: () => [next.variables, 'list'],
        set: ({ variables }, value) =>
          value === null ? variables.delete(ns, 'a') : variables.set(ns, 'a', String(value)),
        get: async ({ variables }) => Number((await variables.list(ns)).get('a') ?? 0) || null,
      },
      'a setting of a queue': {
        reads: () => [next.components.queueControls, 'stored'],
        set: ({ components }, value) => components.queueControls.change(ns, 'q', { maxRunning: value }),
        get: async ({ components }) =>
          (await components.queueControls.settings(ns, ['q']))[0]?.maxRunning ?? null,
      },
      'the target of a queue': {
        reads: () => [next.targets, 'read'],
        set: ({ targets }, value) => targets.push(ns, 'q', value === null ? null : `t${String(value)}`),
        get: async ({ targets }) => Number((await targets.ofQueues(ns, ['q']))[0]?.slice(1) ?? 0) || null,
      },
    };

    /** Lets something happen once, behind the next call of a method. */
    function behind([of, method]: readonly [object, string], then: () => Promise<unknown>): void {
      const methods = of as Record<string, (...args: unknown[]) => Promise<unknown>>;
      const before = methods[method]!.bind(of);
      const spy = jest.spyOn(methods, method).mockImplementation(async (...args) => {
        const read = await before(...args);
        spy.mockRestore();
        await then();
        return read;
      });
    }

    beforeEach(async () => {
      for (const engine of [old, next])
        for (const name of ['t1', 't2'])
          await engine.targets.change(ns, name, () => ({ value: '{"url":"x"}' }));
    });

    // A call changes both of them, one after the other.
    it.each(Object.keys(KINDS))('keeps the change: %s', async (kind) => {
      const { reads, set, get } = KINDS[kind]!;
      await set(old, 1);
      behind(reads(), () => set(next, 2));
      await mover.bring(ns);
      await set(old, 2);
      await mover.bring(ns);
      expect([await get(old), await get(next)]).toEqual([2, 2]);
    });

    it.each(Object.keys(KINDS))(
      'is gone if it was removed, and stays if it was set again: %s',
      async (kind) => {
        const { reads, set, get } = KINDS[kind]!;
        await set(old, 1);
        behind(reads(), () => set(old, null));
        await mover.bring(ns);
        expect([await get(old), await get(next)]).toEqual([null, null]);
        await set(old, 1);
        behind(reads(), async () => {
          await set(old, null);
          await set(next, 2);
        });
        await mover.bring(ns);
        expect([await get(old), await get(next)]).toEqual([null, 2]);
      },
    );
  });

  it('finds a worker session with its signals, and extends its leases in both Redis servers', async () => {
    const info = { name: 'host-1' };
    await old.sessions.heartbeat(ns, 'session-1', { ttrMs: HOUR_MS, leases: [], info });
    await old.sessions.stop(ns, 'session-1');
    const lease = async (engine: PoolEngine): Promise<{ id: string; lease: number }> => {
      await engine.publish(ns, 'q', newJob());
      const [job] = await engine.lease(ns, { queues: ['q'], count: 1, ttrMs: 1_000, waitMs: 0 });
      return { id: job!.id, lease: job!.lease };
    };
    const leases = [await lease(old), await lease(next)];
    const { sessions: workers } = queues;

    expect(await workers.heartbeat(ns, 'session-1', { ttrMs: HOUR_MS, leases })).toMatchObject({
      ...{ stop: true, quiet: false, jobs: [{ status: 'extended' }, { status: 'extended' }] },
    });
    expect((await workers.list(ns, { limit: 10 })).items.map(({ name }) => name)).toEqual(['session-1']);
    expect(await old.sessions.countSessions(ns)).toBe(0);
    await workers.quiet(ns, 'session-1');
    expect((await workers.find(ns, 'session-1'))?.session).toMatchObject({ quiet: true, stop: true });
  });

  it('leaves nothing of a namespace that is purged during its move', async () => {
    await fillWithEveryKind(old, ns);
    const leaving = await old.movingStore().records.leaveRecurring(ns, 'by-interval');
    await queues.publish(ns, 'simple', newJob());
    expect(await queues.purge.run(ns)).toMatchObject({ isDone: true });
    await next.movingStore().records.arriveRecurring(ns, 'by-interval', leaving as never);

    expect(await queues.recurring.find(ns, 'by-interval')).toBeNull();
    for (const client of clients)
      expect((await restsOf(client, ns)).filter((rest) => rest !== ':meta')).toEqual([]);
  });
});
