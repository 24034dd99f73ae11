import { Listening } from './events-fixture.js';
import { EngineFixture, type ExtendedJob } from './fixture.js';

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

  it('are emitted once each, with types and tags, whichever path takes the step', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    const id = await put('q', { type: 'mail', tags: ['a', 'b'], tries: 5 });
    const simple = await f.publish('q', { tries: 2 });
    const lease = () => f.reserve('q', { count: 2, ttrMs: 1_000 });

    const [job] = (await lease()).filter((one) => one.id === id);
    await f.engine.extended.leaseOperations.retry(f.ns, { id, lease: job!.lease, group: 'g', message: 'm' });
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
});
