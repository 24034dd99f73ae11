import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** At the same depth from `src/` and from `dist/`. */
const PACKAGE = join(import.meta.dirname, '..', '..', 'package.json');

/** Written by the build; `src/` has none, and it is empty if the build had no git. */
const COMMIT = join(import.meta.dirname, '..', 'commit');

/** The running version. The build writes no date into its files, so that equal commits give equal builds. */
export const version = {
  number: numberOf(readFileSync(PACKAGE, 'utf8')),
  commit: existsSync(COMMIT) ? readFileSync(COMMIT, 'utf8').trim() : '',
  date: '',
} as const;

function numberOf(text: string): string {
  const description: unknown = JSON.parse(text);
  if (typeof description === 'object' && description !== null && 'version' in description) {
    return String(description.version);
  }
  throw new Error(`${PACKAGE} has no version`);
}
