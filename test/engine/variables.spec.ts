import { MAX_VARIABLES } from '../../src/domain/limits.js';
import { EngineFixture } from './fixture.js';

describe('variables of a namespace', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
  });
  afterEach(() => f.close());

  const names = async (): Promise<string[]> => [...(await f.engine.variables.list(f.ns)).keys()].sort();

  it('are those of their namespace alone, and go with its purge only', async () => {
    const other = await EngineFixture.withClock();
    await f.engine.variables.set(f.ns, 'a', '1');
    await other.engine.variables.set(other.ns, 'a', '2');
    await f.publish('q');
    const [job] = await f.lease('q');
    await f.engine.ackMany(f.ns, [{ queue: 'q', id: job?.id ?? '', lease: job?.lease ?? 0 }]);
    await f.pass(3_600_000);
    await f.engine.tidyNow(f.ns);
    expect(await f.keys()).toEqual([`{${f.ns}}:variables`]);
    expect(await f.engine.variables.get(f.ns, 'a')).toBe('1');

    await f.engine.purge.run(f.ns);
    expect(await f.keys()).toEqual([]);
    await expect(f.engine.variables.get(f.ns, 'a')).rejects.toMatchObject({ code: 'variable_not_found' });
    expect(await other.engine.variables.get(other.ns, 'a')).toBe('2');
    await other.close();
  });

  it('are refused beyond their number, while those that are there can be changed', async () => {
    for (let i = 0; i < MAX_VARIABLES; i++) await f.engine.variables.set(f.ns, `v${String(i)}`, '0');
    const more = f.engine.variables.set(f.ns, 'more', '0');
    await expect(more).rejects.toMatchObject({ code: 'invalid_argument', field: 'name' });
    await f.engine.variables.set(f.ns, 'v0', '1');
    expect(await f.engine.variables.get(f.ns, 'v0')).toBe('1');
    expect(await names()).toHaveLength(MAX_VARIABLES);
    expect(await f.engine.variables.delete(f.ns, 'v0')).toBe(true);
    expect(await f.engine.variables.delete(f.ns, 'v0')).toBe(false);
    await f.engine.variables.set(f.ns, 'more', '0');
    expect(await names()).toContain('more');
  });
});
