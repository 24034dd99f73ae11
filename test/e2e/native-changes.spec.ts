import { app, call, fresh, leaseOne, look, publish, useNativeApi } from '../support/native-api.js';

useNativeApi();

async function put(id: string, more: object = {}): Promise<string> {
  await publish({ queue: id, id, priority: 1, ...more });
  return id;
}

const lease = async (id: string): Promise<number> => (await leaseOne(id)).lease;

describe('a job that depends on others', () => {
  it('is blocked until they are done', async () => {
    const a = await put(fresh());
    const b = await put(fresh(), { depends_on: [a] });

    expect(await look(b)).toMatchObject({ state: 'blocked', depends_on: [a], failed_dependencies: {} });
    expect(await look(a)).toMatchObject({ dependents: [b] });
    await call('POST', `jobs/${a}/ack`, { lease: await lease(a) });
    await app.engine.pumpNow(app.namespace);
    expect(await look(b)).toMatchObject({ state: 'ready', depends_on: [] });
  });

  it('gets and loses what it depends on', async () => {
    const [a, b] = [await put(fresh()), await put(fresh())];

    const added = await call('POST', `jobs/${b}/dependencies`, { depends_on: [a] });
    expect(added).toMatchObject({ status: 200, json: { id: b, state: 'blocked', due_at: null } });
    const circle = await call('POST', `jobs/${a}/dependencies`, { depends_on: [b] });
    expect(circle).toMatchObject({ status: 400, json: { code: 'dependency_cycle' } });
    const removed = await call('DELETE', `jobs/${b}/dependencies`, { depends_on: [a] });
    expect(removed).toMatchObject({ status: 200, json: { id: b, state: 'ready' } });
  });

  it('cannot depend on itself, nor jobs of a call on each other in a circle', async () => {
    const [a, b] = [fresh(), fresh()];
    const self = await call('POST', 'jobs', { queue: 'q', id: a, depends_on: [a] });
    const circle = await call('POST', 'jobs', {
      jobs: [
        { queue: 'q', id: a, depends_on: [b] },
        { queue: 'q', id: b, depends_on: [a] },
      ],
    });

    expect(self).toMatchObject({ status: 400, json: { code: 'dependency_cycle' } });
    expect(circle).toMatchObject({ status: 400, json: { code: 'dependency_cycle' } });
    expect((await call('GET', `jobs/${a}`)).status).toBe(404);
  });
});

describe('a cancel', () => {
  it('ends a job that waits', async () => {
    const a = await put(fresh());

    const { status, json } = await call('POST', `jobs/${a}/cancel`, {});

    expect({ status, json }).toEqual({
      status: 200,
      json: { id: a, outcome: 'cancelled', revoked_at: null },
    });
    expect((await call('GET', `jobs/${a}`)).status).toBe(404);
    expect((await call('POST', `jobs/${a}/cancel`)).json).toMatchObject({ code: 'job_not_found' });
  });

  it('is refused with the jobs that depend on it, or takes them along', async () => {
    const a = await put(fresh());
    const b = await put(fresh(), { depends_on: [a] });

    const refused = await call('POST', `jobs/${a}/cancel`);
    expect(refused).toMatchObject({ status: 409, json: { code: 'has_dependents', dependents: [b] } });
    expect((await call('POST', `jobs/${a}/cancel`, { cascade: true })).json).toMatchObject({
      outcome: 'cancelled',
    });
    await app.engine.pumpNow(app.namespace);
    expect((await call('GET', `jobs/${b}`)).status).toBe(404);
  });

  it('is told to the owner of a lease, who loses it at once without grace', async () => {
    const a = await put(fresh());
    const number = await lease(a);

    const requested = await call('POST', `jobs/${a}/cancel`, { grace_ms: 60_000 });
    expect(requested.json).toMatchObject({ outcome: 'requested', revoked_at: expect.any(String) as unknown });
    const beat = await call('POST', `jobs/${a}/heartbeat`, { lease: number });
    expect(beat.json).toMatchObject({ cancel_requested: true });
    await call('POST', `jobs/${a}/cancel`, { grace_ms: 0 });
    expect(await look(a)).toMatchObject({ state: 'cancelled' });
    const stale = await call('POST', `jobs/${a}/ack`, { lease: number });
    expect(stale).toMatchObject({ status: 409, json: { code: 'lease_lost' } });
    expect((await call('POST', `jobs/${a}/cancel`)).json).toMatchObject({ outcome: 'already_cancelled' });
  });

  it('says of a done job that it is done', async () => {
    const a = await put(fresh(), { retention_ms: 60_000 });
    await call('POST', `jobs/${a}/ack`, { lease: await lease(a) });

    expect(await call('POST', `jobs/${a}/cancel`)).toMatchObject({ status: 409, json: { code: 'job_done' } });
    expect(await look(a)).toMatchObject({ state: 'done' });
  });
});

describe('a change', () => {
  it('changes what is given and nothing else', async () => {
    const a = await put(fresh(), { tags: ['x'], type: 'mail' });
    const due_at = new Date(Date.now() + 3_600_000).toISOString();

    const answer = await call('PATCH', `jobs/${a}`, { priority: -5, tags: ['y'], data: { n: 2 }, due_at });

    expect(answer).toMatchObject({ status: 200, json: { id: a, state: 'scheduled', due_at } });
    expect(await look(a)).toMatchObject({
      ...{ state: 'scheduled', priority: -5, tags: ['y'], data: { n: 2 }, type: 'mail', due_at },
    });
    await call('PATCH', `jobs/${a}`, { delay_ms: 0, queue: `${a}-other`, ttl_ms: 60_000 });
    expect(await look(a)).toMatchObject({ state: 'ready', queue: `${a}-other`, priority: -5 });
  });

  it('is refused for a job that does not wait, and when it breaks a rule', async () => {
    const a = await put(fresh());
    await lease(a);

    expect(await call('PATCH', `jobs/${a}`, { priority: 1 })).toMatchObject({
      status: 409,
      json: { code: 'not_waiting' },
    });
    const wrong = await call('PATCH', `jobs/${a}`, {
      ...{ priority: 200, due_at: new Date().toISOString(), delay_ms: 0, tries: 3 },
    });
    expect(wrong).toMatchObject({ status: 400, json: { code: 'invalid_argument' } });
    const both = await call('PATCH', `jobs/${a}`, { due_at: new Date().toISOString(), delay_ms: 0 });
    expect(both).toMatchObject({ status: 400, json: { errors: [{ field: 'due_at' }] } });
  });

  it('writes a line into the timeline', async () => {
    const a = await put(fresh());

    expect((await call('POST', `jobs/${a}/log`, { message: 'hello', data: { n: 1 } })).status).toBe(204);

    expect(await look(a)).toMatchObject({
      timeline: [{ what: 'published' }, { what: 'log', message: 'hello' }],
    });
    const long = await call('POST', `jobs/${a}/log`, { message: 'x', data: 'x'.repeat(5_000) });
    expect(long).toMatchObject({ status: 400, json: { errors: [{ field: 'data' }] } });
  });
});
