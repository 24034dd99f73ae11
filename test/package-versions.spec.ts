import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}
const manifestOf = (path: string): Manifest => JSON.parse(read(path)) as Manifest;

const { version = '' } = manifestOf('package.json');
const manifests = [
  'package.json',
  'examples/node/package.json',
  ...readdirSync(join(ROOT, 'packages'))
    .map((name) => `packages/${name}`)
    .filter((folder) => readdirSync(join(ROOT, folder)).includes('package.json'))
    .map((folder) => `${folder}/package.json`),
];

describe('the version of the server', () => {
  it.each(manifests)('is that of the packages in %s', (path) => {
    const manifest = manifestOf(path);
    const own = Object.entries(manifest.dependencies ?? {}).filter(([name]) =>
      /^(?:@pumphouse\/|pumphouse$)/.test(name),
    );
    if (path !== 'examples/node/package.json') expect(manifest.version).toBe(version);
    expect(own.filter(([, range]) => range !== `^${version}`)).toEqual([]);
  });

  it.each([
    ['packages/client/src/version.ts', /VERSION = '(.*)'/],
    ['packages/python/pyproject.toml', /^version = "(.*)"$/m],
    ['packages/python/src/pumphouse/_version.py', /^__version__ = "(.*)"$/m],
    ['packages/go/doc.go', /Version = "(.*)"/],
    ['examples/go/go.mod', /packages\/go v(.*)$/m],
  ])('is that of %s', (path, pattern) => expect(pattern.exec(read(path))?.[1]).toBe(version));

  it('is that of the newest section of the changelog', () => {
    const [, heading = '', text = ''] = /^## \[(.*?)\].*?$\n(.*?)^##/ms.exec(read('CHANGELOG.md')) ?? [];
    const named = heading === 'Unreleased' ? /This will be ([\d.]+\d)/.exec(text)?.[1] : heading;
    expect(named).toBe(version);
  });

  it('is in the status of the README, without the patch', () => {
    const [, status = ''] = /^\*\*Status:\*\* ([\d.]+),/m.exec(read('README.md')) ?? [];
    expect(`${status}.`).toBe(version.replace(/\d+$/, ''));
  });
});
