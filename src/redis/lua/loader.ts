import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { blockMaker, WRAPPER } from './blocks.js';
import { inlineConstants } from './constants.js';
import type { Module } from './lua-module.js';
import { itemConstants, preambleOf, signatureOf, splitHeader } from './command-header.js';
import { withoutModuleNames } from './module-names.js';
import { RESETS, withReset } from './state.js';
import { withTable } from './tabled-names.js';
import { leaveOutUnused } from './unused.js';

/** Where the Lua files are: at the same depth from `src/` and from `dist/`. */
const LUA_DIR = join(import.meta.dirname, '..', '..', '..', 'lua');
/** Local names of one function, at most: a limit of Lua. */
const MAX_LOCALS = 200;
const REQUIRES = /^--- @requires (.+)\n/gm;
/** Inside a block of a command: the modules are put in this place, and made only if the call gets there. */
const REQUIRES_HERE = /^ +--- @requires (.+)\n/gm;
/** In a command: it is run as a script. A full Redis refuses some commands of a script, and all of a function or none. */
const SCRIPT_ONLY = /^--- @script\n/m;
/** In a command: it stores more than it removes, so a Redis that is full refuses it. */
const ADDS = /^--- @adds\n/m;
const EXPORTS = /^--- @exports (.+)\n/gm;
const LOCAL = /^local (?:function )?(\w+(?:, \w+)*)/;
/** What begins and ends a block at the beginning of a line. */
const OPENS = /^(?:do|(?:for|while)\b.*\bdo|if\b.*\bthen|(?:local )?function\b.*\)|.* = function\(.*\))$/;
const CLOSES = /^end\b/;

/** A library of Redis, with one function of the same name. */
export interface Library {
  readonly name: string;
  readonly text: string;
}

/** Reads a Lua file by its path in `lua/`, without `.lua`. */
type ReadLua = (path: string) => string;

const readLua: ReadLua = (path) => readFileSync(join(LUA_DIR, `${path}.lua`), 'utf8');

/**
 * The text of a command with its modules. They stand before its code, each once, in a block of its own (blocks.ts), and after those that it requires
 * itself. So a module sees the exports of those that it requires, nothing of the command, and keeps its other names for itself.
 *
 * Blocks cost Redis half as much as tables of functions: 4.8 µs a call for 24 modules of 4 functions, and 8.5 µs. Redis makes all functions of a
 * script at each call, at some 400 instructions each and as much for each variable of another function that they are the first to use. So what the
 * command never uses is left out (unused.ts), constants are no variables (constants.ts), and modules that few publishes need are required inside an `if`.
 *
 * @param path of the command in `lua/commands`
 * @param instead modules that take the place of others
 * @throws {Error} a file is missing, modules require each other in a circle or export the same name, or all together have too many local names
 */
export function assembleScript(
  path: string,
  instead: Readonly<Record<string, string>> = {},
  read: ReadLua = readLua,
): string {
  return scriptOf(path, partsOf(path, instead, read));
}

/**
 * The first write of a script that may run in a full Redis. Redis refuses a command that takes memory only as the first write; no hash has this
 * field, and of another type Redis refuses this command alone.
 */
const FIRST_WRITE = 'redis.pcall("HDEL", KEYS[1], "")\n';

/**
 * The same as `assembleScript`, for a Redis that is full: it writes first what takes no memory, so that Redis lets it go on, as it does with a function.
 *
 * @returns null for a command that a full Redis must refuse, or that is always the same script
 */
export function assembleScriptWhenFull(
  path: string,
  instead: Readonly<Record<string, string>> = {},
  read: ReadLua = readLua,
): string | null {
  const parts = partsOf(path, instead, read);
  if (!parts.mayRunWhenFull || parts.isScriptOnly) return null;
  return FIRST_WRITE + scriptOf(path, parts);
}

function scriptOf(path: string, source: Parts, isWrapped = false): string {
  const { body, first, kept, orderOf } = source;
  const toText = blockMaker([...kept.values()], body, isWrapped);
  const blocksOf = (wanted: readonly Module[]): string =>
    toText(wanted.flatMap(({ name }) => kept.get(name) ?? []));
  const code = body.replace(REQUIRES_HERE, (_line, names: string) => blocksOf(orderOf(names.split(', '))));
  const blocks = blocksOf(first);
  // As a function, the command has names for itself, beside those of its modules. One with modules of its own would use more than 60 of the others' names.
  const isFunction = code === body && blocks !== '';
  const parts = isFunction ? [blocks, code] : [blocks + code];
  if (!isWrapped && !parts.every(fits)) return scriptOf(path, source, true);
  if (!isFunction) {
    assertFit(parts, [path, ...kept.keys()]);
    return blocks + code;
  }
  const [modules, command] = fitting(blocks, code);
  assertFit([modules, command], [path, ...kept.keys()]);
  return `${modules}return (function()\n${command}end)()\n`;
}

