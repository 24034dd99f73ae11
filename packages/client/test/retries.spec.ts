import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { fetchTransport } from '../src/transport/fetch-transport.js';
import { app, client, clientOf, faulty, fresh, proxy, useServer } from './fixture.js';

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

describe('put() of the client', () => {
  it('is not sent again after its answer was lost, because a worker may have taken the job', async () => {
    const [queue, id] = [fresh(), fresh('job')];
    proxy.next(`/${id}`, 'lose');
    const error: unknown = await faulty.jobs.put(id, { queue }).catch((refused: unknown) => refused);
    expect(error).toMatchObject({ code: 'network', retryable: true, attempts: 1 });
    expect(proxy.of(`/${id}`)).toHaveLength(1);
    expect((await client.jobs.get(id)).state).toBe('ready');
  });

  it('is sent again after 503 overloaded, because the server did not begin it', async () => {
    const [queue, id] = [fresh(), fresh('job')];
    proxy.next(`/${id}`, { status: 503 });
    expect(await faulty.jobs.put(id, { queue })).toMatchObject({ id, state: 'ready' });
    expect(proxy.of(`/${id}`)).toHaveLength(2);
  });
});

describe('cancel() and delete() of the client', () => {
  it('report a job as already cancelled if an attempt whose answer was lost has cancelled it', async () => {
    const { id } = await client.publish({ queue: fresh() });
    proxy.next('/cancel', 'lose');
    expect(await faulty.jobs.cancel(id)).toEqual({ id, outcome: 'already_cancelled', revokedAt: null });
    expect(proxy.of('/cancel')).toHaveLength(2);
  });

  it('fail if there is no such job at the first attempt', async () => {
    for (const call of [() => client.jobs.cancel('none'), () => client.jobs.delete('none')])
      await expect(call()).rejects.toMatchObject({ code: 'job_not_found', attempts: 1 });
  });

  it('fail if there is no such job after an attempt that the server did not begin', async () => {
    for (const [path, call] of [
      ['/cancel', () => faulty.jobs.cancel('none')],
      ['/none', () => faulty.jobs.delete('none')],
    ] as const) {
      proxy.next(path, { status: 503 });
      await expect(call()).rejects.toMatchObject({ code: 'job_not_found', attempts: 2, mayBeDone: false });
    }
  });

  it('fail if a proxy answers 404 after an attempt that the server did not begin', async () => {
    const { id } = await client.publish({ queue: fresh() });
    for (const [path, call] of [
      ['/cancel', () => faulty.jobs.cancel(id)],
      [`/${id}`, () => faulty.jobs.delete(id)],
    ] as const) {
      proxy.next(path, { status: 503 }, { status: 404, text: '<h1>no route</h1>' });
      await expect(call()).rejects.toMatchObject({ code: 'http_404', attempts: 2 });
    }
    expect((await client.jobs.get(id)).state).toBe('ready');
  });
});

describe('publishMany() of the client', () => {
  it('stores nothing if its key is too long for all of its calls', async () => {
    const queue = fresh();
    const jobs = Array.from({ length: 65 }, () => ({ queue }));
    const publish = (length: number) =>
      client.publishMany(jobs, { idempotencyKey: queue.padEnd(length, 'k') });
    await expect(publish(253)).rejects.toThrow(
      'idempotencyKey: must be shorter by 1 characters for so many jobs',
    );
    expect((await client.queues.get(queue)).length).toBe(0);
    expect(await publish(252)).toHaveLength(65);
  });
});

describe('a host that has gone silent', () => {
  it('costs a call one attempt, however many connections there were', async () => {
    const seen: Socket[] = [];
    const muted = new Set<Socket>();
    const server = createServer((socket) => {
      const behind = connect(app.port, '127.0.0.1');
      seen.push(socket, behind);
      for (const one of [socket, behind]) one.on('error', () => undefined);
      socket.on('data', (data) => muted.has(socket) || behind.write(data));
      behind.pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const retry = { tries: 2, attemptMs: 1_000 };
    const patient = clientOf({ url: `http://127.0.0.1:${String(port)}`, retry });
    await Promise.all(Array.from({ length: 5 }, () => patient.queues.list()));
    expect(seen).toHaveLength(10);
    for (const socket of seen) muted.add(socket);
    expect(await patient.queues.list()).toMatchObject({ items: expect.any(Array) as unknown });
    patient.close();
    for (const socket of seen) socket.destroy();
    server.close();
  });
});

describe('purge() of the client', () => {
  it('is not sent again after its answer was lost, because it would delete what came later', async () => {
    const queue = fresh();
    await client.publish({ queue });
    proxy.next('/purge', 'lose');
    await expect(faulty.queues.purge(queue, ['ready'])).rejects.toMatchObject({
      code: 'network',
      attempts: 1,
    });
    proxy.next('/purge', 'lose');
    expect(await faulty.queues.purge(queue, ['ready'], { dryRun: true })).toMatchObject({
      jobs: { ready: 0 },
    });
  });
});

describe('the idempotency key of the library', () => {
  const DAY_MS = 86_400_000;

  it.each([
    ['a publish', {}, undefined, 120_000],
    ['a publish with more time for its retries', { withinMs: 600_000.5 }, undefined, 665_001],
    ['a publish without a limit of time', { withinMs: Infinity }, undefined, 2_592_000_000],
    ['publishAndWait() for two minutes', {}, 120_000, 195_000],
    ['publishAndWait() for more than a day', {}, 2 * DAY_MS, DAY_MS + 75_000],
  ])('counts longer than the call: %s', async (_, retry, waitMs, ttlMs) => {
    const patient = clientOf({ url: proxy.url, retry });
    proxy.rule = () => ({ status: 201, body: { id: 'a', state: 'ready', existing: false, result: null } });
    const job = { queue: fresh() };
    await (waitMs === undefined ? patient.publish(job) : patient.publishAndWait(job, { waitMs }));
    expect(proxy.seen[0]!.headers['idempotency-ttl-ms']).toBe(String(ttlMs));
    patient.close();
  });
});

describe('publishAndWait() of a client whose connection breaks late in the wait', () => {
  it('waits as long again in its next attempt, and returns the id of the job', async () => {
    const hasty = clientOf({ url: proxy.url, retry: { withinMs: 1_500, attemptMs: 1_000 } });
    proxy.next('/jobs', 'lose');
    const ended = await hasty.publishAndWait({ queue: fresh() }, { waitMs: 2_000 });
    expect(ended).toMatchObject({ id: expect.any(String) as string, state: 'ready', replayed: false });
    const requests = proxy.of('/jobs');
    expect([requests.length, new Set(requests.map(({ path }) => path)).size]).toEqual([2, 1]);
    hasty.close();
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
