import type { Redis } from 'ioredis';
import type { BreakerChange, Targets } from '../../src/engine/queues/targets.js';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { withPushUrl } from '../../src/domain/push-url.js';
import { WITHOUT_FUNCTIONS } from '../support/redis.js';
import { EngineFixture } from './fixture.js';

const URL = 'http://a.example/';
const EVENT = { name: 'target_changed', facts: { target: 't' } } as const;
const textOf = (more: object = {}): string =>
  JSON.stringify({ target: { url: URL, origins: [], ...more }, sealed: '{}' });
const changeOf = (target: string, more: Partial<BreakerChange> = {}): BreakerChange => ({
  ...{ target, origin: '', url: URL, action: 'open', openMs: 1_000, maxOpenMs: 4_000, tryMs: 500 },
  ...more,
});

describe('push targets of a namespace', () => {
  let f: EngineFixture;
  let targets: Targets;
  let key: string;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    ({ targets } = f.engine.components);
    key = f.pool.keys.namespace(f.ns).targets;
  });
  afterEach(() => f.close());

  const put = (name: string, text = textOf()): Promise<unknown> =>
    targets.change(f.ns, name, () => ({ value: text, event: EVENT }));
  /** As a server of an earlier version writes: it logs no change. */
  async function writeUnlogged(field: string, value: string): Promise<void> {
    await f.pool.read('HSET', key, field, value);
    await f.pool.read('HINCRBY', key, 'v', 1);
  }

  it('change concurrently with queues and breakers, without a conflict', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `t${String(i)}`);
    await Promise.all(names.map((name) => put(name)));
    const opened = await Promise.all(
      names.flatMap((name) => [
        targets.changeBreaker(f.ns, changeOf(name)).then(({ isDone }) => isDone),
        targets.push(f.ns, `q-${name}`, name).then(() => true),
      ]),
    );
    const stored = await targets.read(f.ns);

    expect(opened.every(Boolean)).toBe(true);
    expect(stored.breakers.size + stored.queues.size + stored.targets.size).toBe(180);
  });

  it('are read by their changes since the last read', async () => {
    for (const name of ['a', 'b', 'c']) await put(name);
    const { version } = await targets.read(f.ns);
    expect(await targets.readSince(f.ns, 0)).toMatchObject({ isWhole: true, version });
    await targets.changeBreaker(f.ns, changeOf('b'));
    await targets.push(f.ns, 'q', 'c');
    await targets.change(f.ns, 'a', () => ({ value: null, event: EVENT }));
    const changes = await targets.readSince(f.ns, version);

    expect(changes.isWhole).toBe(false);
    expect([...changes.targets]).toEqual([['a', '']]);
    expect([...changes.queues]).toEqual([['q', 'c']]);
    expect([...changes.breakers.keys()]).toEqual(['b']);
    expect((await targets.readSince(f.ns, changes.version)).breakers.size).toBe(0);
  });

  it('are read as a whole after an unlogged change of an earlier version', async () => {
    await put('a');
    const { version } = await targets.read(f.ns);
    await writeUnlogged('q:old', 'a');
    expect(await targets.readSince(f.ns, version)).toMatchObject({ isWhole: true });
    await targets.push(f.ns, 'new', 'a');

    const { isWhole, queues } = await targets.readSince(f.ns, version);
    expect(isWhole).toBe(true);
    expect([...queues.keys()].sort()).toEqual(['new', 'old']);
    // A reader that has read it knows the rest from the log.
    expect([...(await targets.readSince(f.ns, version + 1)).queues.keys()]).toEqual(['new']);
  });

  it('are read as a whole after a purge', async () => {
    await put('a');
    const { version } = await targets.read(f.ns);
    await f.engine.purge.run(f.ns);
    expect(await targets.readSince(f.ns, version)).toMatchObject({ isWhole: true, version: 0 });
    f.nowMs += 5_000;
    await put('b');
    // Servers of earlier versions read the targets when this number is another one.
    expect(await targets.version(f.ns)).toBeGreaterThan(version);
    const { isWhole, targets: left } = await targets.readSince(f.ns, version);

    expect([isWhole, ...left.keys()]).toEqual([true, 'b']);
    expect(await f.keys()).toHaveLength(2);
  });

  it('are read as a whole by a server that missed more than the log keeps', async () => {
    await put('a');
    const before = await targets.version(f.ns);
    await targets.push(f.ns, 'first', 'a');
    const version = await targets.version(f.ns);
    const log = f.pool.keys.namespace(f.ns).target_changes;
    const entries = Array.from({ length: 4_096 }, (_, i) => [version, `q:${String(i)}`]).flat();
    await f.pool.read('ZADD', log, ...entries);
    f.nowMs += 5_000;
    await targets.push(f.ns, 'q', 'a');

    expect(Number(await f.pool.read('ZCARD', log))).toBe(4_096);
    expect(await targets.readSince(f.ns, before)).toMatchObject({ isWhole: true });
    expect([...(await targets.readSince(f.ns, version)).queues.keys()]).toEqual(['q']);
  });

  it('lose none of twelve concurrent changes of a target', async () => {
    await put('a', textOf({ n: 0 }));
    const count = (text: string | null): number =>
      (JSON.parse(text ?? '') as { target: { n: number } }).target.n;
    await Promise.all(
      Array.from({ length: 12 }, () =>
        targets.change(f.ns, 'a', (text) => ({ value: textOf({ n: count(text) + 1 }), event: EVENT })),
      ),
    );
    expect(count((await targets.read(f.ns)).targets.get('a')!)).toBe(12);
  });

  describe('the breaker', () => {
    const change = (action: BreakerChange['action'], more: Partial<BreakerChange> = {}): Promise<boolean> =>
      targets.changeBreaker(f.ns, changeOf('t', { action, ...more })).then(({ isDone }) => isDone);
    const stored = async (): Promise<object | null> => {
      const text = (await f.pool.read('HGET', key, 'b:t')) as string | null;
      return text === null ? null : (JSON.parse(text) as object);
    };

    it('opens for longer each time, is tried by one server at a time, and closes, all by the time of Redis', async () => {
      await put('t');
      expect([await change('open'), await change('open'), await change('try')]).toEqual([true, false, false]);
      expect(await stored()).toEqual({ openUntilMs: f.nowMs + 1_000, openings: 1, probeUntilMs: 0 });
      f.nowMs += 1_000;
      expect([await change('try'), await change('try')]).toEqual([true, false]);
      f.nowMs += 3_600_000;
      expect(targets.now()).toBe(f.nowMs);
      f.nowMs += 500;
      expect([await change('try'), await change('fail'), await change('try')]).toEqual([true, true, false]);
      expect(await stored()).toEqual({ openUntilMs: f.nowMs + 2_000, openings: 2, probeUntilMs: 0 });
      for (let i = 0; i < 3; i++) await change('fail');
      expect(await stored()).toMatchObject({ openUntilMs: f.nowMs + 4_000, openings: 5 });
      expect([await change('close'), await change('close'), await stored()]).toEqual([true, false, null]);
    });

    it('closes if it is open for too long because the clock was set back', async () => {
      await put('t');
      f.nowMs += 3_600_000;
      await change('open');
      f.nowMs -= 3_600_000;
      expect([await change('try'), await change('try')]).toEqual([true, false]);
      f.nowMs -= 3_600_000;
      expect(await change('try')).toBe(true);
    });

    it.each([
      ['gone', null],
      ['at another URL', textOf({ url: 'http://b.example/' })],
      ['without a breaker', textOf({ breakerSettings: null })],
    ])('stays closed if the target is %s by now', async (_what, text) => {
      await put('t');
      await targets.change(f.ns, 't', () => ({ value: text, event: EVENT }));
      expect([await change('open'), await stored()]).toEqual([false, null]);
    });

    it('can be opened for an origin that the target lists, and for no other origin', async () => {
      const origin = 'http://b.example';
      await put('t', textOf({ origins: [origin] }));
      expect(await change('open', { origin, url: `${origin}/x` })).toBe(true);
      expect(await change('open', { origin: 'http://c.example' })).toBe(false);
      expect([...(await targets.read(f.ns)).breakers.keys()]).toEqual([`t ${origin}`]);
    });

    it('reports to subscribers how long it is open', async () => {
      await f.pool.read('XADD', `{${f.ns}}:events`, '*', 'e', 'begin');
      await put('t');
      const times = [0, 951_782_399_999, 951_782_400_000, 1_709_164_800_001, 4_107_542_400_000, f.nowMs];
      for (const ms of times) {
        f.nowMs = ms;
        await change('open');
        await change('close');
      }
      const entries = (await f.pool.read('XRANGE', `{${f.ns}}:events`, '-', '+')) as [string, string[]][];
      const facts = entries
        .filter(([, fields]) => fields[1] === 'breaker_opened')
        .map(([, fields]) => JSON.parse(fields.at(-1)!) as object);
      expect(facts).toEqual(
        times.map((ms) => ({ target: 't', open_until: new Date(ms + 1_000).toISOString() })),
      );
    });
  });
});

