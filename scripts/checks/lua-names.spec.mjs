import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { moduleOf, wrongNamesIn } from './lua-names.mjs';

const LUA = join(import.meta.dirname, '..', '..', 'lua');
const read = (path) => readFileSync(join(LUA, path), 'utf8');
const filesIn = (folder) =>
  readdirSync(join(LUA, folder), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.lua'),
  );
const modules = new Map(
  filesIn('modules').map((path) => [path.replace('.lua', ''), moduleOf(read(join('modules', path)))]),
);

describe('names in Lua files', () => {
  it.each(['commands', 'modules'])('have their module in front, in lua/%s', (folder) => {
    const wrong = filesIn(folder).flatMap((path) =>
      wrongNamesIn(read(join(folder, path)), modules).map((what) => `${folder}/${path}: ${what}`),
    );
    expect(wrong).toEqual([]);
  });

  it('are compared byte by byte: Redis compares texts by the locale in which it was started', () => {
    const wrong = ['commands', 'modules'].flatMap((folder) =>
      filesIn(folder).flatMap((path) =>
        read(join(folder, path))
          .split('\n')
          .filter((line) =>
            /(?<!["\w-])(?:\w+\.)*(?:id|name|type|member) *[<>](?!")/u.test(line.replace(/--.*/u, '')),
          )
          .map((line) => `${folder}/${path}: ${line.trim()}`),
      ),
    );
    expect(wrong).toEqual([]);
  });

  it.each([
    [
      'a function alone',
      '--- @requires leases/claims\ntake_back(job)',
      ['take_back is of leases/claims: claims.take_back'],
    ],
    [
      'one that another module brings',
      '--- @requires leases/claims\nlocal a = leave',
      ['leave is of extended/moves: moves.leave'],
    ],
    [
      'a variable with the name of a module',
      '--- @requires leases/claims\nlocal claims = 1',
      ['a variable is called as the module leases/claims'],
    ],
    ['a function with its module', '--- @requires leases/claims\nclaims.take_back(job)', []],
    ['a function of core alone', '--- @requires core/call\ntouch(key)', []],
    ['a function that is called as its module', '--- @requires extended/commit\ncommit(expiries)', []],
    ['a field of the same name', '--- @requires leases/claims\nlocal a = b.take_back', []],
  ])('are checked: %s', (_what, code, wrong) => {
    expect(wrongNamesIn(`${code}\n`, modules)).toEqual(wrong);
  });
});
