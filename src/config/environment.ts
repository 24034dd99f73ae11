import { keysOf, type KeyClass, type Kind } from './keys.js';
import { below, emptyTree, isTree, type Layer, type Tree } from './tree.js';

const PREFIX = 'PUMPHOUSE_';
const SEPARATOR = '__';

/** Where a variable's value belongs. */
interface Place {
  readonly path: readonly string[];
  readonly kind: Kind;
}

/**
 * The part of the environment that is configuration: `PUMPHOUSE_SERVER__PORT=80` is `server.port`. Only names with `__` between two
 * words count: Kubernetes sets `PUMPHOUSE_PORT=tcp://…` by itself, and `PUMPHOUSE__…` belongs to the set-up scripts. Case does not
 * matter; a pool or account that no file names is taken in lower case.
 *
 * @param known what the files say: their pools and accounts keep the spelling that they have there
 * @param problems gets a line for each name that means nothing, or the same as another one
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

function placeOf(words: readonly string[], type: KeyClass, known: Tree): Place | null {
  const [word = '', ...rest] = words;
  const key = word.toLowerCase();
  const kind = keysOf(type).get(key);
  const lower = known[key];
  const inside = isTree(lower) ? lower : emptyTree();
  if (!kind) return null;
  if (kind.type === 'section') return under([key], placeOf(rest, kind.of, inside));
  if (kind.type !== 'named') return rest.length === 0 ? { path: [key], kind } : null;
  // A name may hold the separator itself; what stands below it may not.
  const nameWords = kind.of === null ? rest : rest.slice(0, -1);
  const name = spelling(nameWords.join(SEPARATOR), inside);
  if (name === '') return null;
  if (kind.of === null) return { path: [key, name], kind: { type: 'text' } };
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

/** Text as the key's kind; one that does not fit stays a text, and the key's own check tells what it must be. */
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
