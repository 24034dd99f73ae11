import { Redis } from 'ioredis';
import type { QueueEngine } from '../../src/engine/engine.js';
import { randomNamespace, testRedisUrl } from '../support/redis.js';
import { EngineFixture, newJob } from './fixture.js';

const body = Buffer.from('{}');

/** Jobs in every state, plain and rich, in two queues, with whatever else a namespace has. @returns how many */
async function fill(f: EngineFixture, each: number): Promise<number> {
  const { engine, ns } = f;
  for (const queue of ['plain', 'rich']) {
    const publish = async (job: { delayMs?: number; tries?: number } = {}): Promise<void> => {
      const rich = { priority: 3, tags: ['t'], type: 'mail', attributes: { a: 'b' } };
      for (let i = 0; i < each; i++) {
        if (queue === 'plain') await engine.publish(ns, queue, newJob({ ttlMs: 9e9, tries: 2, ...job }));
        else
          await engine.full.publishing.publish(ns, [{ queue, body, ttlMs: 9e9, tries: 2, ...rich, ...job }]);
      }
    };
    await publish({ tries: 1 });
    await engine.reserve(ns, { queues: [queue], count: each, ttrMs: 1, waitMs: 0 });
    f.nowMs += 10;
    await engine.pumpNow(ns);
    await publish();
    await engine.reserve(ns, { queues: [queue], count: each, ttrMs: 1_000_000, waitMs: 0 });
    await publish({ delayMs: 60_000 });
    await publish({ delayMs: 3_600_000 });
    await publish();
  }
  // A ghost and a blank: one was taken away by name, one has expired.
  const gone = await engine.publish(ns, 'plain', newJob());
  await engine.ack(ns, 'plain', gone);
  await engine.publish(ns, 'plain', newJob({ ttlMs: 5 }));
  await engine.publish(ns, 'chosen', newJob({ id: 'my-own' }));
  await engine.publish(ns, 'kept', newJob(), { idempotencyKey: 'once' });
  f.nowMs += 10;
  await engine.tidyNow(ns);
  await engine.reserve(ns, { queues: ['nobody-publishes-here'], count: 1, ttrMs: 1, waitMs: 1 });
  await engine.settings.set(ns, 'grace_ms', 1);
  return each * 10 + 2;
}

describe('the purge of a namespace', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock({ quotas: { queues: 0, jobsPerQueue: 0, bytes: 1e9 } });
  });
  afterEach(() => f.close());

  it('leaves no key of it, and every key of others', async () => {
    const other = await EngineFixture.open();
    await other.publish('q');
    const before = await other.keys();
    const jobs = await fill(f, 3);
    expect((await f.keys()).length).toBeGreaterThan(60);

    const purged = await f.engine.purge.run(f.ns);
    expect(purged).toMatchObject({ jobs, queues: 4, isDone: true, isInUse: false });
    expect(purged.keys).toBeGreaterThan(3);
    expect(await f.keys()).toEqual([]);
    expect(await f.engine.namespaces()).not.toContain(f.ns);
    expect(await other.keys()).toEqual(before);
    await other.close();
  });

  it('says beforehand what it would take, and changes nothing by that', async () => {
    await fill(f, 3);
    const redis = new Redis(testRedisUrl(), { protocol: 2 });
    const dump = async (): Promise<string[]> => {
      const keys = await redis.keysBuffer(`{${f.ns}}*`);
      const values = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
      return keys.map((key, i) => `${key.toString('hex')} ${values[i]!.toString('hex')}`).sort();
    };
    const before = await dump();

    expect(await f.engine.purge.census(f.ns)).toEqual({
      ...{ queues: 4, ready: 8, scheduled: 12, leased: 6, dead: 6, blocked: 0, stuck: 0, held: 0, ended: 0 },
    });
    expect(await dump()).toEqual(before);
    expect(before.length).toBeGreaterThan(60);
    redis.disconnect();
  });

  it('goes on where it was broken off', async () => {
    const jobs = await fill(f, 40);
    let removed = 0;
    let calls = 0;
    for (let isDone = false; !isDone; calls++) {
      // No time at all: one step is made of some calls, none of others.
      const purged = await f.engine.purge.run(f.ns, calls === 0 ? 0 : 3);
      removed += purged.jobs;
      ({ isDone } = purged);
    }

    expect(calls).toBeGreaterThan(1);
    expect(removed).toBe(jobs);
    expect(await f.keys()).toEqual([]);
  });

  it('leaves what is published meanwhile in good order', async () => {
    await fill(f, 2);
    const run = Reflect.get(f.pool, 'run');
    let isTold = false;
    Reflect.set(f.pool, 'run', async (...args: Parameters<typeof run>) => {
      const [script] = args;
      if (script.name === 'purge_space' && !isTold) {
        isTold = true;
        await f.publish('plain');
      }
      return run.apply(f.pool, args);
    });
    expect(await f.engine.purge.run(f.ns)).toMatchObject({ isDone: false, isInUse: true });
    Reflect.set(f.pool, 'run', run);

    expect(await f.engine.purge.census(f.ns)).toMatchObject({ queues: 1, ready: 1 });
    expect(await f.drain('plain')).toEqual(['body']);
  });

  it('leaves a namespace alone that has begun anew after the marker of the old one was gone', async () => {
    await fill(f, 2);
    const scan = Reflect.get(f.pool, 'scan');
    Reflect.set(f.pool, 'scan', async function* (...args: Parameters<typeof scan>) {
      await f.publish('fresh');
      yield* scan.apply(f.pool, args);
    });
    expect(await f.engine.purge.run(f.ns)).toMatchObject({ isDone: false, isInUse: true });
    Reflect.set(f.pool, 'scan', scan);

    expect(await f.drain('fresh')).toEqual(['body']);
    expect(await f.engine.namespaces()).toContain(f.ns);
    expect(await f.engine.purge.run(f.ns)).toMatchObject({ isDone: true });
    expect(await f.keys()).toEqual([]);
  });

  it('tells those who hold a job that it is gone, and gives back what counted for a quota', async () => {
    await f.publish('q', { text: 'x'.repeat(50) });
    await f.publish('other', { text: 'y'.repeat(70) });
    const [job] = await f.reserve('q');
    const bytes = (): Promise<unknown> => f.pool.read('HGET', f.pool.keys.namespace(f.ns).meta, 'bytes');
    expect(await bytes()).toBe('120');
    let seen: unknown;
    // The last thing that happens while the marker is there.
    Reflect.set(f.engine.stats, 'flush', async () => {
      seen = await bytes();
    });
    await f.engine.purge.run(f.ns);

    expect(seen).toBe('0');
    expect(await f.engine.ack(f.ns, 'q', job!.id, job!.lease)).toBe(false);
  });

  it('of a namespace that there is not does nothing', async () => {
    const engine: QueueEngine = f.engine;
    const nowhere = randomNamespace();

    expect(await engine.purge.run(nowhere)).toEqual({
      ...{ jobs: 0, queues: 0, keys: 0, isDone: true, isInUse: false },
    });
    await expect(engine.purge.run('a}b')).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});
