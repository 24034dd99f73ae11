import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const SPEC = /\.spec\.m?ts$/;

describe('the providers of the sources', () => {
  /** The two starts; and `document.ts` reads the routes of an application that is not its own. */
  const START = ['src/app/api-server.ts', 'src/app/admin-server.ts', 'src/openapi/document.ts'];
  /** Nest's `get` with a class, such as `app.get(TokenCache, { strict: false })`. */
  const LOCATOR = /\.get(?:<[^(]*>)?\(\s*[A-Z][A-Za-z]*[a-z]\w*\s*[,)]/;

  it('are connected by injection: only the start of an application reads its context', () => {
    const users = filesBelow('src')
      .filter(({ isFile, name }) => isFile && !SPEC.test(name))
      .map(({ folder, name }) => join(folder, name))
      .filter((path) => LOCATOR.test(readFileSync(path, 'utf8')))
      .map((path) => relative(ROOT, path));
    expect(users.sort()).toEqual(START.sort());
  });
});

describe('the rules of imports', () => {
  /** Files that break one rule each, and the folder that the rule is about. */
  it.each([
    ['src/domain imports lower ranks only', 'src/domain/a.ts', 'src/engine/core/b.ts'],
    ['src/engine/publish imports lower ranks only', 'src/engine/publish/a.ts', 'src/engine/lease/b.ts'],
    ['parts of the engine do not import its root', 'src/engine/lease/a.ts', 'src/engine/engine.ts'],
    ['the Lua loader knows no script', 'src/redis/lua/a.ts', 'src/redis/scripts/b.ts'],
    ['every folder has a rank', 'src/unknown/a.ts', 'src/domain/b.ts'],
    ['the server imports no package', 'src/engine/a.ts', 'packages/engine/src/b.ts'],
    ['the in-process client is for programs', 'packages/engine/src/a.ts', 'src/http/b.ts'],
    ['the command line starts fast', 'packages/cli/src/commands/a.ts', 'src/engine/b.ts'],
    ['the import from lmstfy knows no feature', 'packages/cli/src/import/a.ts', 'src/jobs/b.ts'],
    ['the client needs no package', 'packages/client/src/a.ts', 'src/domain/b.ts'],
  ])('refuse an import that breaks the rule “%s”', (rule, from, to) => {
    const folder = mkdtempSync(join(tmpdir(), 'pumphouse-imports-'));
    const write = (path: string, text: string): void => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    };
    const up = '../'.repeat(from.split('/').length - 1);
    const isOfServer = from.startsWith('packages/') && to.startsWith('src/');
    const imported = isOfServer ? `#${to.replace('.ts', '')}` : `${up}${to.replace('.ts', '.js')}`;
    for (const file of ['tsconfig.json', 'package.json']) write(file, readFileSync(join(ROOT, file), 'utf8'));
    write(from, `import type { B } from '${imported}';\nexport type A = B;\n`);
    write(to, 'export type B = 1;\n');
    // In a built tree `#src/` has a target for Node.js, too: rules are about sources.
    write(to.replace(/^src/, 'dist').replace('.ts', '.js'), 'export {};\n');
    const program = join(ROOT, 'node_modules/.bin/depcruise');
    const config = ['--config', join(ROOT, '.dependency-cruiser.mjs'), '--output-type', 'err-long'];
    const args = [...config, ...['src', 'packages'].filter((name) => existsSync(join(folder, name)))];
    const { status, stdout } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' });
    rmSync(folder, { recursive: true, force: true });

    expect(stdout).toContain(rule);
    expect(status).not.toBe(0);
  });
});

describe('the packages that the product is made of', () => {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ) as Record<'dependencies' | 'devDependencies', Record<string, string>>;

  it.each([
    ['@nestjs/schedule', 'src'],
    ['@nestjs/terminus', 'src'],
    ['@willsoto/nestjs-prometheus', 'src'],
    ['ulid', 'src'],
    ['class-validator', 'src'],
    ['supertest', 'test'],
  ])('are imported only below their folder: %s below %s', (name, root) => {
    expect(Object.keys(root === 'src' ? dependencies : devDependencies)).toContain(name);
    const users = filesBelow(root).filter(
      (file) =>
        file.isFile &&
        file.name.endsWith('.ts') &&
        (root === 'test' || !SPEC.test(file.name)) &&
        readFileSync(join(file.folder, file.name), 'utf8').includes(`from '${name}'`),
    );
    expect(users).not.toEqual([]);
  });

  it('are built by Nest with SWC', () => {
    expect(Object.keys(devDependencies)).toEqual(
      expect.arrayContaining(['@nestjs/cli', '@swc/cli', '@swc/core']),
    );
    expect(JSON.parse(readFileSync(join(ROOT, 'nest-cli.json'), 'utf8'))).toMatchObject({
      compilerOptions: { builder: 'swc' },
    });
  });
});

describe('the page about the architecture', () => {
  const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
  const section = (title: string): string => page.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';

  it('names files that exist', () => {
    const named = [...page.matchAll(/`([\w./-]+\/[\w.-]+\.(?:ts|lua|mjs|json))`/g)].map(
      ([, path = '']) => path,
    );
    expect(named.length).toBeGreaterThan(10);
    expect(
      named.filter(
        (path) => ![path, `src/${path}`, `lua/${path}`].some((one) => existsSync(join(ROOT, one))),
      ),
    ).toEqual([]);
  });

  it('lists each loop of `GET /loops`', () => {
    const loopsOf = (text: string, pattern: RegExp): string[] =>
      [...text.matchAll(pattern)].map(([, name = '']) => name).sort();
    const admin = readFileSync(join(ROOT, 'docs/admin.md'), 'utf8').split('## Background loops')[1] ?? '';
    const loops = loopsOf(admin.split('\n## ')[0] ?? '', /^\| `(\w+)` \|/gm).filter(
      (name) => !name.includes('last_') && !/_(?:at|ms)$/.test(name),
    );
    expect(loopsOf(section('Loops'), /^\| `(\w+)` \|/gm)).toEqual(loops);
  });
});

function filesBelow(root: string): { isFile: boolean; name: string; folder: string }[] {
  return readdirSync(join(ROOT, root), { recursive: true, withFileTypes: true }).map((entry) => ({
    isFile: entry.isFile(),
    name: entry.name,
    folder: entry.parentPath,
  }));
}
