import { TokenStore } from '../../src/auth/token-store.js';
import { app, call, fresh, given, useNativeApi } from '../support/native-api.js';

useNativeApi();

interface Page {
  readonly items: readonly { readonly id: string; readonly [field: string]: unknown }[];
  readonly next_cursor: string | null;
}
interface Done {
  readonly jobs: number;
  readonly next_cursor: string | null;
}

const publish = async (job: object): Promise<string> =>
  (await given<{ id: string }>('POST', 'jobs', { data: 1, ...job })).id;
const idsOf = async (path: string): Promise<string[]> =>
  (await given<Page>('GET', path)).items.map(({ id }) => id);

async function lease(queue: string, worker?: string): Promise<{ id: string; lease: number }> {
  const { jobs } = await given<{ jobs: { id: string; lease: number }[] }>('POST', 'leases', {
    queues: [queue],
    ...(worker === undefined ? {} : { worker }),
  });
  return jobs[0]!;
}

async function fail(queue: string, group: string, message = 'it broke'): Promise<string> {
  const { id, lease: number } = await lease(queue);
  await given('POST', `jobs/${id}/fail`, { lease: number, group, message });
  return id;
}

describe('lists of the native API', () => {
  it('show jobs by state, queue, tag, type and worker, in pages', async () => {
    const [queue, tag, type, worker] = [fresh('q'), fresh('tag'), fresh('type'), fresh('w')];
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await publish({ queue, tags: [tag], type }));
    const leased = await lease(queue, worker);

    expect(leased.id).toBe(ids[0]);
    expect(await idsOf(`jobs?queue=${queue}&state=ready`)).toEqual(ids.slice(1));
    expect(await idsOf(`jobs?worker=${worker}`)).toEqual([ids[0]]);
    expect(await idsOf(`jobs?type=${type}&state=leased`)).toEqual([ids[0]]);
    const first = await given<Page>('GET', `jobs?tag=${tag}&limit=3`);
    expect(first.next_cursor).not.toBeNull();
    const second = await given<Page>('GET', `jobs?tag=${tag}&limit=3&cursor=${first.next_cursor!}`);
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(ids);
    expect(second.next_cursor).toBeNull();
    expect(first.items[0]).toMatchObject({ id: ids[0], queue, state: 'leased', worker, tags: [tag], type });
  });

  it('refuse what they do not know, naming it', async () => {
    for (const [query, field] of [
      ['state=lost', 'state'],
      ['limit=0', 'limit'],
      ['colour=red', 'colour'],
    ] as const) {
      const { status, json } = await call('GET', `jobs?${query}`);
      expect([query, status]).toEqual([query, 400]);
      expect(json).toMatchObject({ code: 'invalid_argument', errors: [{ field }] });
    }
    for (const path of ['jobs', 'dead-letter', 'tags', 'workers', 'failure-groups', 'tracked']) {
      const { status, json } = await call('GET', `${path}?cursor=abc`);
      expect([path, status]).toEqual([path, 400]);
      expect(json).toMatchObject({ code: 'invalid_argument' });
    }
  });

  it('give and take tags, and count them', async () => {
    const [one, two] = [fresh('t'), fresh('t')];
    const id = await publish({ queue: fresh('q') });

    expect(await given('POST', `jobs/${id}/tags`, { tags: [one, two] })).toEqual({ id, tags: [one, two] });
    expect(await given('GET', `jobs/${id}/tags`)).toEqual({ id, tags: [one, two] });
    expect((await given<Page>('GET', 'tags?limit=1000')).items).toContainEqual({ name: one, jobs: 1 });
    expect(await given('DELETE', `jobs/${id}/tags?tags=${one}`)).toEqual({ id, tags: [two] });
    expect((await given<Page>('GET', 'tags?limit=1000')).items).not.toContainEqual({ name: one, jobs: 1 });
    expect(await call('POST', 'jobs/nobody/tags', { tags: ['a'] })).toMatchObject({ status: 404 });
    expect(await call('POST', `jobs/${id}/tags`, { tags: [] })).toMatchObject({ status: 400 });
  });

  it('track jobs', async () => {
    const queue = fresh('q');
    const id = await publish({ queue });
    await given('PUT', `tracked/${id}`);
    expect((await given<Page>('GET', 'tracked')).items).toMatchObject([{ id, tracked: true }]);
    expect(await given('GET', `jobs/${id}`)).toMatchObject({ tracked: true });
    const { lease: number } = await lease(queue);
    await given('POST', `jobs/${id}/ack`, { lease: number });
    expect(await given('GET', 'tracked')).toMatchObject({ items: [], gone: [{ id }] });
    expect(await given('DELETE', `tracked/${id}`)).toEqual({ id, tracked: false });
    expect(await given('DELETE', `tracked/${id}`)).toEqual({ id, tracked: false });
    expect(await given('GET', 'tracked')).toMatchObject({ items: [], gone: [] });
    expect(await call('PUT', 'tracked/nobody')).toMatchObject({ status: 404 });
  });

  it('know the workers', async () => {
    const [queue, worker] = [fresh('q'), `host 1/${fresh('pid ')}`];
    await publish({ queue });
    await lease(queue, worker);
    const path = `workers/${encodeURIComponent(worker)}`;

    expect(await given('GET', path)).toMatchObject({ name: worker, leased: 1, stalled: 0 });
    const { items } = await given<{ items: unknown[] }>('GET', 'workers');
    expect(items).toContainEqual(expect.objectContaining({ name: worker, leased: 1 }));
    expect(await given('DELETE', path)).toEqual({ name: worker, found: true });
    expect(await given('DELETE', path)).toEqual({ name: worker, found: false });
    expect(await call('GET', path)).toMatchObject({ status: 404, json: { code: 'worker_not_found' } });
  });

  it('are closed to tokens for some queues, but for lists of these', async () => {
    const [mine, other] = [fresh('q'), fresh('q')];
    const id = await publish({ queue: mine });
    const elsewhere = await publish({ queue: other });
    const store = app.server.api.app.get(TokenStore, { strict: false });
    const token = await store.grant({
      ...{ namespace: app.namespace, pool: 'default', description: 'd', expiry: { lifetimeMs: 0, atMs: 0 } },
      rights: { verbs: ['consume', 'admin'], queues: [mine] },
    });
    const status = async (method: string, path: string, body?: object): Promise<number> =>
      (await call(method, path, body, { token })).status;

    expect(await status('GET', `jobs?queue=${mine}`)).toBe(200);
    expect(await status('GET', `jobs/${id}/tags`)).toBe(200);
    expect(await status('GET', `dead-letter?queue=${mine}`)).toBe(200);
    for (const path of [
      `jobs?queue=${other}`,
      'jobs',
      'jobs?tag=x',
      `dead-letter?queue=${other}`,
      'dead-letter',
    ])
      expect([path, await status('GET', path)]).toEqual([path, 403]);
    for (const path of ['tags', 'tracked', 'workers', 'failure-groups', `jobs/${elsewhere}/tags`])
      expect([path, await status('GET', path)]).toEqual([path, 403]);
    const move = { filter: { queue: mine }, to_queue: other };
    expect(await status('POST', 'dead-letter/move', move)).toBe(403);
    expect(await status('POST', 'dead-letter/delete', { ids: [elsewhere] })).toBe(403);
    expect(await status('POST', 'dead-letter/delete', { ids: [elsewhere], filter: { queue: mine } })).toBe(
      200,
    );
  });
});

