import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { ConsoleFiles } from './console-files.js';

describe('the files of the console', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'pumphouse-console-'));
    mkdirSync(join(folder, 'page', 'assets'), { recursive: true });
    writeFileSync(join(folder, 'secret.txt'), 'secret');
    writeFileSync(join(folder, 'page', 'index.html'), '<!doctype html>');
    writeFileSync(join(folder, 'page', 'assets', 'index-1a2b.js'), 'start();');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('are served by their names, with type, ETag and a compressed form', () => {
    const files = new ConsoleFiles(join(folder, 'page'));
    const page = files.file('');
    const script = files.file('assets/index-1a2b.js');
    expect(page).toMatchObject({ type: 'text/html; charset=utf-8', isHashed: false });
    expect(script).toMatchObject({ type: 'text/javascript; charset=utf-8', isHashed: true });
    expect(brotliDecompressSync(script!.brotli).toString()).toBe('start();');
    expect(page!.etag).not.toBe(script!.etag);
    expect(files.file('index.html')).toBe(page);
  });

  it.each([
    '../secret.txt',
    'assets/../../secret.txt',
    '/etc/passwd',
    'assets',
    'assets/',
    'unknown.js',
    '..',
  ])('do not contain %s', (name) => {
    expect(new ConsoleFiles(join(folder, 'page')).file(name)).toBeUndefined();
  });

  it('report a build without the console', () => {
    const files = new ConsoleFiles('');
    expect([files.isThere, files.file('')]).toEqual([false, undefined]);
  });
});
