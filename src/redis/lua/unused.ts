import type { Module } from './lua-module.js';

/** A statement at the beginning of a line, with its comments before it and its indented lines and closing words behind it. */
export interface Statement {
  readonly text: string;
  /** The names that it gives a value; empty if it does anything else. */
  readonly defines: readonly string[];
  readonly uses: ReadonlySet<string>;
}

const CLOSES = /^(?:end|else|elseif|[})])/;
const DEFINES = /^(?:local function (\w+)|function (\w+)|local ([\w, ]+)|([\w, ]+)(?= = ))/;
const COMMENT_OR_TEXT = /--\[\[[\s\S]*?\]\]|--.*$|"(?:[^"\\\n]|\\.)*"/gm;
const WORD = /(?<![\w:]|[^.]\.)[A-Za-z_]\w*/g;

/**
 * The modules without the functions and values that neither the command nor anything that is kept uses. Such a function costs Redis some
 * 400 instructions at each call of the script, whose beginning makes it anew. Modules without effect stay out altogether.
 *
 * @param code of the command
 */
export function leaveOutUnused(modules: readonly Module[], code: string): Module[] {
  const used = wordsOf(code);
  const parts = modules.map((module) => ({
    module,
    exported: new Set(module.exports),
    statements: statementsOf(module.body),
    usedInside: new Set<string>(),
    kept: new Set<Statement>(),
  }));
  const keep = (part: (typeof parts)[number], statement: Statement): void => {
    part.kept.add(statement);
    // All names of a statement stay: without its declaration an export would be a global, which Redis refuses.
    for (const name of [...statement.uses, ...statement.defines]) {
      used.add(name);
      part.usedInside.add(name);
    }
  };
  for (let grown = true; grown;) {
    grown = false;
    for (const part of parts) {
      const isUsed = (name: string): boolean => (part.exported.has(name) ? used : part.usedInside).has(name);
      for (const statement of part.statements) {
        if (part.kept.has(statement) || (statement.defines.length > 0 && !statement.defines.some(isUsed)))
          continue;
        keep(part, statement);
        grown = true;
      }
    }
  }
  return parts.flatMap(({ module, statements, kept }) => {
    const body = statements.filter((one) => kept.has(one)).map(({ text }) => text);
    const exports = module.exports.filter((name) => used.has(name));
    return exports.length > 0 ? [{ ...module, exports, body: body.join('') }] : [];
  });
}

export function statementsOf(body: string): Statement[] {
  const texts: string[] = [];
  let comments = '';
  for (const line of body.split('\n').slice(0, -1)) {
    const continues = line === '' || line.startsWith(' ') || CLOSES.test(line);
    if (line.startsWith('--')) comments += `${line}\n`;
    else if (!continues) {
      texts.push(`${comments}${line}\n`);
      comments = '';
    } else if (comments !== '' || texts.length === 0) comments += `${line}\n`;
    else texts.push(`${texts.pop() ?? ''}${line}\n`);
  }
  return texts.map((text) => {
    const code = text.replace(COMMENT_OR_TEXT, '').trimStart();
    const names = DEFINES.exec(code)?.slice(1).find(Boolean) ?? '';
    const defines = names === '' ? [] : names.split(',').map((name) => name.trim());
    return {
      text,
      defines,
      uses: new Set([...wordsOf(code)].filter((name) => !defines.includes(name))),
    };
  });
}

/** The names that occur in a piece of code, but for fields, texts and comments. */
export function wordsOf(code: string): Set<string> {
  return new Set(code.replace(COMMENT_OR_TEXT, '').match(WORD));
}
