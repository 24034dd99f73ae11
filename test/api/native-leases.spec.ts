import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { TokenStore } from '../../src/auth/token-store.js';
import { type ErrorCode, QueueError } from '../../src/domain/errors.js';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { MAX_PERIOD_MS } from '../../src/domain/limits.js';
import { Engines } from '../../src/engine/engines.js';
import type { Engine } from '../../src/engine/engine.js';
import { Delivery } from '../../src/jobs/delivery.js';
import { type Answer, type CallOptions, head, TestApp } from '../support/app.js';
import {
  app,
  call,
  code,
  fresh,
  given,
  lease,
  leaseOne,
  find,
  post,
  publish,
  spell,
  useNativeApi,
  WAYS,
  wrongFields,
} from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

/** Lease operations on one job, with what they need besides the lease. */
const CALLS: readonly (readonly [string, object])[] = [
  ['ack', {}],
  ['heartbeat', {}],
  ['release', {}],
  ['retry', { group: 'g' }],
  ['fail', { group: 'g' }],
];

describe('leases', () => {
  useNativeApi();

  describe.each(WAYS)('a native lease, by %s', (_way, spelling) => {
    beforeAll(() => spell(spelling));

    it('returns the job with its data, options, tries, lease number and times', async () => {
      const queue = fresh();
      const { id } = await publish({ queue, data: [1], type: 'mail', tags: ['t'], ttl_ms: 600_000 });
      const job = await leaseOne(queue, { ttr_ms: 30_000, worker: 'w 1' });
      expect(job).toMatchObject({
        ...{
          id,
          queue,
          state: 'leased',
          data: [1],
          content_type: 'application/json',
          type: 'mail',
          tags: ['t'],
        },
        ...{
          attributes: null,
          priority: 0,
          tries_left: 4,
          attempts: 1,
          crashes: 0,
          failures: 0,
          lease: 1,
          progress: null,
        },
      });
      const publishedMs = Date.parse(job['published_at'] as string);
      const endsMs = Date.parse(job['lease_ends_at'] as string);
      expect(endsMs - publishedMs).toBeGreaterThanOrEqual(30_000);
      expect(Date.parse(job['expires_at'] as string) - publishedMs).toBeGreaterThanOrEqual(600_000);
      const shown = await find(id);
      expect(shown).toMatchObject({ state: 'leased', leased_by: 'w 1' });
      // Only its holder knows the number of the lease.
      expect(shown).not.toHaveProperty('lease');
      expect(shown).not.toHaveProperty('worker');
    });

    it.each([
      ['a simple job', {}],
      ['an extended job', { type: 't', history: true }],
    ])('returns publish time and tries after each release, retry and respawn: %s', async (_, more) => {
      const queue = fresh();
      const before = Date.now() - 1_000;
      const { id } = await publish({ queue, tries: 3, ...more });
      const { published_at } = await find(id);
      expect(Date.parse(String(published_at))).toBeGreaterThan(before);
      const shown = async (left: number, attempts: number): Promise<void> => {
        const facts = { id, published_at, tries: 3, tries_left: left, attempts };
        expect(await find(id)).toMatchObject(facts);
        expect((await call('GET', `jobs?queue=${queue}`)).json).toMatchObject({ items: [facts] });
      };
      await shown(3, 0);
      const first = await leaseOne(queue);
      expect(first).toMatchObject({ published_at, tries: 3, tries_left: 2, attempts: 1 });
      await shown(2, 1);
      await post(`jobs/${id}/release`, { lease: first.lease });
      await shown(3, 0);
      const second = await leaseOne(queue, { worker: 'w' });
      expect(second).toMatchObject({ published_at, tries: 3, tries_left: 2, attempts: 1 });
      await post(`jobs/${id}/retry`, { lease: second.lease, delay_ms: 0 });
      await shown(2, 1);
      const third = await leaseOne(queue);
      expect(third).toMatchObject({ published_at, tries: 3, tries_left: 1, attempts: 2 });
      await post(`jobs/${id}/fail`, { lease: third.lease });
      const dead = { id, published_at, tries: 3, tries_left: 1, attempts: 2 };
      expect((await call('GET', `dead-letter?queue=${queue}`)).json).toMatchObject({ items: [dead] });
      await post('dead-letter/respawn', { ids: [id] });
      await shown(3, 0);
      // On lmstfy's wire a try is not spent either while its answer is not out.
      await app.get(`${queue}?ttr=60`);
      await shown(2, 1);
    });

    it('lasts as long as the ttr_ms of the job says, else of its queue, else of its namespace', async () => {
      const lasts = async (queue: string, more: object = {}): Promise<number> => {
        const { lease_ends_at, published_at } = await leaseOne(queue, more);
        return Date.parse(lease_ends_at as string) - Date.parse(published_at as string);
      };
      /** Between the publish and the lease a busy machine may take seconds. */
      const within = (ms: number, lastsMs: number): boolean => lastsMs >= ms && lastsMs < ms + 20_000;
      const [plain, own, usual] = [fresh(), fresh(), fresh()];
      await call('PATCH', `queues/${usual}`, { defaults: { ttr_ms: 400_000 } });
      for (const queue of [plain, plain, plain, own, usual]) {
        await publish({ queue, ...(queue === own ? { ttr_ms: 300_000 } : {}) });
      }
      expect(within(60_000, await lasts(plain))).toBe(true);
      await call('PUT', 'settings/ttr_ms', { value: 200_000 });
      try {
        expect(within(200_000, await lasts(plain))).toBe(true);
        expect(within(200_000, await lasts(plain, { worker: 'w' }))).toBe(true);
        expect(within(300_000, await lasts(own))).toBe(true);
        expect(within(400_000, await lasts(usual))).toBe(true);
      } finally {
        await call('DELETE', 'settings/ttr_ms');
      }
    });

    it('returns data that is not JSON in base64', async () => {
      const queue = fresh();
      await app.publish(queue, Buffer.from([0xff, 0x00]));
      await app.publish(queue, 'plain text');
      await app.publish(queue, '{"a":1}');
      const jobs = await lease({ queues: [queue], count: 3 });
      expect(
        jobs.map(({ data, data_base64, content_type }) => ({ data, data_base64, content_type })),
      ).toEqual([
        { data_base64: '/wA=', content_type: 'application/octet-stream' },
        {
          data_base64: Buffer.from('plain text').toString('base64'),
          content_type: 'application/octet-stream',
        },
        { data: { a: 1 }, content_type: 'application/json' },
      ]);
    });

    it('returns jobs of the lowest priority first, from several queues in order or in turns', async () => {
      const [one, two] = [fresh(), fresh()];
      await publish({
        jobs: [0, 1, 2].flatMap((n) => [
          { queue: one, priority: -n, data: n },
          { queue: two, priority: 1, data: n },
        ]),
      });
      const ordered = await lease({ queues: [one, two], count: 4 });
      expect(ordered.map(({ queue, data }) => [queue, data])).toEqual([
        [one, 2],
        [one, 1],
        [one, 0],
        [two, 0],
      ]);
      for (const { id, lease: number } of ordered) {
        expect((await post(`jobs/${id}/release`, { lease: number })).status).toBe(200);
      }
      const turns = await lease({ queues: [one, two], count: 4, order: 'round_robin' });
      expect(turns.map(({ queue }) => queue).sort()).toEqual([one, one, two, two]);
    });

    it('waits for a job, and returns an empty list after the wait', async () => {
      const queue = fresh();
      const waiting = lease({ queues: [queue], wait_ms: 20_000 });
      await waitFor(async () => (await app.admin('GET', '/metrics')).text.includes('waiters'), 5_000);
      const { id } = await publish({ queue, priority: 1 });
      expect((await waiting).map((job) => job.id)).toEqual([id]);
      expect(await lease({ queues: [queue], wait_ms: 1 })).toEqual([]);
      expect(await lease({ queues: [queue] })).toEqual([]);
    });

    it('is undone if the client disconnects just before its answer is written', async () => {
      const other = await TestApp.start();
      const connection = await other.open();
      // The server learns of it only when it writes.
      jest.spyOn(Delivery.prototype, 'isGone', 'get').mockImplementationOnce(() => {
        connection.cut();
        return false;
      });
      try {
        for (let i = 0; i < 100; i++) await other.publish('heavy?tries=1', Buffer.alloc(65_000, 'x'));
        const body = JSON.stringify({ queues: ['heavy'], count: 100, ttr_ms: 600_000 });
        const headers = { 'X-Token': other.token, 'Content-Length': String(body.length) };
        connection.write(head('POST', `/v1/${other.namespace}/leases`, headers) + body);
        await waitFor(() => connection.socket.destroyed);
        await waitFor(async () => (await other.engine.queues.size(other.namespace, 'heavy')) === 100, 5_000);
        expect(await other.get('heavy/peek')).toMatchObject({ json: { remain_tries: 1 } });
      } finally {
        await other.stop();
      }
    });

    it('is undone if the client disconnects before its answer: the jobs are ready, no try is used', async () => {
      const other = await TestApp.start();
      try {
        for (let i = 0; i < 100; i++) await other.publish('heavy?tries=1', Buffer.alloc(65_000, 'x'));
        const body = JSON.stringify({ queues: ['heavy'], count: 100, ttr_ms: 600_000 });
        const connection = await other.open();
        connection.socket.pause();
        const headers = { 'X-Token': other.token, 'Content-Length': String(body.length) };
        connection.write(head('POST', `/v1/${other.namespace}/leases`, headers) + body);
        await waitFor(async () => (await other.engine.queues.size(other.namespace, 'heavy')) < 100);
        // The answer is more than the system takes: most of it waits in the server.
        await sleep(100);
        connection.cut();
        await waitFor(async () => (await other.engine.queues.size(other.namespace, 'heavy')) === 100, 5_000);
        expect(await other.get('heavy/peek')).toMatchObject({ json: { remain_tries: 1 } });
      } finally {
        await other.stop();
      }
    });

    it('is undone and refused if its token was revoked during the wait', async () => {
      const queue = fresh();
      const store = app.server.admin.app.get(TokenStore, { strict: false });
      const token = await store.create(app.namespace, 'default', 'short-lived');
      const waiting = post('leases', { queues: [queue], wait_ms: 20_000 }, { token });
      await sleep(1_200);
      await store.delete({ pool: 'default', namespace: app.namespace, token });
      const { id } = await publish({ queue, priority: 1, tries: 1 });
      const refused = await waiting;
      expect([refused.status, code(refused)]).toEqual([401, 'token_invalid']);
      await waitFor(async () => (await find(id))['state'] === 'ready', 5_000);
      expect(await find(id)).toMatchObject({ tries_left: 1, attempts: 0 });
    });

    it.each<[string, object, string[]]>([
      ['no queues', {}, ['queues']],
      ['an empty list', { queues: [] }, ['queues']],
      ['one queue twice', { queues: ['a', 'a'] }, ['queues']],
      ['an invalid queue name', { queues: ['_a'] }, ['queues']],
      ['a count of 0', { queues: ['a'], count: 0 }, ['count']],
      ['a count of 101', { queues: ['a'], count: 101 }, ['count']],
      ['a ttr_ms of 0', { queues: ['a'], ttr_ms: 0 }, ['ttr_ms']],
      ['an unknown order', { queues: ['a'], order: 'random' }, ['order']],
      ['a wait_ms beyond the maximum', { queues: ['a'], wait_ms: MAX_PERIOD_MS + 1 }, ['wait_ms']],
      ['a line break in the worker', { queues: ['a'], worker: 'a\nb' }, ['worker']],
      ['an unknown field', { queues: ['a'], timeout: 1 }, ['timeout']],
    ])('is refused with %s', async (_, body, wrong) => {
      const answer = await post('leases', body);
      expect([answer.status, wrongFields(answer)]).toEqual([400, wrong]);
    });
  });
});

