import { LaneFixture } from './lane-fixture.js';

let f: LaneFixture;
beforeEach(async () => (f = await LaneFixture.open()));
afterEach(() => f.close());

async function leaseOf(id: string): Promise<{ id: string; lease: number }> {
  const [job] = (await f.lease('q', 1)).filter((one) => one.id === id);
  return { id, lease: job?.lease ?? 0 };
}

const revokedAt = async (id: string, graceMs: number): Promise<number> => {
  const answer = await f.lane.cancelling.cancel(f.ns, id, { graceMs });
  return answer.outcome === 'requested' ? answer.revokedAtMs - f.nowMs : 0;
};

describe('what random sequences beside a model in memory have found', () => {
  it('a second cancel says when the owner really loses the job, and gives him no more time', async () => {
    await f.put('a');
    await leaseOf('a');
    expect(await revokedAt('a', 500)).toBe(500);
    expect(await revokedAt('a', 1_000)).toBe(500);
    expect(await revokedAt('a', 200)).toBe(200);
    await f.pass(200);
    expect(await f.find('a')).toMatchObject({ state: 'cancelled' });
  });

  it('the grace of a former life does not shorten that of the present one', async () => {
    await f.put('a');
    await f.lane.cancelling.cancel(f.ns, 'a', { graceMs: 0 }).catch(() => undefined);
    await f.put('b');
    const lease = await leaseOf('b');
    await revokedAt('b', 500);
    await f.lane.owners.fail(f.ns, { ...lease, group: 'g', message: 'm' });
    await f.revive('b');
    await leaseOf('b');
    expect(await revokedAt('b', 2_000)).toBe(2_000);
    await f.pass(500);
    expect(await f.find('b')).toMatchObject({ state: 'leased' });
  });

  it('a job that is to be cancelled is cancelled when its last lease runs out, and is not dead', async () => {
    await f.put('a', { tries: 1 });
    await leaseOf('a');
    await revokedAt('a', 60_000);
    await f.pass(10_000);
    expect(await f.find('a')).toMatchObject({ state: 'cancelled', crashes: 1 });
  });

  it('a job that is to be cancelled, and is moved on to wait for a dead one, is cancelled, and is not dead', async () => {
    await f.put('dead');
    await f.lane.owners.fail(f.ns, { ...(await leaseOf('dead')), group: 'g', message: 'm' });
    await f.put('a', { onDependencyFailure: 'fail', retentionMs: 60_000 });
    const lease = await leaseOf('a');
    await revokedAt('a', 60_000);
    await f.lane.owners.complete(f.ns, [{ ...lease, queue: 'q', next: { queue: 'q', dependsOn: ['dead'] } }]);
    expect(await f.find('a')).toMatchObject({ state: 'cancelled' });
  });

  it('an owner who gives back a job that is to be cancelled is told that it is', async () => {
    await f.put('a', { tries: 2 });
    const lease = await leaseOf('a');
    await revokedAt('a', 60_000);
    const told = await f.lane.owners.retry(f.ns, { ...lease, group: 'g', message: 'm', delayMs: 500 });
    expect(told).toEqual({ state: 'cancelled', dueAtMs: null });
  });

  it('a plain job that is given back for longer than it lives is gone when its ttl ends', async () => {
    await f.lane.controls.resume(f.ns, 'q');
    const id = await f.fixture.publish('q', { ttlMs: 1_000 });
    await f.lane.owners.release(f.ns, { ...(await leaseOf(id)), delayMs: 3_600_000 });
    expect(await f.counts()).toMatchObject({ scheduled: 1 });
    await f.pass(1_000);
    expect(await f.counts()).toMatchObject({ scheduled: 0 });
  });

  it('a cancel with all that depend on the job meets those too that come within the grace', async () => {
    await f.put('a');
    await leaseOf('a');
    await f.lane.cancelling.cancel(f.ns, 'a', { cascade: true, graceMs: 500 });
    await f.put('b', { dependsOn: ['a'], retentionMs: 60_000 });
    await f.pass(500);
    expect(await f.find('b')).toMatchObject({ state: 'cancelled' });
  });

  it('a job may wait for one that waited for it once, and does so no more', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    await f.lane.changing.change(f.ns, 'b', { dependsOn: [] });
    expect(await f.lane.changing.change(f.ns, 'a', { dependsOn: ['b'] })).toMatchObject({ state: 'blocked' });
    await expect(f.lane.changing.change(f.ns, 'b', { dependsOn: ['a'] })).rejects.toMatchObject({
      code: 'dependency_cycle',
    });
    expect(await f.work()).toEqual(['b']);
    expect(await f.work()).toEqual(['a']);
  });

  it('those that wait for a dead job hear that it was purged, and do not wait for it', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'] });
    await f.fail('a');
    await f.lane.purging.purge(f.ns, 'q', ['dead']);
    await f.pump();
    expect(await f.find('b')).toMatchObject({
      state: 'blocked',
      dependsOn: [],
      failedDependencies: { a: 'deleted' },
    });
    expect(await f.counts()).toMatchObject({ blocked: 1, stuck: 1 });
    await f.lane.cancelling.cancel(f.ns, 'b');
    expect(await f.leftovers()).toEqual([]);
  });

  it('a job that was made due now is not put off again by a later change', async () => {
    await f.put('a', { delayMs: 60_000 });
    await f.lane.changing.change(f.ns, 'a', { delayMs: 0 });
    expect(await f.lane.changing.change(f.ns, 'a', { queue: 'r' })).toEqual({
      state: 'ready',
      dueAtMs: null,
    });
  });

  it('a job that came back from the dead is not put off by the time of its publish', async () => {
    await f.put('a');
    await f.put('b', { dependsOn: ['a'], onDependencyFailure: 'fail', delayMs: 60_000 });
    await f.fail('a');
    await f.revive('b');
    expect(await f.lane.changing.change(f.ns, 'b', { queue: 'r' })).toEqual({
      state: 'ready',
      dueAtMs: null,
    });
  });

  it('a change tells when a job is due that is tried again later', async () => {
    await f.put('a');
    await f.lane.owners.retry(f.ns, { ...(await leaseOf('a')), group: 'g', message: 'm', delayMs: 700 });
    expect(await f.lane.changing.change(f.ns, 'a', { priority: 1 })).toEqual({
      state: 'scheduled',
      dueAtMs: f.nowMs + 700,
    });
  });

  describe('under a limit of their key', () => {
    const put = (id: string, priority = 0) => f.put(id, { concurrencyKey: 'k', priority });
    const states = async (...ids: string[]) => Promise.all(ids.map(async (id) => (await f.find(id))?.state));

    beforeEach(async () => {
      await f.lane.controls.change(f.ns, 'q', { maxRunningPerKey: 1 });
      await put('runs');
      await leaseOf('runs');
      for (const id of ['a', 'b']) await put(id);
      await f.lease();
      expect(await states('a', 'b')).toEqual(['held', 'held']);
    });

    it('held jobs are called by the priority that they have now', async () => {
      await f.lane.changing.change(f.ns, 'b', { priority: -1 });
      await f.fixture.engine.ack(f.ns, 'q', 'runs');
      expect(await states('a', 'b')).toEqual(['held', 'ready']);
    });

    it('a job that was called keeps its slot when its priority is changed', async () => {
      await f.fixture.engine.ack(f.ns, 'q', 'runs');
      expect(await states('a', 'b')).toEqual(['ready', 'held']);
      await f.lane.changing.change(f.ns, 'a', { priority: 5 });
      expect(await states('a', 'b')).toEqual(['ready', 'held']);
      expect(await f.work()).toEqual(['a']);
      expect(await f.work()).toEqual(['b']);
    });

    it('a held job that goes to another queue takes no place with it', async () => {
      await f.lane.controls.change(f.ns, 'r', { maxRunningPerKey: 1 });
      for (const id of ['r1', 'r2', 'r3']) await f.put(id, { queue: 'r', concurrencyKey: 'k' });
      expect((await f.lease('r')).map(({ id }) => id)).toEqual(['r1']);
      await f.lane.changing.change(f.ns, 'a', { queue: 'r' });
      await f.lease('r');
      expect(await states('r2', 'r3', 'a')).toEqual(['held', 'held', 'held']);
      await f.fixture.engine.ack(f.ns, 'r', 'r1');
      expect(await f.work('r')).toEqual(['r2']);
      expect(await f.work('r')).toEqual(['r3']);
      expect(await f.work('r')).toEqual(['a']);
    });
  });
});
