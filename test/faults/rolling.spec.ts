import { readFileSync } from 'node:fs';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { DATA_FORMAT, RAISED_TO } from '../../src/domain/data-format.js';
import { BuiltServer } from '../support/built-server.js';
import { otherBuild } from '../support/other-build.js';
import { randomNamespace, startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { Audit } from '../engine/audit.js';
import type { Entry } from './journal.js';
import { MixedFleet } from './mixed-fleet.js';
import { Trial } from './trial.js';
import { IS_LONG, ROUNDS, SLOWNESS } from '../support/scale.js';

/** Each server is replaced once; in the long form, as often as there are rounds. */
const PASSES = IS_LONG ? ROUNDS : 1;
jest.setTimeout((120_000 + PASSES * 60_000) * SLOWNESS);

describe('several servers on one Redis', () => {
  let redis: RedisProcess;
  let servers: BuiltServer[];
  const next = otherBuild();
  beforeEach(async () => {
    redis = await startRedis();
    servers = [];
    // As a server of the version before leaves it: builds that know no later format may run on it.
    await withRedis((client) => client.set('pumphouse:format', RAISED_TO));
  });
  afterEach(async () => {
    await Promise.all(servers.map((server) => server.remove()));
    await redis.stop();
  });
  afterAll(() => next.remove());

  async function withRedis<T>(use: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis(redis.url, { protocol: 2 });
    try {
      return await use(client);
    } finally {
      client.disconnect();
    }
  }

  async function create(...workers: string[]): Promise<BuiltServer[]> {
    servers = await Promise.all(
      workers.map((count) =>
        BuiltServer.create({
          PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
          PUMPHOUSE_SERVER__WORKERS: count,
          PUMPHOUSE_SERVER__READY_LAG_MS: '200',
        }),
      ),
    );
    return servers;
  }

  async function boot(...workers: string[]): Promise<void> {
    await Promise.all((await create(...workers)).map((server) => server.start()));
  }

  it('T42: lose no job and refuse no client on all servers while they are upgraded one after another under load', async () => {
    await boot(IS_LONG ? '2' : '1', '1', '1');
    const trial = new Trial();
    const { journal } = trial;
    const token = await servers[0]!.token(trial.namespace);
    trial.start({ urls: servers.map(({ url }) => url), token, jobs: Infinity, maxDelayS: 1 });
    const now = servers[0]!.main;
    for (let pass = 0; pass < PASSES; pass++) {
      for (const server of servers) {
        const before = journal.count('delivered');
        await waitFor(() => journal.count('delivered') > before + 50, 20_000);
        journal.add({ op: 'fault', what: `SIGTERM of the server at ${server.url}` });
        expect(await server.end('SIGTERM')).toBe(0);
        server.main = server.main === now ? next.main : now;
        await server.start();
      }
    }
    const { entries } = await trial.judge({ port: redis.port });

    // Two servers are there at any moment: who is sent away by the third is served by the next one, or by the one after that.
    const tries = [...triesOf(entries).values()];
    const second = tries.filter((times) => times > 1).length;
    console.log(
      `${tries.length} jobs, ${second} sent twice, ${tries.filter((times) => times > 2).length} more often`,
    );
    expect(Math.max(...tries)).toBeLessThanOrEqual(servers.length);
    expect(tries.length).toBeGreaterThan(150);
  });

  it('T42: have each job acknowledged exactly once on the native API, with two builds side by side, under kills', async () => {
    const [one, two] = (await create('1', '1')) as [BuiltServer, BuiltServer];
    const now = one.main;
    two.main = next.main;
    await Promise.all([one.start(), two.start()]);
    const namespace = randomNamespace('mixed');
    const fleet = new MixedFleet([one.url, two.url], await one.token(namespace), namespace);
    fleet.start();
    for (let pass = 0; pass < PASSES * 4; pass++) {
      const before = fleet.done;
      await waitFor(() => fleet.done > before + 40, 30_000);
      const server = pass % 2 === 0 ? one : two;
      await server.end(pass % 4 < 2 ? 'SIGKILL' : 'SIGTERM');
      // Each is one build and then the other one: always both are there.
      if (pass % 4 >= 2) server.main = server.main === now ? next.main : now;
      await server.start();
    }
    await fleet.finish(60_000);

    expect(fleet.surprises).toEqual([]);
    const counts = [...fleet.acks].filter(([, times]) => times !== 1);
    console.log(`${fleet.acks.size} jobs, ${fleet.crashes} leases forgotten`);
    expect(counts).toEqual([]);
    expect(fleet.acks.size).toBeGreaterThan(150);
    expect(fleet.crashes).toBeGreaterThan(5);
    expect(await withRedis((client) => Audit.of(client, namespace))).toEqual([]);
  });

  it('T42: lose no job and forget no queue when the data format is raised after the last server of the version before has ended', async () => {
    const [one, two] = (await create('1', '1')) as [BuiltServer, BuiltServer];
    const now = one.main;
    two.main = next.main;
    await Promise.all([one.start(), two.start()]);
    const namespace = randomNamespace('formats');
    const token = await one.token(namespace);
    const fleet = new MixedFleet([one.url, two.url], token, namespace);
    const leaseByType = async (): Promise<string> => {
      const answer = await fetch(`${one.url}/v1/${namespace}/leases`, {
        method: 'POST',
        headers: { 'x-token': token, 'content-type': 'application/json' },
        body: JSON.stringify({ queues: ['a'], types: ['none'] }),
      });
      return String(((await answer.json()) as { code?: string }).code ?? answer.status);
    };
    const raise = async (): Promise<number> =>
      (await fetch(`${one.adminUrl}/formats/default`, { method: 'POST' })).status;
    const kill = async (server: BuiltServer): Promise<void> => {
      const before = fleet.done;
      await waitFor(() => fleet.done > before + 40, 30_000);
      await server.end('SIGKILL');
      await server.start();
    };
    fleet.start();
    await kill(one);
    await kill(two);
    expect(await leaseByType()).toBe('format_too_old');
    // Without another build, both servers are of this version.
    if (process.env['PUMPHOUSE_OLD_BUILD'] !== undefined) expect(await raise()).toBe(409);

    expect(await two.end('SIGTERM')).toBe(0);
    expect(await raise()).toBe(200);
    two.main = now;
    await two.start();
    expect(await leaseByType()).toBe('200');
    fleet.types = [['mail'], [null], ['mail', null, 'fax'], undefined];
    for (let pass = 0; pass < PASSES; pass++) {
      await kill(two);
      await kill(one);
    }
    await fleet.finish(60_000);

    expect(fleet.surprises).toEqual([]);
    expect([...fleet.acks].filter(([, times]) => times !== 1)).toEqual([]);
    expect(fleet.acks.size).toBeGreaterThan(150);
    await withRedis(async (client) => {
      expect(await client.get('pumphouse:format')).toBe(String(DATA_FORMAT));
      expect(await Audit.of(client, namespace)).toEqual([]);
    });
  });

  it('T42: undo an operation beside a server of the other build that leases the same jobs', async () => {
    const [one, two] = (await create('1', '1')) as [BuiltServer, BuiltServer];
    two.main = next.main;
    await Promise.all([one.start(), two.start()]);
    const namespace = randomNamespace('undo');
    const token = await one.token(namespace);
    const call = async <T>({ url }: BuiltServer, method: string, path: string, body?: object): Promise<T> => {
      const answer = await fetch(`${url}/v1/${namespace}/${path}`, {
        method,
        headers: { 'x-token': token, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      expect([path, answer.status, answer.ok ? '' : await answer.text()]).toEqual([path, answer.status, '']);
      return (await answer.json()) as T;
    };
    const jobs = Array.from({ length: 500 }, (_, i) => ({
      ...{ queue: 'q', id: `job-${String(i)}`, type: 'mail', data: i, retention_ms: 600_000 },
      ...(i % 3 === 0 ? { priority: 2 } : i % 3 === 1 ? { delay_ms: 1 } : {}),
    }));
    for (let i = 0; i < jobs.length; i += 50)
      await call(two, 'POST', 'jobs', { jobs: jobs.slice(i, i + 50) });

    interface Operation {
      readonly id: string;
      readonly state: string;
      readonly done: number;
      readonly undo: { readonly state: string; readonly restored: number; readonly failed: number };
    }
    const cancel = { action: 'cancel', filter: { queue: 'q' }, undo_ms: 600_000 };
    const { id } = await call<Operation>(one, 'POST', 'operations', cancel);
    const operation = (): Promise<Operation> => call(one, 'GET', `operations/${id}`);
    await waitFor(async () => (await operation()).state === 'done', 30_000);
    expect(await operation()).toMatchObject({ done: jobs.length, undo: { state: 'kept' } });

    await call(one, 'POST', `operations/${id}/undo`);
    const acked = new Set<string>();
    await waitFor(async () => {
      const leased = await call<{ jobs: { id: string; lease: number }[] }>(two, 'POST', 'leases', {
        ...{ queues: ['q'], count: 10, ttr_ms: 30_000 },
      });
      for (const { id: job, lease } of leased.jobs) {
        expect(acked).not.toContain(job);
        acked.add(job);
        await call(two, 'POST', `jobs/${job}/ack`, { lease });
      }
      return acked.size === jobs.length;
    }, 60_000);
    expect(await operation()).toMatchObject({
      undo: { state: 'done', restored: jobs.length, failed: 0 },
    });
    expect(await withRedis((client) => Audit.of(client, namespace))).toEqual([]);
  });

  it('T42: refuse to start on a store of a later version, with the reason', async () => {
    await boot('1');
    const [server] = servers;
    await server!.end('SIGTERM');
    await withRedis((client) => client.set('pumphouse:format', DATA_FORMAT + 1));

    await expect(server!.start()).rejects.toThrow(
      `this Redis holds data format ${DATA_FORMAT + 1}, which is newer than this server's ${DATA_FORMAT}`,
    );
  });

  it('keep a primary process whose worker is killed before it serves, while another worker serves', async () => {
    const server = await BuiltServer.create({
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
      PUMPHOUSE_SERVER__WORKERS: '2',
    });
    servers = [server];
    const started = server.start();
    const slow = await waitFor(() => workersOf(server.pid)[1], 10_000);
    process.kill(slow, 'SIGSTOP');
    await started;
    process.kill(slow, 'SIGKILL');

    await waitFor(() => server.output.includes('an API process could not be started'), 5_000);
    await waitFor(() => childrenOf(server.pid).filter((pid) => pid !== slow).length === 2, 10_000);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(await server.end('SIGTERM')).toBe(0);
  });

  it('keep a primary process whose busy workers are killed', async () => {
    await boot('2');
    const [server] = servers;
    const state = { isOver: false, served: 0 };
    // Each on a connection of its own: the primary hands them to its workers.
    const clients = Array.from({ length: 8 }, async () => {
      while (!state.isOver) {
        const answer = await fetch(`${server!.url}/healthz`, {
          headers: { connection: 'close' },
          signal: AbortSignal.timeout(2_000),
        }).catch(() => null);
        if (answer?.ok) state.served++;
      }
    });
    for (let round = 0; round < (IS_LONG ? 10 : 1); round++) {
      const before = childrenOf(server!.pid);
      process.kill(before[0]!, 'SIGKILL');
      const servedThen = state.served;
      await waitFor(() => childrenOf(server!.pid).some((pid) => !before.includes(pid)), 15_000).catch(
        (error: unknown) => {
          const children = `${before.join(' ')} became ${childrenOf(server!.pid).join(' ')}`;
          throw new Error(`${String(error)}: children ${children}\n${server!.output.slice(-2_000)}`);
        },
      );
      await waitFor(() => state.served > servedThen + 50, 15_000);
    }
    state.isOver = true;
    await Promise.all(clients);
    expect(await server!.end('SIGTERM')).toBe(0);
  });
});

/** How often each job was sent until it was accepted. */
function triesOf(entries: readonly Entry[]): Map<string, number> {
  const tries = new Map<string, number>();
  for (const entry of entries)
    if (entry.op === 'publish') tries.set(entry.body, (tries.get(entry.body) ?? 0) + 1);
  return tries;
}

/** Those that run their program by now: the primary itself stands still until a process that it forks does. */
function workersOf(pid: number): number[] {
  return childrenOf(pid).filter((child) => {
    try {
      return readFileSync(`/proc/${child}/environ`, 'latin1').includes('NODE_UNIQUE_ID=');
    } catch {
      return false;
    }
  });
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.trim().split(' ').map(Number);
}
