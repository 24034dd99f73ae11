import { NO_EXPIRY, TokenStore } from '../../src/auth/token-store.js';
import { app, call, fresh, lease, publish, useNativeApi } from '../support/native-api.js';

useNativeApi();

it('shows what a queue holds, and its settings', async () => {
  const queue = fresh();
  await publish({ queue, data: 1 });
  await publish({ queue, data: 1, delay_ms: 60_000 });
  await publish({ queue, data: 1, type: 't' });
  await lease({ queues: [queue] });

  const { status, json } = await call('GET', `queues/${queue}`);

  expect(status).toBe(200);
  expect(json).toEqual({
    queue,
    length: 3,
    counts: { ready: 1, scheduled: 1, blocked: 0, held: 0, leased: 1, dead: 0, ended: 0 },
    paused_at: null,
    draining_at: null,
    max_running: null,
    max_running_per_key: null,
    rate: null,
    rate_per_key: null,
    defaults: {},
    max_kept: null,
  });
  expect((await call('GET', `queues/${fresh()}`)).json).toMatchObject({ code: 'queue_not_found' });
});

it('changes settings one by one, and takes them back', async () => {
  const queue = fresh();
  const retry = { kind: 'exponential', delay_ms: 10, factor: 3, max_ms: 1_000, jitter: 0.5 };

  const made = await call('PATCH', `queues/${queue}`, {
    max_running: 5,
    rate: { rate: 100, period_ms: 1_000, burst: 20 },
    defaults: { tries: 7, retry },
  });
  const changed = await call('PATCH', `queues/${queue}`, {
    max_running: null,
    rate_per_key: { rate: 1, period_ms: 50 },
  });

  expect(made.json).toMatchObject({
    max_running: 5,
    max_running_per_key: null,
    defaults: { tries: 7, retry },
  });
  expect(changed.json).toMatchObject({
    max_running: null,
    rate: { rate: 100, period_ms: 1_000, burst: 20 },
    rate_per_key: { rate: 1, period_ms: 50, burst: 1 },
    defaults: { tries: 7, retry },
  });
  const { json } = await call('PATCH', `queues/${queue}`, {
    rate: { rate: 11, period_ms: 1 },
    max_running_per_key: 0,
    paused: true,
  });
  expect(json).toMatchObject({ code: 'invalid_argument' });
  expect((json as { errors: { field: string }[] }).errors.map(({ field }) => field).sort()).toEqual([
    'max_running_per_key',
    'paused',
  ]);
  const rate = await call('PATCH', `queues/${queue}`, { rate: { rate: 11, period_ms: 1 } });
  expect(rate.json).toMatchObject({ errors: [{ field: 'rate.rate' }] });
});

it('gives native jobs that say nothing the defaults of their queue', async () => {
  const queue = fresh();
  await call('PATCH', `queues/${queue}`, { defaults: { tries: 7, ttr_ms: 5_000, ttl_ms: 60_000 } });
  const { id } = await publish({ queue, data: 1 });

  expect((await call('GET', `jobs/${id}`)).json).toMatchObject({
    tries_left: 7,
    expires_at: expect.any(String) as string,
  });
  expect(await lease({ queues: [queue] })).toHaveLength(1);
  const keyed = () => call('POST', 'jobs', { queue, data: 1 }, { headers: { 'Idempotency-Key': queue } });
  const first = await keyed();
  expect(first.status).toBe(201);
  expect((await keyed()).text).toBe(first.text);
  // Without defaults it would go by the other lane.
  await call('PATCH', `queues/${queue}`, { defaults: null });
  expect((await keyed()).text).toBe(first.text);
  expect(await lease({ queues: [queue], count: 5 })).toHaveLength(1);
});

it('pauses a queue, for both doors, and resumes it', async () => {
  const queue = fresh();
  await publish({ queue, data: 1 });
  expect((await call('POST', `queues/${queue}/pause`)).json).toMatchObject({
    paused_at: expect.any(String) as string,
  });

  expect(await lease({ queues: [queue] })).toEqual([]);
  expect((await app.get(`/api/${app.namespace}/${queue}?timeout=0`)).status).toBe(404);
  const waiting = lease({ queues: [queue], wait_ms: 10_000 });
  expect((await call('POST', `queues/${queue}/resume`)).json).toMatchObject({ paused_at: null });

  expect(await waiting).toHaveLength(1);
});

