import type { LeasedJob } from '../../src/domain/job.js';
import { EngineFixture, type RichJob } from './fixture.js';

/** What a namespace has chosen holds for its jobs of the full lane, on whichever server. */
describe('a namespace that has chosen', () => {
  let f: EngineFixture;
  beforeEach(async () => (f = await EngineFixture.withClock()));
  afterEach(() => f.close());

  const put = (job?: RichJob): Promise<string> => f.put('q', { type: 't', ...job });

  async function lease(): Promise<LeasedJob> {
    const [job] = await f.reserve('q', { ttrMs: 0, worker: 'w' });
    if (!job) throw new Error('there was no job');
    return job;
  }

  const look = (id: string) => f.find(id);

  it('how long leases last, and heartbeats, has its leases last so long; a job that says goes before', async () => {
    await f.engine.settings.set(f.ns, 'ttr_ms', 7_000);
    await put();
    await put({ ttrMs: 9_000 });
    const first = await lease();

    expect([first.leaseEndsAtMs, (await lease()).leaseEndsAtMs]).toEqual([f.nowMs + 7_000, f.nowMs + 9_000]);
    const beat = () => f.engine.full.owners.heartbeat(f.ns, first);
    expect(await beat()).toMatchObject({ leaseEndsAtMs: f.nowMs + 7_000 });
    await f.engine.settings.set(f.ns, 'heartbeat_ms', 3_000);
    expect(await beat()).toMatchObject({ leaseEndsAtMs: f.nowMs + 3_000 });
  });

  it('a retention keeps what is done for so long, and no more of it than it says', async () => {
    await f.engine.settings.set(f.ns, 'retention_ms', 50_000);
    await f.engine.settings.set(f.ns, 'retention_count', 2);
    const ids = [];
    for (let i = 0; i < 3; i++) {
      ids.push(await put());
      await f.engine.full.owners.complete(f.ns, [await lease()]);
      f.nowMs += 1_000;
    }
    await f.engine.pumpNow(f.ns);

    const kept = await f.engine.full.looking.findMany(f.ns, ids);
    expect(kept.map((job) => job?.state ?? 'gone')).toEqual(['gone', 'done', 'done']);
    f.nowMs += 50_000;
    await f.engine.pumpNow(f.ns);
    expect(await f.engine.full.looking.findMany(f.ns, ids)).toEqual([null, null, null]);
  });

  it('a short timeline keeps the first entry and the last ones', async () => {
    await f.engine.settings.set(f.ns, 'max_history', 3);
    const id = await put({ tries: 9 });
    for (let i = 0; i < 4; i++) {
      await f.engine.full.owners.retry(f.ns, { ...(await lease()), group: `g${String(i)}`, message: 'm' });
    }

    expect((await look(id))?.timeline.map(({ what }) => what)).toEqual(['published', 'leased', 'retried']);
    expect((await look(id))?.timeline.at(-1)).toMatchObject({ group: 'g3' });
  });

  it('how long workers are remembered forgets them then', async () => {
    await f.engine.settings.set(f.ns, 'max_worker_age_ms', 20_000);
    await put();
    await lease();
    const workers = async () => (await f.engine.full.workers.list(f.ns, { limit: 10 })).items.length;
    expect(await workers()).toBe(1);
    f.nowMs += 20_001;
    await f.engine.pumpNow(f.ns);

    expect(await workers()).toBe(0);
  });
});
