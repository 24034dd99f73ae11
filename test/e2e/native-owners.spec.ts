import {
  app,
  useNativeApi,
  fresh,
  call,
  post,
  publish,
  lease,
  leaseOne,
  look,
  code,
  wrongFields,
} from '../support/native-api.js';

useNativeApi();

describe('the owner of a lease', () => {
  const CALLS: readonly (readonly [string, object])[] = [
    ['ack', {}],
    ['heartbeat', {}],
    ['release', {}],
    ['retry', { group: 'g' }],
    ['fail', { group: 'g' }],
  ];

  it('acknowledges: the job is gone', async () => {
    const queue = fresh();
    await publish({ queue, type: 't' });
    const { id, lease: number } = await leaseOne(queue);
    const { status, json } = await post(`jobs/${id}/ack`, { lease: number });
    expect([status, json]).toEqual([200, { id, status: 'acked' }]);
    expect((await call('GET', `jobs/${id}`)).status).toBe(404);
    const again = await post(`jobs/${id}/ack`, { lease: number });
    expect([again.status, code(again)]).toEqual([404, 'job_not_found']);
  });

  it('leaves a result, which is kept for as long as the job says', async () => {
    const queue = fresh();
    await publish({ queue, retention_ms: 60_000 });
    const { id, lease: number } = await leaseOne(queue);
    const too = await post(`jobs/${id}/ack`, { lease: number, result: 'x'.repeat(5_000) });
    expect([too.status, wrongFields(too)]).toEqual([400, ['result']]);
    expect((await post(`jobs/${id}/ack`, { lease: number, result: { sum: 3 } })).status).toBe(200);
    expect(await look(id)).toMatchObject({
      state: 'done',
      result: { data: { sum: 3 }, content_type: 'application/json' },
    });
  });

  it('moves a job on to its next queue, with its id, its data and its timeline', async () => {
    const [queue, next] = [fresh(), fresh()];
    await publish({ queue, data: 'kept', tries: 5, type: 't' });
    const { id, lease: number } = await leaseOne(queue);
    const { json } = await post(`jobs/${id}/ack`, { lease: number, next: { queue: next } });
    expect(json).toEqual({ id, status: 'moved' });
    const job = await leaseOne(next);
    expect(job).toMatchObject({ id, queue: next, data: 'kept', tries_left: 4 });
    expect(job.lease).toBeGreaterThan(number);
    const { timeline } = await look(id);
    expect((timeline as { what: string }[]).map(({ what }) => what)).toEqual([
      'published',
      'leased',
      'moved',
      'leased',
    ]);
  });

  it('keeps its lease by heartbeats, and tells how far it is', async () => {
    const queue = fresh();
    await publish({ queue, data: 1 });
    const { id, lease: number, lease_ends_at } = await leaseOne(queue, { ttr_ms: 10_000 });
    const { status, json } = await post(`jobs/${id}/heartbeat`, {
      lease: number,
      ttr_ms: 60_000,
      progress: { done: 5 },
      data: 2,
    });
    expect(status).toBe(200);
    const news = json as { lease_ends_at: string; cancel_requested: boolean };
    expect(news.cancel_requested).toBe(false);
    expect(Date.parse(news.lease_ends_at)).toBeGreaterThan(Date.parse(lease_ends_at as string) + 40_000);
    expect(await look(id)).toMatchObject({
      lease: number,
      lease_ends_at: news.lease_ends_at,
      progress: { done: 5 },
      data: 2,
    });
  });

  it('gives a job back, and the try with it', async () => {
    const queue = fresh();
    await publish({ queue, tries: 1, type: 't' });
    const first = await leaseOne(queue);
    const { status, json } = await post(`jobs/${first.id}/release`, { lease: first.lease });
    expect([status, json]).toEqual([200, { id: first.id, state: 'ready', due_at: null }]);
    const second = await leaseOne(queue);
    expect(second).toMatchObject({ id: first.id, tries_left: 0, attempts: 1 });
    const later = await post(`jobs/${second.id}/release`, { lease: second.lease, delay_ms: 60_000 });
    expect(later.json).toMatchObject({ state: 'scheduled', due_at: (await look(second.id))['due_at'] });
  });

  it('has a job tried again, by its policy or when it says, until no try is left', async () => {
    const queue = fresh();
    await publish({ queue, tries: 3, retry: { kind: 'fixed', delay_ms: 60_000 } });
    const first = await leaseOne(queue);
    const now = await post(`jobs/${first.id}/retry`, {
      lease: first.lease,
      group: 'net',
      message: 'no\nroute',
      delay_ms: 0,
    });
    expect(now.json).toEqual({ id: first.id, state: 'ready', due_at: null });
    const second = await leaseOne(queue, { worker: 'w' });
    expect(second).toMatchObject({ failures: 1, tries_left: 1 });
    const later = await post(`jobs/${second.id}/retry`, { lease: second.lease });
    expect(later.json).toMatchObject({ state: 'scheduled' });
    const job = await look(second.id);
    expect(job).toMatchObject({
      state: 'scheduled',
      failures: 2,
      failure: { group: 'failed', message: '', worker: 'w' },
    });
  });

  it('gives a job up: it is dead at once, and says why', async () => {
    const queue = fresh();
    await publish({ queue, tries: 9, type: 't' });
    const { id, lease: number } = await leaseOne(queue, { worker: 'w' });
    const { json } = await post(`jobs/${id}/fail`, { lease: number, group: 'bad', message: 'why' });
    expect(json).toEqual({ id, state: 'dead', due_at: null });
    expect(await look(id)).toMatchObject({
      state: 'dead',
      failure: { group: 'bad', message: 'why', worker: 'w' },
    });
    expect((await app.get(`${queue}/deadletter`)).json).toMatchObject({
      deadletter_head: id,
      deadletter_size: 1,
    });
  });

  it.each(CALLS)('is told with 409 that the lease is lost, and changes nothing: %s', async (verb, more) => {
    const queue = fresh();
    await publish({ queue, tries: 5, type: 't' });
    const first = await leaseOne(queue);
    await post(`jobs/${first.id}/release`, { lease: first.lease });
    const second = await leaseOne(queue, { ttr_ms: 600_000 });
    const before = await look(first.id);
    for (const number of [first.lease, second.lease + 1]) {
      const answer = await post(`jobs/${first.id}/${verb}`, { lease: number, ...more });
      expect([answer.status, code(answer)]).toEqual([409, 'lease_lost']);
    }
    expect(await look(first.id)).toEqual(before);
  });

  it.each(CALLS)('is told that there is no such job: %s', async (verb, more) => {
    for (const id of ['01M7Z17XME660YPHBY512QCVQF', 'nobody', 'no%20id', '%F0%9F']) {
      const answer = await post(`jobs/${id}/${verb}`, { lease: 1, ...more });
      expect([id, [400, 404].includes(answer.status)]).toEqual([id, true]);
    }
  });

  it.each(CALLS)('names the lease: %s', async (verb, more) => {
    for (const wrong of [undefined, 0, '1', null, 4_294_967_296]) {
      const answer = await post(`jobs/x/${verb}`, { lease: wrong, ...more });
      expect([answer.status, wrongFields(answer)]).toEqual([400, ['lease']]);
    }
  });

  it('acknowledges many, some with a result and some that go on', async () => {
    const [queue, next] = [fresh(), fresh()];
    await publish({ jobs: [1, 2, 3, 4].map((data) => ({ queue, data, retention_ms: 60_000 })) });
    const jobs = await lease({ queues: [queue], count: 4 });
    const [one, two, three, four] = jobs.map(({ id, lease: number }) => ({ queue, id, lease: number }));
    const { status, json } = await post('acks', {
      acks: [
        { ...one, result: 'r' },
        two,
        { ...three, next: { queue: next, delay_ms: 60_000 } },
        { ...four, lease: 77, result: 1 },
        { queue, id: 'nobody', lease: 1, result: 1 },
      ],
    });
    expect(status).toBe(200);
    expect((json as { results: { status: string }[] }).results.map((result) => result.status)).toEqual([
      'acked',
      'acked',
      'moved',
      'lease_lost',
      'not_found',
    ]);
    expect(await look(one!.id)).toMatchObject({ state: 'done', result: { data: 'r' } });
    expect(await look(three!.id)).toMatchObject({ state: 'scheduled', queue: next });
    expect(await look(four!.id)).toMatchObject({ state: 'leased' });
  });
});

