import type { NewExtendedJob } from '../../src/contract/job/extended-job.js';
import { EngineFixture } from './fixture.js';
import { LIMIT_MS, ScriptWatch } from './script-watch.js';

/** With something in every index that one job can have alone. */
const EXTENDED = {
  type: 't',
  tags: ['a', 'b', 'c', 'd'],
  attributes: { a: 'b' },
  ttlMs: 600_000,
  tries: 3,
  retentionMs: 60_000,
} as const;

describe('scripts of the extended path', () => {
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

  const jobs = (count: number, job: Partial<NewExtendedJob> = {}): NewExtendedJob[] =>
    Array.from({ length: count }, () => ({
      queue: 'q',
      body: Buffer.alloc(1_024, 'x'),
      ...EXTENDED,
      ...job,
    }));

  async function seed(count: number, job: Partial<NewExtendedJob> = {}): Promise<void> {
    for (let left = count; left > 0; left -= 32)
      await f.engine.components.extendedPublisher.publish(f.ns, jobs(Math.min(left, 32), job));
  }

  const lease = (count: number) => f.lease('q', { count, worker: 'w' });

  async function bury(count: number): Promise<void> {
    await seed(count);
    const leased = await lease(count);
    const operations = leased.map((job) => ({
      verb: 'fail' as const,
      id: job.id,
      lease: job.lease,
      options: { group: 'g', message: 'm'.repeat(500) },
    }));
    await f.engine.components.settler.settle(f.ns, operations);
  }

  const cases: Record<string, () => Promise<() => Promise<unknown>>> = {
    'publish of 64 rich jobs': () =>
      Promise.resolve(() => f.engine.components.extendedPublisher.publish(f.ns, jobs(64))),
    'publish of 64 rich jobs with as many tags as one call may have': () => {
      const tags = Array.from({ length: 15 }, (_, i) => `tag${String(i)}`);
      return Promise.resolve(() => f.engine.components.extendedPublisher.publish(f.ns, jobs(64, { tags })));
    },
    'publish of 64 rich jobs that wait for as many others as one call may name': async () => {
      const ids: string[] = [];
      for (let i = 0; i < 15; i++) ids.push(await f.publish('plain'));
      return async () => {
        await f.engine.components.extendedPublisher.publish(f.ns, jobs(64, { dependsOn: ids }));
        await f.engine.pumpNow(f.ns);
      };
    },
    'lease of 100 rich jobs': async () => {
      await seed(100);
      return async () => expect(await lease(100)).toHaveLength(100);
    },
    'lease of 100 rich jobs by 100 at once': async () => {
      await seed(100);
      return () => Promise.all(Array.from({ length: 100 }, () => lease(1)));
    },
    'lease of 100 rich jobs with keys and priorities': async () => {
      await seed(100, { concurrencyKey: 'k', priority: 3 });
      return () => lease(100);
    },
    'acknowledgement of 100 rich jobs': async () => {
      await seed(100);
      const leased = await lease(100);
      return () => f.engine.settle.complete(f.ns, leased);
    },
    'cancel of 64 jobs on which 199 others depended each': async () => {
      const round = await f.put('q');
      const ids = Array.from({ length: 63 }, (_, i) => `${round}-${String(i)}`);
      for (const id of ids) await f.put('q', { id, delayMs: 600_000 });
      const last = await f.put('q', { dependsOn: ids });
      await f.engine.pumpNow(f.ns);
      const former = Array.from({ length: 198 }, (_, i) => `\0former-${String(i)}`);
      for (const id of ids) await f.pool.read('SADD', `{${f.ns}}u\0${id}`, ...former);
      return () =>
        expect(f.engine.components.jobCanceller.cancelMany(f.ns, [...ids, last])).rejects.toMatchObject({
          code: 'has_dependents',
        });
    },
    'explanation of a job of a queue that was fair': async () => {
      const queue = await f.publish('q');
      await f.engine.queues.change(f.ns, queue, { fair: true });
      const attributes = Object.fromEntries(
        Array.from({ length: 16 }, (_, i) => [`a${String(i)}`, 'x'.repeat(200)]),
      );
      await seed(1_600, { queue, fairKey: 'k', attributes });
      const last = await f.put(queue, { fairKey: 'k' });
      await f.engine.queues.change(f.ns, queue, { fair: false });
      // The jobs stay in their order, in steps.
      for (let i = 0; i < 40; i++) await f.engine.pumpNow(f.ns);
      return async () =>
        expect(await f.engine.explain.job(f.ns, last)).toMatchObject({
          front: { older: 500, isExact: false },
          turn: null,
        });
    },
    'failure of 100 rich jobs': () => Promise.resolve(() => bury(100)),
    'respawn of 200 dead jobs by filter': async () => {
      await bury(100);
      await bury(100);
      return () =>
        f.engine.components.deadJobs.respawn(f.ns, { group: 'g' }, { ttlMs: 60_000, tries: 'reset' });
    },
    'deletion of 200 dead jobs by filter': async () => {
      await bury(100);
      await bury(100);
      return () => f.engine.components.deadJobs.delete(f.ns, { queue: 'q', group: 'g' });
    },
    'the clock over 200 jobs that come due': async () => {
      await seed(200, { delayMs: 1_000 });
      nowMs += 1_000;
      return () => f.engine.pumpNow(f.ns);
    },
    'the clock over 200 leases that ran out': async () => {
      await seed(200);
      await lease(100);
      await lease(100);
      nowMs += 60_000;
      return () => f.engine.pumpNow(f.ns);
    },
  };

  it.each(Object.keys(cases))('hold Redis only briefly: %s', async (name) => {
    expect(await watch.slowest(name, cases[name]!)).toBeLessThan(LIMIT_MS);
  });
});
