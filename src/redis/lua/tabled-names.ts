/** The table of the names for which there is no local one. */
export const TABLE = 'beyond';

/** Comments and texts, which stay as they are, and the names in the code. */
const PART =
  /--\[\[[\s\S]*?\]\]|--.*$|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?<![\w:]|[^.]\.)[A-Za-z_]\w*/gm;
const DECLARATION = /^local ([\w, ]+)\n/m;
const KEY = /[{,]\s*(\w+) = /g;

/**
 * Lua allows 200 local names at once. In a script with more, the exports of modules that are used least become fields of one table: that costs Redis less
 * than to split the script.
 *
 * @param blocks the modules, behind the declaration of their exports, those first that are used least
 * @param code of the command
 * @param excess how many names are too many
 * @returns both with the fields in place of the names
 */
export function withTable(blocks: string, code: string, excess: number): readonly [string, string] {
  const [line = '', list = ''] = DECLARATION.exec(blocks) ?? [];
  const names = list.split(', ');
  // In a constructor of a table, a name may be that of a field.
  const fields = new Set([...`${blocks}${code}`.matchAll(KEY)].map(([, name = '']) => name));
  // The table is a name, too.
  const moved = new Set(names.filter((name) => !fields.has(name)).slice(0, excess + 1));
  const left = names.filter((name) => !moved.has(name));
  const rename = (text: string): string =>
    text.replace(PART, (part: string) => (moved.has(part) ? `${TABLE}.${part}` : part));
  const declared = `local ${[...left, TABLE].join(', ')}\n${TABLE} = {}\n`;
  const at = blocks.indexOf(line);
  return [blocks.slice(0, at) + declared + rename(blocks.slice(at + line.length)), rename(code)];
}
