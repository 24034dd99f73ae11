import { jest } from '@jest/globals';
import { register } from '../../src/redis/scripts/plain.js';
import { EngineFixture } from './fixture.js';

/** A namespace with a marker that is not on the pool's list would never be swept: what a dead server scheduled in it would rest for ever. */
describe('a namespace that is new', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.open();
  });
  afterEach(() => f.close());

  it('is on the list before it has its marker, whenever its server dies', async () => {
    const { pool } = f;
    const listed: unknown[] = [];
    const run = pool.run.bind(pool);
    jest.spyOn(pool, 'run').mockImplementation(async (binding, ...rest) => {
      if (binding.name === register.name)
        listed.push(await pool.read('SISMEMBER', pool.keys.namespaces, f.ns));
      return run(binding, ...rest);
    });

    await f.publish('q');

    expect(listed).toEqual([1]);
    expect(await f.engine.namespaces()).toContain(f.ns);
  });

  it('is registered again when all of it has gone while its server lives', async () => {
    await f.publish('q');
    await f.pool.read('DEL', ...(await f.keys()));
    await f.pool.read('SREM', f.pool.keys.namespaces, f.ns);

    await f.publish('q');
    expect(await f.engine.namespaces()).toContain(f.ns);
    expect(await f.size('q')).toBe(1);
  });
});
