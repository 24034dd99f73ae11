import { AggregatorRegistry, Registry } from 'prom-client';
import { CounterFamily, GaugeFamily, HistogramFamily } from './families.js';

function families() {
  const registry = new Registry();
  const labelNames = ['pool'];
  return {
    registry,
    counter: new CounterFamily({ name: 'things_total', help: 'Things', labelNames, registry }),
    gauge: new GaugeFamily({ name: 'height', help: 'Height', labelNames, registry, aggregator: 'max' }),
    histogram: new HistogramFamily({ name: 'size', help: 'Size', labelNames, registry, buckets: [1, 10] }),
  };
}

describe('families', () => {
  it('print what prom-client would print', async () => {
    const { registry, counter, gauge, histogram } = families();
    counter.cell({ pool: 'a' }).value += 3;
    gauge.cell({ pool: 'a' }).value = 2.5;
    const size = histogram.cell({ pool: 'a' });
    for (const value of [0.5, 1, 7, 11]) size.observe(value);

    expect((await registry.metrics()).split('\n')).toEqual([
      '# HELP things_total Things',
      '# TYPE things_total counter',
      'things_total{pool="a"} 3',
      '',
      '# HELP height Height',
      '# TYPE height gauge',
      'height{pool="a"} 2.5',
      '',
      '# HELP size Size',
      '# TYPE size histogram',
      'size_bucket{le="1",pool="a"} 2',
      'size_bucket{le="10",pool="a"} 3',
      'size_bucket{le="+Inf",pool="a"} 4',
      'size_sum{pool="a"} 19.5',
      'size_count{pool="a"} 4',
      '',
    ]);
  });

  it('become one over processes, each by its aggregator', async () => {
    const snapshots = [];
    for (const n of [1, 2]) {
      const { registry, counter, gauge, histogram } = families();
      counter.cell({ pool: 'a' }).value = n;
      gauge.cell({ pool: 'a' }).value = n;
      histogram.cell({ pool: 'a' }).observe(n * 5);
      // As it comes over IPC.
      snapshots.push(JSON.parse(JSON.stringify(await registry.getMetricsAsJSON())) as object[]);
    }
    const text = await AggregatorRegistry.aggregate(snapshots).metrics();
    expect(text).toContain('things_total{pool="a"} 3');
    expect(text).toContain('height{pool="a"} 2\n');
    expect(text).toMatch(/size_bucket\{[^}]*le="10"[^}]*\} 2/);
    expect(text).toContain('size_sum{pool="a"} 15');
  });

  it('show nothing of a cell that was dropped, and its value again when it is restored', async () => {
    const { registry, counter, histogram } = families();
    const things = counter.cell({ pool: 'a' });
    const size = histogram.cell({ pool: 'a' });
    things.value = 4;
    counter.drop(things);
    histogram.drop(size);
    expect(await registry.metrics()).not.toContain('pool=');
    counter.restore(things);
    expect(await registry.metrics()).toContain('things_total{pool="a"} 4');
  });

  it('ignore a value that is not a number', async () => {
    const { registry, histogram } = families();
    histogram.cell({ pool: 'a' }).observe(NaN);
    expect(await registry.metrics()).toContain('size_count{pool="a"} 0');
  });
});
