import type { Action } from '../../src/contract/operations.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../support/redis.js';
import { Listening } from './events-fixture.js';
import { BINS } from '../../src/engine/stats/bins.js';
import { EngineFixture, newJob } from './fixture.js';
import { LIMIT_MS, ScriptWatch } from './script-watch.js';

const BODY = Buffer.alloc(1_024, 'x');

describe('the scripts for long lists', () => {
  let watch: ScriptWatch;
  let f: EngineFixture;
  let nowMs = Date.now();
  beforeAll(async () => {
    watch = await ScriptWatch.start();
  });
  beforeEach(async () => {
    f = await EngineFixture.open({ clock: () => nowMs }, { url: watch.url });
  });
  afterEach(() => f.close());
  afterAll(() => watch.stop());

  async function seed(count: number, job = {}): Promise<string[]> {
    const ids: string[] = [];
    for (let left = count; left > 0; left -= 64) {
      const jobs = Array.from({ length: Math.min(left, 64) }, () => newJob({ tries: 5, ...job }));
      ids.push(...(await f.engine.publishMany(f.ns, 'q', jobs)));
    }
    return ids;
  }

  const cases: Record<string, () => Promise<() => Promise<unknown>>> = {
    'publish of 64 × 1 KiB': () =>
      Promise.resolve(() => seed(64, { body: BODY, ttlMs: 600_000, attributes: { a: 'b' } })),
    'reserve of 100 × 1 KiB': async () => {
      await seed(100, { body: BODY, ttlMs: 600_000, attributes: { a: 'b' } });
      return () => f.lease('q', { count: 100 });
    },
    'reserve behind 3,000 stale entries': async () => {
      const ids = await seed(3_000);
      await Promise.all(ids.map((id) => f.engine.ack(f.ns, 'q', id)));
      await seed(1);
      return () => f.lease('q');
    },
    'reserve behind 3,000 expired jobs': async () => {
      await seed(3_000, { ttlMs: 10, body: BODY, attributes: { a: 'b' } });
      nowMs += 10;
      await seed(1);
      return () => f.lease('q');
    },
    'ack of 64': async () => {
      await seed(64, { body: BODY });
      const jobs = await f.lease('q', { count: 64 });
      return () => Promise.all(jobs.map(({ id, lease }) => f.engine.ack(f.ns, 'q', id, lease)));
    },
    'undo of 100': async () => {
      await seed(100, { body: BODY, ttlMs: 600_000 });
      const jobs = await f.lease('q', { count: 100 });
      return () => f.engine.undo(f.ns, jobs);
    },
    'pump of 10,000 due jobs': async () => {
      await seed(10_000, { delayMs: 1_000, ttlMs: 600_000 });
      nowMs += 1_000;
      return () => f.engine.pumpNow(f.ns);
    },
    'pump of 3,000 leases that ran out, a third of them for good': async () => {
      await f.engine.queues.destroy(f.ns, 'q');
      await seed(2_000);
      await seed(1_000, { tries: 1 });
      for (let i = 0; i < 30; i++) await f.lease('q', { count: 100, ttrMs: 1_000 });
      nowMs += 1_000;
      return () => f.engine.pumpNow(f.ns);
    },
    'another look at 256 queues, whose jobs are all leased': async () => {
      for (let i = 0; i < 256; i++) await f.publish(`look-${i}`);
      const queues = Array.from({ length: 256 }, (_, i) => `look-${i}`);
      await f.lease('', { queues, count: 100 });
      await f.lease('', { queues, count: 100 });
      await f.lease('', { queues, count: 100 });
      const waits = queues.map((queue) => f.lease(queue, { waitMs: 1_500 }));
      await sleep(100);
      return () => Promise.all(waits);
    },
    'destroy of 5,000': async () => {
      await seed(5_000, { body: BODY });
      return () => f.engine.queues.destroy(f.ns, 'q');
    },
    'respawn of 2,000': async () => {
      await seed(2_000, { tries: 1, body: BODY });
      for (let i = 0; i < 25; i++) await f.lease('q', { count: 100, ttrMs: 0 });
      await f.engine.pumpNow(f.ns);
      return () => f.engine.deadLetter.respawn(f.ns, 'q', 2_000, 600_000);
    },
    'delete of 2,000 dead': async () => {
      await seed(2_000, { tries: 1, body: BODY });
      for (let i = 0; i < 100; i++) await f.lease('q', { count: 100, ttrMs: 0 });
      await f.engine.pumpNow(f.ns);
      return () => f.engine.deadLetter.delete(f.ns, 'q', 2_000);
    },
    'janitor over 3,000 expired jobs': async () => {
      await seed(3_000, { ttlMs: 10, body: BODY });
      nowMs += 10;
      return () => f.engine.tidyNow(f.ns);
    },
    'janitor over 1,000 empty queues': async () => {
      for (let i = 0; i < 1_000; i++) {
        const id = await f.publish(`empty-${i}`);
        await f.engine.ack(f.ns, `empty-${i}`, id);
      }
      return () => f.engine.tidyNow(f.ns);
    },
    'peek behind 3,000 stale entries': async () => {
      const ids = await seed(3_000);
      await Promise.all(ids.map((id) => f.engine.ack(f.ns, 'q', id)));
      await seed(1);
      return () => f.engine.queues.peek(f.ns, 'q');
    },
    'statistics of 64 queues, with something in every bin': () => {
      const see = (): Promise<void> => {
        for (let i = 0; i < 64; i++) {
          const { waits, runs } = f.engine.stats.of(f.ns, `q${i}`);
          for (const { fromMs } of BINS) {
            waits.add(fromMs + 0.123);
            runs.add(fromMs + 0.456);
          }
        }
        return f.engine.stats.flush();
      };
      return see().then(() => see);
    },
    'a change of how long statistics are kept': async () => {
      for (let day = 0; day < 60; day++) {
        f.engine.stats.of(f.ns, 'q').failures += 1;
        await f.engine.stats.flush();
        nowMs += 86_400_000;
      }
      return () => f.engine.settings.set(f.ns, 'history_days', 1);
    },
    'purge of 3,000 jobs': async () => {
      await seed(1_000, { body: BODY, attributes: { a: 'b' } });
      await seed(1_000, { body: BODY, delayMs: 60_000 });
      await seed(1_000, { body: BODY, delayMs: 6_000_000 });
      return () => f.engine.purge.run(f.ns);
    },
  };

  /** An operation over jobs with a history, until it has ended. */
  const operate = async (action: Action, more: object = {}): Promise<() => Promise<unknown>> => {
    const dies = action === 'respawn';
    const job = { queue: 'many', type: 't', body: BODY, tries: dies ? 1 : 3 };
    const retry = { kind: 'fixed', delayMs: 3_600_000 } as const;
    for (let i = 0; i < 10; i++)
      await f.engine.jobs.publish(
        f.ns,
        Array.from({ length: 60 }, () => ({ ...job, retry })),
      );
    if (dies || action === 'retry')
      for (let jobs = await f.lease('many', { count: 100 }); jobs.length > 0;) {
        const failed = { group: 'g', message: 'm' };
        await Promise.all(jobs.map(({ id, lease }) => f.engine.settle.retry(f.ns, { id, lease, ...failed })));
        jobs = await f.lease('many', { count: 100 });
      }
    nowMs += 1_000;
    const shown = { filter: { state: [] }, to: null, set: null };
    const started = await f.engine.operations.start(f.ns, {
      ...{ action, filter: { queue: 'many' }, shown },
      ...more,
    });
    nowMs += 1;
    return async () => {
      await f.engine.components.operationRunner.runNow();
      const found = await f.engine.operations.find(f.ns, started.details.id);
      expect(found?.details).toMatchObject({ state: 'done', failed: 0, skipped: 0 });
      expect(found?.details.matched).toBeGreaterThanOrEqual(600);
    };
  };
  const operations: Record<string, () => Promise<() => Promise<unknown>>> = {
    cancel: () => operate('cancel'),
    delete: () => operate('delete'),
    respawn: () => operate('respawn'),
    retry: () => operate('retry'),
    move: () => operate('move', { to: 'moved' }),
    'patch of the priority': () => operate('patch', { change: { priority: 3 } }),
    'dry run': () => operate('cancel', { dryRun: true }),
  };
  it.each(Object.keys(operations))('hold Redis only briefly in a step of an operation: %s', async (name) => {
    expect(await watch.slowest(name, () => operations[name]!())).toBeLessThan(LIMIT_MS);
  });

  it.each(Object.keys(cases))('hold Redis only briefly: %s', async (name) => {
    expect(await watch.slowest(name, () => cases[name]!())).toBeLessThan(LIMIT_MS);
  });

  /** Those that write an event for each job themselves; the listener's own looks are among the scripts. */
  it.each([
    'reserve behind 3,000 expired jobs',
    'pump of 10,000 due jobs',
    'undo of 100',
    'destroy of 5,000',
    'janitor over 3,000 expired jobs',
  ])('hold Redis only briefly with an event subscriber: %s', async (name) => {
    const listening = await Listening.to(f.engine, f.ns);
    expect(await watch.slowest(`${name}, heard`, () => cases[name]!())).toBeLessThan(LIMIT_MS);
    await waitFor(() => listening.events.length > 0);
  });
});