/**
 * The same command as a library with one function (Redis 7). Redis makes the functions of the modules when it loads the library, not at each call, and
 * what they keep in variables is set anew at the beginning of each call (state.ts): a call costs 13 µs less.
 *
 * @param nameOf gives the function's name by its code
 * @returns null for a command that is always a script
 * @throws {Error} as `assembleScript`
 */
export function assembleLibrary(
  path: string,
  nameOf: (code: string) => string,
  instead: Readonly<Record<string, string>> = {},
  read: ReadLua = readLua,
): Library | null {
  const { body, kept, isScriptOnly, mayRunWhenFull } = partsOf(path, instead, read);
  if (isScriptOnly) return null;
  const command = body.replace(REQUIRES_HERE, '');
  const modules = [...kept.values()].map(withReset);
  const chain = [path, ...kept.keys()];
  const declared = `local ${RESETS} = {}\n`;
  const blocksOf = (isWrapped: boolean): string => blockMaker(modules, command, isWrapped)(modules);
  const inOne = blocksOf(false);
  const [blocks, own] = fitting(declared + (fits(declared + inOne) ? inOne : blocksOf(true)), command);
  // The command is a function of its own.
  assertFit([blocks, `local KEYS, ARGV\n${own}`], chain);
  const flags = mayRunWhenFull ? '"allow-oom"' : '';
  const code = (name: string): string =>
    `#!lua name=${name}\n${blocks}redis.register_function{function_name="${name}", flags={${flags}}, callback=function(KEYS, ARGV)\nfor i = 1, #${/* guard: modules-begin-anew */ /* guard: functions-keep-nothing */ RESETS} do ${RESETS}[i]() end\n${own}end}\n`;
  const name = nameOf(code(''));
  return { name, text: code(name) };
}

/**
 * The Lua files that a command is made of, by their paths in the repository: its modules, then itself. The lines of its header that name keys and
 * arguments are those that the loader makes of them.
 */
export function sourcesOf(
  path: string,
  instead: Readonly<Record<string, string>> = {},
  read: ReadLua = readLua,
): ReadonlyMap<string, string> {
  const text = read(`commands/${path}`);
  const required = requiredIn(text);
  const known = new Map(inOrder(path, required, instead, read).map((module) => [module.name, module]));
  const plain = (code: string): string =>
    withoutModuleNames(
      code,
      requiredIn(code).flatMap((name) => known.get(name) ?? []),
    );
  const preamble = preambleIn(path, splitHeader(path, text).header, read);
  const command = [...preamble].reduce((rest, [line, code]) => rest.replace(line, code), plain(text));
  const modules = [...partsOf(path, instead, read).kept.keys()].map((name) => instead[name] ?? name);
  return new Map([
    ...modules.map((name) => [`lua/modules/${name}.lua`, plain(read(`modules/${name}`))] as const),
    [`lua/commands/${path}.lua`, command],
  ]);
}

/** A command and the modules that it uses. */
interface Parts {
  /** The command with the names of its keys and arguments in place of the header, and with the places of modules that are required in a block. */
  readonly body: string;
  /** The modules that are required at the beginning. */
  readonly first: readonly Module[];
  /** All modules, by name, without what is not used. */
  readonly kept: ReadonlyMap<string, Module>;
  readonly isScriptOnly: boolean;
  readonly mayRunWhenFull: boolean;
  /** The further modules that a place in a block needs. */
  readonly orderOf: (names: readonly string[]) => Module[];
}

