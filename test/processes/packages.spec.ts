import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { pack, type PackageName, PACKAGES, Project, run } from '../support/packed.js';

const NAMES = Object.keys(PACKAGES) as PackageName[];
const LIMIT_MS = 600_000;

interface Manifest {
  readonly version: string;
  readonly engines: object;
  readonly dependencies?: Record<string, string>;
  readonly exports: Record<string, unknown>;
}
const manifestOf = (name: PackageName): Manifest =>
  JSON.parse(readFileSync(join(PACKAGES[name], 'package.json'), 'utf8')) as Manifest;

it('the command is executable after each build, as npx needs', () => {
  expect(statSync(join(PACKAGES.pumphouse, 'dist', 'cli', 'pumphouse.js')).mode & 0o111).toBe(0o111);
});

describe.each(NAMES)('the package %s', (name) => {
  let tarball: Uint8Array;
  beforeAll(async () => {
    tarball = new Uint8Array(readFileSync(await pack(name)));
  }, LIMIT_MS);

  it('passes publint', async () => {
    const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer as ArrayBuffer } });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  // ESM only: `require` gets an ES module, as Node.js 20.19 and later allow. TypeScript's `node10` knows no exports.
  it('has types beside its code for every ESM resolution', async () => {
    const analysis = await checkPackage(createPackageFromTarballData(tarball));
    if (analysis.types === false) throw new Error('attw found no types');
    const ignored = ['node10', 'node16-cjs'];
    const problems = analysis.problems.filter(
      (problem) => !('resolutionKind' in problem && ignored.includes(problem.resolutionKind)),
    );
    expect(problems).toEqual([]);
    const paths = Object.keys(manifestOf(name).exports).filter((path) => path !== './package.json');
    for (const path of paths) {
      for (const kind of ['node16-esm', 'bundler'] as const) {
        const { resolution } = analysis.entrypoints[path]!.resolutions[kind];
        expect([path, kind, resolution?.fileName]).toEqual([path, kind, expect.stringMatching(/\.d\.ts$/)]);
      }
    }
  });

  it('has 0.8 to 1.1 times the size that CONTRIBUTING.md states', () => {
    const page = readFileSync(join(PACKAGES.pumphouse, 'CONTRIBUTING.md'), 'utf8');
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? '';
    const [packedKb = 0] = row
      .split('|')
      .slice(2)
      .map((cell) => Number(cell.replaceAll(',', '')));
    expect(tarball.length / 1_000).toBeLessThan(packedKb * 1.1);
    expect(tarball.length / 1_000).toBeGreaterThan(packedKb * 0.8);
  });

  it('has the version, the Node.js range and the ranges of dependencies of the server', () => {
    const { version, engines, dependencies = {} } = manifestOf(name);
    const server = manifestOf('pumphouse');
    expect([version, engines]).toEqual([server.version, server.engines]);
    for (const [other, range] of Object.entries(dependencies)) {
      expect([other, range]).toEqual([other, server.dependencies?.[other]]);
    }
  });
});

describe('packages in an empty folder', () => {
  let project: Project;
  beforeEach(() => {
    project = new Project();
  });
  afterEach(() => project.remove());

  it(
    'install the client without dependencies',
    async () => {
      await project.install(['@pumphouse/client']);
      expect(project.installed()).toEqual(['@pumphouse/client']);
      const files = project.files('node_modules/@pumphouse/client');
      expect(files.filter((file) => /\.(ts|map)$/.test(file) && !file.endsWith('.d.ts'))).toEqual([]);
      project.write(
        'use.js',
        `import { Pumphouse } from '@pumphouse/client';
        import { testWorker } from '@pumphouse/client/testing';
        console.log(typeof Pumphouse, typeof testWorker);`,
      );
      expect(await project.node('use.js')).toBe('function function\n');
    },
    LIMIT_MS,
  );

  it(
    'have the command pumphouse, and start a server',
    async () => {
      await project.install(['pumphouse', '@pumphouse/client']);
      const help = await run('npx', ['--no-install', 'pumphouse', '--help'], project.dir);
      expect(help).toContain('serve');
      const { version } = manifestOf('pumphouse');
      for (const command of [
        ['npx', '--no-install', 'pumphouse'],
        ['node', 'node_modules/pumphouse/dist/cli/pumphouse.js'],
      ])
        expect(await run(command[0]!, [...command.slice(1), '--version'], project.dir)).toContain(version);
      project.write(
        'serve.js',
        `import { startTestServer } from '@pumphouse/client/testing';
        import { Pumphouse } from '@pumphouse/client';
        const server = await startTestServer();
        const { id } = await new Pumphouse(server).publish({ queue: 'mail', data: 1 });
        const [document, page] = await Promise.all(
          ['v1/openapi.json', 'docs/swagger-ui-bundle.js'].map((path) => fetch(new URL(path, server.url))),
        );
        console.log(id.length, document.status, page.status);
        await server.stop();`,
      );
      expect(await project.node('serve.js')).toBe('26 200 200\n');
      // Its documentation page needs neither: the second reports installations to others.
      expect(project.installed()).toContain('@nestjs/core');
      for (const name of ['@nestjs/swagger', 'swagger-ui-dist', '@scarf/scarf'])
        expect(project.installed()).not.toContain(name);
    },
    LIMIT_MS,
  );
});
