import { Journal, judge, type Entry } from './journal.js';

/** The judge is only worth something if it sees what it is there for. */
describe('the judge of a run', () => {
  const rules = { ttrMs: 1_000, tries: 2, dead: new Set<string>() };
  const publish = { op: 'publish', body: 'b', atMs: 0 } as const;
  const accepted = { op: 'accepted', body: 'b', id: '1', atMs: 1 } as const;
  const acked = { op: 'acked', id: '1', atMs: 10 } as const;
  const delivered = (askedMs: number, id = '1', body = 'b') =>
    ({ op: 'delivered', body, id, askedMs, atMs: askedMs + 1, triesLeft: 1 }) as const;

  function judged(...entries: Entry[]): string[] {
    const journal = new Journal();
    journal.entries.push(...entries);
    return Object.entries(judge(journal, rules)).flatMap(([name, list]) =>
      (list as string[]).length > 0 ? [name] : [],
    );
  }

  it('finds nothing in a sound run', () => {
    expect(judged(publish, accepted, delivered(2), acked)).toEqual([]);
    const later = { ...acked, atMs: 2_000 };
    expect(judged(publish, accepted, delivered(2), delivered(1_003), later)).toEqual([]);
  });

  it('sees a job that is lost, unless it is dead', () => {
    expect(judged(publish, accepted)).toEqual(['lost']);
    const journal = new Journal();
    journal.entries.push(publish, accepted);
    expect(judge(journal, { ...rules, dead: new Set(['1']) }).lost).toEqual([]);
  });

  it('sees what nobody sent, what came twice, what was done, and what came too often', () => {
    const later = { ...acked, atMs: 9_000 };
    expect(judged(publish, accepted, delivered(2, '9', 'other'), acked)).toEqual([
      'unexpected',
      'multiplied',
    ]);
    expect(judged(publish, accepted, delivered(2), delivered(3), acked)).toEqual(['doubled']);
    expect(judged(publish, accepted, delivered(2), acked, delivered(1_100))).toEqual(['undead']);
    expect(judged(publish, accepted, delivered(2), delivered(1_100), delivered(2_200), later)).toEqual([
      'overrun',
    ]);
    expect(judged(publish, accepted, delivered(2), delivered(3, '2'), acked)).toEqual(['multiplied']);
  });
});
