import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { TOKEN_SCRIPTS } from '../../src/auth/token-scripts.js';
import { LMSTFY_SCRIPTS } from '../../packages/cli/src/import/source.js';
import { assembleLibrary, assembleScript, assembleScriptWhenFull } from '../../src/redis/lua/loader.js';
import { type Signature, signatureOf, splitHeader } from '../../src/redis/lua/command-header.js';
import { SIGNATURES } from '../../src/redis/scripts/signatures.generated.js';
import { ENGINE_SCRIPTS } from '../../src/redis/scripts/simple.js';
import { testRedisUrl } from '../support/redis.js';

const BINDINGS = [...ENGINE_SCRIPTS, ...TOKEN_SCRIPTS, ...LMSTFY_SCRIPTS];
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

const COMMANDS = luaFiles('commands');
const partsOf = (name: string): { header: string; code: string } =>
  splitHeader(name, text(`commands/${name}`));
const withoutComments = (code: string): string => code.replaceAll(/--\[\[.*?\]\]|--.*$/gm, '');

/** The names that a header explains, in its order. */
const explained = (header: string): string[] =>
  [...header.matchAll(/^(\w+): \w+  /gm)].map(([, name = '']) => name);
const namesOf = ({ keys, args, item }: Signature): string[] => [...keys, ...args, ...item];

describe('the Lua commands', () => {
  // A library that does not load is replaced by the script, at each call: slower, and nothing else shows it.
  it('are loaded by Redis, as libraries, as scripts, and as scripts for a full Redis', async () => {
    const redis = new Redis(testRedisUrl(), { protocol: 2 });
    const problems: string[] = [];
    const load = async (name: string, ...command: readonly string[]): Promise<void> => {
      const [first = '', ...rest] = command;
      await redis.call(first, ...rest).catch((error: unknown) => problems.push(`${name}: ${String(error)}`));
    };
    try {
      for (const name of COMMANDS) {
        const library = assembleLibrary(name, () => `test_${name.replaceAll(/\W/g, '_')}`);
        if (library !== null) {
          await load(name, 'FUNCTION', 'LOAD', library.text);
          await redis.call('FUNCTION', 'DELETE', library.name).catch(() => undefined);
        }
        for (const script of [assembleScript(name), assembleScriptWhenFull(name)])
          if (script !== null) await load(name, 'SCRIPT', 'LOAD', script);
      }
    } finally {
      redis.disconnect();
    }
    expect(problems).toEqual([]);
  });

  it('have a binding for each command, and a command for each binding', () => {
    expect(BINDINGS.map(({ name }) => name).sort()).toEqual(COMMANDS);
  });

  it('have bindings by their present headers: else `npm run build` makes them again', () => {
    expect(SIGNATURES).toEqual(
      Object.fromEntries(COMMANDS.map((name) => [name, signatureOf(partsOf(name).header)])),
    );
  });

  it('explain in one place what several of them take', () => {
    const headers = COMMANDS.map((name) => partsOf(name).header);
    const unused = explained(splitHeader('arguments', text('arguments')).header).filter(
      (name) =>
        headers.filter(
          (header) => namesOf(signatureOf(header)).includes(name) && !explained(header).includes(name),
        ).length < 2,
    );
    expect(unused).toEqual([]);
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
    // The loader puts queues/wakeup_channel_sharded in the place of queues/wakeup_channel.
    const modules = luaFiles('modules').filter((name) => name !== 'queues/wakeup_channel_sharded');
    expect([...new Set(required)].sort()).toEqual(modules);
  });

  it('have no module with an unused export', () => {
    const files = ['commands', 'modules'].flatMap((folder) =>
      luaFiles(folder).map((file) => ({
        file,
        code: withoutComments(text(`${folder}/${file}`)),
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

describe.each(COMMANDS)('the header of %s.lua', (name) => {
  const { header, code } = partsOf(name);
  const { keys, args, item } = signatureOf(header);

  it('has result and cost', () => {
    expect(header).toMatch(/\bReturns /);
    expect(header).toMatch(/^Cost: O\(/m);
  });

  it('explains only what it names', () => {
    const names = namesOf({ keys, args, item });
    expect(explained(header).filter((one) => !names.includes(one))).toEqual([]);
  });

  it('names all that the code reads, and nothing else', () => {
    const read = withoutComments(code);
    expect(read).not.toMatch(/KEYS\[|ARGV\[\d|= \d+, #ARGV/);
    expect(read.includes('FIRST_ITEM')).toBe(item.length > 0);
    expect([...keys, ...args].filter((one) => !RegExp(`\\b${one}\\b`).test(read))).toEqual([]);
  });
});
