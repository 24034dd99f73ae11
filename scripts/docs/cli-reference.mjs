/** Writes docs/reference/cli.md from the built command line: `npm run build && node scripts/docs/cli-reference.mjs`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { reference } from '../../dist/cli/reference.js';

const FILE = join(import.meta.dirname, '..', '..', 'docs', 'reference', 'cli.md');

mkdirSync(dirname(FILE), { recursive: true });
writeFileSync(FILE, reference());
