import { EngineFixture, type RichJob } from './fixture.js';
import { waitFor } from '../support/redis.js';

const LONG_MS = 60_000;

describe('a wait for the end of a job', () => {
  let f: EngineFixture;
  beforeEach(async () => (f = await EngineFixture.open()));
  afterEach(() => f.close());

  const put = (job?: RichJob): Promise<string> => f.put('q', job);
  const lease = async () => (await f.reserve('q'))[0]!;
  const watch = (id: string, waitMs = LONG_MS, signal?: AbortSignal): Promise<void> =>
    f.engine.full.endWatch.wait(f.ns, id, waitMs, signal);

  /** What a wait has come to so far. */
  const follow = (wait: Promise<void>): { isOver: boolean } => {
    const followed = { isOver: false };
    void wait.then(() => (followed.isOver = true));
    return followed;
  };

  it.each<[string, object, (id: string, number: number) => Promise<unknown>]>([
    ['done and kept', { retentionMs: LONG_MS }, (id, number) => f.engine.ack(f.ns, 'q', id, number)],
    ['done and gone', {}, (id, number) => f.engine.ack(f.ns, 'q', id, number)],
    ['dead', {}, (id, lease) => f.engine.full.owners.fail(f.ns, { id, lease, group: 'g', message: '' })],
    ['done on lmstfy’s wire', { retentionMs: LONG_MS }, (id) => f.engine.ack(f.ns, 'q', id)],
  ])('is over when it is %s, and not before', async (_name, job, end) => {
    const id = await put(job);
    const wait = watch(id);
    const followed = follow(wait);
    const { lease: number } = await lease();
    // Another one that is watched ends first: by then this one has been looked at.
    const other = watch(await put());
    await f.engine.ack(f.ns, 'q', (await lease()).id);
    await other;
    expect(followed.isOver).toBe(false);

    await end(id, number);
    await wait;
  });

  it('is over at once for a job that is not there', async () => {
    await watch('nobody');
    await watch('no id');
  });

  it('is over when its time is, when nobody wants to know any more, and when the engine stops', async () => {
    const id = await put();
    await watch(id, 1);
    const gone = new AbortController();
    const wait = watch(id, LONG_MS, gone.signal);
    gone.abort();
    await wait;
    await watch(id, LONG_MS, gone.signal);
    const last = watch(id);
    f.engine.endWaits();
    await last;
    await watch(id);
  });

  it('looks at many with few calls, each of them in the end', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      const jobs = Array.from({ length: 40 }, () => ({ queue: 'q', body: Buffer.from('x') }));
      ids.push(...(await f.engine.full.publishing.publish(f.ns, jobs)).map(({ id }) => id));
    }
    const followed = ids.map((id) => follow(watch(id)));
    await f.engine.ackMany(
      f.ns,
      ids.slice(100).map((id) => ({ queue: 'q', id })),
    );
    await waitFor(() => Promise.resolve(followed.slice(100).every(({ isOver }) => isOver)), 5_000);
    expect(followed.slice(0, 100).some(({ isOver }) => isOver)).toBe(false);
  });
});
