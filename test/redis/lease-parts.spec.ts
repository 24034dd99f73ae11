import { MAX_RESERVE_COUNT } from '../../src/domain/limits.js';
import { silentObserver } from '../../src/engine/observer.js';
import { EngineFixture } from './fixture.js';
import { FullFixture } from './full-fixture.js';

describe('a lease of more rich jobs than one script takes', () => {
  let f: EngineFixture;
  let full: FullFixture;
  let scripts: number[];
  beforeEach(async () => {
    scripts = [];
    const observer = {
      ...silentObserver,
      script: (name: string, items: number) => {
        if (name === 'full_lease') scripts.push(items);
      },
    };
    f = await EngineFixture.withClock({ observer });
    full = new FullFixture(f);
  });
  afterEach(() => f.close());

  const put = async (count: number, size = 1): Promise<string[]> => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) ids.push(await full.put('q', { text: 'x'.repeat(size) }));
    return ids;
  };

  it('goes in parts: all of them, each once, in their order, and all can be undone', async () => {
    const ids = await put(MAX_RESERVE_COUNT);
    const jobs = await full.lease('q', MAX_RESERVE_COUNT);
    expect(jobs.map(({ id }) => id)).toEqual(ids);
    expect(scripts).toHaveLength(2);
    await f.engine.undo(f.ns, jobs);
    expect((await full.lease('q', MAX_RESERVE_COUNT)).map(({ id }) => id)).toEqual(ids);
  });

  it('asks no further when a part found fewer than it could', async () => {
    await put(49);
    expect(await full.lease('q', MAX_RESERVE_COUNT)).toHaveLength(49);
    expect(scripts).toHaveLength(1);
  });

  it('asks no further when there is much to carry', async () => {
    await put(60, 50_000);
    expect(await full.lease('q', MAX_RESERVE_COUNT)).toHaveLength(50);
    expect(await full.lease('q', MAX_RESERVE_COUNT)).toHaveLength(10);
  });

  it('shares a script among so many consumers only as it has the time for', async () => {
    await put(60);
    const found = await Promise.all(Array.from({ length: 60 }, () => full.lease('q')));
    expect(found.flat()).toHaveLength(60);
    expect(Math.max(...scripts)).toBeLessThanOrEqual(50);
  });

  it('keeps what it has when Redis goes away before the rest', async () => {
    await put(60);
    const run = f.pool.run.bind(f.pool);
    let calls = 0;
    f.pool.run = ((...args: Parameters<typeof run>) =>
      args[0].name === 'full_lease' && ++calls === 2
        ? Promise.reject(new Error('away'))
        : run(...args)) as typeof f.pool.run;
    expect(await full.lease('q', MAX_RESERVE_COUNT)).toHaveLength(50);
  });

  it('refuses more tags in one call than a script has the time for', async () => {
    const tags = Array.from({ length: 32 }, (_, i) => `tag${String(i)}`);
    const jobs = Array.from({ length: 32 }, () => ({ queue: 'q', body: Buffer.from('x'), tags }));
    await expect(full.lane.publishing.publish(f.ns, jobs)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: 'tags are at most 1000 in one call, of all of its jobs together',
    });
    await full.lane.publishing.publish(f.ns, jobs.slice(0, 31));
  });
});
