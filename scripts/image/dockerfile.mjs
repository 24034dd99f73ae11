import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The stages of a Dockerfile, each with its steps in order. Knows what ours uses: continued lines, comments, `AS`,
 * flags as `--from=build`, and quoted values of `ENV`.
 *
 * @param {string} text
 */
export function parseDockerfile(text) {
  /** @type {{ name: string, from: string, steps: ReturnType<typeof stepOf>[] }[]} */
  const stages = [];
  const lines = text.split('\n').filter((line) => !/^\s*(#|$)/.test(line));
  for (const line of lines
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')) {
    const step = stepOf(line);
    if (step.instruction === 'FROM') {
      const [from = '', , name = 'image'] = step.words;
      stages.push({ name, from, steps: [] });
    } else {
      stages.at(-1)?.steps.push(step);
    }
  }
  return stages;
}

/** @param {string} line */
function stepOf(line) {
  const [, instruction = '', rest = ''] = /^\s*(\w+)\s+(.*)$/.exec(line) ?? [];
  /** @type {Record<string, string>} */
  const flags = {};
  const text = rest.replace(/^(?:--[\w-]+=\S+\s+)+/, (all) => {
    for (const [, name = '', value = ''] of all.matchAll(/--([\w-]+)=(\S+)/g)) flags[name] = value;
    return '';
  });
  const words = text.match(/(?:[^\s"]|"[^"]*")+/g) ?? [];
  return {
    instruction: instruction.toUpperCase(),
    text,
    flags,
    words: words.map((word) => word.replaceAll('"', '')),
  };
}

/**
 * The names in a folder that `COPY . .` copies: `.dockerignore` without `!` and without folders, as ours is.
 *
 * @param {string} folder
 */
export function contextNames(folder) {
  const patterns = readFileSync(join(folder, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const wrong = patterns.find((pattern) => /[/!?[\]]/.test(pattern));
  if (wrong !== undefined) throw new Error(`.dockerignore: ${wrong} is not understood here`);
  const ignored = patterns.map(
    (pattern) => new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`),
  );
  return readdirSync(folder).filter((name) => !ignored.some((pattern) => pattern.test(name)));
}
