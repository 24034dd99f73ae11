import { keysOf, type KeyClass, type Kind } from './keys.js';
import { below, emptyTree, isTree, type Layer, type Tree } from './tree.js';

const PREFIX = 'PUMPHOUSE_';
const SEPARATOR = '__';

type NamedKind = Extract<Kind, { type: 'named' }>;

/** The key for a variable, and its kind. */
interface Place {
  readonly path: readonly string[];
  readonly kind: Kind;
}

/**
 * Reads the environment variables that are configuration: `PUMPHOUSE_SERVER__PORT=80` is `server.port`. Only names with
 * `__` between two words are read: Kubernetes sets `PUMPHOUSE_PORT=tcp://…` by itself, and `PUMPHOUSE__…` belongs to
 * the set-up scripts. Case does not matter; a pool or account that no file names gets a lower-case name.
 *
 * @param known the keys of the files: their pools and accounts keep their spelling
 * @param problems receives a line for each name that is unknown, or equal to another one
 */
export function readEnvironment(
  env: NodeJS.ProcessEnv,
  type: KeyClass,
  known: Tree,
  problems: string[],
): Layer {
  const tree = emptyTree();
  const names = new Map<string, string>();
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !name.startsWith(PREFIX)) continue;
    const rest = name.slice(PREFIX.length);
    if (rest.startsWith('_') || !rest.includes(SEPARATOR)) continue;
    const place = placeOf(rest.split(SEPARATOR), type, known);
    const path = place?.path.reduce(below, '') ?? '';
    const other = names.get(path);
    if (!place) problems.push(`${name} names no known key`);
    else if (other !== undefined) problems.push(`${name} and ${other} are the same key`);
    else {
      names.set(path, name);
      put(tree, place.path, coerce(value, place.kind));
    }
  }
  return { tree, origin: (path) => names.get(path) ?? 'the environment' };
}

function placeOf(segments: readonly string[], type: KeyClass, known: Tree): Place | null {
  const [segment = '', ...rest] = segments;
  const key = segment.toLowerCase();
  const kind = keysOf(type).get(key);
  const lower = known[key];
  const inside = isTree(lower) ? lower : emptyTree();
  if (!kind) return null;
  if (kind.type === 'section') return under([key], placeOf(rest, kind.of, inside));
  if (kind.type !== 'named') return rest.length === 0 ? { path: [key], kind } : null;
  return namedPlace(key, rest, kind, inside);
}

/** Such a name may contain the separator itself; the key below it may not. */
function namedPlace(key: string, rest: readonly string[], kind: NamedKind, known: Tree): Place | null {
  const last = rest.at(-1)?.toLowerCase() ?? '';
  const isText = kind.orText && (rest.length < 2 || !keysOf(kind.of).has(last));
  const name = spelling((isText ? rest : rest.slice(0, -1)).join(SEPARATOR), known);
  if (name === '') return null;
  if (isText) return { path: [key, name], kind: { type: 'text', rule: kind.rule } };
  return under([key, name], placeOf(rest.slice(-1), kind.of, emptyTree()));
}

function under(path: readonly string[], place: Place | null): Place | null {
  return place && { ...place, path: [...path, ...place.path] };
}

function spelling(name: string, known: Tree): string {
  const lower = name.toLowerCase();
  return Object.keys(known).find((one) => one.toLowerCase() === lower) ?? lower;
}

function put(tree: Tree, path: readonly string[], value: unknown): void {
  const [key = '', ...rest] = path;
  if (rest.length === 0) {
    tree[key] = value;
    return;
  }
  const inside = tree[key];
  const next = isTree(inside) ? inside : emptyTree();
  tree[key] = next;
  put(next, rest, value);
}

/** Parses text as the key's kind. Text that does not fit stays text, and the key's own check reports the rule. */
function coerce(text: string, { type }: Kind): unknown {
  switch (type) {
    case 'number':
      return /^-?\d+$/.test(text) ? Number(text) : text;
    case 'boolean':
      return /^(?:true|false)$/i.test(text) ? text.toLowerCase() === 'true' : text;
    case 'list':
      return text
        .split(',')
        .map((one) => one.trim())
        .filter((one) => one !== '');
    default:
      return text;
  }
}
