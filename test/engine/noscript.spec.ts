import type { Redis } from 'ioredis';
import { EngineFixture } from './fixture.js';

/** Redis keeps scripts in memory only, and may be told to forget them. */
describe('a script that Redis has forgotten', () => {
  let admin: Redis;
  let f: EngineFixture;
  beforeEach(async () => ({ client: admin, f } = await EngineFixture.alone()));
  afterEach(() => f.close());

  /** How often a command was called. */
  async function calls(command: string): Promise<number> {
    const facts = await admin.info('commandstats');
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(facts)?.[1] ?? 0);
  }

  it('is sent once as text, and goes by its digest again', async () => {
    await f.publish('q');
    await admin.script('FLUSH');
    const before = await calls('eval');
    for (let i = 0; i < 5; i++) await f.publish('q');

    expect(await calls('eval')).toBe(before + 1);
    expect(await f.size('q')).toBe(6);
  });

  it('runs once, whatever it does: nothing is doubled', async () => {
    const act = [
      () => f.publish('q', { tries: 2, text: 'one' }),
      () => f.reserve('q').then(([job]) => f.engine.undo(f.ns, [job!])),
      () => f.publish('q', { delayMs: 3_600_000 }),
      () => f.engine.pumpNow(f.ns),
      () => f.engine.tidyNow(f.ns),
    ];
    for (const one of act) {
      await admin.script('FLUSH');
      await one();
    }
    await admin.script('FLUSH');
    const [job] = await f.reserve('q', { count: 5 });

    expect(job).toMatchObject({ attempts: 1, lease: 2, triesLeft: 1 });
    expect(await f.engine.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, scheduled: 1, leased: 1 }]);
    await admin.script('FLUSH');
    expect(await f.engine.ack(f.ns, 'q', job?.id ?? '', job?.lease)).toBe(true);
  });

  it('is met by many calls at once: each job is stored once, and given out once', async () => {
    const flushes = setInterval(() => void admin.script('FLUSH'), 3);
    const ids: string[] = [];
    const got: string[] = [];
    for (let round = 0; round < 40; round++) {
      const jobs = Array.from({ length: 100 }, (_, i) => f.publish(`q${i % 7}`, { tries: 1 }));
      ids.push(...(await Promise.all(jobs)));
      const leases = Array.from({ length: 100 }, (_, i) => f.reserve(`q${i % 7}`, { ttrMs: 600_000 }));
      got.push(...(await Promise.all(leases)).flat().map(({ id }) => id));
    }
    clearInterval(flushes);

    expect(await calls('eval')).toBeGreaterThan(5);
    expect(got).toHaveLength(ids.length);
    expect(new Set(got)).toEqual(new Set(ids));
  });
});
