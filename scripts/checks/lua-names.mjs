/** Which names the Lua files have from their modules: see "Names of other modules" in lua/README.md. */
import luaparse from 'luaparse';

/** @typedef {{ exports: ReadonlySet<string>, requires: readonly string[] }} Module */

/** @param {string} text @param {'exports' | 'requires'} word */
function listed(text, word) {
  return [...text.matchAll(new RegExp(`^ *--- @${word} (.+)$`, 'gm'))].flatMap(([, list = '']) =>
    list.split(', '),
  );
}

/** @param {string} text of a module @returns {Module} */
export function moduleOf(text) {
  return { exports: new Set(listed(text, 'exports')), requires: listed(text, 'requires') };
}

/**
 * What a file does against the rules: a name of another module alone, or a variable that is called as a module that the file requires.
 *
 * @param {string} text of the file
 * @param {ReadonlyMap<string, Module>} modules all modules, by their paths in lua/modules
 */
export function wrongNamesIn(text, modules) {
  const { exports, requires } = moduleOf(text);
  const { free, local } = namesIn(text);
  const wrong = [];
  for (const module of reachableFrom(requires, modules)) {
    const short = module.slice(module.lastIndexOf('/') + 1);
    if (module.startsWith('core/')) continue;
    if (requires.includes(module) && local.has(short))
      wrong.push(`a variable is called as the module ${module}`);
    for (const name of modules.get(module)?.exports ?? [])
      if (free.has(name) && !exports.has(name) && name !== short)
        wrong.push(`${name} is of ${module}: ${short}.${name}`);
  }
  return wrong;
}

/** @param {readonly string[]} names @param {ReadonlyMap<string, Module>} modules @param {Set<string>} found */
function reachableFrom(names, modules, found = new Set()) {
  for (const name of names) {
    if (found.has(name)) continue;
    found.add(name);
    reachableFrom(modules.get(name)?.requires ?? [], modules, found);
  }
  return found;
}

/** Names that are fields of nothing: those that the file does not declare, and its local ones. @param {string} text */
function namesIn(text) {
  /** @type {{ type: string, name: string, isLocal?: boolean }[]} */
  const nodes = [];
  luaparse.parse(text, { scope: true, luaVersion: '5.1', onCreateNode: (node) => nodes.push(node) });
  const of = (isLocal) =>
    new Set(
      nodes.filter((node) => node.type === 'Identifier' && node.isLocal === isLocal).map(({ name }) => name),
    );
  return { free: of(false), local: of(true) };
}
