import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a script takes: bytes go as they are. */
export type Arg = string | number | Buffer;

/** A script's binding: the names of its KEYS and ARGV in order, those of a batch's items, and the check of its reply. */
export interface Script<K extends string, A extends string, I extends string, R> {
  /** The file's name in lua/scripts, without `.lua`. */
  readonly name: string;
  readonly keys: readonly K[];
  readonly args: readonly A[];
  /** The arguments of one item; empty if it is no batch. */
  readonly item: readonly I[];
  /** How many things the items of a call stand for, if not each for one. */
  readonly count?: (items: readonly Item[]) => number;
  /** May be sent again when nobody knows whether it ran. */
  readonly repeatable: boolean;
  readonly reply: (raw: unknown) => R;
}

/** Declares a script. A missing key or a misspelt argument does not compile at the call. */
export function script<const K extends string, const A extends string, const I extends string, R>(
  binding: Script<K, A, I, R>,
): Script<K, A, I, R> {
  return binding;
}

/** Where the Lua files are: at the same depth from `src/` and from `dist/`. */
const LUA_DIR = join(import.meta.dirname, '..', '..', '..', 'lua');
const INCLUDE = /^--- @include "(lib\/[a-z_/]+)"$/gm;

/** How a script tells waiters of new jobs: on one channel for all, or, in a Cluster that has it, on a sharded one for each namespace. */
export type WakeStyle = 'plain' | 'sharded';
/** What stands in the place of an include. */
const INSTEAD: Readonly<Record<WakeStyle, Readonly<Record<string, string>>>> = {
  plain: {},
  sharded: { 'lib/notify': 'lib/notify_sharded' },
};

/**
 * A script's text with its includes, and theirs, in place.
 *
 * @throws {Error} the file or one of its includes is missing
 */
export function loadScript(name: string, style: WakeStyle = 'plain'): string {
  return readLua(join('scripts', name), style);
}

function readLua(path: string, style: WakeStyle): string {
  return readFileSync(join(LUA_DIR, `${path}.lua`), 'utf8').replace(INCLUDE, (_line, lib: string) =>
    readLua(INSTEAD[style][lib] ?? lib, style),
  );
}

/** A script as it is sent: its text, and the digest under which Redis knows it. */
export interface ScriptText {
  readonly text: string;
  readonly sha: string;
}

const texts: Readonly<Record<WakeStyle, Map<string, ScriptText>>> = { plain: new Map(), sharded: new Map() };

/** A script's text and digest; read once. */
export function scriptText(name: string, style: WakeStyle = 'plain'): ScriptText {
  let known = texts[style].get(name);
  if (!known) {
    const text = loadScript(name, style);
    known = { text, sha: createHash('sha1').update(text).digest('hex') };
    texts[style].set(name, known);
  }
  return known;
}

/**
 * The arguments of one item of a batch, in the order in which the binding names them. A tuple, unlike the named keys and arguments:
 * with 64 items in a call, looking each of them up by name was a thirtieth of a publish.
 */
export type Item = readonly Arg[];

/**
 * The arguments of a call, keys first, in the order of the binding, not of the caller.
 *
 * @throws {TypeError} an item has more or fewer arguments than the binding names
 */
export function flatten<K extends string, A extends string, R>(
  binding: Script<K, A, string, R>,
  keyOf: Readonly<Record<K, string>>,
  argOf: Readonly<Record<A, Arg>>,
  items: readonly Item[],
): Arg[] {
  const flat: Arg[] = [binding.keys.length];
  for (const key of binding.keys) flat.push(keyOf[key]);
  for (const arg of binding.args) flat.push(argOf[arg]);
  const size = binding.item.length;
  for (const item of items) {
    if (item.length !== size) throw new TypeError(`an item of ${binding.name} has ${String(size)} arguments`);
    for (const arg of item) flat.push(arg);
  }
  return flat;
}

/** A reply that is a flat array of integers and byte strings. */
export function flatReply(raw: unknown): readonly (number | Buffer)[] {
  if (!Array.isArray(raw)) throw new TypeError('a script answered something else than an array');
  return raw as readonly (number | Buffer)[];
}

/** An integer of a reply. */
export function integerAt(reply: readonly (number | Buffer)[], index: number): number {
  const value = reply[index];
  if (typeof value !== 'number') throw new TypeError(`a script's reply has no integer at ${String(index)}`);
  return value;
}

/** A byte string of a reply. */
export function bytesAt(reply: readonly (number | Buffer)[], index: number): Buffer {
  const value = reply[index];
  if (!Buffer.isBuffer(value)) throw new TypeError(`a script's reply has no bytes at ${String(index)}`);
  return value;
}
