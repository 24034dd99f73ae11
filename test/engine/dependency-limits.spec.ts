import { ExtendedPathFixture } from './extended-path-fixture.js';

/** Ids with a letter. */
const many = (letter: string, count = 40): string[] =>
  Array.from({ length: count }, (_, i) => letter + String(i));

describe('limits of dependencies', () => {
  let f: ExtendedPathFixture;
  beforeEach(async () => (f = await ExtendedPathFixture.open()));
  afterEach(() => f.close());

  const putAll = async (ids: readonly string[], dependsOn: readonly string[]): Promise<void> => {
    for (const id of ids) await f.put(id, { queue: 'graph', dependsOn });
  };
  const change = (id: string, wish: object) => f.components.jobUpdater.change(f.ns, id, wish);
  const tooMany = { code: 'too_many_dependencies' };

  describe('the search for a circle', () => {
    it('gives up in a dense graph, whose jobs are few', async () => {
      await putAll(['x', ...many('c')], []);
      await putAll(many('a'), ['x']);
      await putAll(many('b', 60), many('a'));
      await putAll(many('d', 60), many('c'));
      await f.pump();

      await expect(change('x', { moreDependencies: many('d', 60) })).rejects.toMatchObject(tooMany);
      // From the other end it is short.
      await expect(change('x', { moreDependencies: ['c0', 'd0'] })).resolves.toMatchObject({
        state: 'blocked',
      });
      await expect(change('c0', { moreDependencies: ['x'] })).rejects.toMatchObject({
        code: 'dependency_cycle',
      });
    });

    it('is repeated for one of several acks, if they are too much for one script together', async () => {
      const ids = many('w', 3);
      for (const id of ids) await f.put(id, { queue: 'work' });
      await putAll(many('a'), ids);
      await putAll(many('b'), many('a'));
      await putAll(many('c'), []);
      await putAll(many('d'), many('c'));
      await putAll(['e'], many('d'));
      await f.pump();

      const leased = await f.lease('work');
      const acks = leased.map(({ id, lease }) => ({ id, lease, next: { queue: 'next', dependsOn: ['e'] } }));
      expect(await f.components.leaseOperations.complete(f.ns, acks)).toEqual(['done', 'done', 'done']);
      for (const id of ids) expect(await f.find(id)).toMatchObject({ state: 'blocked', dependsOn: ['e'] });
    });
  });

  it('are those of a script, which acks of one call do not use up together', async () => {
    const kept = many('k', 30);
    for (const id of kept) await f.put(id, { queue: 'kept', retentionMs: 60_000 });
    await f.work('kept');
    await putAll(['one', 'two'], []);
    const leased = await f.lease('graph');
    const acks = leased.map(({ id, lease }) => ({ id, lease, next: { queue: 'next', dependsOn: kept } }));
    expect(await f.components.leaseOperations.complete(f.ns, acks)).toEqual(['done', 'done']);
    for (const id of ['one', 'two']) expect(await f.find(id)).toMatchObject({ state: 'ready' });
  });

  it('count those that have ended or are missing', async () => {
    await f.put('j', { delayMs: 60_000 });
    await change('j', { moreDependencies: many('m', 600) });
    await f.pump();
    expect(await f.find('j')).toMatchObject({ state: 'scheduled', dependsOn: [] });

    await expect(change('j', { moreDependencies: many('n', 401) })).rejects.toMatchObject(tooMany);
    // Those that it has do not count twice, and those that go do not count.
    await change('j', { moreDependencies: many('m', 600) });
    const swap = { lessDependencies: ['m0'], moreDependencies: many('n', 401) };
    await expect(change('j', swap)).resolves.toMatchObject({ state: 'blocked' });
    await f.pump();
    await expect(change('j', { moreDependencies: ['one-more'] })).rejects.toMatchObject(tooMany);
    await expect(change('j', { dependsOn: many('o', 1_000) })).resolves.toMatchObject({ state: 'blocked' });
    await f.pump();
  });
});