describe('jobs that are pushed to URLs of several origins', () => {
  const DEAD = 'http://dead.example';
  const ALIVE = 'http://alive.example';
  let f: EngineFixture;
  let targets: Targets;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    ({ targets } = f.engine.components);
    const text = textOf({ origins: [DEAD, ALIVE], timeoutMs: 1_000 });
    await targets.change(f.ns, 't', () => ({ value: text, event: EVENT }));
    await targets.push(f.ns, 'q', 't');
  });
  afterEach(() => f.close());

  const breaker = (action: BreakerChange['action']): Promise<unknown> =>
    targets.changeBreaker(f.ns, changeOf('t', { origin: DEAD, url: `${DEAD}/x`, action, tryMs: 6_000 }));
  const publish = async (origin: string, id: string, concurrencyKey?: string): Promise<void> => {
    const keyed = concurrencyKey === undefined ? {} : { concurrencyKey };
    await f.put('q', { id, ...withPushUrl(new globalThis.URL(`${origin}/x`), keyed) });
  };
  const lease = async (count = 100): Promise<LeasedJob[]> =>
    f.engine.lease(f.ns, { queues: ['q'], count, ttrMs: 60_000, waitMs: 0 });
  const idsOf = (jobs: readonly LeasedJob[]): string[] => jobs.map(({ id }) => id);
  /** Moves the time, and runs the timers that are due then. */
  async function pass(ms: number): Promise<void> {
    f.nowMs += ms;
    await f.engine.pumpNow(f.ns);
  }

  it('are held while the breaker of their origin is open, until one try succeeds', async () => {
    const ids = Array.from({ length: 90 }, (_, i) => `d${String(i).padStart(2, '0')}`);
    // With keys of their own, or that of their origin.
    for (const [i, id] of ids.entries())
      await publish(DEAD, id, i % 3 === 0 ? `k${String(i % 2)}` : undefined);
    await publish(ALIVE, 'alive');
    await breaker('open');
    expect([...idsOf(await lease()), ...idsOf(await lease())]).toEqual(['alive']);
    await pass(500);
    expect(await lease()).toEqual([]);

    await pass(2_000);
    const held = async (): Promise<number> => (await f.engine.queues.counts(f.ns, ['q']))[0]!.held;
    expect(await held()).toBe(89);
    const [trial, ...more] = await lease();
    expect([trial?.id, more]).toEqual(['d00', []]);
    // Another server asks before the first one has claimed the right to try.
    await publish(DEAD, 'later');
    expect(await lease()).toEqual([]);
    await breaker('try');
    await pass(2_500);
    expect(await lease()).toEqual([]);
    await f.engine.undo(f.ns, [trial!]);
    await breaker('fail');
    expect(await lease()).toEqual([]);

    await breaker('close');
    const left: string[] = [];
    for (let i = 0; i < 6; i++) {
      await pass(2_000);
      left.push(...idsOf(await lease()));
    }
    expect(left.sort()).toEqual([...ids, 'later']);
    expect(await f.audit()).toEqual([]);
  });

  it('are not held until the old time comes again when the clock is set back', async () => {
    await publish(DEAD, 'dead');
    await breaker('open');
    expect(await lease()).toEqual([]);
    await breaker('close');
    f.nowMs -= 3_600_000;
    await pass(0);
    expect(await lease()).toEqual([]);
    expect(await f.engine.components.recurrings.renew(f.ns)).toBe(1);
    await pass(0);
    expect(idsOf(await lease())).toEqual(['dead']);
  });

  it('hold no job whose concurrency key has the text of an origin', async () => {
    await f.engine.queues.change(f.ns, 'q', { maxRunningPerKey: 1 });
    await publish(DEAD, 'dead');
    for (const id of ['a', 'b']) await publish(ALIVE, id, `push ${DEAD}`);
    await breaker('open');
    const [running, ...none] = await lease();
    expect([running?.id, none]).toEqual(['a', []]);
    for (let i = 0; i < 3; i++) await pass(2_000);
    await f.engine.ack(f.ns, 'q', 'a', running!.lease);
    expect(idsOf(await lease())).toContain('b');
    expect(await f.audit()).toEqual([]);
  });

  it('are passed once by the walk over held jobs after a change of their queue', async () => {
    for (let i = 0; i < 10; i++) await publish(DEAD, `d${String(i)}`, 'k');
    await breaker('open');
    await lease();
    await f.engine.queues.change(f.ns, 'q', { maxKept: 10 });
    for (let i = 0; i < 5; i++) await pass(0);
    expect(await f.pool.read('ZRANGEBYSCORE', `{${f.ns}}:timers`, '-inf', f.nowMs)).toEqual([]);
    expect((await f.engine.queues.counts(f.ns, ['q']))[0]).toMatchObject({ held: 10 });
  });

  it('are held while the breaker of the target is open and they have no URL, also simple ones', async () => {
    const own = (action: BreakerChange['action']): Promise<unknown> =>
      targets.changeBreaker(f.ns, changeOf('t', { action, tryMs: 6_000 }));
    const request = { queues: ['q'], count: 100, ttrMs: 60_000, waitMs: 0 };
    const leasePushed = (): Promise<LeasedJob[]> => f.engine.lease(f.ns, { ...request, isPushed: true });
    const simple = await f.publish('q', { ttlMs: 0 });
    await f.put('q', { id: 'typed', type: 'mail' });
    await publish(ALIVE, 'alive');
    await own('open');
    expect(idsOf(await leasePushed())).toEqual(['alive']);
    await pass(500);
    expect(await leasePushed()).toEqual([]);
    expect((await f.engine.queues.counts(f.ns, ['q']))[0]).toMatchObject({ held: 2, ready: 0 });
    expect(await f.audit()).toEqual([]);

    await pass(2_000);
    const [trial, ...more] = await leasePushed();
    expect([trial?.id, more]).toEqual([simple, []]);
    await f.engine.ack(f.ns, 'q', trial!.id, trial!.lease);
    await own('try');
    await own('close');
    await pass(2_000);
    expect(idsOf(await leasePushed())).toEqual(['typed']);
    expect(await f.audit()).toEqual([]);
  });

  it('are cancelled, changed and published while they are held', async () => {
    for (const id of ['a', 'b', 'c']) await publish(DEAD, id);
    await breaker('open');
    expect(await lease()).toEqual([]);
    await f.engine.jobs.cancel(f.ns, 'a');
    await f.engine.jobs.change(f.ns, 'b', { priority: 5 });
    await publish(DEAD, 'd');
    expect(await lease()).toEqual([]);
    expect(await f.audit()).toEqual([]);
    await breaker('close');
    await pass(2_500);
    await pass(2_500);
    expect(idsOf(await lease()).sort()).toEqual(['b', 'c', 'd']);
    expect(await f.audit()).toEqual([]);
  });
});

