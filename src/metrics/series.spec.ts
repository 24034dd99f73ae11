import { CounterFamily, GaugeFamily, HistogramFamily, IDLE_MIN_MS, IDLE_MS, SeriesTable } from './series.js';
import { AggregatorRegistry, Registry } from 'prom-client';

interface Fake {
  readonly name: string;
  shown: boolean;
  value: number;
}

function table(limit: number) {
  const made: Fake[] = [];
  const now = { ms: 1_000_000 };
  const series = new SeriesTable<Fake>(
    limit,
    {
      create: (pool, namespace, queue) => {
        const fake = { name: `${pool}/${namespace}/${queue}`, shown: true, value: 0 };
        made.push(fake);
        return fake;
      },
      end: (fake) => {
        fake.shown = false;
      },
    },
    () => now.ms,
  );
  const shown = () => made.filter((fake) => fake.shown).map(({ name }) => name);
  return { series, shown, now };
}

describe('SeriesTable', () => {
  it('gives a series to each key up to its limit, and the series "other" to further keys', () => {
    const { series } = table(2);
    expect(series.get('p', 'ns', 'a')).toBe(series.get('p', 'ns', 'a'));
    expect(series.get('p', 'ns', 'b').name).toBe('p/ns/b');
    expect(series.get('p', 'ns', 'c').name).toBe('p/other/other');
    expect(series.get('p', 'ns', 'd')).toBe(series.get('p', 'ns', 'c'));
    expect(series.size).toBe(2);
  });

  it('has one series "other" even if a queue has the name "other"', () => {
    const { series, shown } = table(2);
    series.get('p', 'other', 'other');
    series.other('p');
    expect(shown()).toEqual(['p/other/other']);
  });

  it('keeps the series of a key for an hour after its last use', () => {
    const { series, now, shown } = table(5);
    series.get('p', 'ns', 'a');
    now.ms += IDLE_MS - 1;
    series.sweep();
    expect(shown()).toEqual(['p/ns/a']);
    series.get('p', 'ns', 'a');
    now.ms += IDLE_MS;
    series.sweep();
    expect(shown()).toEqual([]);
  });

  it('starts the series of a queue at zero after it was idle for an hour', () => {
    const { series, shown, now } = table(5);
    for (let round = 0; round < 2; round++) {
      series.get('p', 'ns', 'a').value += 7;
      expect(series.get('p', 'ns', 'a').value).toBe(7);
      now.ms += IDLE_MS;
      series.sweep();
    }
    expect(shown()).toEqual([]);
  });

  it('gives the place of a queue that was idle for a minute to a new key when full, and not the place of a busy queue', () => {
    const { series, shown, now } = table(50);
    series.get('p', 'ns', 'steady');
    for (let i = 0; i < 100_000; i++) {
      if (i % 100 === 0) now.ms += 10;
      series.get('p', 'ns', `reply-${i}`).value++;
      if (i % 1_000 === 0) series.get('p', 'ns', 'steady').value++;
    }
    expect(shown()).toHaveLength(51);
    expect(series.get('p', 'ns', 'new').name).toBe('p/other/other');
    now.ms += IDLE_MIN_MS / 2;
    series.get('p', 'ns', 'steady');
    now.ms += IDLE_MIN_MS / 2;
    expect(series.get('p', 'ns', 'new').name).toBe('p/ns/new');
    expect(shown().sort()).toEqual(['p/ns/new', 'p/ns/steady', 'p/other/other']);
  });

  it('keeps an idle key for as long as it was active before, although the table is full', () => {
    const { series, now } = table(1);
    series.get('p', 'ns', 'a');
    now.ms += 10 * IDLE_MIN_MS;
    series.get('p', 'ns', 'a');
    now.ms += 9 * IDLE_MIN_MS;
    expect(series.get('p', 'ns', 'b').name).toBe('p/other/other');
    now.ms += IDLE_MIN_MS;
    expect(series.get('p', 'ns', 'b').name).toBe('p/ns/b');
  });

  it('gives the place of a key that was used only once to another key after a minute, when full', () => {
    const { series, now } = table(1);
    series.get('p', 'ns', 'a');
    expect(series.get('p', 'ns', 'b').name).toBe('p/other/other');
    now.ms += IDLE_MIN_MS;
    expect(series.get('p', 'ns', 'b').name).toBe('p/ns/b');
  });
});

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

