import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { BuiltServer } from '../support/built-server.js';
import { PUSH, Receiver } from '../support/receiver.js';
import { randomNamespace, startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { SLOWNESS } from '../support/scale.js';
import { restsOf } from '../engine/every-kind.js';

jest.setTimeout(180_000 * SLOWNESS);

const EVERY_MS = 1_000;
const DRAIN_MS = 30_000;

interface Leased {
  readonly id: string;
  readonly queue: string;
  readonly lease: number;
}

/** docs/how-to/moving-a-pool.md, from its second step to its end: `first` has the jobs before, `second` after. */
describe('a pool that moves while everything is in use', () => {
  const env: Record<string, string> = { ...PUSH };
  let stores: RedisProcess[];
  let old: Redis;
  let servers: BuiltServer[];
  let receiver: Receiver;
  let token: string;
  const ns = randomNamespace('move');

  beforeAll(async () => {
    stores = await Promise.all([startRedis(), startRedis()]);
    old = new Redis(stores[0]!.url, { protocol: 2 });
    receiver = await Receiver.start();
    configure(0);
    servers = await Promise.all([BuiltServer.create(env), BuiltServer.create(env)]);
    await Promise.all(servers.map((server) => server.start()));
    token = await servers[0]!.token(ns);
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.remove()));
    old.disconnect();
    await receiver.stop();
    await Promise.all(stores.map((store) => store.stop()));
  });

  /** @param drained of the store that the pool leaves; undefined: it stays in `pool` */
  function configure(pool: 0 | 1, to?: 0 | 1): void {
    env['PUMPHOUSE_TOKENS__URL'] = stores[1]!.url;
    env['PUMPHOUSE_POOLS__DEFAULT__URL'] = stores[pool]!.url;
    delete env['PUMPHOUSE_POOLS__DEFAULT__MIGRATE_TO'];
    delete env['PUMPHOUSE_POOLS__FRESH__URL'];
    if (to === undefined) return;
    env['PUMPHOUSE_POOLS__DEFAULT__MIGRATE_TO'] = 'fresh';
    env['PUMPHOUSE_POOLS__FRESH__URL'] = stores[to]!.url;
  }

  async function restart(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    for (const server of servers) {
      await server.end(signal);
      await server.start(60_000);
    }
  }

  async function call<T = Record<string, unknown>>(method: string, path: string, body?: object): Promise<T> {
    const answer = await fetch(`${servers[1]!.url}/v1/${ns}/${path}`, {
      method,
      headers: { 'x-token': token },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${String(answer.status)} ${await answer.text()}`);
    return (answer.status === 204 ? {} : await answer.json()) as T;
  }

  const publish = async (job: object): Promise<string> =>
    (await call<{ id: string }>('POST', 'jobs', job)).id;
  const pushed = async (count: number, delayMs = 0): Promise<string[]> => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++)
      ids.push(await publish({ queue: 'pushed', data: i, delay_ms: delayMs, tries: 9 }));
    return ids;
  };
  const areReceived = (ids: readonly string[]): Promise<unknown> =>
    waitFor(() => ids.every((id) => receiver.of(id).length > 0), DRAIN_MS * SLOWNESS);

  /** Leases and acks all jobs of a queue. @returns their ids */
  async function work(queue: string): Promise<string[]> {
    const ids: string[] = [];
    for (;;) {
      const { jobs } = await call<{ jobs: Leased[] }>('POST', 'leases', { queues: [queue], count: 50 });
      if (jobs.length === 0) return ids;
      for (const { id, lease } of jobs) {
        await call('POST', `jobs/${id}/ack`, { lease });
        ids.push(id);
      }
    }
  }

  it('T58: pushes, makes one job for each slot, and has all records in the new Redis at the end', async () => {
    await call('PUT', 'targets/billing', { url: receiver.url });
    await call('PATCH', 'queues/pushed', { push: { target: 'billing' }, max_running: 50 });
    const tick = { schedule: { every_ms: EVERY_MS }, max_catch_up: 1_000, job: { queue: 'ticks' } };
    await call('PUT', 'recurring/tick', tick);
    await call('PUT', 'recurring/cron', {
      ...{ schedule: { cron: '* * * * *', tz: 'UTC' }, job: { queue: 'cron' }, overlap: 'skip' },
    });
    await call('PUT', 'settings/grace_ms', { value: 250 });
    await call('POST', 'workers/session-1/heartbeat', {
      ttr_ms: 600_000,
      leases: [],
      info: { name: 'mailer' },
    });
    await call('POST', 'workers/session-1/stop');
    await publish({ queue: 'counted', data: 1 });
    expect(await work('counted')).toHaveLength(1);
    const ids = [...(await pushed(10)), ...(await pushed(10, Math.ceil(12_000 * SLOWNESS)))];

    // Step 2: all servers know both. Step 3: the move begins, and servers are killed in the middle of it.
    configure(1, 0);
    await restart();
    ids.push(...(await pushed(5)));
    configure(0, 1);
    await restart('SIGKILL');
    await servers[0]!.end('SIGKILL');
    await servers[0]!.start(60_000);
    ids.push(...(await pushed(10)));
    await call('PUT', 'targets/billing', { url: `${receiver.origin}/later` });
    await call('PATCH', 'queues/pushed', { max_running: 40 });
    expect(await call('GET', 'workers/session-1')).toMatchObject({ name: 'session-1', stop: true });
    await publish({ queue: 'counted', data: 2 });
    expect(await work('counted')).toHaveLength(1);
    const key = { method: 'POST', headers: { 'x-token': token, 'idempotency-key': 'once' } };
    const once = async (): Promise<unknown> =>
      (await fetch(`${servers[0]!.url}/v1/${ns}/jobs`, { ...key, body: '{"queue":"once"}' })).json();
    const first = await once();

    // Step 4: the old Redis is drained, and has no record left that has not been moved or copied.
    await areReceived(ids);
    const ticks = await work('ticks');
    await work('cron');
    await waitFor(async () => {
      ticks.push(...(await work('ticks')));
      const rests = await restsOf(old, ns);
      // Of the statistics the numbers of the last batches stay.
      const days = await Promise.all(
        rests.filter((rest) => /^:t\d/.test(rest)).map((rest) => old.hkeys(`{${ns}}${rest}`)),
      );
      const isCounted = days.flat().some((field) => !field.startsWith(':'));
      return !isCounted && !rests.some((rest) => /^[jxR]|^:(?:W|schedules)/.test(rest));
    }, DRAIN_MS * SLOWNESS);

    // Step 5: the old Redis is gone.
    configure(1);
    await restart();
    await stores[0]!.kill9();
    const last = await pushed(1);
    await areReceived(last);
    expect(receiver.of(last[0]!)[0]!.url).toBe('/later');
    expect(await call('GET', 'queues/pushed')).toMatchObject({
      max_running: 40,
      push: { target: 'billing' },
    });
    expect(await call('GET', 'settings/grace_ms')).toMatchObject({ value: 250, source: 'namespace' });
    expect(await call('GET', 'workers/session-1')).toMatchObject({ name: 'session-1', stop: true });
    expect(await call('GET', 'stats?queue=counted')).toMatchObject({
      waits: { count: 2 },
      runs: { count: 2 },
    });
    expect(await call('GET', 'recurring/cron')).toMatchObject({ overlap: 'skip' });
    expect(await once()).toEqual(first);
    await call('POST', 'recurring/tick/pause');
    ticks.push(...(await work('ticks')));
    const { made, skipped } = await call<{ made: number; skipped: number }>('GET', 'recurring/tick');
    expect(skipped).toBe(0);
    expect(ticks.sort(byNumber)).toEqual(Array.from({ length: made }, (_, i) => `tick-${String(i + 1)}`));
    expect(made).toBeGreaterThan(10);
  });
});

function byNumber(one: string, other: string): number {
  return Number(one.slice(5)) - Number(other.slice(5));
}
