import type { Module } from './lua-module.js';
import { wordsOf } from './unused.js';

/** A module as it stands in a script. */
interface Block {
  /** Its exports that others use: local names of the script. */
  readonly names: readonly string[];
  /** The names that it uses, each as often as it has functions that do. */
  readonly uses: readonly string[];
  readonly text: string;
}

/** Begins a block that is a function, which has 200 local names for itself. */
export const WRAPPER = 'local function make()';

/** A function at the beginning of a line, up to its end. */
const FUNCTION = /^(?:local )?function .*\n(?:(?!end\b).*\n)*/gm;
const COMMAND = '';

/**
 * The text of modules, one block for each:
 *
 *     local export, export
 *     do
 *       … the module …
 *     end
 *
 * A module that only one other uses stands inside that one's block, and exports that no other uses are local to the block of their module: Lua allows
 * 200 local names at once, and 60 variables of others in a function.
 *
 * @param isWrapped puts each block in a function of its own: for scripts with too many names, because Redis makes those functions at each call
 * @param all modules of the script
 * @param code of the command
 * @returns the text of some of the modules
 */
export function blockMaker(
  all: readonly Module[],
  code: string,
  isWrapped = false,
): (modules: readonly Module[]) => string {
  const users = usersOf(all, code);
  const arrange = (modules: readonly Module[]): Block[] => {
    const blocks: Block[] = [];
    const placed = new Set<Module>();
    for (const module of [...modules].reverse()) {
      if (placed.has(module)) continue;
      const inside = usedOnlyBy(module.name, modules, users);
      for (const one of inside) placed.add(one);
      blocks.unshift(blockOf(module, arrange(inside)));
    }
    return blocks;
  };
  const blockOf = (module: Module, inside: readonly Block[]): Block => {
    const names = module.exports.filter((name) => isShared(name, users));
    const own = module.exports.filter((name) => !isShared(name, users));
    const locals = own.length > 0 && module.body !== '' ? `local ${own.join(', ')}\n` : '';
    const text = `${declare(inside)}${locals}${module.body}`;
    const uses = [...inside.flatMap((block) => block.uses), ...functionWords(module.body)];
    return {
      names,
      uses,
      text: text === '' ? '' : isWrapped ? `do\n${WRAPPER}\n${text}end\nmake()\nend\n` : `do\n${text}end\n`,
    };
  };
  return (modules) => declare(arrange(modules));
}

/**
 * The text of blocks behind the declaration of their names. Names that most functions use come last: to find a variable for a new function, Lua
 * looks at those that are in use from the last one on.
 */
function declare(blocks: readonly Block[]): string {
  const counts = new Map<string, number>();
  for (const name of blocks.flatMap(({ uses }) => uses)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = blocks.flatMap((block) => block.names);
  names.sort((one, other) => (counts.get(one) ?? 0) - (counts.get(other) ?? 0));
  const declared = names.length > 0 ? `local ${names.join(', ')}\n` : '';
  return declared + blocks.map(({ text }) => text).join('');
}

/** Of each export the other modules that use it; '' is the command. */
type Users = ReadonlyMap<string, ReadonlySet<string>>;

function usersOf(modules: readonly Module[], code: string): Users {
  const users = new Map(modules.flatMap((module) => module.exports).map((name) => [name, new Set<string>()]));
  const countUser = (user: string, text: string, own: readonly string[]): void => {
    for (const used of wordsOf(text)) if (!own.includes(used)) users.get(used)?.add(user);
  };
  countUser(COMMAND, code, []);
  for (const { name, body, exports } of modules) countUser(name, body, exports);
  return users;
}

const isShared = (name: string, users: Users): boolean => (users.get(name)?.size ?? 0) > 0;
const functionWords = (body: string): string[] =>
  [...body.matchAll(FUNCTION)].flatMap(([text]) => [...wordsOf(text)]);

/** The modules that nothing but this one uses, and those that only they use, in order. */
function usedOnlyBy(name: string, modules: readonly Module[], users: Users): Module[] {
  const found = new Set([name]);
  for (let size = 0; size < found.size;) {
    size = found.size;
    for (const module of modules) {
      const all = module.exports.flatMap((one) => [...(users.get(one) ?? [])]);
      if (all.length > 0 && all.every((user) => found.has(user))) found.add(module.name);
    }
  }
  return modules.filter((module) => module.name !== name && found.has(module.name));
}