describe.each([
  ['functions', []],
  ['scripts', WITHOUT_FUNCTIONS],
])('push targets in a full Redis with %s', (_form, args) => {
  let admin: Redis;
  let f: EngineFixture;
  beforeEach(async () => ({ client: admin, f } = await EngineFixture.alone(args)));
  afterEach(() => f.close());

  it('are changed, paused and deleted, their breakers open and close, and none is added', async () => {
    const { targets } = f.engine.components;
    const write = (name: string, value: string | null): Promise<unknown> =>
      targets.change(f.ns, name, () => ({ value, event: EVENT }));
    const done = async (action: BreakerChange['action']): Promise<boolean> =>
      (await targets.changeBreaker(f.ns, changeOf('t', { action, openMs: 0 }))).isDone;
    await write('t', textOf());
    await write('u', textOf());
    await admin.config('SET', 'maxmemory', 1);

    expect([await done('open'), await done('try'), await done('fail')]).toEqual([true, true, true]);
    expect([await done('try'), await done('close')]).toEqual([true, true]);
    await write('t', textOf({ pausedAtMs: 1, more: 'x'.repeat(500) }));
    await targets.push(f.ns, 'q', 't');
    await targets.push(f.ns, 'q', null);
    await write('u', null);
    await expect(write('new', textOf())).rejects.toMatchObject({ code: 'store_full' });
    expect([...(await targets.read(f.ns)).targets.keys()]).toEqual(['t']);
  });
});
