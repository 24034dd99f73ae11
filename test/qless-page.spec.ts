import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { headingsOf } from '../scripts/checks/links.mjs';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/how-to/from-qless.md');
const DEFECTS = 17;

const rows = page
  .split('\n')
  .filter((line) => /^\| Q\d+ \|/.test(line))
  .map((line) => {
    const [, number = '', , , test = ''] = line.split('|').map((cell) => cell.trim());
    const [, file = '', name = ''] = /^`(.+)` \*(.+)\*$/.exec(test) ?? [];
    return { number, file, name };
  });

describe('docs/how-to/from-qless.md', () => {
  it('has a row for each of 17 defects, in order', () =>
    expect(rows.map(({ number }) => number)).toEqual(
      Array.from({ length: DEFECTS }, (_, i) => `Q${String(i + 1)}`),
    ));

  it.each(rows)('names an existing test with the number $number', ({ number, file, name }) => {
    expect(existsSync(join(ROOT, file))).toBe(true);
    const found = read(file)
      .split('\n')
      .filter((line) => /\bit(\.each.*)?\(/.test(line) && line.includes(name));
    expect(found).toEqual([expect.stringMatching(new RegExp(`\\b${number}\\b`))]);
  });

  it('points at existing headings of the API guides', () => {
    const links = [...page.matchAll(/\(\.\.\/(api(?:\/[\w-]+)?\.md)(?:#([^)]+))?\)/g)];
    expect(links.length).toBeGreaterThan(20);
    const broken = links.filter(
      ([, path = '', anchor]) => anchor !== undefined && !headingsOf(read(`docs/${path}`)).has(anchor),
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});
