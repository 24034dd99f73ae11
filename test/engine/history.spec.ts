import { hashEntries } from '../../src/engine/core/hash-entries.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { PAST, type Point, RECENT, type Step } from '../../src/engine/history/points.js';
import type { Sample } from '../../src/engine/history/samples.js';
import { addActivity, writeSamples } from '../../src/redis/scripts/simple.js';
import { EngineFixture, newJob } from './fixture.js';

const TEN_S = RECENT.stepMs;
const FIVE_MIN = PAST.stepMs;

type Collecting = NonNullable<PoolEngine['components']['collecting']>;

/** An engine whose pool has the keys of the collection for itself. */
describe('history of queues', () => {
  let f: EngineFixture;
  let second: PoolEngine;

  beforeEach(async () => {
    f = await EngineFixture.withClock();
    // Other specs collect on the same Redis.
    for (const name of ['active', 'collector', 'history'])
      Object.defineProperty(f.pool.keys, name, { value: `pumphouse:${name}:${f.ns}` });
    f.nowMs = Math.ceil(Date.now() / FIVE_MIN) * FIVE_MIN + 1_000;
    second = new PoolEngine(f.pool, { clock: () => f.nowMs });
  });
  afterEach(async () => {
    await second.stop();
    await f.close();
  });

  const collectingOf = (engine: PoolEngine): Collecting => engine.components.collecting!;
  /** Ends an interval of ten seconds: servers write what they have counted, and one takes samples. */
  async function endInterval(collector: PoolEngine = f.engine): Promise<number> {
    f.nowMs = Math.floor(f.nowMs / TEN_S + 1) * TEN_S;
    for (const engine of [f.engine, second]) await collectingOf(engine).activity.flush();
    f.nowMs += 3_000;
    return collectingOf(collector).collector.runNow();
  }
  const points = async (queue = 'q', step: Step = RECENT): Promise<Point[]> => {
    const now = Math.floor(f.nowMs / step.stepMs);
    return [...(await f.engine.history.points(f.ns, queue, step, now - step.kept, now)).values()];
  };
  const sample = (queue = 'q'): Promise<Sample | null> => f.engine.history.sample(f.ns, queue);

  it('has what all servers counted in ten seconds as one point', async () => {
    for (let i = 0; i < 3; i++) await f.publish('q', { tries: 2 });
    await second.publish(f.ns, 'q', newJob());
    f.nowMs += 2_000;
    const [one, two] = await f.lease('q', { count: 2 });
    f.nowMs += 500;
    await f.engine.ack(f.ns, 'q', one!.id, one!.lease);
    await second.settle.fail(f.ns, { id: two!.id, lease: two!.lease, group: 'g', message: 'no' });
    await endInterval();

    const [point, ...others] = await points();
    expect(others).toEqual([]);
    expect(point).toMatchObject({ published: 4, leased: 2, acked: 1, failed: 1, died: 1, ready: 2 });
    expect(point!.interval * TEN_S).toBe(Math.floor((f.nowMs - TEN_S) / TEN_S) * TEN_S);
    expect(point!.waitP50Ms).toBeGreaterThan(1_700);
    expect(point!.waitP50Ms).toBeLessThan(2_300);
    expect(point!.runP50Ms).toBeGreaterThan(430);
    expect(point!.runP50Ms).toBeLessThan(570);
    expect(point!.oldestMs).toBeGreaterThan(9_000);
  });

  it('counts in each point what happened since the point before', async () => {
    await f.publish('q');
    await endInterval();
    await f.publish('q');
    await f.publish('q');
    await endInterval();
    await endInterval();
    await f.publish('q');
    await endInterval();

    expect((await points()).map(({ published }) => published)).toEqual([1, 2, 1]);
    expect((await sample())?.counts.published).toBe(4);
  });

  it('has a point of the first activity of a queue that was sampled before it was written', async () => {
    f.nowMs += 2_500;
    await f.publish('q');
    await collectingOf(f.engine).collector.runNow();
    expect(await sample()).toMatchObject({ ready: 1, recentSinceMs: 0 });
    await endInterval();

    expect(await points()).toMatchObject([{ published: 1, ready: 1 }]);
    expect((await sample())?.recentSinceMs).toBe(Math.floor(f.nowMs / TEN_S - 1) * TEN_S);
  });

  it('has no point of what was counted in several intervals, and points from the next one on', async () => {
    await f.publish('q');
    await collectingOf(f.engine).collector.runNow();
    for (let i = 0; i < 2; i++) {
      await f.publish('q');
      f.nowMs += TEN_S;
      await collectingOf(f.engine).activity.flush();
    }
    await endInterval(second);
    expect(await points()).toEqual([]);
    expect((await sample())?.recentSinceMs).toBe(Math.floor(f.nowMs / TEN_S) * TEN_S);
    await f.publish('q');
    await endInterval(second);

    expect(await points()).toMatchObject([{ published: 1, ready: 4 }]);
  });

  it('has a point of five minutes when they have ended, of a queue that is idle since, too', async () => {
    await f.publish('q');
    await endInterval();
    await second.publish(f.ns, 'q', newJob());
    await endInterval();
    expect(await points('q', PAST)).toEqual([]);

    f.nowMs = Math.floor(f.nowMs / FIVE_MIN + 1) * FIVE_MIN;
    await endInterval();
    await endInterval();
    expect(await points('q', PAST)).toMatchObject([{ published: 2, ready: 2 }]);
  });

  it('goes on in another process after the first one was killed, without a gap or a double point', async () => {
    await f.publish('q');
    await endInterval();
    await f.publish('q');
    await f.publish('q');
    // Nothing of what the first process knows is left.
    await endInterval(second);
    await f.publish('q');
    await endInterval(second);

    expect((await points()).map(({ published }) => published)).toEqual([1, 2, 1]);
    const { gaps } = await f.engine.history.collection();
    expect(gaps).toHaveLength(1);
  });

  it('has one point of an interval when two processes take samples at once', async () => {
    await f.publish('q');
    await endInterval();
    await endInterval(second);
    await f.publish('q');
    f.nowMs = Math.floor(f.nowMs / TEN_S + 1) * TEN_S;
    await collectingOf(f.engine).activity.flush();
    f.nowMs += 3_000;
    const slot = Math.floor((f.nowMs - TEN_S) / FIVE_MIN);
    const stored = (): Promise<unknown> =>
      f.pool.readBytes('HGET', f.pool.keys.recentPoints(f.ns, slot), 'q');
    await collectingOf(second).collector.runNow();
    const written = await stored();
    // What this one knows of the last sample is from before that of the other one.
    await collectingOf(f.engine).collector.runNow();

    expect(await stored()).toEqual(written);
    expect((await points()).map(({ published }) => published)).toEqual([1, 1]);
  });

  it('is collected by one process, and by another one when that has stopped', async () => {
    const runs = async (engine: PoolEngine): Promise<boolean> => {
      const { loop } = collectingOf(engine).collector;
      const before = loop.status().lastRunMs;
      loop.hasten();
      while (loop.status().lastRunMs === before || loop.status().durationMs === null)
        await new Promise((done) => setTimeout(done, 2));
      return (await f.pool.read('GET', f.pool.keys.collector)) !== null && loop.status().moved !== 0;
    };
    await f.publish('q');
    f.nowMs += TEN_S;
    await collectingOf(f.engine).activity.flush();
    expect([await runs(f.engine), await runs(second)]).toEqual([true, false]);
    await f.engine.stop();
    f.nowMs += TEN_S;
    expect(await runs(second)).toBe(true);
  });

  it('shows since when nothing was collected while no server ran', async () => {
    await f.publish('q');
    await endInterval();
    const lastMs = f.nowMs;
    f.nowMs += 600_000;
    await endInterval(second);

    const { gaps } = await f.engine.history.collection();
    expect(gaps.map(({ fromMs }) => fromMs)).toEqual([0, lastMs]);
    expect(gaps[1]!.toMs).toBeGreaterThan(lastMs + 580_000);
  });

  it('keeps points of ten seconds of 500 queues, and of the others those of five minutes', async () => {
    const names = Array.from({ length: 520 }, (_, i) => `q${String(i)}`);
    for (let round = 0; round < 2; round++) {
      await Promise.all(names.map((name) => f.publish(name)));
      await endInterval();
    }
    // Those without a place are sampled in turn, within five minutes after the end of five.
    f.nowMs = Math.floor(f.nowMs / FIVE_MIN + 1) * FIVE_MIN;
    for (let i = 0; i < 30; i++) await endInterval();
    const samples = await f.engine.history.samples(f.ns);
    expect([...samples.values()].filter(({ recentSinceMs }) => recentSinceMs > 0)).toHaveLength(500);
    const past = await Promise.all(names.map((name) => points(name, PAST)));
    expect(past.map((all) => all.map(({ published }) => published))).toEqual(names.map(() => [2]));
  });

  it('reads few of the queues in which nothing happens', async () => {
    const names = Array.from({ length: 300 }, (_, i) => `q${String(i)}`);
    await Promise.all(names.map((name) => f.publish(name)));
    await endInterval();
    await endInterval();
    expect(await endInterval()).toBe(100);
    await f.publish('q7');
    expect(await endInterval()).toBe(101);
  });

  it('finds queues that no server of this version has counted', async () => {
    const silent = new PoolEngine(f.pool, { clock: () => f.nowMs, history: null });
    await silent.publish(f.ns, 'old', newJob());
    await silent.stop();
    await endInterval();

    expect(await sample('old')).toMatchObject({ exists: true, ready: 1, counts: { published: 0 } });
  });

  it('forgets a queue that is gone after a day, and keeps its points', async () => {
    await f.publish('q');
    await f.engine.queues.destroy(f.ns, 'q');
    await f.engine.tidyNow(f.ns);
    await endInterval();
    expect(await sample()).toMatchObject({ exists: false });
    f.nowMs += 86_400_000;
    await endInterval();
    await endInterval();
    expect(await sample()).toBeNull();
  });

  it('goes with its namespace: nothing from before a purge is written after it', async () => {
    await f.publish('q');
    await endInterval();
    await f.publish('q');
    await f.engine.purge.run(f.ns);
    await endInterval();

    expect(await f.keys()).toEqual([]);
    f.nowMs += TEN_S;
    await f.publish('q');
    await endInterval();
    expect((await points()).map(({ published }) => published)).toEqual([1]);
    expect((await sample())?.before.published).toBe(0);
  });

  it('writes no sample that was taken before a purge', async () => {
    // A sample of another queue: of this one there is none that the purge removes.
    await f.publish('other');
    await endInterval();
    const { collector, activity } = collectingOf(f.engine);
    const counts = f.engine.components.queueInspector.counts.bind(f.engine.components.queueInspector);
    await f.publish('q');
    f.nowMs = Math.floor(f.nowMs / TEN_S + 1) * TEN_S;
    await activity.flush();
    f.nowMs += 3_000;
    f.engine.components.queueInspector.counts = async (ns, queues) => {
      const found = await counts(ns, queues);
      f.engine.components.queueInspector.counts = counts;
      f.nowMs += 1;
      await f.engine.purge.run(ns);
      f.nowMs += 1;
      return found;
    };
    await collector.runNow();

    expect(await f.keys()).toEqual([]);
  });

  it('gives up the oldest points of five minutes where its bytes are at their bound', async () => {
    const small = new PoolEngine(f.pool, { clock: () => f.nowMs, history: { mostBytes: 700 } });
    const past: number[] = [];
    for (let i = 0; i < 8; i++) {
      await f.publish('q');
      await endInterval(small);
      f.nowMs = Math.floor(f.nowMs / FIVE_MIN + 1) * FIVE_MIN + 1_000;
      await endInterval(small);
      past.push((await points('q', PAST)).length);
      f.nowMs += 6 * 3_600_000;
    }
    await small.stop();

    expect(past[0]).toBe(1);
    expect(Math.max(...past)).toBeLessThan(8);
    expect(Math.max(...past)).toBeGreaterThan(2);
    const fields = await hashEntries(f.pool, f.pool.keys.history);
    const bytes = [...fields].flatMap(([field, text]) => (/^[PH]/.test(field) ? [Number(text)] : []));
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(700);
  });

  it('counts so many queues of a namespace at most', async () => {
    const add = (queues: readonly string[]): Promise<unknown> => {
      const items = queues.map((queue) => [queue, '1,0,0,0,0', '', '']);
      const args = { clock_ms: String(f.nowMs), deadline_ms: 0, slot: 1, since_ms: f.nowMs, most: 3 };
      return f.pool.run(addActivity, f.pool.keys.namespace(f.ns), args, items);
    };
    await add(['a', 'b']);
    await add(['a', 'c', 'd']);
    await add(['a', 'd', 'e']);
    const found = await hashEntries(f.pool, f.pool.keys.activity(f.ns, 1));
    expect([...found].map((entry) => entry.join(' ')).sort()).toEqual([
      'a 3,0,0,0,0;;',
      'b 1,0,0,0,0;;',
      'c 1,0,0,0,0;;',
    ]);
  });

  it('keeps points of so many queues of a namespace at most', async () => {
    const items = ['a', 'b', 'c'].map((queue) => [queue, '', '1,1', 1, 'point', 1, 'point']);
    const args = { clock_ms: String(f.nowMs), deadline_ms: 0, since_ms: f.nowMs, most: 2 };
    const { written } = await f.pool.run(writeSamples, f.pool.keys.namespace(f.ns), args, items);

    expect(written.map(({ code }) => code)).toEqual([1, 1, 1]);
    expect(written.map(({ pastBytes }) => pastBytes)).toEqual([70, 70, 0]);
    expect(await f.pool.read('HLEN', f.pool.keys.recentPoints(f.ns, 1))).toBe(2);
  });

  it('is not collected where it is switched off', async () => {
    const off = new PoolEngine(f.pool, { clock: () => f.nowMs, history: null });
    await off.publish(f.ns, 'q', newJob());
    await off.stop();

    expect(off.loops().map(({ name }) => name)).not.toContain('history');
    expect((await f.keys()).filter((key) => /:(?:a\d+|changed|samples)$/.test(key))).toEqual([]);
  });
});
