import { waitFor } from '../support/redis.js';
import {
  app,
  call,
  code,
  find,
  fresh,
  given,
  type Job,
  leaseOne,
  post,
  publish,
  useNativeApi,
  wrongFields,
} from '../support/native-api.js';
import { EventClient } from '../support/sse.js';

describe('chosen job ids', () => {
  useNativeApi();

  let count = 0;
  /** An id of this length that no other test has. */
  const idOf = (length: number): string => {
    const start = `i${String(count++)}_`;
    return start + 'x-'.repeat(length).slice(0, length - start.length);
  };
  const lmstfy = (method: string, queue: string, id: string) =>
    app.call(method, `${queue}/job/${id}`, method === 'PUT' ? { body: 'new' } : {});

  describe.each([64, 65, 128])('chosen ids of %d characters', (length) => {
    it.each([
      ['a simple job', {}],
      ['an extended job', { type: 't', history: true }],
    ])(
      'are returned unchanged for %s by publish, lease, heartbeat, release, retry and ack',
      async (_, more) => {
        const [queue, id] = [fresh(), idOf(length)];
        expect(await publish({ queue, id, tries: 5, ...more })).toMatchObject({ id, state: 'ready' });
        expect(code(await post('jobs', { queue, id, ...more }))).toBe('job_exists');
        expect(await find(id)).toMatchObject({ id, queue, state: 'ready' });

        const first = await leaseOne(queue, { worker: `w-${queue}` });
        expect(first.id).toBe(id);
        expect(await given('POST', `jobs/${id}/heartbeat`, { lease: first.lease })).toMatchObject({ id });
        expect(await given('POST', `jobs/${id}/release`, { lease: first.lease })).toMatchObject({
          id,
          state: 'ready',
        });
        const second = await leaseOne(queue);
        expect(await given('POST', `jobs/${id}/retry`, { lease: second.lease, delay_ms: 0 })).toMatchObject({
          id,
        });
        const third = await leaseOne(queue);
        expect((await call('POST', `jobs/${id}/log`, { message: 'half' })).status).toBe(204);
        expect(await given('POST', `jobs/${id}/ack`, { lease: third.lease })).toEqual({
          id,
          status: 'acked',
        });
        expect(code(await call('GET', `jobs/${id}`))).toBe('job_not_found');
      },
    );

    it('are accepted to change, cancel, tag and track a job', async () => {
      const [queue, id] = [fresh(), idOf(length)];
      await publish({ queue, id });
      expect(await given('PATCH', `jobs/${id}`, { priority: 3, queue: `${queue}-b` })).toMatchObject({ id });
      expect(await given('POST', `jobs/${id}/tags`, { tags: [`t-${queue}`] })).toMatchObject({ id });
      expect(await given('GET', `jobs?tag=t-${queue}`)).toMatchObject({ items: [{ id }] });
      expect(await given('GET', `jobs/${id}/tags`)).toEqual({ id, tags: [`t-${queue}`] });
      expect(await given('DELETE', `jobs/${id}/tags?tag=t-${queue}`)).toEqual({ id, tags: [] });
      expect(await given('PUT', `tracked/${id}`)).toEqual({ id, tracked: true });
      expect(await given('GET', 'tracked')).toMatchObject({ items: [{ id }] });
      expect(await given('POST', `jobs/${id}/cancel`, {})).toMatchObject({ id, outcome: 'cancelled' });
      const { gone } = await given<{ gone: { id: string }[] }>('GET', 'tracked');
      expect(gone.map((one) => one.id)).toContain(id);
      expect(await given('DELETE', `tracked/${id}`)).toEqual({ id, tracked: false });
    });

    it('are listed page by page in every state', async () => {
      const queue = fresh();
      const ids = [idOf(length), idOf(length), idOf(length)];
      for (const delay_ms of [0, 1_000, 3_600_000]) {
        const jobs = ids.map((id) => ({
          queue: `${queue}-${String(delay_ms)}`,
          id: `${id.slice(0, -8)}${String(delay_ms).padStart(8, '0')}`,
          delay_ms,
          priority: delay_ms === 0 ? 1 : 0,
        }));
        await given('POST', 'jobs', { jobs });
        const seen: string[] = [];
        let cursor = '';
        do {
          const page = await given<{ items: Job[]; next_cursor: string | null }>(
            'GET',
            `jobs?queue=${queue}-${String(delay_ms)}&limit=1${cursor}`,
          );
          seen.push(...page.items.map(({ id }) => id));
          cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
        } while (cursor !== '');
        expect(seen.sort()).toEqual(jobs.map(({ id }) => id).sort());
      }
    });

    it('are listed by a cursor in a queue with a name of 255 characters', async () => {
      const queue = fresh('q').padEnd(255, 'q');
      const ids = [idOf(length), idOf(length)];
      await given('POST', 'jobs', { jobs: ids.map((id) => ({ queue, id, priority: -100 })) });
      const first = await given<{ next_cursor: string }>('GET', `jobs?queue=${queue}&state=ready&limit=1`);
      expect(
        await given('GET', `jobs?queue=${queue}&state=ready&limit=1&cursor=${first.next_cursor}`),
      ).toMatchObject({ items: [{ id: ids[1] }] });
    });

    it('are accepted as dependencies and as dependents', async () => {
      const [queue, id, waiting] = [fresh(), idOf(length), idOf(length)];
      await publish({ queue, id });
      expect(await publish({ queue: `${queue}-b`, id: waiting, depends_on: [id] })).toMatchObject({
        state: 'blocked',
      });
      expect(await find(waiting)).toMatchObject({ depends_on: [id] });
      expect(await find(id)).toMatchObject({ dependents: [waiting] });
      const refused = await post(`jobs/${id}/cancel`, {});
      expect(refused.json).toMatchObject({ code: 'has_dependents', dependents: [waiting] });
      expect(await given('DELETE', `jobs/${waiting}/dependencies`, { depends_on: [id] })).toMatchObject({
        state: 'ready',
      });
      expect(await given('POST', `jobs/${waiting}/dependencies`, { depends_on: [id] })).toMatchObject({
        state: 'blocked',
      });
      const { lease } = await leaseOne(queue);
      expect(await given('POST', `jobs/${id}/fail`, { lease })).toMatchObject({ state: 'dead' });
      expect(await given('POST', 'dead-letter/delete', { ids: [id] })).toMatchObject({ jobs: 1 });
      // The loop that tells its dependents runs a moment later.
      const failed = await waitFor(async () => {
        const found = Object.keys((await find(waiting))['failed_dependencies'] as object);
        return found.length > 0 ? found : null;
      });
      expect(failed).toEqual([id]);
    });

    it('hold unique keys, and are returned again for a repeated idempotency key', async () => {
      const [queue, id] = [fresh(), idOf(length)];
      const job = { queue, id, unique: { key: queue, mode: 'reject' } };
      const keyed = { headers: { 'idempotency-key': queue } };
      const first = await post('jobs', job, keyed);
      expect(first.json).toMatchObject({ id, existing: false });
      expect((await post('jobs', job, keyed)).text).toBe(first.text);
      expect((await post('jobs', { queue, unique: { key: queue, mode: 'reject' } })).json).toMatchObject({
        ...{ code: 'unique_key_taken', holder_id: id },
      });
      expect(await publish({ queue, unique: { key: queue } })).toMatchObject({ id, existing: true });
      const simple = idOf(length);
      const plain = await post('jobs', { queue, id: simple }, { headers: { 'idempotency-key': simple } });
      expect(
        (await post('jobs', { queue, id: simple }, { headers: { 'idempotency-key': simple } })).text,
      ).toBe(plain.text);
    });

    it('are kept by a respawn from the dead-letter queue', async () => {
      const [queue, id, other] = [fresh(), idOf(length), idOf(length)];
      await given('POST', 'jobs', {
        jobs: [
          { queue, id, type: 't' },
          { queue, id: other },
        ],
      });
      for (const one of [id, other]) {
        await given('POST', `jobs/${one}/fail`, { lease: (await leaseOne(queue)).lease, group: 'g' });
      }
      const { items, next_cursor } = await given<{ items: Job[]; next_cursor: string }>(
        'GET',
        `dead-letter?queue=${queue}&limit=1`,
      );
      expect(items).toMatchObject([{ id }]);
      expect(await given('GET', `dead-letter?queue=${queue}&limit=1&cursor=${next_cursor}`)).toMatchObject({
        items: [{ id: other }],
      });
      expect(await given('POST', 'dead-letter/respawn', { ids: [id] })).toMatchObject({ jobs: 1 });
      expect(await find(id)).toMatchObject({ state: 'ready' });
      const partly = await given<{ next_cursor: string | null }>('POST', 'dead-letter/move', {
        filter: { queue },
        to_queue: `${queue}-b`,
        limit: 1,
      });
      expect(partly).toMatchObject({ jobs: 1 });
      expect(await find(other)).toMatchObject({ state: 'ready', queue: `${queue}-b` });
    });

    it('are acknowledged in a batch, with a result, with a next queue, and with neither', async () => {
      const queue = fresh();
      const ids = [idOf(length), idOf(length), idOf(length)];
      await given('POST', 'jobs', { jobs: ids.map((id) => ({ queue, id, retention_ms: 60_000 })) });
      const leases = new Map<string, number>();
      for (let i = 0; i < ids.length; i++) {
        const { id, lease } = await leaseOne(queue);
        leases.set(id, lease);
      }
      const acks = ids.map((id) => ({ queue, id, lease: leases.get(id) }));
      expect(
        await given('POST', 'acks', {
          acks: [acks[0], { ...acks[1], result: 1 }, { ...acks[2], next: { queue: `${queue}-b` } }],
        }),
      ).toEqual({
        results: ids.map((id, i) => ({ id, status: ['acked', 'acked', 'moved'][i] })),
      });
    });

    it('are sent in events', async () => {
      const [queue, id] = [fresh(), idOf(length)];
      const client = await EventClient.open(app.port, `/v1/${app.namespace}/events?job=${id}`, app.token, {});
      await client.begun();
      await publish({ queue, id });
      await leaseOne(queue);
      const events = await client.until(2);
      client.cut();
      expect(events.map(({ data }) => data)).toMatchObject([
        { event: 'published', id },
        { event: 'leased', id },
      ]);
    });

    it('are peeked, replaced and acknowledged by lmstfy’s calls', async () => {
      const [queue, id] = [fresh(), idOf(length)];
      await publish({ queue, id });
      expect((await lmstfy('GET', queue, id)).json).toMatchObject({ job_id: id });
      expect((await app.get(`${queue}/peek`)).json).toMatchObject({ job_id: id });
      expect((await app.get(`${queue}?ttr=1`)).json).toMatchObject({ job_id: id });
      expect((await lmstfy('DELETE', queue, id)).status).toBe(204);
      expect((await lmstfy('GET', queue, id)).status).toBe(404);
      await publish({ queue, id });
      expect((await lmstfy('PUT', queue, id)).status).toBe(201);
      expect(code(await call('GET', `jobs/${id}`))).toBe('job_not_found');
      await publish({ queue, id, ttr_ms: 1, tries: 1 });
      await app.get(`${queue}?ttr=1`);
      await app.get(`${queue}?ttr=0`);
      await waitFor(async () => (await app.get(`${queue}/deadletter`)).text.includes(id), 10_000);
      expect((await app.put(`${queue}/deadletter`)).json).toMatchObject({ count: 1 });
    });
  });

  describe('chosen ids of 129 characters', () => {
    const long = 'x'.repeat(129);
    const rule = "must be a job's id: letters, digits, - and _, at most 128, the first a letter or a digit";

    it.each([
      ['a publish', 'POST', 'jobs', { queue: 'q', id: long }, 'id'],
      ['a list of jobs', 'POST', 'jobs', { jobs: [{ queue: 'q', id: long }] }, 'jobs[0].id'],
      ['an acknowledgement of many', 'POST', 'acks', { acks: [{ queue: 'q', id: long }] }, 'acks[0].id'],
    ])('are refused in %s', async (_, method, path, body, field) => {
      const { status, json } = await call(method, path, body);
      expect([status, json]).toEqual([400, expect.objectContaining({ errors: [{ field, rule }] })]);
    });

    it.each([
      ['dependencies', 'POST', 'jobs', { queue: 'q', depends_on: [long] }, 'depends_on'],
      ['a call of the dead letter', 'POST', 'dead-letter/respawn', { ids: [long] }, 'ids'],
      ['a filter of events', 'GET', `events?job=${long}`, undefined, 'job'],
    ])('are refused in %s', async (_, method, path, body, field) => {
      const answer = await call(method, path, body);
      expect([answer.status, wrongFields(answer)]).toEqual([400, [field]]);
    });

    it.each<[string, string, object | undefined]>([
      ['GET', 'jobs/:id', undefined],
      ['PATCH', 'jobs/:id', { priority: 1 }],
      ['POST', 'jobs/:id/ack', { lease: 1 }],
      ['POST', 'jobs/:id/heartbeat', { lease: 1 }],
      ['POST', 'jobs/:id/release', { lease: 1 }],
      ['POST', 'jobs/:id/retry', { lease: 1 }],
      ['POST', 'jobs/:id/fail', { lease: 1 }],
      ['POST', 'jobs/:id/cancel', {}],
      ['POST', 'jobs/:id/revoke', {}],
      ['POST', 'jobs/:id/log', { message: 'm' }],
      ['POST', 'jobs/:id/dependencies', { depends_on: ['a'] }],
      ['DELETE', 'jobs/:id/dependencies', { depends_on: ['a'] }],
      ['GET', 'jobs/:id/tags', undefined],
      ['POST', 'jobs/:id/tags', { tags: ['t'] }],
      ['DELETE', 'jobs/:id/tags?tag=t', undefined],
      ['PUT', 'tracked/:id', undefined],
    ])('are not found by %s %s', async (method, path, body) => {
      const answer = await call(method, path.replace(':id', long), body);
      expect([answer.status, code(answer)]).toEqual([404, 'job_not_found']);
    });

    it('are not found by lmstfy’s calls', async () => {
      expect((await lmstfy('GET', 'q', long)).status).toBe(404);
      expect((await lmstfy('DELETE', 'q', long)).status).toBe(204);
      expect((await lmstfy('PUT', 'q', long)).status).toBe(201);
    });
  });
});
