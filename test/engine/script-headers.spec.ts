import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOKEN_SCRIPTS } from '../../src/auth/token-scripts.js';
import { LMSTFY_SCRIPTS } from '../../src/cli/import/source.js';
import { ENGINE_SCRIPTS } from '../../src/redis/scripts/simple.js';

/** What a script takes; replies do not matter here. */
interface Binding {
  readonly name: string;
  readonly label: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly item: readonly string[];
}

const BINDINGS: readonly Binding[] = [...ENGINE_SCRIPTS, ...TOKEN_SCRIPTS, ...LMSTFY_SCRIPTS];
const LUA_DIR = join(import.meta.dirname, '..', '..', 'lua');

/** Names from the folder on, without `.lua`. */
function luaFiles(folder: string): string[] {
  return readdirSync(join(LUA_DIR, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.lua'))
    .map((path) => path.replace('.lua', ''))
    .sort();
}

function text(path: string): string {
  return readFileSync(join(LUA_DIR, `${path}.lua`), 'utf8');
}

/** A command in parts: the header block, the lines that name KEYS and ARGV, and the rest. */
function partsOf(name: string): { header: string; names: string; code: string } {
  const [, header = '', names = '', code = ''] =
    /^--\[\[\n([\s\S]*?)\n\]\]\n((?:local .*\n)*)\n([\s\S]*)$/.exec(text(`commands/${name}`)) ?? [];
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

describe('the Lua commands', () => {
  it('have a binding for each command, and a command for each binding', () => {
    expect(BINDINGS.map(({ name }) => name).sort()).toEqual(luaFiles('commands'));
  });

  it('have their own labels: folder_file', () => {
    const labels = BINDINGS.map(({ label }) => label);
    expect(labels.sort()).toEqual(
      luaFiles('commands')
        .map((path) => path.replace('/', '_'))
        .sort(),
    );
    expect(new Set(labels).size).toBe(labels.length);
  });

  it('have no unused module', () => {
    const all = ['commands', 'modules']
      .flatMap((folder) => luaFiles(folder).map((file) => text(`${folder}/${file}`)))
      .join('');
    const required = [...all.matchAll(/^ *--- @requires (.+)$/gm)].flatMap(([, list = '']) =>
      list.split(', '),
    );
    // The loader puts queues/notify_sharded in the place of queues/notify.
    const modules = luaFiles('modules').filter((name) => name !== 'queues/notify_sharded');
    expect([...new Set(required)].sort()).toEqual(modules);
  });

  it('have no module with an unused export', () => {
    const files = ['commands', 'modules'].flatMap((folder) =>
      luaFiles(folder).map((file) => ({
        file,
        code: text(`${folder}/${file}`).replaceAll(/--\[\[.*?\]\]|--.*$/gm, ''),
      })),
    );
    const unused = luaFiles('modules').flatMap((module) =>
      [...text(`modules/${module}`).matchAll(/^--- @exports (.+)$/gm)]
        .flatMap(([, list = '']) => list.split(', '))
        .filter(
          (name) => !files.some(({ file, code }) => file !== module && RegExp(`\\b${name}\\b`).test(code)),
        ),
    );
    expect(unused).toEqual([]);
  });

  it.each(luaFiles('modules'))('do not use KEYS and ARGV in %s', (file) => {
    expect(text(`modules/${file}`)).not.toMatch(/KEYS|ARGV/);
  });
});

describe.each(BINDINGS)('the header of $name.lua', ({ name, keys, args, item }) => {
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
    const loop = `for i = ${args.length + 1}, #ARGV${step} do`;
    // jobs/publish has the loop of the publish commands.
    expect(code.includes(loop) || code.includes(`plan_publish(ARGV, ${args.length + 1}, `)).toBe(true);
  });

  it('has result and cost', () => {
    expect(header).toMatch(/\bReturns /);
    expect(header).toMatch(/^Cost: O\(/m);
  });

  it('names every key and argument first, and uses only the names from there on', () => {
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
    const read = code.replaceAll(/--\[\[.*?\]\]|--.*$/gm, '');
    const unread = [...keys, ...args].filter((one) => !new RegExp(`\\b${one}\\b`).test(read));
    expect(unread).toEqual([]);
  });
});