function partsOf(path: string, instead: Readonly<Record<string, string>>, read: ReadLua): Parts {
  const { header, code: text } = splitHeader(path, read(`commands/${path}`));
  const first = inOrder(path, namesIn(text, REQUIRES), instead, read);
  const rest = inOrder(path, namesIn(text, REQUIRES_HERE), instead, read, first);
  const preamble = [...preambleIn(path, header, read).values()].join('');
  const { modules, code: body } = inlineConstants(
    [...first, ...rest],
    preamble +
      withoutModuleNames(text.replace(REQUIRES, '').replace(ADDS, '').replace(SCRIPT_ONLY, ''), [
        ...first,
        ...rest,
      ]),
    itemConstants(signatureOf(header)),
  );
  const used = leaveOutUnused(modules, body);
  return {
    ...{ body, first },
    kept: new Map(used.map((module) => [module.name, module])),
    isScriptOnly: SCRIPT_ONLY.test(text),
    mayRunWhenFull: /* guard: full-redis-refuses-publishes */ !ADDS.test(text),
    orderOf: (names) => inOrder(path, names, instead, read, first),
  };
}

const preambleIn = (path: string, header: string, read: ReadLua): ReturnType<typeof preambleOf> =>
  preambleOf(path, header, splitHeader('arguments', read('arguments')).header);

/** The modules that a command needs besides those before, each after those that it requires. */
function inOrder(
  path: string,
  requires: readonly string[],
  instead: Readonly<Record<string, string>>,
  read: ReadLua,
  before: readonly Module[] = [],
): Module[] {
  const done = new Map(before.map((module) => [module.name, module]));
  const visit = (name: string, chain: readonly string[]): void => {
    const way = [...chain, name];
    if (chain.includes(name)) throw new Error(`Lua modules require each other: ${way.join(' → ')}`);
    if (done.has(name)) return;
    const module = { ...readModule(instead[name] ?? name, way, read), name };
    for (const other of module.requires) visit(other, way);
    const required = module.requires.flatMap((other) => done.get(other) ?? []);
    done.set(name, { ...module, body: withoutModuleNames(module.body, required) });
  };
  for (const name of requires) visit(name, [path]);
  const modules = [...done.values()];
  assertDistinct(modules);
  return modules.slice(before.length);
}

function readModule(name: string, chain: readonly string[], read: ReadLua): Module {
  let text: string;
  try {
    text = read(`modules/${name}`);
  } catch (cause) {
    throw new Error(`no such Lua module: ${chain.join(' → ')}`, { cause });
  }
  const body = text.replace(REQUIRES, '').replace(EXPORTS, '');
  return { name, exports: namesIn(text, EXPORTS), requires: namesIn(text, REQUIRES), body };
}

const requiredIn = (text: string): string[] => [...namesIn(text, REQUIRES), ...namesIn(text, REQUIRES_HERE)];

function namesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].flatMap(([, list = '']) => list.split(', '));
}

function assertDistinct(modules: readonly Module[]): void {
  const exporters = new Map<string, string>();
  for (const { name, exports } of modules) {
    for (const exported of exports) {
      const owner = exporters.get(exported);
      if (owner !== undefined)
        throw new Error(`the Lua modules ${owner} and ${name} both export ${exported}`);
      exporters.set(exported, name);
    }
  }
}

/** Modules and their command, with a table of names where there are too many. */
function fitting(blocks: string, code: string): readonly [string, string] {
  const excess = mostLocals(blocks) - MAX_LOCALS;
  return excess > 0 ? withTable(blocks, code, excess) : [blocks, code];
}

const fits = (script: string): boolean => mostLocals(script) <= MAX_LOCALS;

function assertFit(parts: readonly string[], chain: readonly string[]): void {
  const locals = Math.max(...parts.map(mostLocals));
  if (locals <= MAX_LOCALS) return;
  throw new Error(
    `${locals} local names are more than the ${MAX_LOCALS} that Lua allows: ${chain.join(' → ')}`,
  );
}

/** The most local names that are there at once, but for those inside functions that are no blocks. */
function mostLocals(script: string): number {
  /** Of each function that is open the counts of its open blocks. */
  const functions = [[0]];
  let most = 0;
  for (const line of script.split('\n')) {
    const blocks = functions.at(-1) ?? [];
    const names = LOCAL.exec(line)?.[1]?.split(', ').length ?? 0;
    blocks.push((blocks.pop() ?? 0) + names);
    most = Math.max(
      most,
      blocks.reduce((sum, count) => sum + count, 0),
    );
    if (line === WRAPPER) functions.push([0]);
    else if (OPENS.test(line)) blocks.push(0);
    else if (CLOSES.test(line) && blocks.length > 1) blocks.pop();
    else if (CLOSES.test(line)) functions.pop();
  }
  return most;
}
