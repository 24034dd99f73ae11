/**
 * Checks the saved histories that the command line names. Run by `node scripts/checks/history.mjs FILE…`, for Node.js itself does not
 * read TypeScript.
 */
import { check, isSound, recovered } from './checkers.js';
import { readHistory, type Entry } from './journal.js';

/** So many of a kind are printed. */
const SHOWN = 20;

for (const file of process.argv.slice(2)) {
  const history = readHistory(file);
  const verdict = check(history);
  const counts = new Map<Entry['op'], number>();
  for (const { op } of history.entries) counts.set(op, (counts.get(op) ?? 0) + 1);
  const sums = [...counts].map(([op, count]) => `${op} ${count}`).join(', ');
  console.log(`${file}: seed ${history.rules.seed}, ${sums}, recovered ${recovered(history).length}`);
  for (const [name, list] of Object.entries(verdict) as [string, readonly string[]][]) {
    console.log(`  ${name}: ${list.length}`);
    for (const line of list.slice(0, SHOWN)) console.log(`    ${line}`);
  }
  if (!isSound(verdict)) process.exitCode = 1;
}
if (process.argv.length < 3) {
  console.error('which history? give the files');
  process.exitCode = 2;
}
