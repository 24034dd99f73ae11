/** What a command takes, as the header of its file says. */
export interface Signature {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** The arguments of one item of a batch; empty if the command takes no items. */
  readonly item: readonly string[];
}

const HEADER = /^--\[\[\n(?<header>[\s\S]*?)\]\]\n/;
/** The meaning of a key or argument: `flag_ms: integer  how long a registration lasts, ms`. */
const MEANING = /^(?<name>\w+): (?<kind>hash|integer|list|set|stream|string|text|zset) {2,}\S/gm;

/**
 * Separates the header of a Lua file, a comment at its beginning, from the code. `lua/README.md` describes headers.
 *
 * @throws {Error} it has none
 */
export function splitHeader(path: string, text: string): { readonly header: string; readonly code: string } {
  const match = HEADER.exec(text);
  if (match === null) throw new Error(`${path} does not begin with a header`);
  return { header: match[1] ?? '', code: text.slice(match[0].length) };
}

/** Reads the lists of names in a header: `KEYS meta, queues`, ARGV and ITEM. */
export function signatureOf(header: string): Signature {
  const lists = [...header.matchAll(/^([A-Z]{4}) (.+)$/gm)].map(([, list = '', names = '']) => [
    list,
    names.split(', '),
  ]);
  const { KEYS = [], ARGV = [], ITEM = [] } = Object.fromEntries(lists) as Record<string, string[]>;
  return { keys: KEYS, args: ARGV, item: ITEM };
}

/**
 * The first lines of a command, by the line of the header that each is made of: they give keys and arguments their names, and make numbers of
 * integers.
 *
 * @param common the header of `lua/arguments.lua`, which explains what several commands take
 * @throws {Error} neither header explains one of the names
 */
export function preambleOf(path: string, header: string, common: string): ReadonlyMap<string, string> {
  const kinds = new Map(
    [...`${common}\n${header}`.matchAll(MEANING)].map(([, name = '', kind = '']) => [name, kind]),
  );
  const valueOf = (list: string, name: string, i: number): string => {
    const value = `${list}[${String(i + 1)}]`;
    const kind = kinds.get(name);
    if (kind === undefined) throw new Error(`the header of ${path} does not explain ${name}`);
    return kind === 'integer' ? `tonumber(${value})` : value;
  };
  const lines = header.matchAll(/^(KEYS|ARGV) (.+)\n/gm);
  return new Map(
    [...lines].map(([line, list = '', names = '']) => [
      line,
      `local ${names} = ${names
        .split(', ')
        .map((name, i) => valueOf(list, name, i))
        .join(', ')}\n`,
    ]),
  );
}

/** Constants of a command with items: the place of the first one in ARGV, and how many arguments each has. */
export function itemConstants({ args, item }: Signature): ReadonlyMap<string, string> {
  return new Map([
    ['FIRST_ITEM', String(args.length + 1)],
    ['ITEM_SIZE', String(item.length)],
  ]);
}
