import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const page = readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8');
const [, walks = ''] = /^## Four walks\n([\s\S]*?)^## /m.exec(page) ?? [];

/** `jobs/fast-path.ts` `take`, `serve`: a file and the functions of it that follow. */
const steps = [...walks.matchAll(/`([\w./-]+\.(?:ts|lua))`((?:(?:,| and)?\s+`\w+`(?!\.))*)/g)].map(
  ([, file = '', functions = '']) => ({
    file,
    functions: [...functions.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  }),
);

function pathOf(file: string): string {
  return join(ROOT, file.endsWith('.lua') ? 'lua' : 'src', file);
}

describe('the walks of docs/architecture.md', () => {
  it('are four', () => {
    expect(walks.match(/^### /gm)).toHaveLength(4);
    expect(steps.length).toBeGreaterThan(40);
  });

  it.each(steps)('name existing files and functions: $file $functions', ({ file, functions }) => {
    expect(existsSync(pathOf(file))).toBe(true);
    const text = readFileSync(pathOf(file), 'utf8');
    const isDeclared = (name: string): boolean =>
      new RegExp(
        `^(?:export )?(?:async )?function ${name}\\b|^  (?:private )?(?:async )?${name}[(<]`,
        'm',
      ).test(text);
    expect(functions.filter((name) => !isDeclared(name))).toEqual([]);
  });
});
