import { Test } from '@nestjs/testing';
import { QueueError } from '../domain/errors.js';
import type { QueueCounts } from '../domain/job/job.js';
import { ClusterTotals } from './cluster-totals.js';
import { metricsProviders } from './metrics.module.js';
import { Metrics } from './metrics.js';
import { MetricsService, REFRESH_MS } from './metrics.service.js';
import type { MetricsOptions, MetricsSnapshot } from './metrics.service.js';
import { COUNTS_BATCH } from './queue-gauges.js';
import { IDLE_MIN_MS, IDLE_MS } from './series.js';

const INFO = [
  '# Clients\r\nconnected_clients:7\r\nblocked_clients:0\r\nmaxclients:10000\r\n',
  '# Memory\r\nused_memory:1048576\r\nused_memory_human:1.00M\r\nmaxmemory:2097152\r\nmaxmemory_policy:noeviction\r\n',
  '# Keyspace\r\ndb0:keys=10,expires=4,avg_ttl=100\r\ndb3:keys=1,expires=1,avg_ttl=0\r\n',
].join('\r\n');

function counts(queue: string, ready: number): QueueCounts {
  return {
    queue,
    ready,
    scheduled: 2,
    leased: 3,
    dead: 1,
    blocked: 4,
    stuck: 1,
    held: 2,
    done: 0,
    cancelled: 0,
    oldestReadyAgeMs: ready * 1_000,
    oldestReadyAtMs: 0,
  };
}

/** A service with one pool that has the given queues, and a clock that the test moves. */
async function setUp(queues: Record<string, string[]> = {}, options: Partial<MetricsOptions> = {}) {
  const now = { ms: 1_000_000 };
  const calls = { counts: [] as string[][], info: 0 };
  const fixed = { maxQueues: 3, lmstfyNames: true, readsPools: true, pumpBatch: 64 };
  const all = { ...fixed, clock: () => now.ms, ...options };
  const module = await Test.createTestingModule({
    providers: metricsProviders(all, new Metrics()),
  }).compile();
  const service = module.get(MetricsService);
  const store = {
    name: 'default',
    status: { up: true, degraded: [] as string[] },
    info: () => {
      calls.info++;
      return Promise.resolve(INFO);
    },
  };
  service.attach(store, {
    namespaces: () => Promise.resolve(Object.keys(queues)),
    // Each queue has one worker, and those whose name ends with 1 are paused.
    sessions: {
      countSessions: (namespace) => Promise.resolve(queues[namespace]?.length ?? 0),
      sessionsByQueue: (namespace) =>
        Promise.resolve(new Map((queues[namespace] ?? []).map((queue) => [queue, 1]))),
    },
    queues: {
      names: (namespace) => Promise.resolve(queues[namespace] ?? []),
      counts: (_namespace, names) => {
        calls.counts.push([...names]);
        return Promise.resolve(names.map((name, i) => counts(name, i + 1)));
      },
      stored: {
        settings: (_namespace, names) =>
          Promise.resolve(names.map((name) => ({ pausedAtMs: name.endsWith('1') ? 1 : null }))),
      },
    },
  });
  return { service, store, now, calls, engine: service.observer('default') };
}

/** The value of one series. */
async function value(service: MetricsService, series: string): Promise<number | undefined> {
  const line = (await service.text()).split('\n').find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

/** The metrics of several processes as one text. */
function merged(...snapshots: MetricsSnapshot[]): Promise<string> {
  const totals = new ClusterTotals(3);
  // As received over IPC.
  snapshots.forEach((snapshot, i) =>
    totals.add(i, 1, JSON.parse(JSON.stringify(snapshot)) as MetricsSnapshot),
  );
  return totals.text();
}

/** The values of a text, by series. */
function seriesOf(text: string): Map<string, number> {
  const samples = text.matchAll(/^(\w+\{[^}]*\}) (\S+)$/gm);
  return new Map([...samples].map(([, series = '', value]) => [series, Number(value)]));
}

/** What Prometheus's `sum(increase(family))` is between two scrapes: a series that fell began at zero. */
function increase(
  family: string,
  values: ReadonlyMap<string, number>,
  last: ReadonlyMap<string, number>,
): number {
  return [...values]
    .filter(([series]) => series.startsWith(`${family}{`))
    .reduce((sum, [series, value]) => {
      const before = last.get(series) ?? 0;
      return sum + (value < before ? value : value - before);
    }, 0);
}

