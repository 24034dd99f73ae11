import { Listening } from './events-fixture.js';
import { EngineFixture, type RichJob } from './fixture.js';

/** The full lane tells its events itself, in the step; nothing is told twice where a call goes from one lane to the other. */
describe('events of the full lane', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock({ eventsKeepMs: 60_000 });
  });
  afterEach(() => f.close());

  const put = (queue: string, job: RichJob): Promise<string> => f.put(queue, job);

  it('are told once each, with types and tags, whichever lane takes the step', async () => {
    const heard = await Listening.to(f.engine, f.ns);
    const id = await put('q', { type: 'mail', tags: ['a', 'b'], tries: 5 });
    const plain = await f.publish('q', { tries: 2 });
    const lease = () => f.reserve('q', { count: 2, ttrMs: 1_000 });

    const [job] = (await lease()).filter((one) => one.id === id);
    await f.engine.full.owners.retry(f.ns, { id, lease: job!.lease, group: 'g', message: 'm' });
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);
    await lease();
    f.nowMs += 1_000;
    await f.engine.pumpNow(f.ns);
    const [last] = await lease();
    await f.engine.ack(f.ns, 'q', id, last!.lease);
    // Whatever else there was to tell of before this has been told.
    const end = await f.publish('end');
    await heard.told(12);
    const of = (one: string): string[] =>
      heard.events.filter((event) => event.id === one).map(({ name }) => name);

    expect(of(end)).toEqual(['published']);
    expect(of(id)).toEqual(['published', 'leased', 'retried', 'leased', 'timed_out', 'leased', 'acked']);
    expect(of(plain)).toEqual(['published', 'leased', 'timed_out', 'leased', 'died']);
    const rich = heard.events.filter((event) => event.id === id);
    expect(rich.every(({ type, tags }) => type === 'mail' && tags.join() === 'a,b')).toBe(true);
    expect(rich[2]?.facts).toEqual({ group: 'g', message: 'm' });
  });
});
