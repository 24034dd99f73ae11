import { silentObserver } from '../../src/engine/observer.js';
import { EngineFixture, newJob } from './fixture.js';

/** Defects of the server whose API we speak: those that show at the engine. The others are tested over HTTP. */
describe('defects that ours does not have', () => {
  it('D1: a job that was taken by a server that then died is not lost', async () => {
    const dying = await EngineFixture.open();
    const ids = await dying.engine.publishMany(
      dying.ns,
      'q',
      Array.from({ length: 50 }, () => newJob({ tries: 2 })),
    );
    // The answer is never read: the server is gone in the moment in which Redis has run the script.
    void dying.reserve('q', { count: 50, ttrMs: 200 }).catch(() => undefined);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    await dying.pool.close();

    const other = await EngineFixture.open();
    other.engine.start();
    const found = new Set<string>();
    for (let i = 0; i < 50 && found.size < ids.length; i++) {
      const request = { queues: ['q'], count: 50, ttrMs: 60_000, waitMs: 500 };
      for (const { id } of await other.engine.reserve(dying.ns, request)) found.add(id);
    }
    expect(found).toEqual(new Set(ids));
    await other.close();
  });

  it('D11: there is no body without its place in a line, and no place without a body', async () => {
    const f = await EngineFixture.withClock();
    for (let i = 0; i < 100; i++) {
      const delayMs = i % 3 === 0 ? 60_000 : 0;
      await f.publish('q', { id: `job-${i % 40}`, delayMs }).catch(() => undefined);
      if (i % 7 === 0) await f.engine.republish(f.ns, 'q', `job-${(i * 3) % 40}`, newJob());
    }

    const keys = await f.keys();
    const bodies = keys.filter((key) => key.startsWith(`{${f.ns}}j`)).length;
    const [counts] = await f.engine.counts(f.ns, ['q']);
    expect(bodies).toBe((counts?.ready ?? 0) + (counts?.scheduled ?? 0));
    expect(await f.drain('q')).toHaveLength(counts?.ready ?? 0);
    await f.close();
  });

  it('D15: every queue has a timer set of its own; none is shared by the pool', async () => {
    const f = await EngineFixture.withClock();
    for (const queue of ['a', 'b', 'c']) await f.publish(queue, { delayMs: 1_000 });

    const scheduled = (await f.keys()).filter((key) => /:s\d+$/.test(key));
    expect(scheduled).toHaveLength(3);
    f.nowMs += 1_000;
    expect(await f.engine.pumpNow(f.ns)).toBe(0);
    for (const queue of ['a', 'b', 'c']) expect(await f.drain(queue)).toEqual(['body']);
    await f.close();
  });

  it('D18: the sizes of 64 queues cost one call', async () => {
    const calls: string[] = [];
    const f = await EngineFixture.withClock({
      observer: { ...silentObserver, script: (name) => calls.push(name) },
    });
    const queues = Array.from({ length: 64 }, (_, i) => `q${i}`);
    await Promise.all(queues.map((queue) => f.publish(queue)));
    calls.length = 0;

    const counts = await f.engine.counts(f.ns, queues);

    expect(counts.map(({ ready }) => ready)).toEqual(queues.map(() => 1));
    expect(calls).toEqual(['counts']);
    await f.close();
  });

  it('D17: ten thousand request and reply cycles leave no key behind', async () => {
    const f = await EngineFixture.open();
    const cycle = async (): Promise<void> => {
      const id = await f.publish('requests', { ttlMs: 60_000 });
      const [request] = await f.reserve('requests');
      const reply = await f.publish(id, { ttlMs: 60_000 });
      await f.reserve(id, { waitMs: 1_000 });
      await f.engine.ack(f.ns, id, reply);
      await f.engine.ack(f.ns, 'requests', request?.id ?? '');
    };
    for (let i = 0; i < 10_000; i += 100) await Promise.all(Array.from({ length: 100 }, cycle));
    await f.engine.tidyNow(f.ns);

    // Only the flags of waiters are left; they end within seconds by themselves.
    expect((await f.keys()).filter((key) => !key.endsWith(':waiting'))).toEqual([]);
    await f.close();
  });
});
