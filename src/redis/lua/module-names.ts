import type { Module } from './lua-module.js';

/** Comments and texts, which stay as they are, and names behind a dot. */
const PART = /--\[\[[\s\S]*?\]\]|--.*$|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?<![\w.:])(\w+)\.(\w+)/gm;

/** What a module is called in code: `claims` for `leases/claims`. */
export const shortName = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

/**
 * The code with the names of functions and variables alone: `claims.take_back(job)` of a file that requires `leases/claims` becomes
 * `take_back(job)`. So a reader sees where a name comes from, and Redis reads no field of a table at each call.
 *
 * @param required the modules that the file requires
 */
export function withoutModuleNames(code: string, required: readonly Module[]): string {
  const exported = new Map(required.map(({ name, exports }) => [shortName(name), new Set(exports)]));
  return code.replace(PART, (part: string, module: string | undefined, name: string) =>
    module !== undefined && exported.get(module)?.has(name) === true ? name : part,
  );
}
