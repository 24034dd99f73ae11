import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GUARDS } from './guards.mjs';

const ROOT = join(import.meta.dirname, '..', '..');

/** The mutants themselves take minutes (`npm run test:mutants`); that they can still be made is checked each time. */
describe('the list of guards', () => {
  it.each(GUARDS)('knows where this is: $name', ({ file, from, spec }) => {
    expect(readFileSync(join(ROOT, file), 'utf8').split(from)).toHaveLength(2);
    expect(existsSync(join(ROOT, spec))).toBe(true);
  });

  it('names each of them once', () => {
    expect(new Set(GUARDS.map(({ name }) => name)).size).toBe(GUARDS.length);
  });
});
