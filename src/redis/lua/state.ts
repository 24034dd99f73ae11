import type { Module } from './lua-module.js';
import { type Statement, statementsOf } from './unused.js';

/** The functions of a library that set the variables of its modules anew. */
export const RESETS = 'resets';

const FUNCTION = /^(?:local )?function /;
const CONSTANT = /^[A-Z][A-Z_0-9]*$/;
const LOCAL = /^local /;
const COMMENTS = /^(?:(?:--.*)?\n)*/;

/**
 * A module for a library, whose variables outlive a call: it keeps its functions and constants (names in capitals, which nothing changes), and sets
 * its other variables at the beginning of each call to what they are at the beginning of a script.
 */
export function withReset(module: Module): Module {
  const kept: string[] = [];
  const resets: string[] = [];
  const set = new Set<string>();
  for (const statement of statementsOf(module.body)) {
    const code = statement.text.replace(COMMENTS, '');
    if (FUNCTION.test(code) || isConstant(statement)) {
      kept.push(statement.text);
      for (const name of statement.defines) set.add(name);
    } else if (LOCAL.test(code)) {
      const names = statement.defines.join(', ');
      kept.push(`local ${names}\n`);
      resets.push(
        code.startsWith(`local ${names} =`)
          ? code.replace(LOCAL, '')
          : /* guard: lua-variables-begin-empty */ `${names} = nil\n`,
      );
    } else {
      resets.push(code);
      for (const name of statement.defines) set.add(name);
    }
  }
  const rest = module.exports.filter((name) => !set.has(name));
  // guard: lua-exports-reset
  if (rest.length > 0) resets.unshift(`${rest.join(', ')} = nil\n`);
  const reset = resets.length > 0 ? `${RESETS}[#${RESETS} + 1] = function()\n${resets.join('')}end\n` : '';
  return { ...module, body: kept.join('') + reset };
}

/** What a function computes does not count: Redis has no functions of Lua while it loads a library. */
function isConstant({ defines, text }: Statement): boolean {
  return (
    defines.length > 0 &&
    defines.every((name) => CONSTANT.test(name)) /* guard: lua-computed-no-constant */ &&
    !text.includes('(')
  );
}
