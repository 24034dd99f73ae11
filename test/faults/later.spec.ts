import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, startRedis, type RedisProcess, waitFor } from '../support/redis.js';
import { BuiltServer } from '../support/built-server.js';
import { CallbackSink, code } from '../support/callback-sink.js';

/** A killed server holds a callback's lease for 8 s. */
const LEASE_MS = 8_000;

describe('a killed server with the later API', () => {
  let redis: RedisProcess;
  let server: BuiltServer;
  let sink: CallbackSink;
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    redis = await startRedis();
    sink = await CallbackSink.start();
    url = `http://127.0.0.1:${String(port)}`;
    server = await BuiltServer.create({
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
      PUMPHOUSE_LATER__PORT: String(port),
      PUMPHOUSE_LATER__ALLOW: sink.origin,
      PUMPHOUSE_PUSH__ALLOW: '127.0.0.1',
    });
    await server.start();
  });
  afterAll(async () => {
    await server.remove();
    await redis.stop();
    await sink.stop();
  });

  const call = (path: string, body: object): Promise<Response> =>
    fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
  const create = async (path: string, delay = 0, retry = 0): Promise<string> => {
    const answer = await call('/create', { delay, retry, callback: sink.origin + path });
    return ((await answer.json()) as { id: string }).id;
  };
  const statusOf = async (id: string): Promise<number> => (await call('/query', { id })).status;
  const restart = async (downMs: number): Promise<void> => {
    await server.end('SIGKILL');
    await sleep(downMs);
    await server.start();
  };

  it('sends a callback again that was running when it was killed, although the callback had no retry', async () => {
    sink.answers.set('/under-way', (response, times) => {
      if (times > 1) code(100)(response, times);
    });
    const id = await create('/under-way');
    await waitFor(() => sink.at('/under-way').length === 1);
    // Until then the server's record of the delivery is there: the next server would give the try back.
    await sleep(1_500);
    await restart(0);
    expect(await statusOf(id)).toBe(200);
    await waitFor(() => sink.at('/under-way').length === 2, LEASE_MS + 10_000);
    await waitFor(async () => (await statusOf(id)) === 404);
  });

  it('sends the callbacks that became due while it was down, and the retries that waited', async () => {
    sink.answers.set('/retry', (response, times) => code(times === 1 ? 1 : 100)(response, times));
    const retried = await create('/retry', 0, 1);
    const due = await create('/due', 2);
    const hasFailed = async (): Promise<boolean> =>
      (await (await call('/query', { id: retried })).text()).includes('"has_retry":1,');
    await waitFor(hasFailed);
    await restart(2_500);
    await waitFor(() => sink.at('/due').length === 1, 10_000);
    await waitFor(() => sink.at('/retry').length === 2, 15_000);
    await waitFor(async () => (await statusOf(due)) === 404 && (await statusOf(retried)) === 404);
  });

  it('sends the callback of every job whose id it has answered', async () => {
    const created: string[] = [];
    let isOver = false;
    const producers = Array.from({ length: 8 }, async (_, producer) => {
      for (let i = 0; !isOver; i++) {
        const path = `/burst/${String(producer)}/${String(i)}`;
        const isStored = await create(path, i % 2).then(
          (id) => id !== '',
          () => false,
        );
        if (isStored) created.push(path);
        else await sleep(50);
      }
    });
    await waitFor(() => created.length > 200, 10_000);
    await restart(0);
    const before = created.length;
    await waitFor(() => created.length > before + 200, 20_000);
    isOver = true;
    await Promise.all(producers);
    await waitFor(() => {
      const seen = new Set(sink.received.map(({ line }) => line));
      return created.every((path) => seen.has(`POST ${path}`));
    }, LEASE_MS + 20_000);
  });
});
