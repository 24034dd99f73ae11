import { SchedulerRegistry } from '@nestjs/schedule';
import { type StoreOfOwn, TestApp } from '../support/app.js';
import { BuiltServer } from '../support/built-server.js';
import { waitFor } from '../support/redis.js';

interface LoopView {
  readonly pid: number;
  readonly pool: string;
  readonly name: string;
  readonly last_run_at: string | null;
  readonly duration_ms: number | null;
  readonly moved: number | null;
  readonly lag_ms: number | null;
  readonly next_run_at: string | null;
  readonly last_error: string | null;
  readonly last_error_at: string | null;
}

const NAMES = [
  'pump',
  'sweep',
  'janitor',
  'quota_backfill',
  'recovery',
  'slot_renewal',
  'statistics',
  'events',
  'event_listeners',
  'delivery_log',
  'operations',
  'activity',
  'history',
];

describe('GET /loops', () => {
  let app: TestApp;
  let store: StoreOfOwn;
  beforeEach(async () => ({ app, ...store } = await TestApp.alone()));
  afterEach(() => app.stop());

  const loops = async (): Promise<LoopView[]> =>
    ((await app.admin('GET', '/loops')).json as { loops: LoopView[] }).loops;
  const loop = async (name: string): Promise<LoopView> => (await loops()).find((one) => one.name === name)!;

  it('lists every loop with its last and its next run', async () => {
    const { status, headers } = await app.admin('GET', '/loops');
    expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect((await loops()).map(({ pid, pool, name }) => [pid, pool, name])).toEqual(
      NAMES.map((name) => [process.pid, 'default', name]),
    );
    await waitFor(async () => (await loop('sweep')).next_run_at !== null);
    const { last_run_at, duration_ms, moved, lag_ms, next_run_at, ...rest } = await loop('sweep');
    expect(new Date(last_run_at!).toISOString()).toBe(last_run_at);
    expect(Date.parse(next_run_at!)).toBeGreaterThan(Date.parse(last_run_at!));
    for (const number of [duration_ms, moved, lag_ms]) expect(number).toBeGreaterThanOrEqual(0);
    expect(rest).toEqual({
      ...{ pid: process.pid, pool: 'default', name: 'sweep' },
      ...{ last_error: null, last_error_at: null },
    });
  });

  it('shows how many jobs the pump has moved', async () => {
    await app.publish('q?delay=1');
    await waitFor(async () => (await loop('pump')).moved === 1, 5_000);
  });

  it('shows the last error of a loop', async () => {
    await store.client.del('pumphouse:namespaces');
    await store.client.set('pumphouse:namespaces', 'no set');
    await waitFor(async () => (await loop('sweep')).last_error !== null, 5_000);
    const { last_error, last_error_at } = await loop('sweep');
    expect(last_error).toContain('WRONGTYPE');
    expect(Date.parse(last_error_at!)).toBeLessThanOrEqual(Date.now());
  });
});

describe("the loops of a server in Nest's registry of schedules", () => {
  it('are started and stopped with the application', async () => {
    const app = await TestApp.start();
    const registry = app.server.api.app.get(SchedulerRegistry, { strict: false });
    await app.publish('q?delay=2');
    const names = ['sweep:default', 'janitor:default', 'statistics:default', `pump:default:${app.namespace}`];
    // One that runs just now has none.
    await waitFor(() => names.every((name) => registry.getTimeouts().includes(name)));
    await app.stop();
    expect(registry.getTimeouts()).toEqual([]);
  });
});

describe('GET /loops of two workers', () => {
  let server: BuiltServer;
  beforeAll(async () => {
    server = await BuiltServer.create({ PUMPHOUSE_SERVER__WORKERS: '2' });
    await server.start();
  });
  afterAll(() => server.remove());

  it('lists the loops of each worker with its process id', async () => {
    const list = async (): Promise<LoopView[]> =>
      ((await (await fetch(`${server.adminUrl}/loops`)).json()) as { loops: LoopView[] }).loops;
    await waitFor(async () => (await list()).length === 2 * NAMES.length, 10_000);
    const loops = await list();
    const pids = [...new Set(loops.map(({ pid }) => pid))];
    expect(pids).toHaveLength(2);
    expect(pids).not.toContain(server.pid);
    for (const pid of pids)
      expect(loops.filter((one) => one.pid === pid).map(({ name }) => name)).toEqual(NAMES);
  });
});
