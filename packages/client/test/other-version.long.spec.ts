import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BuiltServer } from '../../../test/support/built-server.js';
import { randomNamespace, waitFor } from '../../../test/support/redis.js';
import * as present from '../src/node.js';
import { driverContract } from './driver-contract.js';
import { aborted } from './fixture.js';

type Library = typeof present;

/**
 * The build of an earlier commit, that `npm run test:full -- versions` names. Its server knows no worker sessions, and its
 * client sends none.
 */
const OLD_BUILD = process.env['PUMPHOUSE_OLD_BUILD'] ?? '';

/** A built server with a namespace and a token. */
class Served {
  readonly namespace = randomNamespace('versions');
  private server: BuiltServer | undefined;
  private token = '';

  async start(main?: string): Promise<void> {
    this.server = await BuiltServer.create({}, main);
    await this.server.start();
    this.token = await this.server.token(this.namespace);
  }

  client(library: Library = present): present.Pumphouse {
    return new library.Pumphouse({ url: this.server!.url, namespace: this.namespace, token: this.token });
  }

  stop(): Promise<void> | undefined {
    return this.server?.remove();
  }
}

describe('the client with an earlier version of the server', () => {
  const served = new Served();
  beforeAll(() => served.start(join(OLD_BUILD, 'dist', 'main.js')), 60_000);
  afterAll(() => served.stop());

  driverContract('over HTTP, with an earlier version of the server', () => {
    const client = served.client();
    return {
      driver: client.driver,
      find: (id) =>
        client.jobs.get(id).catch((error: unknown) => {
          if (present.isPumphouseError(error, 'job_not_found')) return null;
          throw error;
        }),
      cancel: (id) => client.jobs.cancel(id),
      isSilentOfReplays: true,
    };
  });

  it(
    'publishes jobs, and its worker runs them with every outcome',
    () => playAll(present, served.client()),
    60_000,
  );
});

describe('an earlier version of the client with this server', () => {
  const served = new Served();
  beforeAll(() => served.start(), 60_000);
  afterAll(() => served.stop());

  it('publishes jobs, and its worker runs them with every outcome', async () => {
    const path = join(OLD_BUILD, 'packages', 'client', 'dist', 'node.js');
    const old = (await import(path)) as Library;
    expect(old.Worker).not.toBe(present.Worker);
    await playAll(old, served.client(old));
  });
});

/** One job of each end that a job can have. */
async function playAll(library: Library, client: present.Pumphouse): Promise<void> {
  const { Worker, Fail, Next, Release, Retry } = library;
  const queue = 'work';
  const kept = { queue, retentionMs: 60_000, retry: { kind: 'fixed', delayMs: 10 } } as const;
  const types = ['result', 'retries', 'fails', 'moves', 'releases', 'long', 'cancelled'];
  const jobs = await client.publishMany(types.map((type) => ({ ...kept, type, data: { type } })));
  const ids = Object.fromEntries(types.map((type, i) => [type, jobs[i]!.id]));
  const idOf = (type: string): string => ids[type]!;

  const worker = client.worker({ queues: [queue], ttrMs: 3_000, concurrency: 10, shutdownGraceMs: 5_000 });
  expect(worker).toBeInstanceOf(Worker);
  let releases = 0;
  worker.handle('result', ({ data }) => ({ seen: data }));
  worker.handle('retries', ({ failures }) => {
    if (failures === 0) throw new Retry('again', { delayMs: 10 });
  });
  worker.handle('fails', () => Promise.reject(new Fail('never', { group: 'g' })));
  worker.handle('moves', () => new Next({ queue: 'other', data: 2 }));
  worker.handle('releases', () => {
    if (releases++ === 0) throw new Release();
  });
  worker.handle('long', async (_job, { signal }) => {
    await sleep(10_000);
    return signal.aborted;
  });
  let isCancelling = false;
  worker.handle('cancelled', async (_job, { signal }) => {
    isCancelling = true;
    await aborted(signal);
    signal.throwIfAborted();
  });
  const running = worker.run();
  await waitFor(() => isCancelling, 10_000);
  await client.jobs.cancel(idOf('cancelled'));
  const waited = client.publishAndWait({ queue, type: 'result', data: 1 }, { waitMs: 10_000 });
  expect(await waited).toMatchObject({ state: 'done', result: { seen: 1 } });
  const stateOf = async (type: string): Promise<string> => (await client.jobs.get(idOf(type))).state;
  await waitFor(async () => (await stateOf('long')) === 'done', 10_000);
  await worker.stop();
  await running;

  const details = async (type: string) => client.jobs.get(idOf(type));
  expect(await details('result')).toMatchObject({
    state: 'done',
    result: { data: { seen: { type: 'result' } } },
  });
  expect(await details('retries')).toMatchObject({ state: 'done', failures: 1, attempts: 2 });
  expect(await details('fails')).toMatchObject({ state: 'dead', failure: { group: 'g', message: 'never' } });
  expect(await details('moves')).toMatchObject({ state: 'ready', queue: 'other', data: 2 });
  expect(await details('releases')).toMatchObject({ state: 'done', failures: 0 });
  expect(releases).toBe(2);
  // Heartbeats have kept it: one attempt, for more than three leases.
  expect(await details('long')).toMatchObject({ state: 'done', attempts: 1, result: { data: false } });
  expect(await stateOf('cancelled')).toBe('cancelled');
  client.close();
}