describe('lease operations', () => {
  useNativeApi();

  describe('a lease holder', () => {
    it('acknowledges its job, which is removed', async () => {
      const queue = fresh();
      await publish({ queue, type: 't' });
      const { id, lease: number } = await leaseOne(queue);
      const { status, json } = await post(`jobs/${id}/ack`, { lease: number });
      expect([status, json]).toEqual([200, { id, status: 'acked' }]);
      expect((await call('GET', `jobs/${id}`)).status).toBe(404);
      const again = await post(`jobs/${id}/ack`, { lease: number });
      expect([again.status, code(again)]).toEqual([404, 'job_not_found']);
    });

    it('stores a result, which the done job shows, and is refused one that is too large', async () => {
      const queue = fresh();
      await publish({ queue, retention_ms: 60_000 });
      const { id, lease: number } = await leaseOne(queue);
      const too = await post(`jobs/${id}/ack`, { lease: number, result: 'x'.repeat(5_000) });
      expect([too.status, wrongFields(too)]).toEqual([400, ['result']]);
      expect((await post(`jobs/${id}/ack`, { lease: number, result: { sum: 3 } })).status).toBe(200);
      expect(await find(id)).toMatchObject({
        state: 'done',
        result: { data: { sum: 3 }, content_type: 'application/json' },
      });
    });

    it('moves its job to another queue, where the job keeps id, data and timeline', async () => {
      const [queue, next] = [fresh(), fresh()];
      await publish({ queue, data: 'kept', tries: 5, type: 't' });
      const { id, lease: number } = await leaseOne(queue);
      const { json } = await post(`jobs/${id}/ack`, { lease: number, next: { queue: next } });
      expect(json).toEqual({ id, status: 'moved' });
      const job = await leaseOne(next);
      expect(job).toMatchObject({ id, queue: next, data: 'kept', tries_left: 4 });
      expect(job.lease).toBeGreaterThan(number);
      const { timeline } = await find(id);
      expect((timeline as { what: string }[]).map(({ what }) => what)).toEqual([
        'published',
        'leased',
        'moved',
        'leased',
      ]);
    });

    it('keeps its lease by heartbeats, and reports progress', async () => {
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
      expect(await find(id)).toMatchObject({
        lease_ends_at: news.lease_ends_at,
        progress: { done: 5 },
        data: 2,
      });
    });

    it('releases its job at once or with a delay, without using a try', async () => {
      const queue = fresh();
      await publish({ queue, tries: 1, type: 't' });
      const first = await leaseOne(queue);
      const { status, json } = await post(`jobs/${first.id}/release`, { lease: first.lease });
      expect([status, json]).toEqual([200, { id: first.id, state: 'ready', due_at: null, tries_left: 1 }]);
      const second = await leaseOne(queue);
      expect(second).toMatchObject({ id: first.id, tries_left: 0, attempts: 1 });
      const later = await post(`jobs/${second.id}/release`, { lease: second.lease, delay_ms: 60_000 });
      expect(later.json).toMatchObject({ state: 'scheduled', due_at: (await find(second.id))['due_at'] });
    });

    it('retries its job after the given delay, or after that of the retry policy', async () => {
      const queue = fresh();
      await publish({ queue, tries: 3, retry: { kind: 'fixed', delay_ms: 60_000 } });
      const first = await leaseOne(queue);
      const now = await post(`jobs/${first.id}/retry`, {
        lease: first.lease,
        group: 'net',
        message: 'no\nroute',
        delay_ms: 0,
      });
      expect(now.json).toEqual({ id: first.id, state: 'ready', due_at: null, tries_left: 2 });
      const second = await leaseOne(queue, { worker: 'w' });
      expect(second).toMatchObject({ failures: 1, tries_left: 1 });
      const later = await post(`jobs/${second.id}/retry`, { lease: second.lease });
      expect(later.json).toMatchObject({ state: 'scheduled', tries_left: 1 });
      const job = await find(second.id);
      expect(job).toMatchObject({
        state: 'scheduled',
        failures: 2,
        failure: { group: 'failed', message: '', worker: 'w' },
      });
    });

    it.each<[string, (lease: number) => object]>([
      ['release', (number) => ({ lease: number })],
      ['revoke', () => ({})],
      ['retry', (number) => ({ lease: number, group: 'g', delay_ms: 0 })],
    ])('is told that its job is held if another one of its key goes first: %s', async (verb, fields) => {
      const queue = fresh();
      await given('PATCH', `queues/${queue}`, { max_running_per_key: 1 });
      const { id } = await publish({ queue, tries: 3, concurrency_key: 'k' });
      const { lease: number } = await leaseOne(queue);
      await publish({ queue, concurrency_key: 'k' });
      const { json } = await post(`jobs/${id}/${verb}`, fields(number));
      expect(json).toMatchObject({ id, state: 'held', due_at: null });
      expect(await find(id)).toMatchObject({ state: 'held' });
    });

    it('fails its job, which is dead at once, with the error', async () => {
      const queue = fresh();
      await publish({ queue, tries: 9, type: 't' });
      const { id, lease: number } = await leaseOne(queue, { worker: 'w' });
      const { json } = await post(`jobs/${id}/fail`, { lease: number, group: 'bad', message: 'why' });
      expect(json).toEqual({ id, state: 'dead', due_at: null, tries_left: 8 });
      expect(await find(id)).toMatchObject({
        state: 'dead',
        failure: { group: 'bad', message: 'why', worker: 'w' },
      });
      expect((await app.get(`${queue}/deadletter`)).json).toMatchObject({
        deadletter_head: id,
        deadletter_size: 1,
      });
    });

    it.each(CALLS)(
      'gets lease_lost for another lease number, and changes nothing: %s',
      async (verb, more) => {
        const queue = fresh();
        await publish({ queue, tries: 5, type: 't' });
        const first = await leaseOne(queue);
        await post(`jobs/${first.id}/release`, { lease: first.lease });
        const second = await leaseOne(queue, { ttr_ms: 600_000 });
        const before = await find(first.id);
        for (const number of [first.lease, second.lease + 1]) {
          const answer = await post(`jobs/${first.id}/${verb}`, { lease: number, ...more });
          expect(answer).toMatchObject({ status: 409, json: { code: 'lease_lost', state: 'leased' } });
        }
        expect(await find(first.id)).toEqual(before);
      },
    );

    it.each(CALLS)('gets lease_lost with the state of the job after a release: %s', async (verb, more) => {
      const queue = fresh();
      await publish({ queue, tries: 5, type: 't' });
      const { id, lease: number } = await leaseOne(queue);
      const lost = { status: 409, json: { code: 'lease_lost' } };
      const lateCall = (): Promise<Answer> => post(`jobs/${id}/${verb}`, { lease: number, ...more });

      await post(`jobs/${id}/release`, { lease: number, delay_ms: 60_000 });
      expect(await lateCall()).toMatchObject({ ...lost, json: { state: 'scheduled' } });
      await given('PATCH', `jobs/${id}`, { delay_ms: 0 });
      expect(await lateCall()).toMatchObject({ ...lost, json: { state: 'ready' } });
    });

    it.each(CALLS)('is refused with 400 or 404 if the id is unknown or malformed: %s', async (verb, more) => {
      for (const id of ['01M7Z17XME660YPHBY512QCVQF', 'missing', 'no%20id', '%F0%9F']) {
        const answer = await post(`jobs/${id}/${verb}`, { lease: 1, ...more });
        expect([id, [400, 404].includes(answer.status)]).toEqual([id, true]);
      }
    });

    it.each(CALLS)('gets 400 without a valid lease number: %s', async (verb, more) => {
      for (const wrong of [undefined, 0, '1', null, 4_294_967_296]) {
        const answer = await post(`jobs/x/${verb}`, { lease: wrong, ...more });
        expect([answer.status, wrongFields(answer)]).toEqual([400, ['lease']]);
      }
    });

    it('replaces the data of its job with an ack, retry or fail, byte for byte', async () => {
      const queue = fresh();
      const text = async (id: string): Promise<string> =>
        (await app.get(`/v1/${app.namespace}/jobs/${id}`)).text;
      const written = '{ "a": 1.50, "a": 98765432109876543210 }';
      for (const verb of ['retry', 'fail', 'ack']) {
        const { id } = await publish({ queue, data: 1, retention_ms: 60_000 });
        const { lease: number } = await leaseOne(queue);
        const answer = await post(`jobs/${id}/${verb}`, `{"lease":${String(number)},"data":${written}}`);
        expect(answer.status).toBe(200);
        expect(await text(id)).toContain(`"data":${written},"content_type":"application/json"`);
        await call('DELETE', `jobs/${id}`);
      }
      const bytes = { data_base64: '/+8=', content_type: 'image/png' };
      const { id: failed } = await publish({ queue, data: 1 });
      await post(`jobs/${failed}/fail`, { lease: (await leaseOne(queue)).lease, ...bytes });
      expect(await find(failed)).toMatchObject({ state: 'dead', ...bytes });

      const { id: many } = await publish({ queue, data: 1, retention_ms: 60_000 });
      const { lease: last } = await leaseOne(queue);
      await post(
        'acks',
        `{"acks":[{"queue":"${queue}","id":"${many}","lease":${String(last)},"result":2,"data":${written}}]}`,
      );
      expect(await text(many)).toContain(`"data":${written},`);
      expect(await find(many)).toMatchObject({ state: 'done', result: { data: 2 } });
    });

    it('is refused new data that is malformed, too large or given twice, and the job keeps its old data', async () => {
      const queue = fresh();
      const { id } = await publish({ queue, data: 'old', retention_ms: 60_000 });
      const { lease: number } = await leaseOne(queue);
      for (const [more, field] of [
        [{ data: 1, data_base64: 'YQ==' }, 'data_base64'],
        [{ content_type: 'text/plain' }, 'content_type'],
        [{ data: 1, content_type: 'text/plain' }, 'content_type'],
        [{ data: 'x'.repeat(5_000) }, 'data'],
        [{ data_base64: 'Y' }, 'data_base64'],
      ] as const) {
        for (const verb of ['retry', 'fail', 'ack']) {
          const answer = await post(`jobs/${id}/${verb}`, { lease: number, ...more });
          expect([verb, answer.status, wrongFields(answer)]).toEqual([verb, 400, [field]]);
        }
      }
      const stale = await post(`jobs/${id}/fail`, { lease: number + 1, data: 'new' });
      expect(stale).toMatchObject({ status: 409, json: { code: 'lease_lost' } });
      expect(await find(id)).toMatchObject({ state: 'leased', data: 'old' });
    });

    it('acknowledges many jobs, with results and next queues', async () => {
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
          { queue, id: 'missing', lease: 1, result: 1 },
        ],
      });
      expect(status).toBe(200);
      expect((json as { results: object[] }).results).toEqual([
        { id: one!.id, status: 'acked' },
        { id: two!.id, status: 'acked' },
        { id: three!.id, status: 'moved' },
        { id: four!.id, status: 'lease_lost', state: 'leased' },
        { id: 'missing', status: 'not_found' },
      ]);
      expect(await find(one!.id)).toMatchObject({ state: 'done', result: { data: 'r' } });
      expect(await find(three!.id)).toMatchObject({ state: 'scheduled', queue: next });
      expect(await find(four!.id)).toMatchObject({ state: 'leased' });
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

    it('publishes, leases and settles jobs in these queues only', async () => {
      await publish({ queue: 'other', type: 't' });
      const others = await leaseOne('other');
      const own = { token };
      for (const [path, body] of [
        ['jobs', { queue: 'other' }],
        ['jobs', { jobs: [{ queue: 'mail' }, { queue: 'other' }] }],
        ['leases', { queues: ['mail', 'other'] }],
      ] as const) {
        const answer = await post(path, body, own);
        expect([path, answer.status, code(answer)]).toEqual([path, 403, 'queue_not_allowed']);
      }
      // A job of another queue is as one that does not exist.
      for (const [path, body] of [
        [`jobs/${others.id}/ack`, { lease: others.lease }],
        [`jobs/${others.id}/heartbeat`, { lease: others.lease }],
        [`jobs/${others.id}/release`, { lease: others.lease }],
        [`jobs/${others.id}/retry`, { lease: others.lease }],
        [`jobs/${others.id}/fail`, { lease: others.lease }],
      ] as const) {
        const answer = await post(path, body, own);
        expect([path, answer.status, code(answer)]).toEqual([path, 404, 'job_not_found']);
      }
      expect((await call('GET', `jobs/${others.id}`, undefined, own)).status).toBe(404);
      // `acks` says nothing of it either, under the name of a queue of the token.
      const acks = [{ queue: 'mail', id: others.id, lease: others.lease + 1 }];
      expect((await post('acks', { acks }, own)).json).toEqual({
        results: [{ id: others.id, status: 'not_found' }],
      });
      expect(await find(others.id)).toMatchObject({ state: 'leased' });

      const { id } = await publish({ queue: 'mail-1', type: 't' }, own);
      const [job] = await lease({ queues: ['mail-1'] }, own);
      expect(job?.id).toBe(id);
      const moved = await post(`jobs/${id}/ack`, { lease: job!.lease, next: { queue: 'other' } }, own);
      expect([moved.status, code(moved)]).toEqual([403, 'queue_not_allowed']);
      expect((await post(`jobs/${id}/ack`, { lease: job!.lease }, own)).status).toBe(200);
    });

    it.each(CALLS)(
      'does not learn the state of a job that moved to another queue: %s',
      async (verb, more) => {
        const queue = fresh('mail');
        const { id } = await publish({ queue, type: 't' });
        const [job] = await lease({ queues: [queue] }, { token });
        const { jobs } = app.server.api.app.get(Engines, { strict: false }).of('default');
        const placesOf = jobs.placesOf.bind(jobs);
        // It moves when the server has found it in a queue of the token, before the operation.
        const lookups = jest.spyOn(jobs, 'placesOf').mockImplementationOnce(async (...args) => {
          const places = await placesOf(...args);
          await given('POST', `jobs/${id}/ack`, { lease: job!.lease, next: { queue: 'other' } });
          return places;
        });
        const answer = await post(`jobs/${id}/${verb}`, { lease: job!.lease, ...more }, { token });
        lookups.mockRestore();

        expect(answer).toMatchObject({ status: 409, json: { code: 'lease_lost', state: null } });
        expect(await find(id)).toMatchObject({ queue: 'other', state: 'ready' });
      },
    );

    it('needs the permission of each call', async () => {
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
});

describe('batch ack', () => {
  const PROBLEM = 'application/problem+json';
  /** A lost lease is not among them: it is an item's own, and no failure of the call. */
  const STATUS: Record<Exclude<ErrorCode, 'lease_lost'>, number> = {
    ...{ invalid_argument: 400, token_missing: 401, token_invalid: 401, pool_not_found: 404 },
    ...{ verb_missing: 403, queue_not_allowed: 403, role_missing: 403, namespace_not_found: 404 },
    ...{ dependency_cycle: 400, too_many_dependencies: 400, has_dependents: 409, not_waiting: 409 },
    ...{ job_done: 409, due_unknown: 409, missing_dependency: 409, format_too_old: 409, older_servers: 409 },
    ...{
      job_not_found: 404,
      recurring_not_found: 404,
      worker_not_found: 404,
      leased: 409,
      not_leased: 409,
      job_exists: 409,
      unique_key_taken: 409,
    },
    ...{ body_too_large: 413, rate_limited: 429 },
    ...{ idempotency_key_reused: 422, too_many_queues: 429, queue_full: 429, namespace_full: 429 },
    ...{ operation_not_found: 404, too_many_operations: 429, operation_running: 409, undo_gone: 409 },
    ...{ queue_draining: 409, queue_not_found: 404, queue_not_empty: 409 },
    ...{
      target_not_found: 404,
      variable_not_found: 404,
      target_in_use: 409,
      push_disabled: 409,
      push_key_mismatch: 409,
    },
    ...{ durability_unavailable: 503, not_replicated: 503 },
    ...{ too_many_streams: 429, pool_moving: 503 },
    ...{ too_many_waiters: 429, overloaded: 503, uri_too_long: 414, headers_too_large: 431 },
    ...{
      internal: 500,
      coding_not_supported: 501,
      pool_unavailable: 503,
      disk_full: 503,
      shutting_down: 503,
      store_full: 507,
    },
  };

  describe.each(['/acks', '/%61cks'])('a batch acknowledgement, by %s', (path) => {
    let app: TestApp;
    let engine: Engine;
    beforeAll(async () => {
      app = await TestApp.start({ PUMPHOUSE_LIMITS__MAX_BULK_BYTES: '200000' });
      engine = app.server.api.app.get(Engines, { strict: false }).of('default');
    });
    afterAll(() => app.stop());

    const post = (
      body: string | object,
      options: CallOptions = {},
      namespace = app.namespace,
    ): Promise<Answer> =>
      app.call('POST', `/v1/${namespace}${path}`, {
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...options,
      });
    const take = async (queue: string, count: number, ttrMs = 60_000): Promise<LeasedJob[]> => {
      for (let i = 0; i < count; i++) await app.publish(`${queue}?tries=5`);
      return app.engine.lease(app.namespace, { queues: [queue], count, ttrMs, waitMs: 0 });
    };
    const left = async (...queues: string[]): Promise<number> => {
      const counts = await app.engine.queues.counts(app.namespace, queues);
      return counts.reduce((sum, { ready, leased, dead }) => sum + ready + leased + dead, 0);
    };

    it('acknowledges jobs of several queues, with a lease and by force', async () => {
      const [one] = await take('one', 1);
      const two = await take('two', 2);
      const acks = [
        { queue: 'two', id: two[1]!.id, lease: two[1]!.lease },
        { queue: 'one', id: one!.id, force: true },
        { queue: 'two', id: two[0]!.id, lease: two[0]!.lease },
      ];
      const { status, headers, json } = await post({ acks });

      expect(status).toBe(200);
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(headers['x-request-id']).toMatch(/^[0-9A-Z]{26}$/);
      expect(json).toEqual({ results: acks.map(({ id }) => ({ id, status: 'acked' })) });
      expect(await left('one', 'two')).toBe(0);
    });

    it('returns a result for each job, whatever the other results are', async () => {
      const jobs = await take('mixed', 3);
      const [first, second, third] = jobs.map(({ id, lease }) => ({ queue: 'mixed', id, lease }));
      const acks = [
        first!,
        { ...second!, lease: second!.lease + 1 },
        { queue: 'mixed', id: 'missing', force: true },
        first!,
        { ...third!, queue: 'elsewhere' },
      ];
      const { json } = await post({ acks });

      expect((json as { results: { status: string }[] }).results.map(({ status }) => status)).toEqual([
        'acked',
        'lease_lost',
        'not_found',
        'not_found',
        'not_found',
      ]);
      expect(await left('mixed')).toBe(2);
      await post({ acks: [second, third] });
      expect(await left('mixed')).toBe(0);
    });

    it('accepts 1,000 jobs', async () => {
      const acks = Array.from({ length: 1_000 }, (_, i) => ({
        queue: 'q',
        id: `job-${String(i)}`,
        lease: 1,
      }));
      const { status, json } = await post({ acks });

      expect(status).toBe(200);
      expect(json).toEqual({ results: acks.map(({ id }) => ({ id, status: 'not_found' })) });
    });

    it('acknowledges nothing if one entry is invalid', async () => {
      const [job] = await take('kept', 1);
      const { status, headers, json } = await post({
        acks: [
          { queue: 'kept', id: job!.id, lease: job!.lease },
          { queue: 'kept', id: '"', lease: 1 },
          { queue: 'kept', id: 'x', lease: 0 },
        ],
      });

      expect(status).toBe(400);
      expect(headers['content-type']).toBe(PROBLEM);
      expect(json).toEqual({
        code: 'invalid_argument',
        detail: expect.stringMatching(/^acks\[1\]\.id: must be a job's id.* \(and 1 more\)$/) as string,
        errors: [
          { field: 'acks[1].id', rule: expect.stringMatching(/^must be a job's id/) as string },
          { field: 'acks[2].lease', rule: expect.stringContaining('whole number') as string },
        ],
        status: 400,
        title: 'Bad Request',
        type: 'about:blank',
      });
      expect(await left('kept')).toBe(1);
      await post({ acks: [{ queue: 'kept', id: job!.id, lease: job!.lease }] });
    });

    it('removes a job without a lease only by force', async () => {
      const id = await app.publish('forced?delay=60');
      const answer = await post({ acks: [{ queue: 'forced', id }] });

      expect(answer).toMatchObject({ status: 400, json: { errors: [{ field: 'acks[0].lease' }] } });
      expect(await app.get(`forced/job/${id}`)).toMatchObject({ status: 200 });
      expect((await post({ acks: [{ queue: 'forced', id, force: true }] })).json).toEqual({
        results: [{ id, status: 'acked' }],
      });
    });

    it('is refused as a whole if one entry has force and the token lacks the permission admin', async () => {
      const { json } = await app.admin(
        'POST',
        `/token/${app.namespace}?description=d&verbs=consume&queues=own*`,
      );
      const { token } = json as { token: string };
      const [own] = await take('own', 1);
      const scheduled = await app.publish('own?delay=60');
      const leased = { queue: 'own', id: own!.id, lease: own!.lease };
      const acks = [leased, { queue: 'own', id: scheduled, force: true }];

      expect(await post({ acks }, { token })).toMatchObject({ status: 403, json: { code: 'verb_missing' } });
      // The queue is checked first: nothing is said of a foreign one.
      const foreign = [{ queue: 'foreign', id: 'x', force: true }];
      expect(await post({ acks: foreign }, { token })).toMatchObject({
        status: 403,
        json: { code: 'queue_not_allowed' },
      });
      expect((await post({ acks: [leased] }, { token })).json).toMatchObject({
        results: [{ status: 'acked' }],
      });
      expect(await app.get(`own/job/${scheduled}`)).toMatchObject({ status: 200 });
      await post({ acks: [{ queue: 'own', id: scheduled, force: true }] });
    });

    const ONE = { acks: [{ queue: 'q', id: 'x', lease: 1 }] };
    it.each<[string, () => Promise<Answer>, number, string]>([
      ['no token', () => post(ONE, { token: null }), 401, 'token_missing'],
      ['a wrong token', () => post(ONE, { token: 'wrong' }), 401, 'token_invalid'],
      ['an unknown pool', () => post(ONE, { token: 'nowhere:x' }), 404, 'pool_not_found'],
      ["another namespace's token", () => post(ONE, {}, 'foreign'), 401, 'token_invalid'],
      ['a forbidden namespace', () => post(ONE, {}, 'a.b'), 400, 'invalid_argument'],
      ['a long namespace', () => post(ONE, {}, 'n'.repeat(256)), 400, 'invalid_argument'],
      ['an empty namespace', () => post(ONE, {}, ''), 400, 'invalid_argument'],
      ['no body', () => post(''), 400, 'invalid_argument'],
      ['no JSON', () => post('acks'), 400, 'invalid_argument'],
      ['a body that is too large', () => post('x'.repeat(200_001)), 413, 'body_too_large'],
      ['no such call', () => app.call('POST', `/v1/${app.namespace}/nope`), 404, 'not_found'],
      ['an address that cannot be decoded', () => app.call('POST', '/v1/%zz/acks'), 400, 'bad_request'],
    ])('is refused with problem details: %s', async (_name, call, status, code) => {
      const answer = await call();

      expect(answer).toMatchObject({ status, json: { code, status, type: 'about:blank' } });
      expect(answer.headers['content-type']).toBe(PROBLEM);
      expect(answer.headers['x-request-id']).toMatch(/^[0-9A-Z]{26}$/);
    });

    it.each(['GET', 'PUT', 'DELETE', 'OPTIONS'])(
      'answers the method %s with 405 and Allow: POST',
      async (method) => {
        const answer = await app.call(method, `/v1/${app.namespace}${path}`);

        const detail = `method ${method} not allowed; allowed: POST`;
        expect(answer).toMatchObject({
          status: 405,
          json: { code: 'method_not_allowed', detail, status: 405 },
        });
        expect(answer.headers.allow).toBe('POST');
      },
    );

    it('accepts the token in the query', async () => {
      const { status } = await app.call('POST', `/v1/${app.namespace}${path}?token=${app.token}`, {
        token: null,
        body: JSON.stringify(ONE),
      });

      expect(status).toBe(200);
    });

    it.each(Object.entries(STATUS))(
      'is answered, for the error %s of the engine, with %i',
      async (code, status) => {
        const ack = (): Promise<never> => Promise.reject(new QueueError(code as ErrorCode, 'as it is'));
        Object.assign(engine, { ack, ackMany: ack });
        try {
          const { status: got, headers, json } = await post(ONE);
          expect(got).toBe(status);
          expect(json).toMatchObject({ code, status });
          // These two messages are for the client: what a moving pool cannot do, and how to send a body. Other faults
          // of the server and its store are not shown.
          const isShown = status < 500 || ['pool_moving', 'coding_not_supported'].includes(code);
          expect((json as { detail: string }).detail === 'as it is').toBe(isShown);
          const isOverSoon =
            /^(queue_full|namespace_full|rate_limited|too_many_(waiters|streams|operations))$/.test(code);
          expect(headers['retry-after']).toBe(status === 503 || isOverSoon ? '1' : undefined);
        } finally {
          Reflect.deleteProperty(engine, 'ack');
          Reflect.deleteProperty(engine, 'ackMany');
        }
      },
    );

    it('answers that it is a bug if the engine throws a TypeError, and logs it', async () => {
      const ack = (): never => {
        throw new TypeError('a bug');
      };
      Object.assign(engine, { ack, ackMany: ack });
      app.log.length = 0;
      try {
        const answer = await post(ONE);
        const detail = 'internal error, a bug of the server: report it with the X-Request-Id of this answer';
        expect(answer).toMatchObject({ status: 500, json: { code: 'internal', detail } });
        expect(app.log).toMatchObject([{ level: 'error', message: 'request failed' }]);
      } finally {
        Reflect.deleteProperty(engine, 'ack');
        Reflect.deleteProperty(engine, 'ackMany');
      }
    });
  });
});
