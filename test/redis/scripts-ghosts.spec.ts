import { Redis } from 'ioredis';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture } from './fixture.js';

/** A job with an id of its caller's choice may be made again while the line still has the place of its former life. */
describe('the ghost of a job that lives again in another queue', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
    await f.publish('old', { id: 'mine' });
    await f.engine.ack(f.ns, 'old', 'mine');
    await f.publish('new', { id: 'mine', ttlMs: 5_000 });
  });
  afterEach(() => f.close());

  it('is not shown', async () => {
    expect(await f.engine.peekQueue(f.ns, 'old')).toBeNull();
    expect(await f.engine.peekQueue(f.ns, 'new')).toMatchObject({ id: 'mine', queue: 'new' });
  });

  it('is not given out', async () => {
    expect(await f.drain('old')).toEqual([]);
    expect(await f.drain('new')).toEqual(['body']);
  });

  it('takes nothing with it when its queue is destroyed', async () => {
    expect(await f.engine.destroy(f.ns, 'old')).toBe(0);
    expect(await f.size('old')).toBe(0);
    expect(await f.drain('new')).toEqual(['body']);
  });

  it('takes nothing with it when its queue is swept', async () => {
    await f.publish('old', { ttlMs: 1_000 });
    f.nowMs += 1_000;
    await f.engine.tidyNow(f.ns);
    expect(await f.drain('new')).toEqual(['body']);
    f.nowMs += 5_000;
    await f.engine.tidyNow(f.ns);
    expect(await f.size('new')).toBe(0);
  });
});

describe('the ghosts of a job that has lived 255 times in one line', () => {
  it('leave its next life the one number that is free: 0', async () => {
    const f = await EngineFixture.withClock();
    const redis = new Redis(testRedisUrl(), { protocol: 2 });
    await f.publish('q', { text: 'first' });
    for (let i = 0; i < 255; i++) {
      await f.publish('q', { id: 'mine' });
      await f.engine.ack(f.ns, 'q', 'mine');
    }
    await f.publish('q', { id: 'mine', text: 'alive' });
    await f.publish('q', { text: 'last' });

    expect(await Audit.of(redis, f.ns)).toEqual([]);
    expect(await f.engine.counts(f.ns, ['q'])).toMatchObject([{ ready: 3 }]);
    expect(await f.drain('q')).toEqual(['first', 'alive', 'last']);
    expect(await Audit.of(redis, f.ns)).toEqual([]);
    redis.disconnect();
    await f.close();
  });
});
