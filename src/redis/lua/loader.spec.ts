import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { WRAPPER } from './blocks.js';
import { assembleLibrary, assembleScript } from './loader.js';
import { TABLE } from './tabled-names.js';

const COMMANDS = join(import.meta.dirname, '..', '..', '..', 'lua', 'commands');

/** Assembles the command `simple/it` of Lua files that are given by their paths. */
function load(
  files: Readonly<Record<string, string>>,
  instead: Readonly<Record<string, string>> = {},
): string {
  return assembleScript('simple/it', instead, (path) => {
    const text = { arguments: COMMON, ...files }[path];
    if (text === undefined) throw new Error(`no file ${path}`);
    return text;
  });
}

const COMMON = '--[[\nmeta: hash  the marker\nclock_ms: text  a clock\n]]\n';
const command = (code: string, lists = 'KEYS meta'): string => `--[[\nIt.\n\n${lists}\n]]\n\n${code}`;
const module = (name: string, requires = ''): string =>
  `${requires === '' ? '' : `--- @requires ${requires}\n`}--- @exports ${name}\n\nfunction ${name}()\n  return 1\nend\n`;

describe('the loader of Lua modules', () => {
  it('inserts each module once, after those that it requires, before the code of the command', () => {
    const text = load({
      'commands/simple/it': command('--- @requires jobs/b, jobs/a\n\nreturn a() + b()\n'),
      'modules/jobs/a': '--- @requires core/c\n--- @exports a\nfunction a()\n  return c()\nend\n',
      'modules/jobs/b':
        '--- @requires core/c, jobs/a\n--- @exports b\nfunction b()\n  return a() + c()\nend\n',
      'modules/core/c': module('c'),
    });
    expect(text.match(/^function \w+/gm)).toEqual(['function c', 'function a', 'function b']);
    expect(text.startsWith('local b, a, c\ndo\n')).toBe(true);
    expect(text).toContain('\nend\nreturn (function()\nlocal meta = KEYS[1]\n');
  });

  it('declares the keys and arguments of the header as locals, and converts integers to numbers', () => {
    const lists =
      'KEYS meta, index\nARGV clock_ms, limit\nindex: zset  of jobs\nlimit: integer  jobs, at most';
    expect(load({ 'commands/simple/it': command('return limit\n', lists) })).toBe(
      'local meta, index = KEYS[1], KEYS[2]\nlocal clock_ms, limit = ARGV[1], tonumber(ARGV[2])\n\nreturn limit\n',
    );
  });

  it('prefers the explanation in the header to the shared explanation of an argument', () => {
    const lists = 'ARGV clock_ms\nclock_ms: integer  of another kind';
    expect(load({ 'commands/simple/it': command('return clock_ms\n', lists) })).toBe(
      'local clock_ms = tonumber(ARGV[1])\n\nreturn clock_ms\n',
    );
  });

  it('replaces FIRST_ITEM and ITEM_SIZE by numbers', () => {
    const code = 'for i = FIRST_ITEM, #ARGV, ITEM_SIZE do\nend\n';
    expect(load({ 'commands/simple/it': command(code, 'ARGV clock_ms\nITEM id, body') })).toContain(
      'for i = 2, #ARGV, 2 do\n',
    );
  });

  it('fails for a name that no header explains', () => {
    expect(() => load({ 'commands/simple/it': command('return most\n', 'ARGV most') })).toThrow(
      'the header of simple/it does not explain most',
    );
  });

  it('fails for a command without a header', () => {
    expect(() => load({ 'commands/simple/it': 'return 1\n' })).toThrow(
      'simple/it does not begin with a header',
    );
  });

  it('omits functions that the command does not use, and keeps their dependencies', () => {
    const text = load({
      'commands/simple/it': command('--- @requires core/c\n\nreturn used() -- unused() "unused"\n'),
      'modules/core/c':
        '--- @exports used, unused\n\n-- A table.\nlocal seen = {}\nlocal other = {}\n\nlocal function inner()\n  return seen\nend\n\n' +
        'function used()\n  return inner()\nend\n\nfunction unused()\n  return other\nend\n',
    });
    expect(text).toContain('local used\ndo\n');
    expect(text).toContain('-- A table.\nlocal seen = {}\n');
    expect(text).not.toContain('function unused');
    expect(text).not.toContain('local other');
  });

  it('puts a module inside the only module that requires it, and a function that only this module uses inside it', () => {
    const text = load({
      'commands/simple/it': command('--- @requires jobs/a\n\nreturn a()\n'),
      'modules/jobs/a': '--- @requires core/c\n--- @exports a\nfunction a()\n  return c()\nend\n',
      'modules/core/c':
        '--- @exports c, inner\nfunction inner()\n  return 1\nend\nfunction c()\n  return inner()\nend\n',
    });
    expect(text).toContain('local a\ndo\nlocal c\ndo\nlocal inner\nfunction inner()');
    expect(text).toContain('end\nend\nfunction a()');
  });

  it('replaces constants by their values, but not in strings and comments', () => {
    const text = load({
      'commands/simple/it': command(
        '--- @requires core/c\n\nreturn { READY, job.READY, "READY", NAME } -- READY\n',
      ),
      'modules/core/c': '--- @exports READY, NAME\nREADY, NAME = 1, "a"\n',
    });
    expect(text).toContain('return { 1, job.READY, "READY", "a" } -- READY\n');
    expect(text).not.toContain('do\n');
  });

  it('inserts a module inside the block that requires it', () => {
    const text = load({
      'commands/simple/it': command(
        '--- @requires core/c\n\nlocal n = c()\nif n > 1 then\n  --- @requires jobs/a\n  n = a()\nend\nreturn n\n',
      ),
      'modules/core/c': module('c'),
      'modules/jobs/a': '--- @requires core/c\n--- @exports a\nfunction a()\n  return c()\nend\n',
    });
    expect(text).toContain('if n > 1 then\nlocal a\ndo\nfunction a()');
    expect(text.match(/function c\(/g)).toHaveLength(1);
  });

  it('replaces a module by another module on request', () => {
    const files = {
      'commands/simple/it': command('--- @requires core/c\n\nreturn c()\n'),
      'modules/core/c': module('c'),
      'modules/core/other': module('c').replace('1', '2'),
    };
    expect(load(files, { 'core/c': 'core/other' })).toContain('return 2');
  });

  it('fails with the chain of modules when two modules require each other', () => {
    const files = {
      'commands/simple/it': command('--- @requires jobs/a\n\nreturn a()\n'),
      'modules/jobs/a': module('a', 'jobs/b'),
      'modules/jobs/b': module('b', 'jobs/a'),
    };
    expect(() => load(files)).toThrow('simple/it → jobs/a → jobs/b → jobs/a');
  });

  it('fails with the chain of modules when a required module does not exist', () => {
    const files = {
      'commands/simple/it': command('--- @requires jobs/a\n\nreturn a()\n'),
      'modules/jobs/a': module('a', 'jobs/c'),
    };
    expect(() => load(files)).toThrow('no such Lua module: simple/it → jobs/a → jobs/c');
  });

  it('fails when two modules export the same name', () => {
    const files = {
      'commands/simple/it': command('--- @requires jobs/a, jobs/b\n\nreturn a()\n'),
      'modules/jobs/a': module('a'),
      'modules/jobs/b': module('a'),
    };
    expect(() => load(files)).toThrow('the Lua modules jobs/a and jobs/b both export a');
  });

  it('puts exports into a table when there are more than 200 local names', () => {
    const files = (count: number): Record<string, string> => {
      const names = Array.from({ length: count }, (_none, i) => `n${i}`);
      const body = names.map((name) => `function ${name}()\nend\n`).join('');
      return {
        'commands/simple/it': command(
          `--- @requires jobs/a\n\nreturn ${names.map((name) => `${name}()`).join(' + ')}\n`,
        ),
        'modules/jobs/a': `--- @exports ${names.join(', ')}\n${body}`,
      };
    };
    expect(load(files(200))).not.toContain(`${TABLE}.`);
    // One more for the function in which the module was tried, and one for the table.
    const script = load(files(201));
    expect(script.match(/function beyond\.n\d+\(/g)).toHaveLength(3);
    expect(script).toContain(`${TABLE}.n2() + n3()`);
  });

  it('fails with the chain of modules when one has more than 200 local names for itself', () => {
    const own = Array.from({ length: 201 }, (_none, i) => `o${i}`);
    const files = {
      'commands/simple/it': command('--- @requires jobs/a\n\nreturn a()\n'),
      'modules/jobs/a': `--- @exports a\nlocal ${own.join(', ')}\nfunction a()\n  return ${own.join(' + ')}\nend\n`,
    };
    expect(() => load(files)).toThrow(
      'local names are more than the 200 that Lua allows: simple/it → jobs/a',
    );
  });

  it('puts modules into functions of their own when they have more than 200 local names', () => {
    const own = Array.from({ length: 100 }, (_none, i) => `o${i}`);
    const large = (name: string, size: number): string => {
      const exports = Array.from({ length: size }, (_none, i) => `${name}${i}`);
      const body = exports.map((one) => `function ${one}()\n  return ${own.join(' + ')}\nend\n`).join('');
      return `--- @exports ${exports.join(', ')}\nlocal ${own.join(', ')}\n${body}`;
    };
    const uses = (name: string, size: number): string =>
      Array.from({ length: size }, (_none, i) => `${name}${i}()`).join('\n');
    const files = (size: number): Record<string, string> => ({
      'commands/simple/it': command(
        `--- @requires jobs/a, jobs/b\n\n${uses('a', size)}\n${uses('b', size)}\nreturn 1\n`,
      ),
      'modules/jobs/a': large('a', size),
      'modules/jobs/b': large('b', size),
    });
    expect(load(files(50))).not.toContain(WRAPPER);
    expect(load(files(51)).split(WRAPPER)).toHaveLength(3);
  });

  it('allows any number of exports in a library and 200 local names in its function', () => {
    const namesOf = (count: number, name: string): string[] =>
      Array.from({ length: count }, (_none, i) => `${name}${i}`);
    const library = (inModule: number, inCommand: number) => () => {
      const exports = namesOf(inModule, 'm');
      const locals = `local ${namesOf(inCommand, 'n').join(', ')}\n`;
      const files: Record<string, string> = {
        'commands/simple/it': command(
          `--- @requires jobs/a\n\n${locals}return ${exports.map((name) => `${name}()`).join(' + ')}\n`,
        ),
        'modules/jobs/a': `--- @exports ${exports.join(', ')}\n${exports.map((name) => `function ${name}()\nend\n`).join('')}`,
      };
      return assembleLibrary(
        'simple/it',
        () => 'it',
        {},
        (path) => files[path] ?? COMMON,
      );
    };
    // One more for the table of its resets; and KEYS, ARGV and meta.
    expect(library(199, 197)).not.toThrow();
    expect(library(201, 197)).not.toThrow();
    expect(library(199, 198)).toThrow('201 local names are more than the 200 that Lua allows');
  });

  it.each(
    readdirSync(COMMANDS, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.lua')),
  )('leaves no line with --- @ in %s', (path) => {
    expect(assembleScript(path.replace('.lua', ''))).not.toMatch(/--- @/);
  });
});
