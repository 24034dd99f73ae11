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

  it('have no ids of their own: one that is taken would leave half a call behind', async () => {
    await f.publish('q', { id: 'taken' });
    const jobs = [newJob(), newJob({ id: 'taken' })];

    await expect(f.engine.publishMany(f.ns, 'q', jobs)).rejects.toThrow('id may be given to a job');
    expect(await f.size('q')).toBe(1);
  });
});

describe('what cannot be right', () => {
  let f: EngineFixture;
  beforeAll(async () => {
    f = await EngineFixture.withClock();
  });
  afterAll(() => f.close());

  it.each([
    [{ tries: 0 }, 'tries is a whole number from 1 to 65535'],
    [{ tries: 65_536 }, 'tries is'],
    [{ delayMs: -1 }, 'delayMs is'],
    [{ ttlMs: 0.5 }, 'ttlMs is'],
    [{ delayMs: Number.NaN }, 'delayMs is'],
  ])('is refused in a job: %j', async (job, message) => {
    await expect(f.publish('q', job)).rejects.toThrow(message);
  });

  it.each([
    [{ count: 0 }, 'count is a whole number from 1 to 100'],
    [{ count: 101 }, 'count is'],
    [{ ttrMs: -1 }, 'ttrMs is'],
    [{ waitMs: 1.5 }, 'waitMs is'],
    [{ queues: [] }, 'queues names one'],
    [{ queues: ['a', 'b c'] }, 'queue has letters'],
    [{ queues: ['a,b'] }, 'queue has letters'],
  ])('is refused in a request: %j', async (request, message) => {
    await expect(f.reserve('q', request)).rejects.toThrow(message);
  });

  it('is refused in a name', async () => {
    await expect(f.publish('a b')).rejects.toThrow('queue has letters');
    await expect(f.engine.publish('{x}', 'q', newJob())).rejects.toThrow('namespace has letters');
    expect(await f.keys()).toEqual([]);
  });

  it('are refused with a chosen id: were it taken, the others would be stored without it', async () => {
    await f.publish('q', { id: 'taken', text: 'first' });

    const both = f.engine.publishMany(f.ns, 'q', [newJob(), newJob({ id: 'taken' })]);
    await expect(both).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await f.drain('q')).toEqual(['first']);
  });
});