const LMSTFY = [
  'http_latency_milliseconds_count',
  'http_http_codes',
  'http_rate_limit',
  ...[
    'publish_jobs publish_queue_jobs consume_multi_jobs consume_queue_jobs pool_add_jobs pool_get_jobs pool_delete_jobs',
    'timer_add_jobs timer_due_jobs timer_full_batches timer_sizes queue_direct_push_jobs queue_pop_jobs queue_sizes',
    'deadletter_sizes deadletter_respawn_jobs job_elapsed_ms_count job_ack_elapsed_ms_count max_mem_bytes used_mem_bytes',
    'connections total_keys total_ttl_keys qps latency_count',
  ]
    .join(' ')
    .split(' ')
    .map((name) => `redis_${name}`),
];

describe('MetricsService', () => {
  it('has a value for every metric of lmstfy', async () => {
    const { service, engine } = await setUp({ ns: ['q'] });
    engine.published('ns', 'q', 2, 1);
    engine.leased('ns', 'q', 20);
    engine.acked('ns', 'q', 30);
    engine.pumped('ns', { due: 60, returned: 2, died: 1, expired: 1 }, 3);
    engine.respawned('ns', 'q', 1);
    engine.script('simple_publish', 2, 1.5);
    service.http.record('/api/:namespace/:queue', 'PUT', 201, 4, { pool: 'default', namespace: 'ns' });
    service.http.rateLimited({ pool: 'default', namespace: 'ns' }, '01ABCDEF', 'produce');

    const text = await service.text();
    for (const family of LMSTFY) {
      expect(text).toMatch(new RegExp(`^infra_lmstfy_${family}\\{[^}]+\\} [1-9]`, 'm'));
    }
    // No client blocks in Redis here, so this one is 0.
    expect(text).toContain('infra_lmstfy_redis_blocking_connections{pool="default"} 0');
  });

  it('has a pumphouse_ metric for each report of the engine', async () => {
    const { service, engine } = await setUp();
    engine.staleAck('ns', 'late');
    engine.sessions('ns', 'started', 3);
    engine.sessions('ns', 'lost', 2);
    engine.undone('ns', 3);
    engine.expired('ns', 2);
    engine.waiters(5);
    engine.loopError('pump');
    engine.published('ns', 'q', 3, 1);
    engine.leased('ns', 'q', 1_500);
    engine.ran('ns', 'q', 250);
    engine.acked('ns', 'q', 1_750);
    engine.acked('ns', 'q', null);
    engine.failed('ns', 'q', 4);
    engine.retried('ns', 'q', 5);
    engine.respawned('ns', 'q', 6);
    engine.pumped('ns', { due: 1, returned: 0, died: 0, expired: 0 }, 4);
    const text = await service.text();
    for (const line of [
      'pumphouse_stale_acks_total{pool="default",namespace="ns",kind="late"} 1',
      'pumphouse_worker_session_changes_total{pool="default",namespace="ns",change="started"} 3',
      'pumphouse_worker_session_changes_total{pool="default",namespace="ns",change="lost"} 2',
      'pumphouse_worker_session_changes_total{pool="default",namespace="other",change="lost"} 0',
      'pumphouse_leases_undone_total{pool="default"} 3',
      'pumphouse_jobs_expired_total{pool="default"} 2',
      'pumphouse_waiters{pool="default"} 5',
      'pumphouse_loop_errors_total{pool="default",loop="pump"} 1',
      'pumphouse_job_wait_seconds_sum{pool="default",namespace="ns",queue="q"} 1.5',
      'pumphouse_job_wait_seconds_bucket{le="2",pool="default",namespace="ns",queue="q"} 1',
      'pumphouse_job_run_seconds_sum{pool="default",namespace="ns",queue="q"} 0.25',
      'pumphouse_job_ack_seconds_sum{pool="default",namespace="ns",queue="q"} 1.75',
      'pumphouse_jobs_published_total{pool="default",namespace="ns",queue="q"} 3',
      'pumphouse_jobs_leased_total{pool="default",namespace="ns",queue="q"} 1',
      'pumphouse_jobs_acked_total{pool="default",namespace="ns",queue="q"} 2',
      'pumphouse_jobs_failed_total{pool="default",namespace="ns",queue="q"} 4',
      'pumphouse_jobs_retried_total{pool="default",namespace="ns",queue="q"} 5',
      'pumphouse_jobs_respawned_total{pool="default",namespace="ns",queue="q"} 6',
      'pumphouse_pump_lateness_seconds_bucket{le="0.005",pool="default"} 1',
      'pumphouse_jobs_pumped_total{pool="default",outcome="due"} 1',
      'pumphouse_redis_up{pool="default"} 1',
      'infra_lmstfy_redis_timer_full_batches{pool="default"} 0',
    ]) {
      expect(text).toContain(line);
    }
  });

  it('shows the sizes of its maximum number of queues, and the sum of the others as "other"', async () => {
    const { service } = await setUp({ a: ['q1', 'q2'], b: ['q3', 'q4', 'q5'] });
    expect(
      await value(service, 'infra_lmstfy_redis_queue_sizes{pool="default",namespace="a",queue="q2"}'),
    ).toBe(2);
    const text = await service.text();
    expect(text.match(/^infra_lmstfy_redis_queue_sizes\{/gm)).toHaveLength(4);
    expect(text).toContain('queue_sizes{pool="default",namespace="other",queue="other"} 3');
    expect(text).toContain('infra_lmstfy_redis_timer_sizes{pool="default"} 25');
    // As many as there are queues, in this source.
    expect(text).toContain('pumphouse_worker_sessions{pool="default"} 5');
    expect(text).toContain(
      'pumphouse_queue_oldest_ready_age_seconds{pool="default",namespace="a",queue="q2"} 2',
    );
    expect(text).toContain('pumphouse_queues{pool="default"} 5');
  });

  it('shows of each queue the blocked, stuck and held jobs, its workers, and whether it is paused', async () => {
    const { service } = await setUp({ a: ['q1', 'q2'], b: ['q3', 'q4', 'q5'] });
    const text = await service.text();
    for (const [labels, values] of [
      ['namespace="a",queue="q1"', [4, 1, 2, 1, 1]],
      ['namespace="a",queue="q2"', [4, 1, 2, 1, 0]],
      ['namespace="other",queue="other"', [8, 2, 4, 2, 0]],
    ] as const)
      for (const [i, name] of ['blocked_jobs', 'stuck_jobs', 'held_jobs', 'workers', 'paused'].entries())
        expect(text).toContain(`pumphouse_queue_${name}{pool="default",${labels}} ${String(values[i])}\n`);
  });

  it('prefers queues with counters when it shows the sizes of its maximum number of queues', async () => {
    const { service, engine } = await setUp({ a: ['q1', 'q2', 'q3', 'q4'] });
    engine.published('a', 'q4', 1, 0);
    expect(await service.text()).toContain('queue_sizes{pool="default",namespace="a",queue="q4"} 1');
  });

  it('removes the gauges of deleted queues, and shows other queues instead', async () => {
    const queues = { a: ['q1', 'q2', 'q3', 'q4'] };
    const { service, now } = await setUp(queues);
    await service.text();
    queues.a = ['q2', 'q5'];
    now.ms += REFRESH_MS;
    const text = await service.text();
    expect(text).not.toContain('queue="q1"');
    expect(text).toContain('queue_sizes{pool="default",namespace="a",queue="q5"}');
    expect(text).toContain('queue_sizes{pool="default",namespace="other",queue="other"} 0');
  });

  it('reads the sizes of all 200 queues in batches, once for each refresh', async () => {
    const names = Array.from({ length: 200 }, (_, i) => `q${i}`);
    const { service, now, calls } = await setUp({ a: names }, { maxQueues: 100 });
    await service.text();
    expect(Math.max(...calls.counts.map((batch) => batch.length))).toBe(COUNTS_BATCH);
    expect(calls.counts.flat()).toHaveLength(200);
    calls.counts.length = 0;
    await service.text();
    expect(calls.counts).toEqual([]);
    now.ms += REFRESH_MS;
    await Promise.all([service.text(), service.text()]);
    expect(calls.counts.flat()).toHaveLength(200);
  });

  // Queues come and go, more of them than have their own labels, with pauses that end some of their series. A series
  // that has ended begins at zero; so each increase of a series is the traffic since the scrape before.
  it('shows each count as an increase of a series, also while queues become idle and busy again', async () => {
    const { service, engine, now } = await setUp({}, { maxQueues: 3 });
    const families = {
      publish: 'infra_lmstfy_redis_publish_queue_jobs',
      waited: 'infra_lmstfy_redis_job_elapsed_ms_sum',
      acked: 'infra_lmstfy_redis_job_ack_elapsed_ms_count',
      ours: 'pumphouse_jobs_published_total',
      stale: 'pumphouse_stale_acks_total',
      sessions: 'pumphouse_worker_session_changes_total',
      codes: 'infra_lmstfy_http_http_codes',
      latency: 'infra_lmstfy_http_latency_milliseconds_count',
      refused: 'infra_lmstfy_http_rate_limit',
    };
    let last = new Map<string, number>();
    for (let round = 0; round < 60; round++) {
      const counted: Record<string, number> = {};
      const count = (family: string, by = 1): void => void (counted[family] = (counted[family] ?? 0) + by);
      for (let i = 0; i < 5; i++) {
        const pick = (round * 13 + i * 7) % 18;
        const [namespace, queue] = [`n${String(pick % 6)}`, `q${String(pick % 3)}`];
        const caller = { pool: 'default', namespace };
        engine.published(namespace, queue, 2, 0);
        count(families.publish, 2);
        count(families.ours, 2);
        engine.leased(namespace, queue, 30);
        count(families.waited, 30);
        engine.acked(namespace, queue, 40);
        count(families.acked);
        engine.staleAck(namespace, 'late');
        count(families.stale);
        engine.sessions(namespace, 'lost', 2);
        count(families.sessions, 2);
        service.http.record('/x', 'GET', i === 0 ? 404 : 200, 5, caller);
        count(families.codes);
        count(families.latency, i === 0 ? 0 : 1);
        service.http.rateLimited(caller, '01ABCDEF', 'consume');
        count(families.refused);
      }
      const values = seriesOf(await service.text());
      const increases = Object.values(families).map((family) => [family, increase(family, values, last)]);
      expect(Object.fromEntries(increases)).toEqual(counted);
      // Releases by a scrape, and releases because a new queue needs a place.
      now.ms += ((round * 5) % 7) * 0.25 * (round % 2 === 0 ? IDLE_MIN_MS : IDLE_MS);
      last = seriesOf(await service.text());
    }
  });

  it('counts pushes of targets beyond the maximum as "other", and gives the place of an idle target to another', async () => {
    const { service, now } = await setUp({}, { maxQueues: 2 });
    const jobsOf = (target: string): Promise<number | undefined> => {
      const namespace = target === 'other' ? 'other' : 'ns';
      const of = `pool="default",namespace="${namespace}",target="${target}",outcome="ack"`;
      return value(service, `pumphouse_push_jobs_total{${of}}`);
    };
    const push = (target: string): void => {
      service.push.of('default', 'ns', target).jobs.ack.value += 1;
    };
    for (const target of ['a', 'b', 'c', 'd', 'a']) push(target);
    expect(await Promise.all(['a', 'b', 'c', 'other'].map(jobsOf))).toEqual([2, 1, undefined, 2]);

    now.ms += IDLE_MS - 1;
    push('a');
    now.ms += 1;
    push('c');
    expect(await Promise.all(['a', 'b', 'c', 'other'].map(jobsOf))).toEqual([3, undefined, 1, 2]);
  });

  it('has an hour after 100,000 short-lived queues as many series as before them', async () => {
    const { service, engine, now } = await setUp({}, { maxQueues: 100 });
    const lines = async () => (await service.text()).split('\n').length;
    engine.published('ns', 'steady', 1, 0);
    const before = await lines();
    for (let i = 0; i < 100_000; i++) {
      if (i % 100 === 0) now.ms += 5;
      engine.published('ns', `reply-${i}`, 1, 0);
      engine.leased('ns', `reply-${i}`, 1);
      engine.acked('ns', `reply-${i}`, 2);
    }
    expect(await lines()).toBeLessThan(before + 100 * 70);
    now.ms += IDLE_MS - 1;
    engine.published('ns', 'steady', 1, 0);
    now.ms += 1;
    expect(await lines()).toBe(before);
    expect(await value(service, 'infra_lmstfy_redis_publish_jobs{pool="default"}')).toBe(100_002);
  });

  it("has no infra_lmstfy_ metrics if lmstfy's names are switched off", async () => {
    const names = async (lmstfyNames: boolean) => {
      const { service, engine } = await setUp({ a: ['q1'] }, { lmstfyNames });
      engine.published('a', 'q1', 2, 0);
      service.http.record('/x', 'GET', 200, 5);
      const summed = await merged(await service.snapshot());
      const found = [await service.text(), summed].map((text) => [...text.matchAll(/^# TYPE (\w+)/gm)]);
      const [own = [], ofAll = []] = found.map((matches) => matches.map(([, name = '']) => name).sort());
      expect(ofAll).toEqual(own);
      return own;
    };
    const [on, off] = [await names(true), await names(false)];
    expect(off).toEqual(on.filter((name) => !name.startsWith('infra_lmstfy_')));
    expect(on.length - off.length).toBe(LMSTFY.length + 1);
  });

  // The rules of Prometheus, which promtool checks.
  it('names metrics by the conventions of Prometheus', async () => {
    const { service } = await setUp({ a: ['q1'] }, { lmstfyNames: false });
    const families = [...(await service.text()).matchAll(/^# HELP (\w+) (.+)\n# TYPE \1 (\w+)$/gm)];
    expect(families.length).toBeGreaterThan(40);
    for (const [, name = '', help, type] of families) {
      expect(name).toMatch(/^pumphouse_[a-z]+(_[a-z]+)*$/);
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
      expect(name).not.toMatch(/_(count|sum|bucket|info|ms|milliseconds|minutes|kb|mb)$/);
      expect([name, help]).toEqual([name, expect.stringMatching(/^[A-Z1-9_a-z].*[^.]$/)]);
    }
  });

  it('shows the last sizes of queues, their age and redis_up 0 while the pool is down', async () => {
    const { service, store, now } = await setUp({ a: ['q1'] });
    const series = 'infra_lmstfy_redis_queue_sizes{pool="default",namespace="a",queue="q1"}';
    expect(await value(service, series)).toBe(1);
    store.status = { up: false, degraded: ['full'] };
    store.info = () => Promise.reject(new QueueError('pool_unavailable', 'gone'));
    now.ms += REFRESH_MS;
    expect(await value(service, series)).toBe(1);
    expect(await value(service, 'pumphouse_redis_up{pool="default"}')).toBe(0);
    expect(await value(service, 'pumphouse_degraded{pool="default",reason="full"}')).toBe(1);
    expect(await value(service, 'pumphouse_queue_gauges_age_seconds{pool="default"}')).toBe(5);
    store.status = { up: true, degraded: [] };
    expect(await value(service, 'pumphouse_degraded{pool="default",reason="full"}')).toBe(0);
  });

  it('merges API processes and the primary process: sums of counters, sizes once, redis_up 0 if it is 0 in one of them', async () => {
    const primary = await setUp({ a: ['q1'] });
    const workers = [await setUp({}, { readsPools: false }), await setUp({}, { readsPools: false })];
    for (const { engine } of workers) engine.published('a', 'q1', 2, 0);
    workers[1]!.store.status = { up: false, degraded: [] };
    const snapshots = await Promise.all([primary, ...workers].map(({ service }) => service.snapshot()));
    const text = await merged(...snapshots);
    expect(text).toContain(
      'infra_lmstfy_redis_publish_queue_jobs{pool="default",namespace="a",queue="q1"} 4',
    );
    expect(text).toContain('infra_lmstfy_redis_queue_sizes{pool="default",namespace="a",queue="q1"} 1');
    expect(text).toContain('pumphouse_redis_up{pool="default"} 0');
    expect(workers[0]!.calls.info).toBe(0);
  });

  it('counts separately from another MetricsService in the same process', async () => {
    const [one, two] = [await setUp(), await setUp()];
    one.engine.undone('ns', 1);
    expect(await value(two.service, 'pumphouse_leases_undone_total{pool="default"}')).toBe(0);
  });
});
