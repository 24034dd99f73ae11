/**
 * Writes src/redis/scripts/signatures.generated.ts: what each Lua command takes, by the header of its file. `npm run build` runs it. The file is
 * committed, so that all tools work in a new clone; test/engine/script-headers.spec.ts shows that it is current.
 */
import { transformFileSync } from '@swc/core';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const COMMANDS = join(ROOT, 'lua', 'commands');
const FILE = join(ROOT, 'src', 'redis', 'scripts', 'signatures.generated.ts');

// The build comes after this.
const { code } = transformFileSync(join(ROOT, 'src', 'redis', 'lua', 'command-header.ts'), {
  swcrc: false,
  jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
});
const { signatureOf, splitHeader } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

const paths = readdirSync(COMMANDS, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.lua'),
);
const lines = paths.toSorted().map((path) => {
  const { header } = splitHeader(path, readFileSync(join(COMMANDS, path), 'utf8'));
  const lists = Object.entries(signatureOf(header)).map(
    ([list, names]) => `${list}: [${names.map((name) => `'${name}'`).join(', ')}]`,
  );
  return `  '${path.replace('.lua', '')}': { ${lists.join(', ')} },\n`;
});
const text = `// scripts/build/lua-signatures.mjs makes this of the headers of lua/commands, in \`npm run build\`.
/** The names of the keys and arguments of each command, and of those of an item. */
export const SIGNATURES = {
${lines.join('')}} as const;
`;
writeFileSync(FILE, text);
