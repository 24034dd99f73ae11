import { Registry } from 'prom-client';
import { ClusterTotals } from './cluster-totals.js';
import { EngineMetrics, namespaceTable, queueTable } from './engine-metrics.js';
import { Metrics } from './metrics.js';
import type { MetricsSnapshot } from './metrics.service.js';
import { IDLE_MS } from './series.js';

/** Totals of workers with a clock that the test moves. */
function setUp({ limit = 10, workers = 2 } = {}) {
  const now = { ms: 1_000_000 };
  const clock = (): number => now.ms;
  const totals = new ClusterTotals(limit, clock);
  let answer = 0;
  const all = Array.from({ length: workers }, (_, i) => {
    const metrics = new Metrics();
    const queues = queueTable(metrics, limit, clock);
    const engine = new EngineMetrics(metrics, 'p', queues, namespaceTable(metrics, limit, clock), 64);
    const snapshot = async (): Promise<MetricsSnapshot> => {
      queues.sweep();
      // As received over IPC.
      return JSON.parse(JSON.stringify(await metrics.registry.getMetricsAsJSON())) as MetricsSnapshot;
    };
    return { engine, snapshot, report: async () => totals.add(i + 1, ++answer, await snapshot()) };
  });
  const published = async (queue: string): Promise<number | undefined> => {
    const namespace = queue === 'other' ? 'other' : 'ns';
    return valueOf(
      await totals.text(),
      `jobs_published_total{pool="p",namespace="${namespace}",queue="${queue}"}`,
    );
  };
  return { totals, now, all, published, text: () => totals.text() };
}

function valueOf(text: string, series: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`pumphouse_${series} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

describe('ClusterTotals', () => {
  it('keeps a counter of a queue that is idle in one API process and busy in another', async () => {
    const { all, now, published, text } = setUp();
    const [one, two] = all;
    one!.engine.published('ns', 'q', 5, 0);
    one!.engine.leased('ns', 'q', 20);
    two!.engine.published('ns', 'q', 2, 0);
    for (const { report } of all) await report();
    expect(await published('q')).toBe(7);
    now.ms += IDLE_MS - 1;
    two!.engine.published('ns', 'q', 1, 0);
    now.ms += 1;
    for (const { report } of all) await report();
    expect(await published('q')).toBe(8);
    expect(valueOf(await text(), 'job_wait_seconds_count{pool="p",namespace="ns",queue="q"}')).toBe(1);
  });

  it('continues a counter when an API process restarts its own counter at zero', async () => {
    const { all, now, published, text } = setUp();
    const [one, two] = all;
    one!.engine.published('ns', 'q', 5, 0);
    for (const waitMs of [20, 100_000, 100_000]) one!.engine.leased('ns', 'q', waitMs);
    for (const { report } of all) await report();
    now.ms += IDLE_MS - 1;
    two!.engine.published('ns', 'q', 1, 0);
    await two!.report();
    now.ms += 1;
    // The worker releases it at this snapshot, which is lost, and starts at zero.
    await one!.snapshot();
    one!.engine.published('ns', 'q', 3, 0);
    for (const waitMs of [20, 20]) one!.engine.leased('ns', 'q', waitMs);
    await one!.report();
    expect(await published('q')).toBe(9);
    const wait = 'pool="p",namespace="ns",queue="q"}';
    const lines = await text();
    expect(valueOf(lines, `job_wait_seconds_bucket{le="0.025",${wait}`)).toBe(3);
    expect(valueOf(lines, `job_wait_seconds_bucket{le="600",${wait}`)).toBe(5);
    expect(valueOf(lines, `job_wait_seconds_count{${wait}`)).toBe(5);
    expect(valueOf(lines, `job_wait_seconds_sum{${wait}`)).toBeCloseTo(200.06);
  });

  it('keeps the last values of an API process without a new answer, and the counters of an ended process', async () => {
    const { all, totals, published, text } = setUp();
    for (const { engine, report } of all) {
      engine.published('ns', 'q', 4, 0);
      engine.waiters(1);
      await report();
    }
    all[1]!.engine.published('ns', 'q', 1, 0);
    await all[1]!.report();
    expect([await published('q'), valueOf(await text(), 'waiters{pool="p"}')]).toEqual([9, 2]);
    totals.end(1);
    expect([await published('q'), valueOf(await text(), 'waiters{pool="p"}')]).toEqual([9, 1]);
  });

  it('ignores an answer that arrives after a newer answer or after the end of its process', async () => {
    const { all, totals, published } = setUp({ workers: 1 });
    const { engine, snapshot } = all[0]!;
    engine.published('ns', 'q', 1, 0);
    const first = await snapshot();
    engine.published('ns', 'q', 1, 0);
    totals.add(1, 2, await snapshot());
    totals.add(1, 1, first);
    totals.end(1);
    totals.add(1, 3, first);
    expect(await published('q')).toBe(2);
  });

  it('shows a queue for an hour after its last traffic in any API process, and then adds nothing to "other"', async () => {
    const { all, now, published, text } = setUp();
    for (const { engine, report } of all) {
      engine.published('ns', 'q', 4, 0);
      await report();
    }
    now.ms += IDLE_MS - 1;
    for (const { report } of all) await report();
    expect(await published('q')).toBe(8);
    now.ms += 1;
    for (const { report } of all) await report();
    expect(await published('q')).toBeUndefined();
    expect(await text()).not.toContain('queue="q"');
    expect(await published('other')).toBe(0);
    all[0]!.engine.published('ns', 'q', 1, 0);
    await all[0]!.report();
    expect(await published('q')).toBe(1);
  });

  it('shows at most its maximum number of queues, and the sum of the others as "other"', async () => {
    const { all, published, text } = setUp({ limit: 2, workers: 3 });
    for (const [i, { engine, report }] of all.entries()) {
      engine.published('ns', `q${String(i)}`, 1, 0);
      engine.published('ns', `p${String(i)}`, 1, 0);
      await report();
    }
    expect((await text()).match(/^pumphouse_jobs_published_total\{/gm)).toHaveLength(3);
    expect(await published('other')).toBe(4);
    all[2]!.engine.published('ns', 'q2', 3, 0);
    await all[2]!.report();
    expect(await published('other')).toBe(7);
  });

  it('returns the metrics of a single process unchanged', async () => {
    const { all, totals, text } = setUp({ workers: 0 });
    expect(all).toEqual([]);
    const metrics = new Metrics();
    const queues = queueTable(metrics, 5);
    const engine = new EngineMetrics(metrics, 'p', queues, namespaceTable(metrics, 5), 64);
    engine.published('ns', 'q', 3, 1);
    engine.leased('ns', 'q', 20);
    engine.script('simple_publish', 2, 1.5);
    totals.add(1, 1, await metrics.registry.getMetricsAsJSON());
    const lines = (of: string): string[] => of.split('\n').filter((line) => line !== '');
    expect(lines(await text()).sort()).toEqual(
      lines(await Registry.merge([metrics.registry]).metrics()).sort(),
    );
  });
});
