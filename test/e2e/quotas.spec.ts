import { waitFor } from '../support/redis.js';
import { TestApp, type Answer } from '../support/app.js';

/** By the hot lane, and by the router: an escape in the path is all that it takes. The Redis is its own, for bytes are counted in all of it. */
describe.each([
  ['the hot lane', 'q'],
  ['the router', '%71'],
])('quotas, over %s', (_way, q) => {
  let app: TestApp;
  beforeAll(async () => {
    ({ app } = await TestApp.alone({
      PUMPHOUSE_LIMITS__MAX_QUEUES_PER_NAMESPACE: '2',
      PUMPHOUSE_LIMITS__MAX_JOBS_PER_QUEUE: '3',
      PUMPHOUSE_LIMITS__MAX_BYTES_PER_NAMESPACE: '100',
    }));
  });
  afterAll(() => app.stop());
  afterEach(async () => {
    for (const queue of await app.engine.queues(app.namespace)) await app.delete(queue);
    await app.engine.tidyNow(app.namespace);
  });

  const FULL = '{"code":"queue_full","error":"the queue holds as many jobs as it may"}';
  const LARGE = '{"code":"namespace_full","error":"the namespace holds as many bytes as it may"}';
  const MANY = '{"code":"too_many_queues","error":"the namespace has as many queues as it may"}';

  function expectRefused(answer: Answer, text: string, retryAfter: string | undefined): void {
    expect(answer).toMatchObject({ status: 429, text });
    expect(answer.headers['retry-after']).toBe(retryAfter);
  }

  it('refuse a publish and a whole bulk to a full queue, and let it be worked on', async () => {
    expectRefused(await app.put(`${q}/bulk`, '[1,2,3,4]'), FULL, '1');
    expect(await app.put(`${q}/bulk`, '[1,2]')).toMatchObject({ status: 201 });
    expectRefused(await app.put(`${q}/bulk`, '[3,4]'), FULL, '1');
    const id = await app.publish(q, '3');
    expectRefused(await app.put(q, '4'), FULL, '1');
    expectRefused(await app.put(q, '4', { headers: { 'Idempotency-Key': 'k' } }), FULL, '1');
    expectRefused(await app.put(`${q}/job/nobody`, '4'), FULL, '1');

    expect(await app.put(`${q}/job/${id}`, '3 anew')).toMatchObject({ status: 201 });
    const { json } = await app.get(q);
    expect(await app.delete(`${q}/job/${(json as { job_id: string }).job_id}`)).toMatchObject({
      status: 204,
    });
    expect(await app.put(q, '4', { headers: { 'Idempotency-Key': 'k' } })).toMatchObject({ status: 201 });
  });

  it('count what they refuse, by kind, on the native API too', async () => {
    const counts = async (): Promise<number[]> => {
      const { text } = await app.admin('GET', '/metrics');
      const value = (kind: string): number =>
        Number(new RegExp(`^pumphouse_quota_refusals_total\\{kind="${kind}"\\} (\\d+)`, 'm').exec(text)?.[1]);
      return ['queues', 'jobs', 'bytes'].map(value);
    };
    const before = await counts();
    await app.put(`${q}/bulk`, '[1,2,3,4]');
    await app.put(q, 'x'.repeat(101));
    const jobs = ['a', 'b', 'c'].map((queue) => ({ queue, tags: ['rich'] }));
    expect(
      await app.call('POST', `/v1/${app.namespace}/jobs`, { body: JSON.stringify({ jobs }) }),
    ).toMatchObject({ status: 429 });
    expect(await counts()).toEqual(before.map((count) => count + 1));
  });

  it('refuse bodies beyond the bytes of the namespace', async () => {
    await app.publish(q, 'x'.repeat(60));
    await app.publish('other', 'x'.repeat(40));
    expectRefused(await app.put(q, 'x'), LARGE, '1');
    await app.delete('other');
    await app.publish(q, 'x'.repeat(40));
  });

  it('refuse a third queue', async () => {
    await app.publish(q, '1');
    await app.publish('b', '1');
    expectRefused(await app.put('c', '1'), MANY, undefined);
    await app.publish('b', '2');
  });

  it('refuse no respawn, and count dead jobs', async () => {
    for (const body of ['1', '2', '3']) await app.publish(`${q}?tries=1`, body);
    await app.get(`${q}?count=3&ttr=0`);
    await waitFor(async () => (await app.engine.deadLetterHead(app.namespace, 'q')).size === 3, 5_000);
    expectRefused(await app.put(q, '4'), FULL, '1');
    expect(await app.call('PUT', `${q}/deadletter?limit=3`)).toMatchObject({ json: { count: 3 } });
  });
});