describe('the dead letter of the native API', () => {
  it('is listed, searched, and counted before anything is done', async () => {
    const [queue, group] = [fresh('q'), fresh('g')];
    await publish({ queue, attributes: { to: 'a=b' } });
    await publish({ queue, tags: ['x'] });
    const ids = [await fail(queue, group, 'Refused by peer'), await fail(queue, group)];

    expect(await idsOf(`dead-letter?queue=${queue}`)).toEqual(ids);
    expect(await idsOf(`dead-letter?group=${group}&text=refused`)).toEqual([ids[0]]);
    expect(await idsOf(`dead-letter?queue=${queue}&attribute=to%3Da%3Db`)).toEqual([ids[0]]);
    expect(await idsOf(`dead-letter?queue=${queue}&tag=x&from=2020-01-01T00:00:00Z`)).toEqual([ids[1]]);
    expect(await idsOf(`dead-letter?queue=${queue}&to=2020-01-01T00:00:00Z`)).toEqual([]);
    const { items } = await given<Page>('GET', `dead-letter?group=${group}&limit=1`);
    expect(items[0]).toMatchObject({ state: 'dead', failure: { group, message: 'Refused by peer' } });
    const dry = { filter: { group }, dry_run: true };
    for (const what of ['respawn', 'delete']) {
      expect(await given('POST', `dead-letter/${what}`, dry)).toEqual({
        jobs: 2,
        dry_run: true,
        next_cursor: null,
      });
    }
    expect(await given('POST', 'dead-letter/move', { ids, dry_run: true, to_queue: queue })).toMatchObject({
      jobs: 2,
    });
    expect((await given<Page>('GET', 'failure-groups')).items).toContainEqual({ name: group, jobs: 2 });
  });

  it('gives jobs back, moves and deletes them, by filter and by id', async () => {
    const [queue, target, group] = [fresh('q'), fresh('q'), fresh('g')];
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) {
      await publish({ queue, tries: 4 });
      ids.push(await fail(queue, group));
    }
    const [one, two, ...rest] = ids;

    expect(
      await given<Done>('POST', 'dead-letter/respawn', { ids: [one], tries: 2, ttl_ms: 60_000 }),
    ).toMatchObject({ jobs: 1 });
    expect(await given('GET', `jobs/${one!}`)).toMatchObject({
      state: 'ready',
      tries_left: 2,
      failure: null,
    });
    expect(await given<Done>('POST', 'dead-letter/delete', { ids: [one, two] })).toMatchObject({ jobs: 1 });
    expect(await call('GET', `jobs/${two!}`)).toMatchObject({ status: 404 });
    const body = { filter: { queue, group }, to_queue: target, keep_tries: true, limit: 3 };
    const first = await given<Done>('POST', 'dead-letter/move', body);
    expect(first.jobs).toBe(3);
    const last = await given<Done>('POST', 'dead-letter/move', { ...body, cursor: first.next_cursor });
    expect(last).toMatchObject({ jobs: 1 });
    expect(await idsOf(`jobs?queue=${target}&state=ready`)).toEqual(rest);
    expect(await given('GET', `jobs/${rest[0]!}`)).toMatchObject({
      queue: target,
      tries_left: 3,
      failures: 1,
    });
    expect((await given<Page>('GET', 'failure-groups')).items.map(({ name }) => name)).not.toContain(group);
  });

  it('is the one of lmstfy’s calls', async () => {
    const [queue, group] = [fresh('q'), fresh('g')];
    await publish({ queue });
    await publish({ queue });
    const ids = [await fail(queue, group), await fail(queue, group)];

    expect(await app.get(`${queue}/deadletter`)).toMatchObject({
      json: { deadletter_head: ids[0], deadletter_size: 2 },
    });
    expect(await app.call('PUT', `/api/${app.namespace}/${queue}/deadletter?limit=1`)).toMatchObject({
      json: { count: 1 },
    });
    expect((await app.delete(`${queue}/deadletter?limit=5`)).status).toBe(204);
    expect(await idsOf(`jobs?queue=${queue}`)).toEqual([ids[0]]);
  });

  it('refuses what is unclear', async () => {
    for (const [body, field] of [
      [{}, 'filter'],
      [{ ids: ['a'], limit: 3 }, 'limit'],
      [{ filter: {}, tries: 2, keep_tries: true }, 'tries'],
      [{ filter: { state: 'dead' } }, 'filter.state'],
      [{ filter: { from: 'yesterday' } }, 'filter.from'],
    ] as const) {
      const { status, json } = await call('POST', 'dead-letter/respawn', body);
      expect([field, status]).toEqual([field, 400]);
      expect(json).toMatchObject({ code: 'invalid_argument', errors: [{ field }] });
    }
    expect(await call('POST', 'dead-letter/move', { filter: {} })).toMatchObject({ status: 400 });
  });
});
