import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** At the same depth from `src/` and from `dist/`. */
const PACKAGE = join(import.meta.dirname, '..', '..', 'package.json');

/** What is running. The build leaves no commit and no date in its files, so that equal sources give equal builds. */
export const version = { number: numberOf(readFileSync(PACKAGE, 'utf8')), commit: '', date: '' } as const;

function numberOf(text: string): string {
  const description: unknown = JSON.parse(text);
  if (typeof description === 'object' && description !== null && 'version' in description) {
    return String(description.version);
  }
  throw new Error(`${PACKAGE} has no version`);
}
