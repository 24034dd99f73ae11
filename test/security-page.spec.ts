import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

describe('docs/security.md', () => {
  const page = readFileSync(join(ROOT, 'docs', 'security.md'), 'utf8');
  const named = [...page.matchAll(/`((?:test|src|scripts)\/[^`:]+\.spec\.(?:ts|mjs))`/g)].map(
    ([, path = '']) => path,
  );

  it('names tests that exist', () => {
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('names a test for each threat', () => {
    const [, table = ''] = page
      .split(/^## /m)
      .filter((part) => part.startsWith('Threats'))[0]!
      .split('|---|---|---|\n');
    const rows = table.split('\n').filter((line) => line.startsWith('|'));
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.filter((row) => !/\.spec\.|the same/.test(row))).toEqual([]);
  });

  it('names the packages with install scripts', () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { hasInstallScript?: boolean }>;
    };
    for (const [path, { hasInstallScript }] of Object.entries(packages))
      if (hasInstallScript === true) expect(page).toContain(`\`${path.replace(/^.*node_modules\//, '')}\``);
  });
});
