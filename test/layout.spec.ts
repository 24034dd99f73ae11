import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
/** Files in one folder that a reader can take in at once. Specs do not count. */
const MOST = 20;
const SPEC = /\.spec\.m?ts$/;

describe('the layout of the sources', () => {
  it.each(['src', 'lua', 'packages/client/src'])(`%s: no folder has more than ${MOST} files`, (root) => {
    const counts = new Map<string, number>();
    for (const { isFile, name, folder } of filesBelow(root))
      if (isFile && !SPEC.test(name)) counts.set(folder, (counts.get(folder) ?? 0) + 1);

    expect(counts.size).toBeGreaterThan(3);
    expect([...counts].filter(([, count]) => count > MOST)).toEqual([]);
  });
});

function filesBelow(root: string): { isFile: boolean; name: string; folder: string }[] {
  return readdirSync(join(ROOT, root), { recursive: true, withFileTypes: true }).map((entry) => ({
    isFile: entry.isFile(),
    name: entry.name,
    folder: entry.parentPath,
  }));
}