describe('families of metrics (counters, gauges, histograms)', () => {
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

  it('are merged over processes: counters and histograms by sum, a gauge by its aggregator', async () => {
    const snapshots = [];
    for (const n of [1, 2]) {
      const { registry, counter, gauge, histogram } = families();
      counter.cell({ pool: 'a' }).value = n;
      gauge.cell({ pool: 'a' }).value = n;
      histogram.cell({ pool: 'a' }).observe(n * 5);
      // As received over IPC.
      snapshots.push(JSON.parse(JSON.stringify(await registry.getMetricsAsJSON())) as object[]);
    }
    const text = await AggregatorRegistry.aggregate(snapshots).metrics();
    expect(text).toContain('things_total{pool="a"} 3');
    expect(text).toContain('height{pool="a"} 2\n');
    expect(text).toMatch(/size_bucket\{[^}]*le="10"[^}]*\} 2/);
    expect(text).toContain('size_sum{pool="a"} 15');
  });

  it('omit a series that was ended', async () => {
    const { registry, counter, histogram } = families();
    const [things, size] = [counter.cell({ pool: 'a' }), histogram.cell({ pool: 'a' })];
    things.value = 4;
    size.observe(5);
    counter.end(things);
    histogram.end(size);
    expect(await registry.metrics()).not.toContain('pool="a"');
  });

  it('show the values of another family under a second name, with other buckets and another unit', async () => {
    const [registry, other] = [new Registry(), new Registry()];
    const labelNames = ['pool'];
    const counter = new CounterFamily({ name: 'things_total', help: 'Things', labelNames, registry });
    const twin = { name: 'old_things', help: 'Things', labelNames, registry: other };
    new CounterFamily(twin, counter);
    const time = { name: 'took_seconds', help: 'Time', labelNames, registry, unit: 1_000 };
    const histogram = new HistogramFamily({ ...time, buckets: [0.01, 1], moreBounds: [15, 40] });
    const inMs = { name: 'took_ms', help: 'Time', labelNames, registry: other, buckets: [15, 40] };
    new HistogramFamily(inMs, histogram);

    const [things, ended] = [counter.cell({ pool: 'a' }), counter.cell({ pool: 'b' })];
    things.value = 5;
    ended.value = 3;
    counter.end(ended);
    const took = histogram.cell({ pool: 'a' });
    for (const ms of [10, 12, 30, 500, 5_000]) took.observe(ms);

    expect(await registry.metrics()).toContain('things_total{pool="a"} 5\n');
    expect(await other.metrics()).toContain('old_things{pool="a"} 5\n');
    expect(await other.metrics()).not.toContain('pool="b"');
    const samples = async (of: Registry, name: string): Promise<string[]> =>
      (await of.metrics()).split('\n').filter((line) => line.startsWith(name));
    expect(await samples(registry, 'took')).toEqual([
      'took_seconds_bucket{le="0.01",pool="a"} 1',
      'took_seconds_bucket{le="1",pool="a"} 4',
      'took_seconds_bucket{le="+Inf",pool="a"} 5',
      'took_seconds_sum{pool="a"} 5.552',
      'took_seconds_count{pool="a"} 5',
    ]);
    expect(await samples(other, 'took')).toEqual([
      'took_ms_bucket{le="15",pool="a"} 2',
      'took_ms_bucket{le="40",pool="a"} 3',
      'took_ms_bucket{le="+Inf",pool="a"} 5',
      'took_ms_sum{pool="a"} 5552',
      'took_ms_count{pool="a"} 5',
    ]);
    const more = { ...inMs, name: 'more_ms', buckets: [16] };
    expect(() => new HistogramFamily(more, histogram)).toThrow('more_ms: its source lacks a bound');
  });

  it('ignore NaN in a histogram', async () => {
    const { registry, histogram } = families();
    histogram.cell({ pool: 'a' }).observe(NaN);
    expect(await registry.metrics()).toContain('size_count{pool="a"} 0');
  });
});
