import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './run.mjs';

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));

describe('package-lock.json', () => {
  // npm leaves out what the registry in use does not carry, and `npm ci` then refuses the file, on that very machine.
  it('names the programs of every platform, so that npm ci takes it on each', () => {
    const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies),
    );
    expect(wanted).toContain('@swc/core-darwin-arm64');
    expect(wanted.filter((name) => packages[`node_modules/${name}`] === undefined)).toEqual([]);
  });
});
