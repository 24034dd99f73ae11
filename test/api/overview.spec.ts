import { setTimeout as sleep } from 'node:timers/promises';
import { basicOf, testAccounts } from '../support/accounts.js';
import { type StoreOfOwn, TestApp } from '../support/app.js';
import { type RedisProcess, startRedis, waitFor } from '../support/redis.js';
import { request, startAdmin, testParts, testPools } from './admin-fixture.js';
import { Engines } from '../../src/engine/engines.js';
import type { PoolEngine } from '../../src/engine/pool-engine.js';

interface Row {
  readonly pool: string;
  readonly namespace: string;
  readonly queue: string;
  readonly ready: number;
  readonly leased: number;
  readonly dead: number;
  readonly oldest_ready_age_ms: number;
  readonly paused_at: string | null;
  readonly workers: number | null;
  readonly published_per_s: number | null;
  readonly activity: { readonly step_ms: number; readonly published: (number | null)[] } | null;
  readonly sampled_at: string | null;
  readonly read_at: string | null;
}
interface Overview {
  readonly pools: {
    readonly pool: string;
    readonly up: boolean;
    readonly error: string | null;
    readonly queues: number;
    readonly namespaces: number;
    readonly history: boolean;
    readonly sampled_at: string | null;
    readonly used_memory: number | null;
  }[];
  readonly totals: Readonly<Record<string, number | null>>;
  readonly matched: number;
  readonly items: Row[];
  readonly next_cursor: string | null;
}

