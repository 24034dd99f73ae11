import { readFileSync } from 'node:fs';
import { reference } from './reference.js';

describe('docs/reference/cli.md', () => {
  it('matches the commands and options of the program (or else run `npm run docs:reference`)', () => {
    const text = reference();
    expect(readFileSync('docs/reference/cli.md', 'utf8')).toBe(text);
    expect(text).toContain('## pumphouse dead respawn');
    expect(text.match(/--url <url>/g)).toHaveLength(1);
  });

  it('has lines of at most 100 characters', () =>
    expect(
      reference()
        .split('\n')
        .filter((line) => line.length > 100),
    ).toEqual([]));
});
