import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const page = readFileSync(join(ROOT, 'docs', 'reliability.md'), 'utf8');
/** Scenarios that have a row, at the latest when all of their tests are there. */
const OWED = [
  [1, 29],
  [30, 33],
  [34, 38],
  [40, 44],
  [46, 53],
  [55, 68],
] as const;

/** A table's row: its scenario's number, if it has one, and the cell that names tests. */
interface Row {
  readonly scenario: string;
  readonly tests: string;
}

const rows: Row[] = page
  .split('\n')
  .filter((line) => /^\| (?:T\d+)? ?\|/.test(line))
  .map((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    return { scenario: cells[1] ?? '', tests: cells[4] ?? '' };
  });

/** Each file that is named, and each part of a test's name that follows it. */
const named = [...page.matchAll(/`(test\/[^`]+\.spec\.ts)`((?:,? \*[^*]+\*)*)/g)].map(
  ([, file = '', names = '']) => ({
    file,
    names: [...names.matchAll(/\*([^*]+)\*/g)].map(([, name = '']) => name),
  }),
);

describe('docs/reliability.md', () => {
  it('has one row for each scenario', () => {
    const owed = OWED.flatMap(([from, to]) =>
      Array.from({ length: to - from + 1 }, (_, i) => `T${from + i}`),
    );
    expect(rows.flatMap(({ scenario }) => (scenario === '' ? [] : [scenario])).sort()).toEqual(owed.sort());
  });

  it('names a test in every filled row', () => {
    for (const { scenario, tests } of rows)
      if (tests !== '')
        expect({ scenario, tests }).toEqual({ scenario, tests: expect.stringMatching(/`test\//) as string });
    expect(named.length).toBeGreaterThan(20);
  });

  it.each(named)('names existing tests: $file', ({ file, names }) => {
    expect(existsSync(join(ROOT, file))).toBe(true);
    const text = readFileSync(join(ROOT, file), 'utf8');
    expect(names.filter((name) => !text.includes(name))).toEqual([]);
    expect(names.length).toBeGreaterThan(0);
  });
});