describe('GET /overview', () => {
  let app: TestApp;
  let store: StoreOfOwn;
  beforeEach(async () => ({ app, ...store } = await TestApp.alone()));
  afterEach(() => app.stop());

  /** The engine whose loops run. */
  const engine = (): PoolEngine => app.server.api.app.get(Engines, { strict: false }).all()[0]!;
  async function collect(): Promise<void> {
    const { activity, collector } = engine().components.collecting!;
    await activity.flush();
    // As at the end of this interval: a run samples the one before.
    await collector.runNow(Date.now() + 10_000);
  }
  const overview = async (query = ''): Promise<Overview> => {
    const { status, json } = await app.admin('GET', `/overview${query}`);
    expect(status).toBe(200);
    return json as Overview;
  };
  const names = ({ items }: Overview): string[] => items.map(({ queue }) => queue);

  it('is empty on a new server, and has the first queue at once', async () => {
    expect(await overview()).toMatchObject({
      pools: [{ pool: 'default', up: true, error: null, queues: 0, namespaces: 0, history: true }],
      totals: { queues: 0, ready: 0, dead: 0 },
      ...{ matched: 0, items: [], next_cursor: null },
    });
    await app.publish('mail');
    await passTwoSeconds();

    const { items, pools, totals } = await overview();
    expect(items).toMatchObject([
      { pool: 'default', namespace: app.namespace, queue: 'mail', ready: 1, leased: 0, workers: 0 },
    ]);
    expect(pools).toMatchObject([{ queues: 1, namespaces: 1 }]);
    expect(pools[0]!.used_memory).toBeGreaterThan(100_000);
    expect(totals).toMatchObject({ queues: 1, ready: 1, paused: 0 });
    expect(Date.parse(items[0]!.read_at!)).toBeGreaterThan(Date.now() - 60_000);
  });

  it('has rates, samples and the activity of the last intervals', async () => {
    for (let i = 0; i < 6; i++) await app.publish('mail');
    await collect();

    const { items, totals, pools } = await overview();
    const [row] = items;
    expect(row!.published_per_s).toBeGreaterThan(0);
    expect(totals['published_per_s']).toBe(row!.published_per_s);
    expect(row!.sampled_at).not.toBeNull();
    expect(pools[0]!.sampled_at).not.toBeNull();
    expect(row!.activity).toMatchObject({ step_ms: 10_000 });
    expect(row!.activity!.published).toHaveLength(30);
  });

  it('sorts, filters and pages on the server', async () => {
    for (const [queue, jobs] of [
      ['one', 1],
      ['three', 3],
      ['two', 2],
    ] as const)
      for (let i = 0; i < jobs; i++) await app.publish(queue);
    await app.call('POST', `/v1/${app.namespace}/queues/two/pause`);

    expect(names(await overview())).toEqual(['one', 'three', 'two']);
    expect(names(await overview('?order=desc'))).toEqual(['two', 'three', 'one']);
    expect(names(await overview('?sort=ready'))).toEqual(['three', 'two', 'one']);
    expect(names(await overview('?sort=ready&order=asc'))).toEqual(['one', 'two', 'three']);
    expect(names(await overview('?only=paused'))).toEqual(['two']);
    expect(names(await overview('?only=paused,dead'))).toEqual([]);
    expect(names(await overview('?only=unworked'))).toEqual(['one', 'three', 'two']);
    expect(names(await overview('?match=T'))).toEqual(['three', 'two']);
    expect(await overview('?namespace=other')).toMatchObject({ matched: 0, totals: { queues: 3 } });
    const first = await overview('?sort=ready&limit=2');
    expect([names(first), first.matched]).toEqual([['three', 'two'], 3]);
    const second = await overview(`?sort=ready&limit=2&cursor=${first.next_cursor!}`);
    expect([names(second), second.next_cursor]).toEqual([['one'], null]);
  });

  it('pages the oldest queues, each once, while all become older', async () => {
    const queues = ['a', 'b', 'c'];
    for (const queue of queues) await app.publish(queue);
    await collect();
    await overview();
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await overview(`?sort=oldest&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...names(page));
      cursor = page.next_cursor;
      // The overview reads Redis again.
      await sleep(2_100);
    }
    expect(seen).toEqual(queues);
  });

  it('shows a queue that has become empty for a day, from its sample', async () => {
    await app.publish('mail');
    await app.delete('mail');
    await collect();
    await engine().tidyNow(app.namespace);
    await collect();

    expect(await overview()).toMatchObject({ items: [{ queue: 'mail', ready: 0 }], totals: { queues: 1 } });
  });

  it('reads Redis at most every two seconds, however many clients there are', async () => {
    await app.publish('mail');
    await collect();
    const calls = async (): Promise<number> => {
      const stats = await store.client.info('commandstats');
      return [...stats.matchAll(/cmdstat_(?:hscan|zrangebyscore|fcall|evalsha):calls=(\d+)/g)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      );
    };
    await overview();
    const before = await calls();
    await Promise.all(Array.from({ length: 40 }, () => overview()));
    // The loops of the server run meanwhile.
    expect((await calls()) - before).toBeLessThan(40);
  });

  it('reads at most 100 queues within two seconds, whatever pages are open', async () => {
    const queues = Array.from({ length: 150 }, (_, i) => `q${String(i)}`);
    await Promise.all(queues.map((queue) => app.publish(queue)));
    await collect();
    await passTwoSeconds();
    await Promise.all(queues.map((queue) => app.delete(queue)));
    const pages = await Promise.all(['asc', 'desc'].map((order) => overview(`?limit=100&order=${order}`)));
    const rows = new Map(pages.flatMap(({ items }) => items.map((row) => [row.queue, row])));

    expect(rows.size).toBe(150);
    // Worker sessions are known only of a queue that was read; `read_at` may be the time of a sample.
    const read = [...rows.values()].filter(({ workers }) => workers !== null);
    expect(read.length).toBeGreaterThan(0);
    expect(read.length).toBeLessThanOrEqual(100);
  });

  it('shows the queues from their samples while Redis does not answer', async () => {
    await app.publish('mail');
    await collect();
    await overview();
    store.client.disconnect();
    await store.redis.stop();
    await passTwoSeconds();

    const { items, pools } = await overview();
    expect(items).toMatchObject([{ queue: 'mail', ready: 1 }]);
    expect(pools[0]!.up && pools[0]!.error === null).toBe(false);
  });
});

describe('GET /overview of an account for some namespaces', () => {
  let redis: RedisProcess;
  let admin: Awaited<ReturnType<typeof startAdmin>>;
  beforeEach(async () => {
    redis = await startRedis();
    const { parts } = testParts(testPools(redis.url, 10_000), (config) => {
      config.admin.accounts = testAccounts(['shop-*']);
    });
    admin = await startAdmin(parts);
  });
  afterEach(async () => {
    await admin.server.stop();
    await redis.stop();
  });

  const of = (account: string, path: string): ReturnType<typeof request> =>
    request(admin.url + path, { method: 'GET', headers: basicOf(account) });

  it('has no queue of another namespace, and no sums of them', async () => {
    const engine = admin.server.app.get(Engines, { strict: false }).of('default');
    const job = { body: Buffer.from('x'), delayMs: 0, ttlMs: 0, tries: 1 };
    for (const namespace of ['shop-1', 'theirs']) await engine.publish(namespace, 'mail', job);

    expect((await of('nora', '/overview')).body).toMatchObject({
      pools: [
        { pool: 'default', queues: 1, namespaces: 1 },
        { pool: 'other', queues: 0 },
      ],
      totals: { queues: 1, ready: 1 },
      ...{ matched: 1, items: [{ namespace: 'shop-1', queue: 'mail' }] },
    });
    expect((await of('vera', '/overview')).body).toMatchObject({ totals: { queues: 2 } });
    expect((await of('nora', '/namespaces/theirs/queues/mail/history')).status).toBe(404);
    expect((await of('nora', '/namespaces/shop-1/queues/mail/history')).status).toBe(200);
  });
});

describe('GET /overview without a history', () => {
  let app: TestApp;
  beforeEach(async () => ({ app } = await TestApp.alone({ PUMPHOUSE_HISTORY__ENABLED: 'false' })));
  afterEach(() => app.stop());

  it('counts the jobs of queues, and has no rates', async () => {
    await app.publish('mail');
    const { json } = await app.admin('GET', '/overview?sort=ready');
    expect(json).toMatchObject({
      pools: [{ history: false, sampled_at: null }],
      items: [{ queue: 'mail', ready: 1, published_per_s: null, activity: null, sampled_at: null }],
      totals: { ready: 1, published_per_s: null },
    });
  });
});

describe('GET /namespaces/:namespace/queues/:queue/history', () => {
  let app: TestApp;
  beforeEach(async () => ({ app } = await TestApp.alone()));
  afterEach(() => app.stop());

  interface History {
    readonly step_ms: number;
    readonly from_at: string;
    readonly until_at: string;
    readonly published: (number | null)[];
    readonly ready: (number | null)[];
    readonly wait_p50_ms: (number | null)[];
  }
  const history = async (queue: string, query = ''): Promise<History> => {
    const { status, json } = await app.admin(
      'GET',
      `/namespaces/${app.namespace}/queues/${queue}/history${query}`,
    );
    expect(status).toBe(200);
    return json as History;
  };
  it('has an item for each ten seconds of the last hour, and null where nothing was collected', async () => {
    await app.publish('mail');
    // The server collects at the end of the interval.
    const found = await waitFor(async () => {
      const one = await history('mail');
      return one.published.some((n) => n !== null) ? one : null;
    }, 60_000);
    expect(found).toMatchObject({
      pool: 'default',
      namespace: app.namespace,
      queue: 'mail',
      step_ms: 10_000,
    });
    expect(Date.parse(found.until_at) - Date.parse(found.from_at)).toBe(3_600_000);
    for (const name of ['published', 'ready', 'wait_p50_ms'] as const) expect(found[name]).toHaveLength(360);
    const filled = found.published.filter((one) => one !== null);
    expect(filled[0]).toBe(1);
    expect(filled.length).toBeLessThan(360);
    expect(found.ready.filter((one) => one !== null)[0]).toBe(1);
  });

  it('has an item for each five minutes of the last week', async () => {
    const found = await history('mail', '?step_ms=300000');
    expect(Date.parse(found.until_at) - Date.parse(found.from_at)).toBe(604_800_000);
    expect(found.published).toEqual(Array.from({ length: 2_016 }, () => null));
  });
});

describe('parameters of the overview and of histories', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  it.each([
    ['/overview?sort=size', 'sort'],
    ['/overview?only=', 'only'],
    ['/overview?limit=0', 'limit'],
    ['/overview?cursor=eA', 'cursor'],
    ['/overview?colour=red', 'colour'],
    ['/overview?namespace=a/b', 'namespace'],
    ['/overview?pool=none', 'pool'],
    ['/namespaces/a/queues/q/history?step_ms=1000', 'step_ms'],
    ['/namespaces/a/queues/q/history?pool=none', 'pool'],
    ['/namespaces/a/queues/q/history?from=1', 'from'],
    ['/namespaces/a%2Fb/queues/q/history', 'name'],
  ])('are refused in %s, and the error names %s', async (path, name) => {
    const { status, json } = await app.admin('GET', path);
    expect([status, (json as { error: string }).error]).toEqual([400, expect.stringContaining(name)]);
  });
});

/** What was read counts for two seconds. */
async function passTwoSeconds(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2_050));
}
