import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVENT_NAMES } from '../../src/domain/job/job-event.js';

const LUA_DIR = join(import.meta.dirname, '..', '..', 'lua');
const emitted = readdirSync(LUA_DIR, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.lua'))
  .flatMap((path) => [
    ...readFileSync(join(LUA_DIR, path), 'utf8').matchAll(
      /\b(?:(?:emit|log_event|emit_event)\(|conclude\([\w.]+, \w+, )"(\w+)"/g,
    ),
  ])
  .map(([, name]) => name);

/** A listener cannot ask for an event that is on no list. */
it('every event of the scripts has a known name', () => {
  expect(new Set(emitted).size).toBeGreaterThan(15);
  expect(emitted.filter((name) => !EVENT_NAMES.some((known) => known === name))).toEqual([]);
});
