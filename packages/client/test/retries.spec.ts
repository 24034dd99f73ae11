import { fetchTransport } from '../src/transport/fetch-transport.js';
import { client, clientOf, faulty, fresh, proxy, useServer } from './fixture.js';

useServer();

/** A call that must not be done twice: a revoke may meet the next lease. */
const revoke = async (): Promise<unknown> => {
  const { id } = await client.publish({ queue: fresh() });
  return faulty.jobs.revoke(id).catch((error: unknown) => error);
};

describe('a client call that must not run twice', () => {
  it('is not sent again after its answer was lost', async () => {
    proxy.next('/revoke', 'lose');
    expect(await revoke()).toMatchObject({ code: 'network', status: 0, retryable: true, attempts: 1 });
    expect(proxy.of('/revoke')).toHaveLength(1);
  });

  it('is not sent again after 503 pool_unavailable, because the server may have done it', async () => {
    proxy.next('/revoke', { status: 503, body: { code: 'pool_unavailable' } });
    expect(await revoke()).toMatchObject({ code: 'pool_unavailable', attempts: 1 });
    expect(proxy.of('/revoke')).toHaveLength(1);
  });

  it.each([
    ['503 overloaded', { status: 503 }],
    ['503 shutting_down', { status: 503, body: { code: 'shutting_down' } }],
    ['429', { status: 429, body: { code: 'rate_limited' } }],
  ])('is sent again after %s, because the server did not begin it', async (_, fault) => {
    proxy.next('/revoke', fault, fault);
    expect(await revoke()).toMatchObject({ code: 'not_leased', attempts: 3 });
    expect(proxy.of('/revoke')).toHaveLength(3);
  });
});

describe('the Retry-After of an answer to the client', () => {
  it.each([
    ['in seconds', () => '1', 950],
    ['as a date', () => new Date(Date.now() + 2_000).toUTCString(), 900],
  ])('delays the next attempt after a 503: %s', async (_, header, leastMs) => {
    proxy.next('/jobs', { status: 503, headers: { 'retry-after': header() } });
    await faulty.publish({ queue: fresh() });
    const [first, second] = proxy.of('/jobs');
    expect(second!.atMs - first!.atMs).toBeGreaterThan(leastMs);
  });

  it('is ignored with an error that is not retried', async () => {
    proxy.rule = () => ({ status: 429, headers: { 'retry-after': '1' }, body: { code: 'too_many_queues' } });
    await expect(faulty.publish({ queue: fresh() })).rejects.toMatchObject({
      code: 'too_many_queues',
      attempts: 1,
      retryable: false,
    });
  });
});

describe('a publish of the client without an answer in time', () => {
  it('is sent again, and stores no second job although the first attempt stored the job', async () => {
    const queue = fresh();
    const hasty = clientOf({ url: proxy.url, retry: { attemptMs: 300 } });
    proxy.next('/jobs', 'keep', 'keep');
    const { id } = await hasty.publish({ queue, data: 1 });
    const keys = proxy.of('/jobs').map(({ headers }) => headers['idempotency-key']);
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
    expect((await client.queues.get(queue)).length).toBe(1);
    expect((await client.jobs.get(id)).data).toBe(1);
    hasty.close();
  });
});

describe('the maxAnswerBytes of a client', () => {
  it.each([
    ['node:http', {}],
    ['fetch', { transport: fetchTransport }],
  ])('ends a call with a longer answer by an error, without a second request: %s', async (_, options) => {
    const { id } = await client.publish({ queue: fresh(), data: 'x'.repeat(5_000) });
    const bounded = clientOf({ url: proxy.url, maxAnswerBytes: 5_000, ...options });
    await expect(bounded.jobs.get(id)).rejects.toMatchObject({
      code: 'answer_too_large',
      retryable: false,
      message: expect.stringContaining('raise maxAnswerBytes') as string,
    });
    expect(proxy.of(`/${id}`)).toHaveLength(1);
    const enough = clientOf({ url: proxy.url, maxAnswerBytes: 20_000, ...options });
    expect((await enough.jobs.get(id)).data).toHaveLength(5_000);
    bounded.close();
    enough.close();
  });

  it.each([0, 1.5, NaN])('is refused with the value %s', (maxAnswerBytes) => {
    expect(() => clientOf({ maxAnswerBytes })).toThrow('maxAnswerBytes must be a whole number from 1');
  });
});
