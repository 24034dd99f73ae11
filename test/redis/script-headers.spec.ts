import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOKEN_SCRIPTS } from '../../src/auth/token-scripts.js';
import { LMSTFY_SCRIPTS } from '../../src/lmstfy-import/source.js';
import { loadScript } from '../../src/redis/scripts/script.js';
import { ENGINE_SCRIPTS } from '../../src/redis/scripts/plain.js';

/** What a script is said to take; replies do not matter here. */
interface Binding {
  readonly name: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly item: readonly string[];
}

const BINDINGS: readonly Binding[] = [...ENGINE_SCRIPTS, ...TOKEN_SCRIPTS, ...LMSTFY_SCRIPTS];
const LUA_DIR = join(import.meta.dirname, '..', '..', 'lua');
const LONGEST_SCRIPT = 100;
const LONGEST_LIB = 40;

/** Paths from the folder on. */
function luaFiles(folder: string): string[] {
  return readdirSync(join(LUA_DIR, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.lua'))
    .sort();
}

function text(path: string): string {
  return readFileSync(join(LUA_DIR, path), 'utf8');
}

function lineCount(path: string): number {
  return text(path).trimEnd().split('\n').length;
}

/** A script in parts: the header block, the lines that name KEYS and ARGV, and the rest with its includes in place. */
function partsOf(name: string): { header: string; names: string; code: string } {
  const [, header = '', names = '', code = ''] =
    /^--\[\[\n([\s\S]*?)\n\]\]\n((?:local .*\n)*)\n([\s\S]*)$/.exec(loadScript(name)) ?? [];
  return { header, names, code };
}

/** The names in lines such as `KEYS[2] queues  hash: …`; their numbers must count from 1. */
function declared(header: string, kind: 'KEYS' | 'ARGV'): string[] {
  return [...header.matchAll(new RegExp(`^${kind}\\[(\\d+)\\] +(\\w+) `, 'gm'))].map(
    ([, number, name = ''], i) => {
      expect(Number(number)).toBe(i + 1);
      return name;
    },
  );
}

/** Name → expression of `local a, b = X, Y` lines. */
function assignments(names: string): [string, string][] {
  return names
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      const [left = '', right = ''] = line.replace(/^local /, '').split(' = ');
      const values = right.split(', ');
      return left.split(', ').map((name, i): [string, string] => [name, values[i] ?? '']);
    });
}

/** Names that a script assigns without a `local`, a loop or a parameter that makes them. */
function globalsOf(lua: string): string[] {
  const code = lua.replaceAll(/--.*$/gm, '').replaceAll(/"[^"\n]*"/g, '""');
  const known = new Set<string>();
  for (const [, list = ''] of code.matchAll(/\blocal (?!function)([\w, ]+)/g))
    list.split(/, */).forEach((name) => known.add(name.trim()));
  for (const [, name = '', list = ''] of code.matchAll(/\blocal function (\w+)\(([^)]*)\)/g))
    [name, ...list.split(/, */)].forEach((one) => known.add(one));
  for (const [, list = ''] of code.matchAll(/\bfor ([\w, ]+?) (?:=|in) /g))
    list.split(/, */).forEach((name) => known.add(name));
  const set = [...code.matchAll(/^\s*(\w+(?:, \w+)*) = .*[^,]$/gm)].flatMap(([, list = '']) =>
    list.split(', '),
  );
  const functions = [...code.matchAll(/^\s*function (\w+)/gm)].map(([, name = '']) => name);
  return [...set, ...functions].filter((name) => !known.has(name));
}

describe('lua', () => {
  it('has a binding for every script, and a script for every binding', () => {
    expect(BINDINGS.map(({ name }) => `${name}.lua`).sort()).toEqual(luaFiles('scripts'));
  });

  it('has no include that nobody uses', () => {
    const scripts = ['scripts', 'lib']
      .flatMap((folder) => luaFiles(folder).map((file) => text(`${folder}/${file}`)))
      .join('');
    // lib/notify_sharded is put in the place of lib/notify by the loader.
    for (const file of luaFiles('lib').filter((name) => name !== 'notify_sharded.lua'))
      expect(scripts).toContain(`--- @include "lib/${file.replace('.lua', '')}"`);
  });

  it.each(luaFiles('scripts'))('scripts/%s is short', (file) => {
    expect(lineCount(`scripts/${file}`)).toBeLessThanOrEqual(LONGEST_SCRIPT);
  });

  it.each(luaFiles('lib'))('lib/%s is short, and knows nothing of KEYS and ARGV', (file) => {
    expect(lineCount(`lib/${file}`)).toBeLessThanOrEqual(LONGEST_LIB);
    expect(text(`lib/${file}`)).not.toMatch(/KEYS|ARGV/);
  });
});

describe.each(BINDINGS)('$name.lua', ({ name, keys, args, item }) => {
  const { header, names, code } = partsOf(name);

  it('names the same keys and arguments, in the same order, as its TypeScript binding', () => {
    expect(declared(header, 'KEYS')).toEqual(keys);
    expect(declared(header, 'ARGV')).toEqual(args);
  });

  it('describes the items of its batch as the binding sends them', () => {
    const [, first, fields] = /^ARGV\[(\d+)\.\.\] item × N +(.+)$/m.exec(header) ?? [];
    expect(fields?.split(', ') ?? []).toEqual(item);
    if (item.length === 0) return;
    expect(Number(first)).toBe(args.length + 1);
    const step = item.length === 1 ? '' : `, ${item.length}`;
    expect(code).toContain(`for i = ${args.length + 1}, #ARGV${step} do`);
  });

  it('says what it returns and what it costs', () => {
    expect(header).toMatch(/\bReturns /);
    expect(header).toMatch(/^Cost: O\(/m);
  });

  it('gives every key and argument its name first, and uses only the names from there on', () => {
    const named = assignments(names).map(([local, value]) => [
      local,
      value.replace(/^tonumber\((.*)\)$/, '$1'),
    ]);
    expect(named).toEqual([
      ...keys.map((key, i) => [key, `KEYS[${i + 1}]`]),
      ...args.map((arg, i) => [arg, `ARGV[${i + 1}]`]),
    ]);
    expect(code).not.toMatch(/KEYS\[/);
    expect(code).not.toMatch(/ARGV\[\d/);
  });

  it('reads every key and argument that it declares', () => {
    const unread = [...keys, ...args].filter(
      (word) => !new RegExp(`\\b${word}\\b`).test(code.replaceAll(/--.*$/gm, '')),
    );
    expect(unread).toEqual([]);
  });

  it('makes no global', () => {
    expect(globalsOf(`${names}${code}`)).toEqual([]);
  });
});
