import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contextFile, deleteContext, readContext, writeContext } from './context.js';

describe('the file of a login', () => {
  let folder: string;

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'pumphouse-context-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is in XDG_CONFIG_HOME, else in ~/.config', () => {
    expect(contextFile('/etc/xdg', () => '/home/ada')).toBe('/etc/xdg/pumphouse/context.json');
    expect(contextFile('', () => '/home/ada')).toBe('/home/ada/.config/pumphouse/context.json');
  });

  it.each([
    ['has no entry in the list of users', () => raise(new Error('ENOENT: uv_os_homedir'))],
    ['has an empty HOME', () => ''],
  ])('is missing for a user that %s, and a login is refused with the remedy', (_what, home) => {
    const file = contextFile(undefined, home);
    expect(file).toBeUndefined();
    expect(readContext(file)).toEqual({});
    expect(deleteContext(file)).toBe(false);
    expect(() => writeContext(file, { token: 'x' })).toThrow(
      /^there is no home folder to store the login in\. Set XDG_CONFIG_HOME .* PUMPHOUSE_TOKEN/,
    );
  });

  it('is missing if the home folder is a file', () => {
    const home = join(folder, 'home');
    writeFileSync(home, '');
    const file = contextFile(undefined, () => home);
    expect(readContext(file)).toEqual({});
    expect(deleteContext(file)).toBe(false);
    expect(() => writeContext(file, { token: 'x' })).toThrow(
      /^cannot write \S+context\.json: its folder cannot be created\. Set XDG_CONFIG_HOME to a folder/,
    );
  });

  it('names the reason if it is a folder, or other users can read it, or it loops', () => {
    const file = join(folder, 'pumphouse', 'context.json');
    mkdirSync(file, { recursive: true, mode: 0o700 });
    expect(() => readContext(file)).toThrow(`cannot use ${file}: it is a folder`);
    rmSync(file, { recursive: true });
    writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]), { mode: 0o600 });
    expect(() => readContext(file)).toThrow(`cannot use ${file}: it is not UTF-8 (line 1)`);
    chmodSync(file, 0o644);
    expect(() => readContext(file)).toThrow('other users can read it. Run: chmod 600');
    rmSync(file);
    symlinkSync(file, file);
    expect(() => readContext(file)).toThrow(`cannot use ${file}: ELOOP`);
  });
});

function raise(error: Error): never {
  throw error;
}
