import { PoolEngine } from '../../src/engine/pool-engine.js';
import { Engines } from '../../src/engine/engines.js';
import { silentObserver } from '../../src/engine/core/observer.js';
import { writeEvents } from '../../src/redis/scripts/simple.js';
import { waitFor } from '../support/redis.js';
import { Listening } from './events-fixture.js';
import { EngineFixture, newJob } from './fixture.js';

/** For tests that wait until there is no subscriber any more; a busy machine must not hurry the others. */
const KEEP_BRIEFLY_MS = 1_200;

it.each(['plain', 'rich'])(
  'a namespace keeps 1,000 to 1,200 events if 1,000 are configured: %s jobs',
  async (kind) => {
    const f = await EngineFixture.withClock({ eventsKeepMs: 60_000, eventsMaxKept: 1_000 });
    const listening = await Listening.to(f.engine, f.ns);
    const body = Buffer.from('x');
    for (let i = 0; i < 20; i++) {
      if (kind === 'plain')
        await f.engine.publishMany(
          f.ns,
          'q',
          Array.from({ length: 64 }, () => newJob()),
        );
      else
        await f.engine.components.extendedPublisher.publish(
          f.ns,
          Array.from({ length: 64 }, () => ({ queue: 'q', body, type: 't' })),
        );
    }
    await f.publish('last');
    await waitFor(() => listening.events.some(({ queue }) => queue === 'last'), 10_000);
    const length = Number(await f.pool.read('XLEN', f.pool.keys.namespace(f.ns).events));
    expect(length).toBeGreaterThanOrEqual(1_000);
    expect(length).toBeLessThan(1_200);
    await f.close();
  },
);

