import { PoolRegistry } from '../../src/redis/redis.module.js';
import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';
import { EventClient } from '../support/sse.js';

describe('the stream of events', () => {
  let app: TestApp;
  const clients: EventClient[] = [];
  beforeAll(async () => {
    app = await TestApp.start({
      PUMPHOUSE_EVENTS__HEARTBEAT_MS: '1000',
      PUMPHOUSE_EVENTS__MAX_STREAMS: '6',
      PUMPHOUSE_EVENTS__MAX_STREAMS_PER_TOKEN: '5',
      PUMPHOUSE_EVENTS__MAX_BUFFER_BYTES: '20000',
    });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.cut();
    await waitFor(() => metric('pumphouse_event_streams').then((open) => open === 0), 5_000);
  });
  afterAll(() => app.stop());

  const path = (query = ''): string => `/v1/${app.namespace}/events${query}`;
  const open = async (query = '', headers: Record<string, string> = {}, token = app.token) => {
    const client = await EventClient.open(app.port, path(query), token, headers);
    clients.push(client);
    return client;
  };
  const listen = async (...args: Parameters<typeof open>): Promise<EventClient> =>
    (await open(...args)).begun();
  const grant = async (query: string): Promise<string> => {
    const answer = await app.admin('POST', `/token/${app.namespace}?description=d&${query}`);
    return (answer.json as { token: string }).token;
  };
  async function metric(name: string, label = ''): Promise<number> {
    const { text } = await app.admin('GET', '/metrics');
    const line = text.split('\n').find((each) => each.startsWith(name) && each.includes(label));
    return Number(line?.split(' ').at(-1) ?? Number.NaN);
  }
  const take = async (queue: string): Promise<string> =>
    ((await app.get(`${queue}?ttr=60`)).json as { job_id: string }).job_id;

  it('has published, leased and acked of a job, without its body or the token', async () => {
    const client = await listen();
    expect(client.received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    for (const header of ['Content-Type: text/event-stream', 'Cache-Control: no-store', 'Connection: close'])
      expect(client.received).toContain(header);
    const id = await app.publish('mail', 'a secret body');
    await take('mail');
    await app.delete(`mail/job/${id}`);

    const events = await client.until(3);
    const at = expect.any(String) as string;
    expect(events.map(({ data }) => data)).toEqual([
      { event: 'published', at, queue: 'mail', id },
      { event: 'leased', at, queue: 'mail', id, attempt: 1 },
      { event: 'acked', at, queue: 'mail', id },
    ]);
    for (const { place, data } of events) {
      expect(place).toMatch(/^\d{13}-\d+$/);
      expect(new Date(String(data['at'])).toISOString()).toBe(data['at']);
    }
    expect(client.body).not.toContain('secret');
    expect(client.body).not.toContain(app.token);
    expect(await metric('pumphouse_events_sent_total')).toBeGreaterThanOrEqual(3);
    expect(await metric('pumphouse_events_written_total')).toBeGreaterThanOrEqual(3);
  });

  it('sends a comment while there are no events', async () => {
    const client = await listen();
    await waitFor(() => client.body.endsWith('\n\n:\n\n'), 5_000);
  });

  it('resumes after the last event id of the client', async () => {
    const first = await listen();
    const ids = [await app.publish('mail'), await app.publish('mail')];
    const [one] = await first.until(2);
    first.cut();
    ids.push(await app.publish('mail'));
    const second = await listen('', { 'Last-Event-ID': one!.place! });
    expect((await second.until(2)).map(({ data }) => data['id'])).toEqual(ids.slice(1));

    // A client that has had no event yet goes on from the start of its stream.
    const silent = await listen();
    const [, start] = /^id: (\d+-\d+)\nretry: 1000\n\n/.exec(silent.body)!;
    silent.cut();
    ids.push(await app.publish('mail'));
    const third = await listen('', { 'Last-Event-ID': start! });
    expect((await third.until(1)).map(({ data }) => data['id'])).toEqual(ids.slice(3));
    expect(third.body).toMatch(/^retry: /);

    const lost = await listen('', { 'Last-Event-ID': '1-1' });
    expect((await lost.until(1))[0]).toEqual({ place: undefined, data: { event: 'missed' } });
  });

  it('sends only events that its filters select: queue, event, job', async () => {
    const wanted = await listen('?queue=a&queue=b,c&event=published,leased');
    const [a] = [await app.publish('a'), await app.publish('d')];
    const one = await listen(`?job=${a}`);
    const none = await listen('?type=mail');
    await app.publish('b');
    expect(await take('a')).toBe(a);
    await app.delete(`a/job/${a}`);
    await app.publish('c');
    const received = (await wanted.until(4)).map(
      ({ data }) => `${String(data['event'])} ${String(data['queue'])}`,
    );
    expect(received).toEqual(['published a', 'published b', 'leased a', 'published c']);
    await one.until(2);
    expect(one.events.map(({ data }) => [data['event'], data['id']])).toEqual([
      ['leased', a],
      ['acked', a],
    ]);
    expect(none.events).toEqual([]);
  });

  it('sends the event of a job that moves to subscribers of its old and of its new queue', async () => {
    const post = async (call: string, body: object, method = 'POST'): Promise<unknown> => {
      const answer = await app.call(method, `/v1/${app.namespace}/${call}`, { body: JSON.stringify(body) });
      expect(answer.status).toBeLessThan(300);
      return answer.json;
    };
    const names = 'event=moved,changed,replaced,respawned';
    const token = await grant('verbs=consume&queues=src*');
    const clients = [
      await listen(`?queue=src&${names}`),
      await listen(`?queue=dst&${names}`),
      await listen(`?${names}`, {}, token),
    ];
    const none = await listen(`?queue=other&${names}`);
    const take = async (id: string): Promise<number | undefined> => {
      await post('jobs', { queue: 'src', id, unique: { key: id, mode: 'reject' }, data: 1 });
      const { jobs } = (await post('leases', { queues: ['src'] })) as { jobs: { lease: number }[] };
      return jobs[0]?.lease;
    };

    await post('jobs/moves/ack', { lease: await take('moves'), next: { queue: 'dst' } });
    await post('jobs', { queue: 'src', id: 'changes', data: 1 });
    await post('jobs/changes', { queue: 'dst', priority: 4, tags: ['t'] }, 'PATCH');
    await post('jobs/changes', { delay_ms: 60_000, data: 2 }, 'PATCH');
    await post('jobs/changes/tags', { tags: ['u'] });
    await post('jobs', { queue: 'src', id: 'stays', unique: { key: 'k', mode: 'reject' }, data: 1 });
    await post('jobs', { queue: 'dst', id: 'comes', unique: { key: 'k', mode: 'replace' }, data: 2 });
    await post('jobs/dies/fail', { lease: await take('dies') });
    await post('dead-letter/move', { ids: ['dies'], to_queue: 'dst' });

    const between = { queue: 'dst', from: 'src' };
    const left = [
      { event: 'moved', id: 'moves', ...between },
      { event: 'changed', id: 'changes', ...between, fields: ['queue', 'priority', 'tags'] },
      { event: 'replaced', id: 'stays', ...between },
      { event: 'respawned', id: 'dies', ...between },
    ];
    const [src, dst, limited] = clients;
    expect((await src!.until(4)).map(({ data }) => data)).toMatchObject(left);
    expect((await limited!.until(4)).map(({ data }) => data)).toMatchObject(left);
    const own = [{ fields: ['data', 'delay_ms'] }, { fields: ['tags'] }].map((one) => ({
      ...{ event: 'changed', queue: 'dst', id: 'changes' },
      ...one,
    }));
    expect((await dst!.until(6)).map(({ data }) => data)).toMatchObject([
      ...left.slice(0, 2),
      ...own,
      ...left.slice(2),
    ]);
    expect(none.events).toEqual([]);
    expect((await leaseOf('changes')).timeline).toMatchObject([
      { what: 'changed', ...between, fields: ['queue', 'priority', 'tags'] },
      { what: 'changed', fields: ['data', 'delay_ms'] },
      { what: 'scheduled' },
      { what: 'changed', fields: ['tags'] },
    ]);
    expect((await leaseOf('moves')).timeline.at(-1)).toMatchObject({ what: 'moved', ...between });
  });

  async function leaseOf(id: string): Promise<{ lease: number; timeline: object[] }> {
    const { json } = await app.call('GET', `/v1/${app.namespace}/jobs/${id}`);
    return json as { lease: number; timeline: object[] };
  }

  it('selects jobs by type and tag', async () => {
    const [all, reports, red] = [
      await listen('?job=abc'),
      await listen('?type=report'),
      await listen('?tag=red&tag=green'),
    ];
    const comma = await listen('?tag=a,b&type=x,y');
    const pool = app.server.api.app.get(PoolRegistry, { strict: false }).get('default')!;
    const { events } = pool.keys.namespace(app.namespace);
    // As lua/modules/extended/timeline.lua writes them; what stands behind the names of every event does not hide them.
    const add = (type: string, tags: string, facts: object): Promise<unknown> =>
      pool.read(
        ...(['XADD', events, 'NOMKSTREAM', '*', 'e', 'retried', 'q', 'mail', 'i', '\0abc'] as const),
        ...['t', type, 'g', tags, 'd', JSON.stringify(facts)],
      );
    await add('report', '["blue","red"]', { group: 'io', queue: 'other', message: 'caf\u00e9 \n\n data: {' });
    await add('report', '["blue"]', {});
    await add('mail', '["green"]', {});
    await add('', '{}', {});
    await add('x', '["a"]', {});
    await add('x,y', '["a,b"]', {});
    const [first] = (await all.until(6)).map(({ data }) => data);
    expect(first).toEqual({
      ...{
        event: 'retried',
        at: first!['at'],
        queue: 'mail',
        id: 'abc',
        type: 'report',
        tags: ['blue', 'red'],
      },
      ...{ group: 'io', message: 'caf\u00e9 \n\n data: {' },
    });
    expect((await reports.until(2)).map(({ data }) => data['tags'])).toEqual([['blue', 'red'], ['blue']]);
    expect((await red.until(2)).map(({ data }) => data['type'])).toEqual(['report', 'mail']);
    expect((await comma.until(1)).map(({ data }) => data['tags'])).toEqual([['a,b']]);
  });

  it('sends a client that resumes all 1,600 events that it missed, more than its buffer holds', async () => {
    const first = await listen();
    await app.publish('mail');
    const [one] = await first.until(1);
    first.cut();
    const bulk = JSON.stringify(Array.from({ length: 64 }, () => 'x'));
    for (let i = 0; i < 25; i++) await app.put('mail/bulk', bulk);
    const second = await listen('', { 'Last-Event-ID': one!.place! });
    const events = await second.until(25 * 64);
    expect(new Set(events.map(({ data }) => data['id'])).size).toBe(25 * 64);
    expect(second.isClosed).toBe(false);
  });

  it('sends a token for some queues only events of these', async () => {
    const token = await grant('verbs=consume&queues=mail-*');
    const client = await listen('', {}, token);
    for (const queue of ['other', 'mail-1', 'mail', 'mail-2']) await app.publish(queue);
    await client.until(2);
    await app.publish('mail-3');
    expect((await client.until(3)).map(({ data }) => data['queue'])).toEqual(['mail-1', 'mail-2', 'mail-3']);

    const refused = await open('?queue=mail-1,other', {}, token);
    expect(await refused.status()).toBe(403);
    expect(refused.received).toContain('"code":"queue_not_allowed"');
    const producer = await open('', {}, await grant('verbs=publish'));
    expect(await producer.status()).toBe(403);
  });

  it('ends when its token is revoked', async () => {
    const token = await grant('verbs=consume');
    const client = await listen('', {}, token);
    const [refused, other] = [await metric('pumphouse_event_streams_ended_total', 'refused'), await listen()];
    expect((await app.admin('DELETE', `/token/${app.namespace}/${token}`)).status).toBe(204);
    await client.closed();
    const received = client.events.length;
    await app.publish('mail');
    await other.until(1);
    expect(client.events).toHaveLength(received);
    expect(await metric('pumphouse_event_streams_ended_total', 'refused')).toBe(refused + 1);
  });

  it('is refused with the names of invalid parameters', async () => {
    const answer = await app.get(path('?queue=_x&event=born&job=a%20b&colour=red&type='), {
      headers: { accept: 'text/event-stream' },
    });
    expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_argument' } });
    const { errors } = answer.json as { errors: { field: string; rule: string }[] };
    expect(errors.map(({ field }) => field).sort()).toEqual(['colour', 'event', 'job', 'queue', 'type']);
    const place = await app.get(path(), { headers: { 'last-event-id': 'yesterday' } });
    expect(place.json).toMatchObject({ errors: [{ field: 'Last-Event-ID' }] });
  });

  it('is refused beyond five per token with 429, and beyond six per process with 503', async () => {
    for (let i = 0; i < 5; i++) await listen();
    const sixth = await app.get(path());
    expect(sixth).toMatchObject({ status: 429, json: { code: 'too_many_streams' } });
    expect(sixth.headers['retry-after']).toBe('1');
    const other = await grant('verbs=consume');
    await listen('', {}, other);
    const seventh = await app.get(path(), { token: other });
    expect(seventh).toMatchObject({ status: 503, json: { code: 'overloaded' } });
    expect(await metric('pumphouse_event_streams')).toBe(6);

    clients[0]!.cut();
    await waitFor(async () => (await metric('pumphouse_event_streams')) === 5);
    await listen();
  });

  it('disconnects a client that does not read, and delays no other client', async () => {
    const [slow, quick] = [await listen(), await listen()];
    slow.socket.pause();
    const before = await metric('pumphouse_event_streams_ended_total', 'slow');
    // A long name fills what the system keeps for a connection sooner.
    const path = `${'long'.repeat(60)}/bulk`;
    const bulk = JSON.stringify(Array.from({ length: 64 }, () => 'x'));
    let published = 0;
    await waitFor(async () => {
      await Promise.all(Array.from({ length: 20 }, () => app.put(path, bulk)));
      published += 20 * 64;
      return (await metric('pumphouse_event_streams_ended_total', 'slow')) > before;
    });
    expect(quick.isClosed).toBe(false);
    await waitFor(() => quick.received.split('"published"').length - 1 >= published, 20_000);
    expect(quick.received).not.toContain('missed');
    slow.socket.resume();
    await slow.closed();
  });
});

describe('event streams of two servers', () => {
  it('have the same events, and end when their server stops', async () => {
    const one = await TestApp.start();
    const other = await TestApp.start();
    try {
      const path = `/v1/${one.namespace}/events`;
      const clients = await Promise.all(
        [one, other].map(async ({ port }) => (await EventClient.open(port, path, one.token)).begun()),
      );
      const ids: string[] = [];
      for (let i = 0; i < 20; i++) {
        const { json } = await (i % 2 === 0 ? one : other).call('PUT', `/api/${one.namespace}/mail`, {
          body: 'x',
          token: one.token,
        });
        ids.push((json as { job_id: string }).job_id);
      }
      for (const client of clients) await client.until(20);
      const [first, second] = clients.map((client) =>
        client.events.map(({ place, data }) => [place, data['id']]),
      );
      expect(first).toEqual(second);
      expect(first!.map(([, id]) => id).sort()).toEqual(ids.sort());

      const stopped = performance.now();
      await other.stop();
      expect(performance.now() - stopped).toBeLessThan(7_000);
      await clients[1]!.closed();
      expect(clients[1]!.body.endsWith(': the server ends the stream\n\n')).toBe(true);
      expect(clients[0]!.isClosed).toBe(false);
      // What it missed there, it finds here.
      await one.publish('mail');
      const after = await EventClient.open(one.port, path, one.token, {
        'Last-Event-ID': clients[1]!.events.at(-1)!.place!,
      });
      expect(await after.until(1)).toHaveLength(1);
      after.cut();
    } finally {
      await one.stop();
    }
  });
});
