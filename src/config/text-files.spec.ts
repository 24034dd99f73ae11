import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileProblem, readTextFile } from './text-files.js';

describe('a text file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pumphouse-text-'));
  const file = join(folder, 'file');
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is read without its byte order mark', () => {
    writeFileSync(file, '\ufeffGrüße\n');
    expect(readTextFile(file)).toBe('Grüße\n');
  });

  it.each([
    ['Latin-1', Buffer.from('a\nb\nGr\xfc\xdfe\n', 'latin1'), 'it is not UTF-8 (line 3)'],
    ['a cut off character', Buffer.from([0x61, 0xc3]), 'it is not UTF-8 (line 1)'],
    ['UTF-16 of PowerShell', Buffer.from('\ufeff[server]', 'utf16le'), 'it is UTF-16, not UTF-8'],
  ])('is refused in another encoding: %s', (_what, bytes, problem) => {
    writeFileSync(file, bytes);
    expect(() => readTextFile(file)).toThrow(problem);
  });

  it('says in words why it cannot be read', () => {
    const problemOf = (path: string): string => {
      try {
        return readTextFile(path);
      } catch (error) {
        return fileProblem(error);
      }
    };
    expect(problemOf(join(folder, 'none'))).toBe('there is no such file');
    expect(problemOf(join(file, 'below'))).toBe('there is no such file');
    expect(problemOf(folder)).toBe('it is a folder');
  });
});
