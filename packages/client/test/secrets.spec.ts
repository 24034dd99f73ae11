import { inspect } from 'node:util';
import { waitFor } from '../../../test/support/redis.js';
import { fetchTransport } from '../src/transport/fetch-transport.js';
import { app, client, clientOf, counts, faulty, fresh, proxy, useServer, workerOf } from './fixture.js';

useServer();

/** All that can be printed of a value. */
const printed = (value: unknown): string =>
  `${inspect(value, { depth: null, showHidden: true, getters: true })} ${JSON.stringify(value)}`;
const plain = (value: unknown): string =>
  `${inspect(value, { depth: null, showHidden: true })} ${String(value)}`;

describe('a client over fetch', () => {
  it('refuses TLS options, because fetch has none', () => {
    const tls = { ca: '-----BEGIN CERTIFICATE-----' };
    expect(() => clientOf({ transport: fetchTransport, tls })).toThrow('tls is for Node.js only');
  });
});

describe('the printed form of a client, a worker or an error', () => {
  it('shows no token of a client, after calls and during a call', async () => {
    const password = 'of-the-proxy';
    const byFetch = clientOf({ transport: fetchTransport });
    const named = clientOf({ url: `http://user:${password}@127.0.0.1:${String(app.port)}/` });
    await client.queues.list();
    await byFetch.queues.list();
    const abort = new AbortController();
    const drained = client.queues
      .drain(fresh(), { waitMs: 5_000, signal: abort.signal })
      .catch(() => undefined);
    const { jobs, queues, deadLetter, recurring, stats, workers, targets, variables, driver } = client;
    const all = [
      client,
      byFetch,
      named,
      jobs,
      queues,
      deadLetter,
      recurring,
      stats,
      workers,
      targets,
      variables,
      driver,
    ];
    for (const one of all) {
      expect(plain(one)).not.toContain(app.token);
      expect(plain(one)).not.toContain(password);
      expect(JSON.stringify(one)).not.toContain(app.token);
    }
    abort.abort();
    await drained;
    byFetch.close();
    named.close();
  });

  it('shows no token of a running worker', async () => {
    const { worker } = workerOf(fresh());
    worker.handle('*', () => undefined);
    void worker.run();
    await waitFor(() => client.workers.get(worker.id).catch(() => null));
    expect(plain(worker)).not.toContain(app.token);
  });

  it('shows no token in the error of a refusal, a timeout or a broken connection', async () => {
    const token = 'nonsense-token';
    const quick = { tries: 1, attemptMs: 200 };
    const errors: unknown[] = [];
    for (const transport of [undefined, fetchTransport]) {
      const how = transport === undefined ? {} : { transport };
      const one = clientOf({ url: proxy.url, token, retry: quick, ...how });
      const away = clientOf({ url: 'http://127.0.0.1:1', token, retry: quick, ...how });
      const caught = (error: unknown): void => void errors.push(error);
      await one.queues.list().catch(caught);
      await one.events().next().catch(caught);
      for (const fault of ['hang', 'drop', 'lose'] as const) {
        proxy.next('/queues', fault);
        await one.queues.list().catch(caught);
      }
      await away.queues.list().catch(caught);
      one.close();
      away.close();
    }
    expect(errors).toHaveLength(12);
    for (const error of errors) expect(printed(error)).not.toContain(token);
  });
});

describe('the log of a client worker', () => {
  it('shows no data, result or token when a call fails', async () => {
    const [queue, secret] = [fresh(), 'a-secret-of-the-user'];
    const { worker, log } = workerOf(queue, { through: faulty, ttrMs: 6_000 });
    let isRunning = false;
    worker.handle('broken', ({ data }) => {
      throw new Error(`cannot use ${JSON.stringify(data)}`);
    });
    worker.handle('long', () => secret.repeat(10_000));
    worker.handle('lost', async (_job, { signal }) => {
      isRunning = true;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw new Error(secret);
    });
    const types = ['broken', 'long', 'lost', 'unknown'];
    const job = (type: string) => ({
      ...{ queue, type, data: { secret }, tries: 1 },
      attributes: { secret },
    });
    const [, , lost] = await client.publishMany(types.map(job));
    // A lease request that fails, too; and a refusal of types, so that it gets a job without a handler.
    proxy.next(
      '/leases',
      { status: 500, body: { code: 'internal', detail: 'what' } },
      { status: 409, body: { code: 'format_too_old', detail: 'old' } },
    );
    void worker.run();
    // Of a lost lease whose handler has not begun there is nothing to say.
    await waitFor(() => isRunning, 10_000);
    await client.jobs.revoke(lost!.id);
    await waitFor(async () => (await counts(queue))['dead'] === 2, 10_000);
    await waitFor(() => log.some(({ message }) => message.includes('was lost')), 10_000);
    expect(log.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('leasing jobs failed'),
        expect.stringContaining('no handler'),
        'leasing jobs works again',
      ]),
    );
    expect(JSON.stringify(log)).not.toContain(secret);
    expect(JSON.stringify(log)).not.toContain(app.token);
  });
});
