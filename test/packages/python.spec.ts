import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasProgram, ROOT, run } from '../support/packed.js';

const LIMIT_MS = 600_000;
const PYTHON = join(ROOT, 'packages', 'python');
/** No index, no cache, no configuration: what pip cannot find here it cannot have. */
const OFFLINE = {
  ...{ PIP_NO_INDEX: '1', PIP_CONFIG_FILE: '/dev/null', PIP_NO_CACHE_DIR: '1', PIP_FIND_LINKS: '' },
  ...{ PIP_EXTRA_INDEX_URL: '', PIP_CONSTRAINT: '', PIP_DISABLE_PIP_VERSION_CHECK: '1' },
};

/** Debian has what a virtual environment needs in packages of its own. */
const hasVenv = hasProgram('pip3') && spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0;

(hasVenv ? describe : describe.skip)('the Python package', () => {
  let dir: string;
  let source: string;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'pumphouse-pip-'));
    // A copy: the build must leave nothing behind in it.
    source = join(dir, 'python');
    cpSync(PYTHON, source, { recursive: true, filter: (path) => !path.endsWith('__pycache__') });
    await run('python3', ['-m', 'venv', join(dir, 'venv')], dir);
    await python('-m', 'pip', 'uninstall', '-q', '-y', 'setuptools', 'wheel');
  }, LIMIT_MS);
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const python = (...argv: string[]): Promise<string> =>
    run(join(dir, 'venv', 'bin', 'python'), argv, dir, OFFLINE);
  const version = async (): Promise<string> =>
    (await python('-c', 'import pumphouse, pumphouse.aio; print(pumphouse.__version__)')).trim();
  const expected = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string })
    .version;

  it(
    'is installed by pip without a network and without other packages, from its folder or its archive',
    async () => {
      // Python itself keeps compiled modules beside their sources.
      const filesOf = (): string[] =>
        readdirSync(source, { recursive: true, encoding: 'utf8' })
          .filter((name) => !name.includes('__pycache__'))
          .sort();
      const files = filesOf();
      await python('-m', 'pip', 'install', '-q', './python');
      expect(await version()).toBe(expected);
      expect(filesOf()).toEqual(files);
      const shown = await python('-m', 'pip', 'show', '-f', 'pumphouse');
      expect(shown).toContain(`Version: ${expected}`);
      expect(shown).toContain('pumphouse/py.typed');
      await python('-m', 'pip', 'check');

      const code = `import sys; sys.path[:0] = ["python/backend"]; import pure_backend; print(pure_backend.build_sdist("."))`;
      const archive = (await python('-B', '-c', code)).trim();
      await python('-m', 'pip', 'install', '-q', '--force-reinstall', archive);
      expect(await version()).toBe(expected);
      await python('-m', 'pip', 'uninstall', '-q', '-y', 'pumphouse');
      await expect(version()).rejects.toThrow('No module named');
    },
    LIMIT_MS,
  );

  it(
    'is installed by pip for development: a change of its folder counts at once',
    async () => {
      await python('-m', 'pip', 'install', '-q', '-e', './python');
      const file = await python('-c', 'import pumphouse; print(pumphouse.__file__)');
      expect(file.trim()).toBe(join(source, 'src', 'pumphouse', '__init__.py'));
      expect(existsSync(join(source, 'build'))).toBe(false);
    },
    LIMIT_MS,
  );
});