it('drains a queue: new jobs are refused at both doors until it is empty', async () => {
  const queue = fresh();
  const { id } = await publish({ queue, data: 1 });
  expect((await call('POST', `queues/${queue}/drain`)).json).toMatchObject({
    length: 1,
    draining_at: expect.any(String) as string,
  });

  expect((await call('POST', 'jobs', { queue, data: 1 })).json).toMatchObject({ code: 'queue_draining' });
  expect((await call('POST', 'jobs', { queue, data: 1, type: 't' })).status).toBe(409);
  const lmstfy = await app.call('PUT', `/api/${app.namespace}/${queue}`, { body: 'x' });
  expect(lmstfy.status).toBe(409);
  const drained = call('POST', `queues/${queue}/drain`, { wait_ms: 20_000 });
  const [job] = await lease({ queues: [queue] });
  await call('POST', `jobs/${id}/ack`, { lease: job?.lease });

  expect((await drained).json).toMatchObject({ length: 0, draining_at: null });
  expect((await call('POST', 'jobs', { queue, data: 1 })).status).toBe(201);
});

it('purges by state, after it has counted', async () => {
  const queue = fresh();
  for (let i = 0; i < 3; i++) await publish({ queue, data: i, priority: i });
  await publish({ queue, data: 1, delay_ms: 60_000 });
  const states = ['ready', 'scheduled'];

  const dry = await call('POST', `queues/${queue}/purge`, { states, dry_run: true });
  expect(dry.json).toEqual({ jobs: { ready: 3, scheduled: 1 }, dry_run: true, complete: true });
  expect((await call('DELETE', `queues/${queue}`)).json).toMatchObject({ code: 'queue_not_empty' });
  const purged = await call('POST', `queues/${queue}/purge`, { states });
  expect(purged.json).toEqual({ jobs: { ready: 3, scheduled: 1 }, dry_run: false, complete: true });
  expect((await call('DELETE', `queues/${queue}`)).status).toBe(204);
  expect((await call('GET', `queues/${queue}`)).status).toBe(404);
  for (const body of [{ states: [] }, { states: ['gone'] }, {}, { states: ['ready', 'ready'] }]) {
    expect((await call('POST', `queues/${queue}/purge`, body)).json).toMatchObject({
      errors: [{ field: 'states' }],
    });
  }
});

it('lists queues by name, in pages, and to a token for some of them only those', async () => {
  for (const queue of ['list-b', 'list-a', 'other', 'list-c']) await publish({ queue, data: 1 });
  const names: string[] = [];
  let path = 'queues?limit=2';
  for (;;) {
    const { json } = await call('GET', path);
    const { items, next_cursor } = json as { items: { queue: string }[]; next_cursor: string | null };
    names.push(...items.map(({ queue }) => queue));
    expect(items.length).toBeLessThanOrEqual(2);
    if (next_cursor === null) break;
    path = `queues?limit=2&cursor=${next_cursor}`;
  }
  expect(names).toEqual([...new Set(names)].sort());
  expect(names).toEqual(expect.arrayContaining(['list-a', 'list-b', 'list-c', 'other']));

  const token = await app.server.admin.app.get(TokenStore, { strict: false }).grant({
    namespace: app.namespace,
    pool: 'default',
    description: 'some',
    rights: { verbs: ['consume'], queues: ['list-*'] },
    expiry: NO_EXPIRY,
  });
  const some = await call('GET', 'queues', undefined, { token });
  expect((some.json as { items: { queue: string }[] }).items.map(({ queue }) => queue)).toEqual([
    'list-a',
    'list-b',
    'list-c',
  ]);
  expect((await call('GET', 'queues/other', undefined, { token })).status).toBe(403);
  expect((await call('GET', 'queues?cursor=nonsense!')).status).toBe(400);
});
