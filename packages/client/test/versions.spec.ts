import { waitFor } from '../../../test/support/redis.js';
import { isPumphouseError } from '../src/node.js';
import type { Fault } from './faulty-proxy.js';
import { app, client, counts, faulty, fresh, proxy, useServer, workerOf } from './fixture.js';

useServer();

/** What a server answers to a call that it does not have: an older one. */
const UNKNOWN_CALL: Fault = { status: 404, body: { code: 'not_found', detail: 'there is no such call' } };
const answer = (body: object): Fault => ({ status: 200, body });
const only = (pathEnd: string, fault: Fault) => {
  proxy.rule = ({ path }) => (path.split('?')[0]?.endsWith(pathEnd) ? fault : 'pass');
};

/** With a field more in each object, as the answers of a newer server may have. */
function withMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMore);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value as Record<string, unknown>).map(([name, field]) => [
    name,
    name === 'data' ? field : withMore(field),
  ]);
  return { ...(Object.fromEntries(entries) as object), added_later: { data: [1], jobs: [{}] } };
}

describe('the client with the answers of a newer server', () => {
  it('ignores unknown fields of answers in a worker', async () => {
    const queue = fresh();
    const seen: unknown[] = [];
    proxy.change = (text) => (text === '' ? text : JSON.stringify(withMore(JSON.parse(text))));
    const { worker, log } = workerOf(queue, { through: faulty, ttrMs: 3_000 });
    worker.handle('*', async ({ data, text }, { signal }) => {
      seen.push([data, text, signal.aborted]);
      await new Promise((resolve) => setTimeout(resolve, 4_000));
    });
    const [first] = await faulty.publishMany([
      { queue, data: { jobs: [2] } },
      { queue, data: null },
    ]);
    expect(await faulty.jobs.get(first!.id)).toMatchObject({ id: first!.id, state: 'ready', addedLater: {} });
    void worker.run();
    await waitFor(async () => (await client.queues.get(queue)).length === 0, 5_000);
    // They run beside each other.
    expect(seen).toHaveLength(2);
    expect(seen).toEqual(
      expect.arrayContaining([
        [{ jobs: [2] }, '{"jobs":[2]}', false],
        [null, 'null', false],
      ]),
    );
    const sessions = (await faulty.workers.list()).items;
    expect(sessions.find(({ name }) => name === worker.id)).toMatchObject({ queues: [queue] });
    expect(log.filter(({ message }) => !message.includes('blocked'))).toEqual([]);
  });

  it('repeats an ack that is answered with an unknown status, and runs the job once', async () => {
    const queue = fresh();
    const { id } = await client.publish({ queue });
    only('/acks', answer({ results: [{ status: 'queue_is_frozen' }] }));
    const { worker } = workerOf(queue, { through: faulty });
    let runs = 0;
    worker.handle('*', () => void runs++);
    void worker.run();
    await waitFor(() => proxy.of('/acks').length > 1);
    expect(await client.jobs.get(id)).toMatchObject({ state: 'leased', attempts: 1 });
    proxy.rule = () => 'pass';
    await waitFor(async () => (await counts(queue))['leased'] === 0);
    expect(runs).toBe(1);
  });

  it('treats an unknown status of a lease in a heartbeat answer as a lost lease', async () => {
    const queue = fresh();
    const { id } = await client.publish({ queue });
    const refusal = { id, status: 'not_yours', cancel_requested: false };
    proxy.rule = ({ path, body }) =>
      path.includes('/workers/') && body.includes(id)
        ? answer({ jobs: [refusal], quiet: false, stop: false })
        : 'pass';
    const { worker } = workerOf(queue, { through: faulty, ttrMs: 600, concurrency: 1 });
    let code: unknown;
    worker.handle('*', async (_job, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      ({ code } = signal.reason as { code: string });
    });
    void worker.run();
    await waitFor(() => code);
    expect(code).toBe('lease_lost');
    await waitFor(() => worker.heldCount === 0);
    expect(proxy.of('/acks')).toEqual([]);
  });

  it('retries a call after 503 with an unknown error code, and not after 409', async () => {
    const queue = fresh();
    proxy.next('/jobs', { status: 503, body: { code: 'warming_up' } });
    await faulty.publish({ queue });
    proxy.next('/jobs', { status: 409, body: { code: 'frozen', until: 'never' } });
    const error: unknown = await faulty.publish({ queue }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'frozen',
      status: 409,
      retryable: false,
      details: { until: 'never' },
    });
    expect(isPumphouseError(error, 'frozen')).toBe(true);
    expect(proxy.of('/jobs')).toHaveLength(3);
  });

  it('delivers unknown events unchanged', async () => {
    const stream = 'id: 1-1\nevent: frozen\ndata: {"event":"frozen","id":"a","added_later":1}\n\n';
    const end = new AbortController();
    proxy.rule = ({ path }) =>
      path.includes('/events')
        ? { status: 200, headers: { 'content-type': 'text/event-stream' }, text: stream }
        : 'pass';
    for await (const event of faulty.events({ signal: end.signal })) {
      expect(event).toMatchObject({ event: 'frozen', id: 'a', addedLater: 1, place: '1-1' });
      break;
    }
  });
});

describe('the client with the answers of an older server', () => {
  it('fails a call that the server does not have, without a second attempt', async () => {
    proxy.rule = () => UNKNOWN_CALL;
    await expect(faulty.jobs.revoke('a')).rejects.toMatchObject({
      code: 'not_found',
      status: 404,
      retryable: false,
      attempts: 1,
    });
    expect(proxy.seen).toHaveLength(1);
  });

  it('lists workers although the answers have no session fields', async () => {
    const [seen_at, leased, stalled] = ['2026-01-01T00:00:00.000Z', 1, 0];
    only('/workers', answer({ items: [{ name: 'w', seen_at, leased, stalled }], next_cursor: null }));
    const { items } = await faulty.workers.list();
    expect(items).toEqual([{ name: 'w', seenAt: seen_at, leased, stalled }]);
  });

  it('stops a worker without a warning if the server cannot end its session', async () => {
    const queue = fresh();
    proxy.rule = ({ path }) => (path.includes('/workers/') ? UNKNOWN_CALL : 'pass');
    const { worker, log } = workerOf(queue, { through: faulty });
    worker.handle('*', () => undefined);
    void worker.run();
    await client.publish({ queue });
    await waitFor(async () => (await client.queues.get(queue)).length === 0);
    await worker.stop();
    expect(log).toEqual([]);
    const ends = proxy.seen.filter(({ method, path }) => method === 'DELETE' && !path.endsWith('/waits'));
    expect(ends).toHaveLength(1);
    expect(app.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