describe('a token for some queues', () => {
  let token: string;
  const forMail = (verbs: string): Promise<string> =>
    app
      .admin('POST', `/token/${app.namespace}?description=d&verbs=${verbs}&queues=mail*`)
      .then(({ json, text }) => (json as { token?: string }).token ?? text);
  beforeAll(async () => {
    token = await forMail('publish,consume');
  });

  it('publishes, leases and looks in these, and in no other', async () => {
    await publish({ queue: 'other', type: 't' });
    const others = await leaseOne('other');
    const own = { token };
    for (const [path, body] of [
      ['jobs', { queue: 'other' }],
      ['jobs', { jobs: [{ queue: 'mail' }, { queue: 'other' }] }],
      ['leases', { queues: ['mail', 'other'] }],
      [`jobs/${others.id}/ack`, { lease: others.lease }],
      [`jobs/${others.id}/heartbeat`, { lease: others.lease }],
      [`jobs/${others.id}/release`, { lease: others.lease }],
      [`jobs/${others.id}/retry`, { lease: others.lease }],
      [`jobs/${others.id}/fail`, { lease: others.lease }],
    ] as const) {
      const answer = await post(path, body, own);
      expect([path, answer.status, code(answer)]).toEqual([path, 403, 'queue_not_allowed']);
    }
    expect((await call('GET', `jobs/${others.id}`, undefined, own)).status).toBe(403);
    expect(await look(others.id)).toMatchObject({ state: 'leased', lease: others.lease });

    const { id } = await publish({ queue: 'mail-1', type: 't' }, own);
    const [job] = await lease({ queues: ['mail-1'] }, own);
    expect(job?.id).toBe(id);
    const moved = await post(`jobs/${id}/ack`, { lease: job!.lease, next: { queue: 'other' } }, own);
    expect([moved.status, code(moved)]).toEqual([403, 'queue_not_allowed']);
    expect((await post(`jobs/${id}/ack`, { lease: job!.lease }, own)).status).toBe(200);
  });

  it('needs the verb of each call', async () => {
    const [publishes, consumes] = [await forMail('publish'), await forMail('consume')];
    const refused = async (path: string, body: object, own: string): Promise<unknown> =>
      code(await post(path, body, { token: own }));
    expect(await refused('jobs', { queue: 'mail' }, consumes)).toBe('verb_missing');
    expect(await refused('leases', { queues: ['mail'] }, publishes)).toBe('verb_missing');
    const { id } = await publish({ queue: 'mail-2', type: 't' });
    const [job] = await lease({ queues: ['mail-2'] }, { token: consumes });
    const next = { lease: job!.lease, next: { queue: 'mail-3' } };
    expect(await refused(`jobs/${id}/ack`, next, consumes)).toBe('verb_missing');
    expect(await refused('acks', { acks: [{ queue: 'mail-2', id, ...next }] }, consumes)).toBe(
      'verb_missing',
    );
  });
});
