import { Listening } from './events-fixture.js';
import { EngineFixture, type ExtendedJob, newJob } from './fixture.js';
import { waitFor } from '../support/redis.js';

/**
 * The extended path writes its own events, in the same step. No event is written twice when a call moves from one path
 * to the other.
 */
describe('events of the extended path', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock({ eventsKeepMs: 60_000 });
  });
  afterEach(() => f.close());

  const put = (queue: string, job: ExtendedJob): Promise<string> => f.put(queue, job);

  it('are emitted once each, with types and tags, on either path', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    const id = await put('q', { type: 'mail', tags: ['a', 'b'], tries: 5 });
    const simple = await f.publish('q', { tries: 2 });
    const lease = () => f.lease('q', { count: 2, ttrMs: 1_000 });

    const [job] = (await lease()).filter((one) => one.id === id);
    await f.engine.settle.retry(f.ns, { id, lease: job!.lease, group: 'g', message: 'm' });
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);
    await lease();
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);
    const [last] = await lease();
    await f.engine.ack(f.ns, 'q', id, last!.lease);
    // Whatever else there was to tell of before this has been told.
    const end = await f.publish('end');
    await listening.received(13);
    const of = (one: string): string[] =>
      listening.events.filter((event) => event.id === one).map(({ name }) => name);

    expect(of(end)).toEqual(['published']);
    expect(of(id)).toEqual(['published', 'leased', 'retried', 'leased', 'timed_out', 'leased', 'acked']);
    expect(of(simple)).toEqual(['published', 'leased', 'timed_out', 'leased', 'died']);
    const ofExtended = listening.events.filter((event) => event.id === id);
    expect(ofExtended.every(({ type, tags }) => type === 'mail' && tags.join() === 'a,b')).toBe(true);
    expect(ofExtended[2]?.facts).toEqual({ group: 'g', message: 'm' });
  });

  it('have the result of an acked job if it is short JSON, else a flag', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    const complete = async (body: Buffer, contentType: string, keeps: boolean): Promise<void> => {
      const id = await put('q', { type: 'mail', ...(keeps ? { retentionMs: 60_000 } : {}) });
      const [job] = await f.lease('q', { worker: 'w' });
      const result = { body, contentType };
      await f.engine.settle.complete(f.ns, [{ id, lease: job!.lease, result }]);
    };
    const json = 'application/json';
    const longest = JSON.stringify('x'.repeat(1_022));
    await complete(Buffer.from('{"n":12345678901234567,"list":[],"ö":null}'), json, true);
    await complete(Buffer.from('[[]]'), 'application/vnd.sum+json', false);
    await complete(Buffer.from(longest), json, true);
    await complete(Buffer.from(`${longest} `), json, true);
    await complete(Buffer.from([0, 255, 1]), 'image/x', true);
    await complete(Buffer.from([0, 255, 1]), json, true);
    const [plain] = [await f.publish('q')];
    const [simple] = await f.lease('q');
    await f.engine.ack(f.ns, 'q', plain, simple!.lease);
    await listening.received(21);
    const acked = listening.events.filter(({ name }) => name === 'acked').map(({ facts }) => facts);
    const result = (data: unknown, content_type = json) => ({ worker: 'w', result: { data, content_type } });
    expect(acked).toEqual([
      result({ n: Number('12345678901234567'), list: [], ö: null }),
      result([[]], 'application/vnd.sum+json'),
      result('x'.repeat(1_022)),
      { worker: 'w', result_omitted: true },
      { worker: 'w', result_omitted: true },
      { worker: 'w', result_omitted: true },
      {},
    ]);
  });

  it('do not repeat the result of a job in its timeline', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    const id = await put('q', { type: 'mail', retentionMs: 60_000 });
    await f.engine.jobs.track(f.ns, id);
    const [job] = await f.lease('q', { worker: 'w' });
    const result = { body: Buffer.from('1'), contentType: 'application/json' };
    await f.engine.settle.complete(f.ns, [{ id, lease: job!.lease, result }]);
    const found = await f.engine.jobs.find(f.ns, id);
    expect(Object.keys(found!.timeline.at(-1)!).sort()).toEqual(['atMs', 'what', 'worker']);
    await waitFor(() => listening.events.some(({ name }) => name === 'acked'));
    expect(listening.events.at(-1)?.facts).toEqual({
      ...{ tracked: true, worker: 'w' },
      result: { data: 1, content_type: 'application/json' },
    });
  });

  it('report the deletion of a queue once, and no refused one', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    const { queueControls: controls } = f.engine.components;
    await controls.change(f.ns, 'q', { maxRunning: 1 });
    const id = await put('q', {});
    await expect(controls.forget(f.ns, 'q')).rejects.toMatchObject({ code: 'queue_not_empty' });
    await f.engine.jobs.remove(f.ns, id);
    await controls.forget(f.ns, 'q');
    await expect(controls.forget(f.ns, 'q')).rejects.toMatchObject({ code: 'queue_not_found' });
    await f.publish('end');
    expect(await listening.received(4)).toEqual([
      ...[`published q ${id}`, `deleted q ${id}`, 'queue_deleted q '],
      expect.stringMatching(/^published end /),
    ]);
  });

  it('name the worker of a leased job if no lease operation caused them', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    const { tags } = f.engine.components;
    const id = await put('q', { type: 'mail' });
    const all = async (): Promise<void> => {
      await f.engine.jobs.log(f.ns, id, 'half');
      await tags.addTags(f.ns, id, ['t']);
      await tags.removeTags(f.ns, id, ['t']);
      await tags.track(f.ns, id);
      await tags.untrack(f.ns, id);
    };
    await all();
    await f.lease('q', { worker: 'w' });
    await all();
    await listening.received(12);
    const names = ['log', 'changed', 'changed', 'tracked', 'untracked'];
    const workers = listening.events
      .filter(({ name }) => names.includes(name))
      .map(({ name, facts }) => [name, facts['worker']]);
    expect(workers).toEqual([...names.map((name) => [name, undefined]), ...names.map((name) => [name, 'w'])]);
    const { timeline } = (await f.engine.jobs.find(f.ns, id))!;
    expect(timeline.at(-3)).toMatchObject({ what: 'log', message: 'half', worker: 'w' });
  });

  it('name only the worker that has the lease', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    const { leaseOperations: operations, queuePurger, jobCanceller } = f.engine.components;
    const lease = async (worker: string): Promise<{ id: string; lease: number }> => {
      const [job] = await f.lease('q', { ttrMs: 1_000, worker });
      return { id: job!.id, lease: job!.lease };
    };
    const id = await put('q', { type: 'mail', tries: 20 });
    await operations.release(f.ns, await lease('w1'));
    await operations.retry(f.ns, { ...(await lease('w2')), group: 'g', message: 'm' });
    await operations.heartbeat(f.ns, await lease('w3'));
    f.nowMs += 60_000;
    await f.engine.pumpNow(f.ns);
    await operations.complete(f.ns, [{ ...(await lease('w4')), next: { queue: 'q' } }]);
    await operations.complete(f.ns, [await lease('w5')]);

    const cancelled = await put('q', { type: 'mail' });
    await lease('w6');
    await jobCanceller.cancel(f.ns, cancelled, { graceMs: 1_000 });
    await jobCanceller.cancel(f.ns, cancelled, { graceMs: 0 });
    const purged = await put('q', { type: 'mail' });
    await lease('w7');
    await queuePurger.purge(f.ns, 'q', ['leased']);
    // Acknowledged by force: after its worker has given it back, and while no worker gave a name.
    const returned = await put('q', { type: 'mail' });
    await operations.release(f.ns, await lease('w8'));
    await f.engine.ack(f.ns, 'q', returned, 0);
    const unnamed = await put('q', { type: 'mail', tries: 20 });
    await operations.release(f.ns, await lease('w9'));
    await lease('');
    await f.engine.ack(f.ns, 'q', unnamed, 0);
    const revoked = await put('q', { type: 'mail' });
    await lease('w10');
    await operations.revoke(f.ns, revoked);
    await f.engine.ack(f.ns, 'q', revoked, 0);
    const simple = await f.publish('q');
    await lease('w11');
    await operations.revoke(f.ns, simple);
    await f.publish('end');
    await waitFor(() => listening.events.at(-1)?.queue === 'end', 5_000);

    const named = (one: string): string[] =>
      listening.events
        .filter((event) => event.id === one)
        .map(({ name, facts }) => `${name} ${(facts['worker'] as string | undefined) ?? '-'}`);
    expect(named(id)).toEqual([
      ...['published -', 'leased w1', 'released w1', 'leased w2', 'retried w2', 'leased w3', 'heartbeat w3'],
      ...['timed_out w3', 'leased w4', 'moved w4', 'leased w5', 'acked w5'],
    ]);
    expect(named(cancelled)).toEqual(['published -', 'leased w6', 'cancel_requested w6', 'cancelled w6']);
    expect(named(purged)).toEqual(['published -', 'leased w7', 'deleted w7']);
    expect(named(returned)).toEqual(['published -', 'leased w8', 'released w8', 'acked -']);
    expect(named(unnamed)).toEqual(['published -', 'leased w9', 'released w9', 'leased -', 'acked -']);
    expect(named(revoked)).toEqual(['published -', 'leased w10', 'released w10', 'acked -']);
    expect(named(simple)).toEqual(['published -', 'leased -', 'released -']);
  });

  it.each(['release', 'retry', 'undo'] as const)(
    'tell of a job whose requested cancel takes effect at its %s only that it is cancelled',
    async (verb) => {
      const listening = await Listening.to(f.engine, f.ns);
      const { leaseOperations: operations, jobCanceller } = f.engine.components;
      const id = await put('q', { type: 'mail', tries: 20 });
      const [job] = await f.lease('q', { worker: 'w' });
      await jobCanceller.cancel(f.ns, id, { graceMs: 60_000 });
      const held = { id, lease: job!.lease };
      if (verb === 'release')
        expect(await operations.release(f.ns, held)).toMatchObject({ state: 'cancelled' });
      if (verb === 'retry') await operations.retry(f.ns, { ...held, group: 'g', message: 'm' });
      if (verb === 'undo') await f.engine.undo(f.ns, [job!]);
      const names = ['published', 'leased', 'cancel_requested', 'cancelled'];
      const { state, timeline } = (await f.engine.jobs.find(f.ns, id))!;
      expect([state, timeline.map(({ what }) => what)]).toEqual(['cancelled', names]);
      await f.publish('end');
      expect(await listening.received(5)).toEqual([
        ...names.map((name) => `${name} q ${id}`),
        expect.stringMatching(/^published end /),
      ]);
    },
  );

  it('tell the delay of a publish, and the job that it replaces', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    const dueMs = f.nowMs + 90_000;
    const ids = [
      await put('q', { type: 'mail', delayMs: 60_000 }),
      await put('q', { type: 'mail', dueMs }),
      await put('q', { type: 'mail', dueMs: f.nowMs - 1 }),
      await f.publish('q', { dueMs }),
    ];
    const plain = newJob({ delayMs: 5_000 });
    ids.push(await f.engine.republish(f.ns, 'q', ids[0]!, plain));
    ids.push(await f.engine.republish(f.ns, 'q', ids[4]!, plain));
    ids.push(await f.engine.republish(f.ns, 'q', 'not-there', newJob()));
    await waitFor(() => listening.events.filter(({ name }) => name === 'published').length === ids.length);
    const factsOf = (id: string) => {
      const found = listening.events.find((event) => event.id === id && event.name === 'published');
      return [found?.facts['delay_ms'], found?.facts['replaces']];
    };
    const none = [undefined, undefined];
    const [later, dueLater, dueNow, simple, replaced, again, alone] = ids.map(factsOf);
    expect([later, dueLater, dueNow]).toEqual([[60_000, undefined], [90_000, undefined], none]);
    // By Redis's time, which goes on here.
    expect(simple).toEqual([expect.closeTo(90_000, -4), undefined]);
    expect([replaced, again, alone]).toEqual([[5_000, ids[0]], [5_000, ids[4]], none]);
  });
});
