import { didYouMean } from '../domain/similar-name.js';
import { keysOf, type KeyClass, type Kind } from './keys.js';

/** A parsed TOML table. */
export type Tree = Record<string, unknown>;

type NamedKind = Extract<Kind, { type: 'named' }>;

/** One source of configuration. */
export interface Layer {
  readonly tree: Tree;
  /** Source of the value at a path, for people: a file, or the name of an environment variable. */
  readonly origin: (path: string) => string;
}

/**
 * Keys for the address of a Redis. A layer that sets one replaces the whole address: keys that belong to the old one
 * must not remain.
 */
const PLACES = ['url', 'sentinels', 'cluster'];
const PLACE_KEYS = new Set([...PLACES, 'master_name', 'sentinel_password', 'nat_map']);

/** The key that has the address of a Redis; undefined if none is set. */
export function placeKeyOf(redis: Tree): string | undefined {
  return PLACES.find((key) => Object.hasOwn(redis, key));
}

/** True for a table, false for values, lists and TOML dates. */
export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** An empty table. Without a prototype: a pool may be called `constructor`. */
export function emptyTree(): Tree {
  return Object.create(null) as Tree;
}

/** The path of a key below another one. */
export function below(path: string, key: string): string {
  const shown = /^[-_A-Za-z0-9]+$/.test(key) ? key : JSON.stringify(key);
  return path === '' ? shown : `${path}.${shown}`;
}

/**
 * The part of a layer with known keys.
 *
 * @param problems receives a line for each unknown key, and for each value that must be a section but is not
 */
export function admit(layer: Layer, type: KeyClass, problems: string[], tree = layer.tree, path = ''): Tree {
  const keys = keysOf(type);
  const admitted = emptyTree();
  for (const [key, value] of Object.entries(tree)) {
    const at = below(path, key);
    const kind = keys.get(key);
    if (!kind) {
      problems.push(
        `${at}: unknown key (${layer.origin(at)})${didYouMean(key, keys.keys())}; allowed: ${[...keys.keys()].join(', ')}`,
      );
    } else if (kind.type !== 'section' && kind.type !== 'named') {
      admitted[key] = kind.type === 'list' ? texts(value) : value;
    } else if (!isTree(value)) {
      problems.push(`${at} must be a section (${layer.origin(at)})`);
    } else {
      admitted[key] =
        kind.type === 'section' ? admit(layer, kind.of, problems, value, at) : admitNamed(value, kind, at);
    }
  }
  return admitted;

  function admitNamed(named: Tree, { of, orText }: NamedKind, at: string): Tree {
    const entries = emptyTree();
    for (const [name, value] of Object.entries(named)) {
      // A list or a date is no text: the check of the values reports it.
      if (orText && !isTree(value)) entries[name] = value;
      else if (isTree(value)) entries[name] = admit(layer, of, problems, value, below(at, name));
      else problems.push(`${below(at, name)} must be a section (${layer.origin(below(at, name))})`);
    }
    return entries;
  }
}

/** All lists are of texts: `ports = [9099]` means the text. */
function texts(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((one: unknown) => (typeof one === 'number' ? String(one) : one));
}

/** Merges two trees: values of `over` win, lists as a whole. */
export function lay(under: Tree, over: Tree): Tree {
  const isMoved = placeKeyOf(over) !== undefined;
  const laid = emptyTree();
  for (const [key, value] of Object.entries(under)) {
    if (!isMoved || !PLACE_KEYS.has(key)) laid[key] = value;
  }
  for (const [key, value] of Object.entries(over)) {
    const lower = laid[key];
    laid[key] = isTree(value) ? lay(isTree(lower) ? lower : emptyTree(), value) : value;
  }
  return laid;
}

/** The paths of all values of a tree. */
export function pathsOf(tree: Tree, path = ''): string[] {
  return Object.entries(tree).flatMap(([key, value]) =>
    isTree(value) ? pathsOf(value, below(path, key)) : [below(path, key)],
  );
}

/** Creates an instance of a configuration class from an admitted tree, with defaults for missing keys. */
export function build<T extends object>(type: new () => T, tree: Tree): T {
  const made = new type();
  for (const [key, kind] of keysOf(type)) {
    const value = tree[key];
    if (value === undefined) continue;
    if (!('of' in kind) || !isTree(value)) Object.assign(made, { [key]: value });
    else {
      const { type, of } = kind;
      Object.assign(made, { [key]: type === 'section' ? build(of, value) : buildNamed(of, value) });
    }
  }
  return made;
}

function buildNamed(of: KeyClass, named: Tree): Tree {
  const entries = emptyTree();
  for (const [name, value] of Object.entries(named)) entries[name] = isTree(value) ? build(of, value) : value;
  return entries;
}
