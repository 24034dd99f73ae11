import { TestApp } from '../support/app.js';
import {
  app,
  code,
  fresh,
  given,
  type Job,
  lease,
  post,
  publish,
  useNativeApi,
  wrongFields,
} from '../support/native-api.js';

describe('leases by type', () => {
  useNativeApi();
  const idsOf = (jobs: readonly Job[]): string[] => jobs.map(({ id }) => id);

  it('give only jobs of the types that a request names, null for those without a type', async () => {
    const queue = fresh();
    const mail = await publish({ queue, data: 1, type: 'mail' });
    const sms = await publish({ queue, data: 2, type: 'sms' });
    const none = await publish({ queue, data: 3 });
    expect(idsOf(await lease({ queues: [queue], types: ['fax'], count: 9 }))).toEqual([]);
    expect(idsOf(await lease({ queues: [queue], types: ['sms', null], count: 9 }))).toEqual([
      sms.id,
      none.id,
    ]);
    expect(idsOf(await lease({ queues: [queue], count: 9 }))).toEqual([mail.id]);
  });

  it('give a worker of each type its jobs, over releases, failures and ends of leases', async () => {
    const queue = fresh();
    for (const type of ['mail', 'sms'])
      await publish({ queue, data: type, type, retry: { kind: 'fixed', delay_ms: 0 }, tries: 5 });
    const [first] = await lease({ queues: [queue], types: ['sms'] });
    const { id, lease: number } = first!;
    expect((await post(`jobs/${id}/release`, { lease: number })).status).toBe(200);
    expect(await lease({ queues: [queue], types: ['fax', null] })).toEqual([]);
    const [again] = await lease({ queues: [queue], types: ['sms'] });
    expect(again).toMatchObject({ id, data: 'sms' });
    const failed = await post(`jobs/${id}/retry`, { lease: again!.lease, group: 'g', delay_ms: 0 });
    expect(failed.status).toBe(200);
    expect(await lease({ queues: [queue], types: ['sms'], ttr_ms: 1, wait_ms: 5_000 })).toMatchObject([
      { id },
    ]);
    expect(await lease({ queues: [queue], types: ['sms'], wait_ms: 5_000 })).toMatchObject([{ id }]);
  });

  it('leave the calls of lmstfy their jobs of all types', async () => {
    const queue = fresh();
    await lease({ queues: [queue], types: ['mail'] });
    const mail = await publish({ queue, data: 1, type: 'mail' });
    const simple = ((await app.put(queue, 'simple')).json as { job_id: string }).job_id;
    expect((await app.get(`${queue}/size`)).json).toMatchObject({ size: 2 });
    expect((await app.get(`${queue}/peek`)).json).toMatchObject({ job_id: mail.id });
    const got = async (): Promise<unknown> => (await app.get(`${queue}?ttr=60`)).json;
    expect([await got(), await got()]).toMatchObject([{ job_id: mail.id }, { job_id: simple }]);
    expect((await app.get(`${queue}?ttr=60`)).status).toBe(404);
  });

  it.each(['type', 'fair_key'])('list jobs with the longest values of %s, page by page', async (field) => {
    const queue = `${fresh()}-`.padEnd(255, 'q');
    if (field === 'type') await lease({ queues: [queue], types: ['mail'] });
    else await given('PATCH', `queues/${queue}`, { fair: {} });
    const ids: string[] = [];
    for (const letter of ['a', 'b', '\u20ac', '\ud7ff']) {
      const id = `${String(letter.charCodeAt(0))}-${queue}`.slice(0, 128);
      ids.push((await publish({ queue, id, data: 1, [field]: letter.repeat(255) })).id);
    }
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const from = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: { items: Job[]; next_cursor: string | null } = await given(
        'GET',
        `jobs?queue=${queue}&state=ready&limit=1${from}`,
      );
      seen.push(...idsOf(page.items));
      cursor = page.next_cursor;
    }
    expect(seen.sort()).toEqual(ids.sort());
  });

  it('show the jobs of all types in lists and counts, and purge them', async () => {
    const queue = fresh();
    await lease({ queues: [queue], types: ['mail'] });
    const ids = [];
    for (const type of ['mail', 'sms', undefined]) ids.push((await publish({ queue, data: 1, type })).id);
    const { items } = await given<{ items: Job[] }>('GET', `jobs?queue=${queue}&state=ready`);
    expect(idsOf(items).sort()).toEqual(ids.sort());
    expect(await given('GET', `queues/${queue}`)).toMatchObject({ counts: { ready: 3 } });
    expect((await post(`queues/${queue}/purge`, { states: ['ready'] })).status).toBe(200);
    expect(await given('GET', `queues/${queue}`)).toMatchObject({ counts: { ready: 0 } });
  });

  it('show the types with ready jobs of a single queue, from the first request with types on', async () => {
    const queue = fresh();
    const typesOf = async (): Promise<unknown> =>
      (await given<{ types?: unknown }>('GET', `queues/${queue}`)).types;
    const [first] = [await publish({ queue, data: 1, type: 'mail' })];
    for (const type of ['sms', 'sms', undefined]) await publish({ queue, data: 1, type });
    expect(await typesOf()).toBeUndefined();
    const before = Date.now();
    expect(idsOf(await lease({ queues: [queue], types: ['mail'] }))).toEqual([first.id]);
    const [{ first_ready_at: at, ...sms } = { first_ready_at: '' }, ...others] = (await typesOf()) as {
      first_ready_at: string;
    }[];
    expect(sms).toEqual({ type: 'sms', ready: 2, last_request_at: null });
    expect(Date.parse(at)).toBeGreaterThan(before - 60_000);
    const untyped = { type: null, ready: 1, first_ready_at: null, last_request_at: null };
    expect(others).toEqual([untyped]);
    // Of lmstfy's clients, too: their requests take any type.
    await app.get(`${queue}?timeout=0&ttr=60`);
    const [{ ready, last_request_at: requestedAt }] = (await typesOf()) as [Record<string, string>];
    expect(ready).toBe(1);
    expect(Date.parse(requestedAt!)).toBeGreaterThan(before - 5_000);
    const { items } = await given<{ items: { queue: string }[] }>('GET', 'queues?limit=1000');
    expect(items.find((one) => one.queue === queue)).not.toHaveProperty('types');
  });

  it('wake a request of the type on another server, and no other request', async () => {
    const other = await TestApp.start();
    try {
      const queue = fresh();
      const wait = (types: readonly string[]): Promise<Job[]> =>
        other
          .call('POST', `/v1/${app.namespace}/leases`, {
            body: JSON.stringify({ queues: [queue], types, wait_ms: 3_000 }),
            token: app.token,
          })
          .then(({ json }) => (json as { jobs: Job[] }).jobs);
      const [mails, texts] = [wait(['mail']), wait(['sms'])];
      await lease({ queues: [queue], types: ['fax'], wait_ms: 500 });
      const { id } = await publish({ queue, data: 1, type: 'sms' });
      expect(idsOf(await texts)).toEqual([id]);
      expect(await mails).toEqual([]);
    } finally {
      await other.stop();
    }
  });

  it.each([
    ['no type', []],
    ['the same type twice', ['a', 'a']],
    ['the empty type', ['']],
    ['a type with a line feed', ['a\nb']],
    ['a number', [1]],
    ['65 types', Array.from({ length: 65 }, (_, i) => `t${String(i)}`)],
    ['a text', 'mail'],
    ['null', null],
  ])('refuse %s, with the name of the field', async (_about, types) => {
    const answer = await post('leases', { queues: ['q'], types });
    expect([answer.status, code(answer), wrongFields(answer)]).toEqual([
      400,
      'invalid_argument',
      [expect.stringMatching(/^types/)],
    ]);
  });

  it('take 64 types and 64 queues with the longest names', async () => {
    const types = Array.from({ length: 64 }, (_, i) => String(i).padStart(255, '\u{20ac}'));
    const queues = Array.from({ length: 64 }, (_, i) => String(i).padStart(255, 'q'));
    const body = JSON.stringify({ queues, types }).replaceAll('\u{20ac}', String.raw`\u20ac`);
    expect(await post('leases', body)).toMatchObject({ status: 200, json: { jobs: [] } });
  });
});
