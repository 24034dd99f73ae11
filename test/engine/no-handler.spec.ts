import type { LeasedJob } from '../../src/domain/job/job.js';
import { waitFor } from '../support/redis.js';
import { Listening } from './events-fixture.js';
import { EngineFixture } from './fixture.js';

const SECOND_MS = 1_000;
const TTR_MS = 10_000;

describe('a job released by workers without a handler', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
  });
  afterEach(() => f.close());

  const lease = async (worker = 'w1'): Promise<LeasedJob> => {
    const [job] = await f.lease('q', { ttrMs: TTR_MS, worker });
    return job!;
  };
  const giveBack = ({ id, lease: number }: LeasedJob, options: { delayMs?: number; worker?: string } = {}) =>
    f.engine.settle.release(f.ns, { id, lease: number, reason: 'no_handler', ...options });
  /** Leases the first ready job, which is this one, gives it back, and waits until it is due. @returns its delay */
  const bounce = async (id: string, worker?: string): Promise<number> => {
    const job = await lease(worker);
    expect(job.id).toBe(id);
    const { state, dueAtMs } = await giveBack(job, worker === undefined ? {} : { worker });
    expect(state).toBe('scheduled');
    const delayMs = dueAtMs! - f.nowMs;
    await f.pass(delayMs);
    return delayMs;
  };
  const queued = async (): Promise<string[]> => {
    const { items } = await f.engine.jobs.list(f.ns, { queue: 'q', state: 'ready' }, { limit: 9 });
    return items.map(({ id }) => id);
  };

  it.each([
    ['a simple job', {}],
    ['a job with a type', { type: 't' }],
    ['a job with a priority', { priority: -3 }],
  ])('waits a second, then twice as long each time, a minute at most: %s', async (_what, options) => {
    const [published] = await f.engine.jobs.publish(f.ns, [
      { queue: 'q', body: Buffer.from('1'), tries: 3, ...options },
    ]);
    const { id } = published!;
    const delays: number[] = [];
    for (let i = 0; i < 8; i++) delays.push(await bounce(id));
    // A millisecond, because the clock of Redis is finer.
    const expected = [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * SECOND_MS);
    expect(delays.map((delayMs) => Math.round(delayMs / 10) * 10)).toEqual(expected);
    expect(await f.find(id)).toMatchObject({ triesLeft: 3, attempts: 0, failures: 0, crashes: 0 });
  });

  it('keeps its place three times, then joins the end of its queue', async () => {
    const first = await f.publish('q');
    const second = await f.publish('q');
    for (let i = 0; i < 3; i++) {
      await bounce(first);
      expect(await queued()).toEqual([first, second]);
    }
    await bounce(first);
    expect(await queued()).toEqual([second, first]);
  });

  it('keeps its place three times, then joins the end of its queue, also if it is released without a delay', async () => {
    const first = await f.publish('q');
    const second = await f.publish('q');
    for (let i = 0; i < 3; i++) await giveBack(await lease(), { delayMs: 0 });
    expect(await queued()).toEqual([first, second]);
    await giveBack(await lease(), { delayMs: 0 });
    expect(await queued()).toEqual([second, first]);
  });

  it('shows the reason and the worker in its timeline, details and events', async () => {
    const listening = await Listening.to(f.engine, f.ns);
    const id = await f.publish('q');
    await giveBack(await lease(''), { worker: 'mailer-1' });
    await f.pass(SECOND_MS + 1);
    await giveBack(await lease('reports-2'), { worker: 'reports-2' });
    const job = await f.find(id);
    expect(job?.noHandler).toEqual({ count: 2, worker: 'reports-2', atMs: f.nowMs });
    const released = job!.timeline.filter(({ what }) => what === 'released');
    expect(released).toMatchObject([
      { worker: 'mailer-1', reason: 'no_handler' },
      { worker: 'reports-2', reason: 'no_handler' },
    ]);
    await waitFor(() => listening.events.filter(({ name }) => name === 'released').length === 2);
    const events = listening.events.filter(({ name }) => name === 'released');
    expect(events.map(({ facts }) => facts)).toMatchObject([
      { worker: 'mailer-1', reason: 'no_handler' },
      { worker: 'reports-2', reason: 'no_handler' },
    ]);
  });

  it.each<[string, (job: LeasedJob) => Promise<unknown>]>([
    ['a retry', (job) => f.engine.settle.retry(f.ns, { ...job, group: 'g', message: '', delayMs: 0 })],
    ['a release', (job) => f.engine.settle.release(f.ns, job)],
    ['progress', (job) => f.engine.settle.heartbeat(f.ns, job, { progress: 1 })],
    ['a lease that expires', () => f.pass(TTR_MS)],
    [
      'a failure and a respawn',
      async (job) => {
        await f.engine.settle.fail(f.ns, { ...job, group: 'g', message: '' });
        await f.engine.deadLetter.respawn(f.ns, 'q', 1, 0);
      },
    ],
    ['the next queue', (job) => f.engine.settle.complete(f.ns, [{ ...job, next: { queue: 'q' } }])],
    [
      'an ack that keeps it',
      (job) => f.engine.settle.complete(f.ns, [{ id: job.id, lease: job.lease, retentionMs: 9_000 }]),
    ],
  ])(
    'has its releases counted from zero after %s, which shows that a handler started',
    async (_what, end) => {
      const id = await f.publish('q', { tries: 9 });
      await bounce(id);
      await bounce(id);
      expect(await f.find(id)).toMatchObject({ noHandler: { count: 2 } });
      await end(await lease());
      expect(await f.find(id)).toMatchObject({ noHandler: null });
    },
  );

  it('keeps the count of its releases after a heartbeat, and after a lease that did not reach its worker', async () => {
    const id = await f.publish('q');
    await bounce(id);
    const job = await lease();
    await f.engine.settle.heartbeat(f.ns, job, { ttrMs: TTR_MS });
    await giveBack(job);
    await f.pass(2 * SECOND_MS + 1);
    await f.engine.undo(f.ns, [await lease()]);
    expect(await f.find(id)).toMatchObject({ noHandler: { count: 2 } });
  });
});
