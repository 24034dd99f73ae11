import { readFileSync } from 'node:fs';
import semver from 'semver';

/** The oldest of each line of Node.js that package.json allows and that is maintained. */
const NODES = ['20.19.0', '22.12.0', '24.0.0'];

const { packages } = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'));
/** What `npm ci --omit=dev` installs. */
const installed = Object.entries(packages).filter(
  ([path, { dev }]) => path.startsWith('node_modules/') && !dev,
);

describe('the packages of an installed server', () => {
  it('include @nestjs/core and ioredis, and do not include jest', () => {
    const paths = installed.map(([path]) => path);
    expect(paths).toEqual(expect.arrayContaining(['node_modules/@nestjs/core', 'node_modules/ioredis']));
    expect(paths).not.toContain('node_modules/jest');
  });

  it.each(NODES)('allow Node.js %s in their package.json', (node) => {
    const wrong = installed.filter(([, { engines = {} }]) => !semver.satisfies(node, engines.node ?? '*'));
    expect(wrong.map(([path, { version }]) => `${path} ${version}`)).toEqual([]);
  });

  it('include no compiler and no @nestjs/swagger with --omit=optional', () => {
    const server = installed.filter(([, { devOptional, optional }]) => !devOptional && !optional);
    const names = server.map(([path]) => path.replace(/^.*node_modules\//, ''));
    const compilers = ['typescript', 'esbuild', 'rollup', 'webpack'];
    expect(names.filter((name) => compilers.includes(name) || /^@(swc|babel)\//.test(name))).toEqual([]);
    expect(names).not.toContain('@nestjs/swagger');
  });

  it('have no install scripts', () => {
    expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual(
      [],
    );
  });
});
