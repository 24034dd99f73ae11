import { createHash } from 'node:crypto';
import { faultOf } from '../errors.js';
import {
  assembleLibrary,
  assembleScript,
  assembleScriptWhenFull,
  type Library,
  sourcesOf,
} from '../lua/loader.js';
import { lineIn, type Origin, originsOf } from '../lua/origins.js';

/** How a script wakes waiters up: on one channel for all, or, in a Cluster that has it, on a sharded one for each namespace. */
export type WakeStyle = 'plain' | 'sharded';
/** The modules that take the place of others. */
const INSTEAD: Readonly<Record<WakeStyle, Readonly<Record<string, string>>>> = {
  plain: {},
  sharded: { 'queues/wakeup_channel': 'queues/wakeup_channel_sharded' },
};

/**
 * A script's text: the command with its modules.
 *
 * @throws {Error} as `assemble`
 */
export function loadScript(name: string, style: WakeStyle = 'plain'): string {
  return assembleScript(name, INSTEAD[style]);
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
    known = withDigest(loadScript(name, style));
    texts[style].set(name, known);
  }
  return known;
}

const textsWhenFull: Readonly<Record<WakeStyle, Map<string, ScriptText | null>>> = {
  plain: new Map(),
  sharded: new Map(),
};

/** What takes the script's place in a full Redis; null = nothing: it adds data, and is refused. Read once. */
export function scriptTextWhenFull(name: string, style: WakeStyle = 'plain'): ScriptText | null {
  let known = textsWhenFull[style].get(name);
  if (known === undefined) {
    const text = assembleScriptWhenFull(name, INSTEAD[style]);
    known = text === null ? null : withDigest(text);
    textsWhenFull[style].set(name, known);
  }
  return known;
}

function withDigest(text: string): ScriptText {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Begins the names of all functions; the digest in them keeps those of different versions apart. */
export const FUNCTION_PREFIX = 'pumphouse_';
const DIGEST = 16;

const libraries: Readonly<Record<WakeStyle, Map<string, Library | null>>> = {
  plain: new Map(),
  sharded: new Map(),
};

/** The script as a library of Redis 7; null if it is always a script. Read once. */
export function scriptLibrary(name: string, style: WakeStyle = 'plain'): Library | null {
  let known = libraries[style].get(name);
  if (known === undefined) {
    const nameOf = (code: string): string =>
      `${functionsOf(name)}${createHash('sha1').update(code).digest('hex').slice(0, DIGEST)}`;
    known = assembleLibrary(name, nameOf, INSTEAD[style]);
    libraries[style].set(name, known);
  }
  return known;
}

/**
 * What Redis runs for a command, and of each line the place in the repository that it comes from: the function, or the script for a Redis without
 * functions.
 */
export function scriptWithOrigins(
  name: string,
  form: 'function' | 'script',
  style: WakeStyle = 'plain',
): { readonly text: string; readonly origins: readonly (Origin | null)[] } {
  const library = form === 'function' ? scriptLibrary(name, style) : null;
  const { text } = library ?? scriptText(name, style);
  return { text, origins: originsOf(text, sourcesOf(name, INSTEAD[style])) };
}

/**
 * Adds the line of the repository to an error in which Redis names one of its script. Only to what is a mistake in a script: a full Redis refuses
 * thousands of calls a second.
 */
export function withOrigin(error: unknown, name: string, style: WakeStyle): unknown {
  if (!(error instanceof Error) || faultOf(error) !== 'other') return error;
  const line = lineIn(error.message);
  if (line === null) return error;
  const form = error.message.includes('user_function') ? 'function' : 'script';
  const origin = scriptWithOrigins(name, form, style).origins[line - 1];
  // guard: script-errors-name-their-line
  if (origin) error.message += ` (${origin})`;
  return error;
}

/** The name of a script in metrics and errors: `folder_file` of its command. */
export function labelOf(name: string): string {
  return name.replaceAll(/\W/g, '_');
}

/** How the names of a script's function begin, in all versions. */
export function functionsOf(name: string): string {
  return `${FUNCTION_PREFIX}${labelOf(name)}_`;
}