describe('events', () => {
  let f: EngineFixture;
  const scripts: string[] = [];
  const open = async (eventsKeepMs: number): Promise<void> => {
    const observer = { ...silentObserver, script: (name: string) => void scripts.push(name) };
    f = await EngineFixture.withClock({ eventsKeepMs, observer });
    scripts.length = 0;
  };
  const keepBriefly = async (): Promise<void> => {
    await f.close();
    await open(KEEP_BRIEFLY_MS);
  };
  beforeEach(() => open(60_000));
  afterEach(async () => {
    await f.close();
  });

  const stream = (): string => f.pool.keys.namespace(f.ns).events;
  const append = async (count: number): Promise<void> => {
    const keys = f.pool.keys.namespace(f.ns);
    for (let left = count; left > 0; left -= 100) {
      const items = Array.from({ length: Math.min(left, 100) }, () => ['acked', 'q', '', '']);
      await f.pool.run(writeEvents, keys, { clock_ms: '', since_ms: Date.now() }, items);
    }
  };
  const newest = async (): Promise<string> => {
    const [entry] = (await f.pool.read('XREVRANGE', stream(), '+', '-', 'COUNT', 1)) as [string, string[]][];
    return entry![0];
  };
  /** Until when servers are told to write its events, Unix ms; 0 = they are not. */
  const watchedUntil = async (): Promise<number> =>
    Number(await f.pool.read('ZSCORE', f.pool.keys.watched, f.ns));

  it('T66: are not written after a purge if they are from before the purge', async () => {
    const keys = f.pool.keys.namespace(f.ns);
    const before = { clock_ms: '', since_ms: Date.now() };
    const item = ['acked', 'old', '', ''];
    await Listening.to(f.engine, f.ns);
    expect(await f.pool.run(writeEvents, keys, before, [item])).toBe(1);
    await f.pool.read('SET', f.pool.keys.purged(f.ns), Date.now() + 1, 'PX', 60_000);
    expect(await f.pool.run(writeEvents, keys, before, [item])).toBe(0);

    const after = { clock_ms: '', since_ms: Date.now() + 2 };
    expect(await f.pool.run(writeEvents, keys, after, [item])).toBe(1);
  });

  it("follow a job's life in order, with every call", async () => {
    const listening = await Listening.to(f.engine, f.ns);
    const id = await f.publish('q', { tries: 3, delayMs: 5_000, ttlMs: 1_000_000 });
    f.nowMs += 5_000;
    await f.engine.pumpNow(f.ns);
    const [first] = await f.lease('q', { ttrMs: 1_000 });
    await f.engine.undo(f.ns, [first!]);
    await f.lease('q', { ttrMs: 1_000 });
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);
    await f.lease('q');
    await f.engine.ack(f.ns, 'q', id);

    const names = ['published', 'ready', 'leased', 'released', 'leased', 'timed_out', 'leased', 'acked'];
    expect(await listening.received(8)).toEqual(names.map((name) => `${name} q ${id}`));
    const facts = listening.events.map((event) => event.facts);
    expect([facts[0], facts[2], facts[4]]).toEqual([{ delay_ms: 5_000 }, { attempt: 1 }, { attempt: 1 }]);
    expect(listening.gaps).toEqual([]);
  });

  it('report every end of a job without an ack: it dies, expires or is deleted', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    const dead = await f.publish('dead');
    await f.lease('dead', { ttrMs: 1_000 });
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);
    await f.engine.deadLetter.respawn(f.ns, 'dead', 1, 0);
    await f.lease('dead', { ttrMs: 1_000 });
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);
    await f.engine.deadLetter.delete(f.ns, 'dead', 1);
    expect((await listening.received(7)).map((line) => line.split(' ')[0])).toEqual([
      'published',
      'leased',
      'died',
      'respawned',
      'leased',
      'died',
      'deleted',
    ]);
    expect(listening.events[2]).toMatchObject({ id: dead, facts: { reason: 'lease_expired' } });

    listening.events.length = 0;
    const [leased, swept, pumped, destroyed, withdrawn, old] = [
      await f.publish('met', { ttlMs: 1_000 }),
      await f.publish('swept', { ttlMs: 1_000 }),
      await f.publish('pumped', { ttlMs: 1_000, delayMs: 500 }),
      await f.publish('destroyed'),
      await f.publish('withdrawn'),
      await f.publish('old'),
    ];
    f.nowMs += 1_000;
    await f.lease('met');
    await f.engine.tidyNow(f.ns);
    await f.engine.pumpNow(f.ns);
    await f.engine.queues.destroy(f.ns, 'destroyed');
    await f.engine.ack(f.ns, 'withdrawn', withdrawn);
    const fresh = await f.engine.republish(f.ns, 'old', old, newJob());
    const lines = await listening.received(12);
    const ends = lines.filter((line) => !line.startsWith('published')).sort();
    expect(ends).toEqual(
      [
        `expired met ${leased}`,
        `expired swept ${swept}`,
        `expired pumped ${pumped}`,
        `deleted destroyed ${destroyed}`,
        `deleted withdrawn ${withdrawn}`,
      ].sort(),
    );
    expect(listening.events.find(({ id }) => id === fresh)?.facts).toEqual({ replaces: old });
  });

  it('make no script call and no key without a subscriber', async () => {
    const all = new Set<string>();
    for (let i = 0; i < 5; i++) await f.publish('q', { tries: 2 });
    await f.lease('q', { count: 2, ttrMs: 1_000 });
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);
    for (const { id } of await f.lease('q', { count: 5 })) await f.engine.ack(f.ns, 'q', id);
    for (const key of await f.keys()) all.add(key);
    for (const name of scripts) all.add(name);
    expect([...all].filter((one) => /listening|events/.test(one))).toEqual([]);
    expect(await watchedUntil()).toBe(0);
  });

  it('are written by a server that has no subscriber itself, only while another server has one', async () => {
    await keepBriefly();
    const other = new PoolEngine(f.pool, { eventsKeepMs: KEEP_BRIEFLY_MS });
    other.start();
    try {
      const listening = await Listening.to(f.engine, f.ns);
      // It has no listener of its own: it is told by the pool.
      await waitFor(async () => {
        await other.publish(f.ns, 'q', newJob());
        return listening.events.length > 0;
      });
      listening.leave();
      await waitFor(async () => (await f.keys()).every((key) => !/listening|events/.test(key)), 5_000);
      await waitFor(async () => (await watchedUntil()) < f.pool.clock.now(), 5_000);
      await other.publish(f.ns, 'q', newJob());
      expect((await f.keys()).filter((key) => /listening|events/.test(key))).toEqual([]);
    } finally {
      await other.stop();
    }
  });

  it('resume where a listener stopped', async () => {
    const first = await Listening.to(f.engine, f.ns);
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push(await f.publish('q'));
    await first.received(3);
    first.leave();
    for (let i = 0; i < 20; i++) {
      ids.push(
        ...(await f.engine.publishMany(
          f.ns,
          'q',
          Array.from({ length: 60 }, () => newJob()),
        )),
      );
    }

    const second = await Listening.to(f.engine, f.ns, first.events[0]!.place);
    ids.push(await f.publish('q'));
    const lines = await second.received(ids.length - 1);
    expect(lines).toEqual(ids.slice(1).map((id) => `published q ${id}`));
    expect(second.gaps).toEqual([]);
  });

  it('report a gap if the start of a resume is gone', async () => {
    const first = await Listening.to(f.engine, f.ns);
    await f.publish('q');
    await first.received(1);
    const { place } = first;
    first.leave();
    // As when its time is over.
    await f.pool.read('DEL', stream(), f.pool.keys.namespace(f.ns).listening);

    const second = await Listening.to(f.engine, f.ns, place);
    await waitFor(() => second.gaps.length > 0);
    const id = await f.publish('q');
    expect(await second.received(1)).toEqual([`published q ${id}`]);
    expect(second.gaps).toEqual([0]);

    // A place that no event of this store can have had yet.
    const third = await Listening.to(f.engine, f.ns, '9999999999999-0');
    await waitFor(() => third.gaps.length > 0);
    const next = await f.publish('q');
    expect(await third.received(1)).toEqual([`published q ${next}`]);
  });

  it('are limited to about 10,000, and a slow listener gets a gap', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    await f.publish('q');
    await listening.received(1);
    // More than one round reads: the oldest are gone before they are read.
    await Promise.all(Array.from({ length: 200 }, () => append(100)));
    expect(Number(await f.pool.read('XLEN', stream()))).toBeLessThan(10_200);
    await waitFor(() => listening.gaps.length > 0, 5_000);
    const last = await newest();
    await waitFor(() => listening.place === last, 10_000);
  });

  it('are received once and in order by each listener at any time', async () => {
    const early = await Listening.to(f.engine, f.ns);
    await append(700);
    await early.received(700);
    const from = early.events[99]!.place;
    const late = await Promise.all([1, 2, 3].map(() => Listening.to(f.engine, f.ns, from)));
    await append(700);
    for (const one of late) {
      await one.received(1_300);
      expect(one.events.map(({ place }) => place)).toEqual(early.events.slice(100).map(({ place }) => place));
    }
  });

  it('let other work of the server run between two listeners', async () => {
    const order: string[] = [];
    const busy = Array.from({ length: 4 }, () => new Listening());
    for (const one of busy) {
      one.take = () => {
        order.push('take');
        setImmediate(() => order.push('others'));
        // Longer than one stretch.
        for (const end = performance.now() + 10; performance.now() < end;);
      };
      await f.engine.events.subscribe(f.ns, null, one);
    }
    await f.publish('q');
    await waitFor(() => order.filter((one) => one === 'take').length === 4);
    expect(order.join(' ')).toContain('take others take others take others take');
  });

  it('are refused for a pool that moves', async () => {
    const engines = new Map([
      ['old', f.engine],
      ['new', f.engine],
    ]);
    const registry = new Engines(engines, new Map([['old', 'new']]));
    expect(registry.of('new').events).toBe(f.engine.events);
    const listener = { event: () => undefined, end: () => undefined };
    await expect(registry.of('old').events.subscribe(f.ns, null, listener as never)).rejects.toThrow(
      'the pool is being moved',
    );
    expect(() => registry.of('none')).toThrow('pool not found');
  });

  it('end for every listener when the engine stops', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    f.engine.endWaits();
    expect(listening.isOver).toBe(true);
    await expect(Listening.to(f.engine, f.ns)).rejects.toMatchObject({ code: 'shutting_down' });
  });
});
