import { IDLE_MAX_MS, IDLE_MIN_MS, SeriesTable } from './series-table.js';

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
      hide: (fake) => (fake.shown = false),
      show: (fake) => (fake.shown = true),
    },
    () => now.ms,
  );
  const shown = () => made.filter((fake) => fake.shown).map(({ name }) => name);
  return { series, shown, now };
}

describe('SeriesTable', () => {
  it('gives each key its own series, and the rest those of other', () => {
    const { series } = table(2);
    expect(series.get('p', 'ns', 'a')).toBe(series.get('p', 'ns', 'a'));
    expect(series.get('p', 'ns', 'b').name).toBe('p/ns/b');
    expect(series.get('p', 'ns', 'c').name).toBe('p/other/other');
    expect(series.get('p', 'ns', 'd')).toBe(series.get('p', 'ns', 'c'));
    expect(series.size).toBe(2);
  });

  it('has no two series of the same labels when a queue is called other', () => {
    const { series, shown } = table(2);
    series.get('p', 'other', 'other');
    series.other('p');
    expect(shown()).toEqual(['p/other/other']);
  });

  it('is back where it was a minute after 100,000 reply queues', () => {
    const { series, shown, now } = table(50);
    series.get('p', 'ns', 'steady');
    series.other('p');
    for (let i = 0; i < 100_000; i++) {
      if (i % 100 === 0) now.ms += 10;
      series.get('p', 'ns', `reply-${i}`).value++;
      if (i % 1_000 === 0) series.get('p', 'ns', 'steady').value++;
    }
    expect(shown()).toHaveLength(51);
    now.ms += IDLE_MIN_MS / 2;
    series.get('p', 'ns', 'steady');
    now.ms += IDLE_MIN_MS / 2;
    series.sweep();
    expect(shown().sort()).toEqual(['p/ns/steady', 'p/other/other']);
    expect(series.size).toBe(1);
  });

  it('bridges a pause as long as the work before it, one hour at most', () => {
    const { series, now, shown } = table(5);
    series.get('p', 'ns', 'a');
    now.ms += 10 * IDLE_MIN_MS;
    series.get('p', 'ns', 'a');
    now.ms += 9 * IDLE_MIN_MS;
    series.sweep();
    expect(shown()).toEqual(['p/ns/a']);
    now.ms += IDLE_MAX_MS;
    series.sweep();
    expect(shown()).toEqual([]);
  });

  it('goes on with the counters of a queue that comes back', () => {
    const { series, now, shown } = table(5);
    series.get('p', 'ns', 'a').value = 7;
    now.ms += IDLE_MIN_MS;
    series.sweep();
    expect(shown()).toEqual([]);
    expect(series.get('p', 'ns', 'a').value).toBe(7);
    expect(shown()).toEqual(['p/ns/a']);
  });

  it('keeps aside no more than it may hold', () => {
    const { series, now } = table(2);
    for (const queue of ['a', 'b', 'c', 'd']) {
      series.get('p', 'ns', queue).value = 7;
      now.ms += IDLE_MIN_MS;
      series.sweep();
    }
    expect(series.get('p', 'ns', 'a').value).toBe(0);
    expect(series.get('p', 'ns', 'd').value).toBe(7);
  });

  it('makes room when it is full of queues that have gone quiet', () => {
    const { series, now } = table(1);
    series.get('p', 'ns', 'a');
    expect(series.get('p', 'ns', 'b').name).toBe('p/other/other');
    now.ms += IDLE_MIN_MS;
    expect(series.get('p', 'ns', 'b').name).toBe('p/ns/b');
  });
});
