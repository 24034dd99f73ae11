import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './run.mjs';

const REGISTRY = 'https://registry.npmjs.org/';
const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));

describe('package-lock.json', () => {
  // npm leaves out what the registry in use does not carry, and `npm ci` then refuses the file, on that very machine.
  it('lists all optional dependencies, also those for other platforms', () => {
    const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies),
    );
    expect(wanted).toContain('@swc/core-darwin-arm64');
    const paths = Object.keys(packages);
    expect(wanted.filter((name) => !paths.some((path) => path.endsWith(`node_modules/${name}`)))).toEqual([]);
  });

  // Install scripts of a package run as the user who installs it. Read a new one first, and name it here and in
  // docs/security.md.
  it('has install scripts only in @parcel/watcher and @swc/core, which a server does not need', () => {
    const scripted = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript === true);
    expect(scripted.map(([path]) => path).sort()).toEqual([
      'node_modules/@parcel/watcher',
      'node_modules/@swc/core',
    ]);
    // Who installs the server alone runs none.
    expect(scripted.filter(([, { dev }]) => dev !== true)).toEqual([]);
  });

  it('has packages of the npm registry only, with SHA-512 digests', () => {
    const all = Object.entries(packages).filter(
      // Our own packages come from this repository.
      ([path, { link }]) => path !== '' && !path.startsWith('packages/') && link !== true,
    );
    const foreign = all.filter(
      ([, { resolved }]) => resolved !== undefined && !resolved.startsWith(REGISTRY),
    );
    expect(foreign.map(([path]) => path)).toEqual([]);
    const unknown = all.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-'));
    const needed = unknown.filter(([, { dev, optional, os }]) => !(dev && optional && os));
    expect(needed.map(([path]) => path)).toEqual([]);
  });
});
