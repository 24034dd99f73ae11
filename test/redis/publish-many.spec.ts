import { MAX_BULK_JOBS } from '../../src/domain/limits.js';
import { EngineFixture, newJob } from './fixture.js';

describe('many jobs in one call', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
  });
  afterEach(() => f.close());

  const many = (count: number): Promise<string[]> =>
    f.engine.publishMany(
      f.ns,
      'q',
      Array.from({ length: count }, (_, i) => newJob({ body: Buffer.from(String(i)) })),
    );

  it('are stored in their order', async () => {
    expect(await many(MAX_BULK_JOBS)).toHaveLength(MAX_BULK_JOBS);
    expect(await f.drain('q')).toEqual(Array.from({ length: MAX_BULK_JOBS }, (_, i) => String(i)));
  });

  it('are refused whole when they are too many: a script that ends half-way leaves bodies in no line', async () => {
    for (const count of [MAX_BULK_JOBS + 1, 9_000])
      await expect(many(count)).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await f.keys()).toEqual([]);
  });
});
