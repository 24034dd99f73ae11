import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENGINE_SCRIPTS } from '../../src/redis/scripts/simple.js';
import { scriptWithOrigins } from '../../src/redis/scripts/texts.js';
import { lineIn } from '../../src/redis/lua/origins.js';

const ROOT = join(import.meta.dirname, '..', '..');
const files = new Map<string, readonly string[]>();

function sourceAt(origin: string): string {
  const [path = '', line = ''] = origin.split(':');
  if (!files.has(path)) files.set(path, readFileSync(join(ROOT, path), 'utf8').split('\n'));
  return files.get(path)?.[Number(line) - 1] ?? '';
}

/**
 * The words of a line without constants, which the loader replaces by their values, without what stands before a dot, such as the name of a
 * module, which it takes away, and without what it adds to those of a header.
 */
const wordsOf = (line: string): string[] =>
  [...line.replaceAll(/"[^"]*"|(?<![\w.:])(?:\w+\.)+(?=\w)/g, '').matchAll(/\b[a-z_]\w*\b/g)]
    .map(([name = '']) => name)
    .filter((name) => name !== 'local' && name !== 'tonumber');

describe('the origins of the lines of a script', () => {
  it.each(['function', 'script'] as const)(
    'are lines with the same words, for every command as a %s',
    (form) => {
      let [found, all] = [0, 0];
      const wrong: string[] = [];
      for (const { name } of ENGINE_SCRIPTS) {
        const { text, origins } = scriptWithOrigins(name, form);
        for (const [i, line] of text.split('\n').entries()) {
          const origin = origins[i];
          if (
            wordsOf(line).length > 1 &&
            !/^(?:local [\w, ]+|redis.register_function.*|.*\bresets\b.*)$/.test(line)
          ) {
            all++;
            if (origin) found++;
          }
          if (origin && wordsOf(sourceAt(origin)).join(' ') !== wordsOf(line).join(' '))
            wrong.push(`${name}: ${origin}`);
        }
      }
      expect(wrong).toEqual([]);
      expect(found / all).toBeGreaterThan(0.98);
    },
  );

  it('are read in an error of Redis', () => {
    expect(
      lineIn('ERR user_function:30: attempt to index a nil value script: x, on @user_function:30.'),
    ).toBe(30);
    expect(lineIn('WRONGTYPE Operation against a key script: 79, on @user_script:2.')).toBe(2);
    expect(lineIn('ERR unknown command')).toBeNull();
  });
});
