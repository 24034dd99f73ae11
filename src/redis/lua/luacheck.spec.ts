import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { assembleLibrary, assembleScript } from './loader.js';

const LUA_DIR = join(import.meta.dirname, '..', '..', '..', 'lua');
/** Debian's package lua-check. Where it is not installed, the scripts are checked by nothing but Redis. */
const isInstalled = spawnSync('luacheck', ['--version']).status === 0;

function luaFiles(folder: string): string[] {
  const paths = readdirSync(join(LUA_DIR, folder), { recursive: true, encoding: 'utf8' });
  return paths.filter((path) => path.endsWith('.lua')).map((path) => path.replace('.lua', ''));
}

/** A command that has one module and uses all of its exports: a name that the module has from nowhere is a global there. */
function alone(module: string): string {
  const text = readFileSync(join(LUA_DIR, 'modules', `${module}.lua`), 'utf8');
  const exports = [...text.matchAll(/^--- @exports (.+)$/gm)].map(([, list = '']) => list);
  const command = `--[[\n]]\n\n--- @requires ${module}\n\nreturn { ${exports.join(', ')} }\n`;
  return assembleScript('alone', {}, (path) =>
    path === 'commands/alone' ? command : readFileSync(join(LUA_DIR, `${path}.lua`), 'utf8'),
  );
}

(isInstalled ? describe : describe.skip)('luacheck', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'pumphouse-luacheck-'));
    const write = (path: string, text: string): void => {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      writeFileSync(join(folder, `${path}.lua`), text);
    };
    for (const command of luaFiles('commands')) {
      write(command, assembleScript(command));
      const library = assembleLibrary(command, () => 'checked');
      if (library !== null) write(`libraries/${command}`, library.text);
    }
    for (const module of luaFiles('modules')) write(`modules/${module}`, alone(module));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('finds no globals, unused names or shadowed names in Lua scripts, libraries and modules', () => {
    const options = ['--config', join(LUA_DIR, '.luacheckrc'), '--codes', '--quiet', '--no-color'];
    const { status, stdout } = spawnSync('luacheck', [...options, '.'], { cwd: folder, encoding: 'utf8' });
    expect({ status, stdout: status === 0 ? '' : stdout }).toEqual({ status: 0, stdout: '' });
  });
});
