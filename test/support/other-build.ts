import { appendFileSync, cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/**
 * A build that writes the same data format, and whose scripts have other texts: Redis knows them by other digests, as after an upgrade. With
 * `PUMPHOUSE_OLD_BUILD`, a folder, it is the build that is there: `npm run test:full` names one of an earlier commit.
 *
 * @returns its main file, and what removes it
 */
export function otherBuild(): { readonly main: string; remove(): void } {
  const old = process.env['PUMPHOUSE_OLD_BUILD'];
  if (old !== undefined) return { main: join(old, 'dist', 'main.js'), remove: () => undefined };
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-build-'));
  for (const name of ['dist', 'lua', 'config', 'package.json'])
    cpSync(join(ROOT, name), join(dir, name), { recursive: true, dereference: true });
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  const commands = join(dir, 'lua', 'commands');
  for (const name of readdirSync(commands, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.lua')) appendFileSync(join(commands, name), '\n-- of the next version\n');
  return { main: join(dir, 'dist', 'main.js'), remove: () => rmSync(dir, { recursive: true, force: true }) };
}
