import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contextNames, parseDockerfile } from './dockerfile.mjs';

describe('scripts/image/docker-steps.mjs', () => {
  it('parses a Dockerfile into stages and steps', () => {
    const text = [
      ...['FROM a AS build', '# comment', 'COPY --from=x --chown=me "a b" ./', 'RUN one \\', ' && two'],
      ...['FROM b', 'ENV A=1 \\', '    B="c d"'],
    ].join('\n');
    const [build, image, ...others] = parseDockerfile(text);

    expect(others).toEqual([]);
    expect(build).toMatchObject({
      name: 'build',
      steps: [
        { instruction: 'COPY', flags: { from: 'x', chown: 'me' }, words: ['a b', './'] },
        { instruction: 'RUN', text: 'one  && two' },
      ],
    });
    expect(image).toMatchObject({ name: 'image', steps: [{ instruction: 'ENV', words: ['A=1', 'B=c d'] }] });
  });

  it('has in the context of the image what the build reads', () => {
    const names = contextNames(join(import.meta.dirname, '..', '..'));
    for (const name of ['config', 'docs', 'lua', 'packages', 'scripts', 'src']) expect(names).toContain(name);
  });

  it('lists the files of a folder without those of .dockerignore, and refuses a pattern with an exclamation mark', () => {
    const folder = mkdtempSync(join(tmpdir(), 'pumphouse-context-'));
    try {
      for (const name of ['src', 'test', 'a.log', 'alog']) writeFileSync(join(folder, name), '');
      writeFileSync(join(folder, '.dockerignore'), '.dockerignore\ntest\n*.log\n');
      expect(contextNames(folder).sort()).toEqual(['alog', 'src']);
      writeFileSync(join(folder, '.dockerignore'), '!src\n');
      expect(() => contextNames(folder)).toThrow('!src is not understood');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
