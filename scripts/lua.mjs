/**
 * `npm run lua -- extended/lease`: what Redis runs for a command of `lua/commands`, after a build: the function, and before each line
 * its number and the line of the repository that it comes from. Flags:
 *
 *     --script    the script, as a Redis without functions gets it
 *     --sharded   with the wake-ups of a Cluster
 *     --text      the text alone
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { script: { type: 'boolean' }, sharded: { type: 'boolean' }, text: { type: 'boolean' } },
});
const commands = readdirSync(join(ROOT, 'lua', 'commands'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.lua'))
  .map((path) => path.replace('.lua', ''));
const [name = ''] = positionals;
if (!commands.includes(name)) {
  console.error(`no such command: ${name}. There are:\n${commands.toSorted().join('\n')}`);
  process.exit(2);
}
const { scriptWithOrigins } = await import('../dist/redis/scripts/texts.js').catch(() => {
  console.error('build first: npm run build');
  process.exit(1);
});
const { text, origins } = scriptWithOrigins(
  name,
  flags.script ? 'script' : 'function',
  flags.sharded ? 'sharded' : 'plain',
);
if (flags.text) process.stdout.write(text);
else {
  const width = Math.max(...origins.map((origin) => origin?.length ?? 0));
  for (const [i, line] of text.split('\n').entries())
    console.log(`${String(i + 1).padStart(5)}  ${(origins[i] ?? '').padEnd(width)}  ${line}`);
}
