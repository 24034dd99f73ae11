import type { Module } from './lua-module.js';

/** `NAME, OTHER = 1, "text"`, with or without `local`, on one line. */
const CONSTANTS = /^(?:local )?([A-Z][A-Z_]*(?:, [A-Z][A-Z_]*)*) = (.+)\n/gm;
const LITERAL = /^(?:-?\d+|"[^"]*")$/;
/** Comments and texts, which stay as they are, and names that are no fields. */
const PART = /--\[\[[\s\S]*?\]\]|--.*$|"(?:[^"\\\n]|\\.)*"|(?<![\w:]|[^.]\.)[A-Z][A-Z_]*\b/gm;

/**
 * Puts the values of constants in the place of their names: names in capitals that a module, or the command for itself, sets to a number or a
 * text at the beginning of a line. Lua 5.1 has no constants: each function that uses such a name would be made with a reference to it, at each
 * call of the script. In a publish of one job that was a tenth of Redis's work.
 *
 * @param given further constants of the command, by name
 */
export function inlineConstants(
  modules: readonly Module[],
  code: string,
  given: ReadonlyMap<string, string>,
): { readonly modules: Module[]; readonly code: string } {
  const exported = new Map<string, string>();
  const inlined = modules.map((module) => {
    const own = new Map(exported);
    const body = inline(module.body, own);
    for (const name of module.exports) {
      const value = own.get(name);
      if (value !== undefined) exported.set(name, value);
    }
    return { ...module, body, exports: module.exports.filter((name) => !own.has(name)) };
  });
  return { modules: inlined, code: inline(code, new Map([...exported, ...given])) };
}

/** @param known values by name; those of the text are added */
function inline(text: string, known: Map<string, string>): string {
  const rest = text.replace(CONSTANTS, (line, names: string, list: string) => {
    const values = list.split(', ');
    if (!values.every((value) => LITERAL.test(value))) return line;
    names.split(', ').forEach((name, i) => known.set(name, values[i] ?? 'nil'));
    return '';
  });
  return rest.replace(PART, (part) => known.get(part) ?? part);
}
