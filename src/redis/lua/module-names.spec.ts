import { shortName, withoutModuleNames } from './module-names.js';

const CLAIMS = { name: 'leases/claims', exports: ['take_back', 'limit'], requires: [], body: '' };

describe('names of modules in Lua code', () => {
  it.each([
    ['a call', 'claims.take_back(job)', 'take_back(job)'],
    ['a variable', 'local a = claims.limit + 1', 'local a = limit + 1'],
    ['an assignment', 'claims.limit = 2', 'limit = 2'],
    [
      'a call between texts in single quotes',
      `'{"a":"' .. claims.take_back(x) .. '"}'`,
      `'{"a":"' .. take_back(x) .. '"}'`,
    ],
    ['behind a comment in a line', '--[[ guard: x ]] claims.limit', '--[[ guard: x ]] limit'],
  ])('are taken away: %s', (_what, code, plain) => {
    expect(withoutModuleNames(code, [CLAIMS])).toBe(plain);
  });

  it.each([
    ['a name that the module does not export', 'claims.other(job)'],
    ['a module that the file does not require', 'moves.take_back(job)'],
    ['a field of another table', 'a.claims.take_back(job)'],
    ['a text', 'local a = "claims.take_back"'],
    ['a comment', '-- claims.take_back'],
  ])('stay: %s', (_what, code) => {
    expect(withoutModuleNames(code, [CLAIMS])).toBe(code);
  });

  it('are the last part of their paths', () => {
    expect(['leases/claims', 'alone'].map(shortName)).toEqual(['claims', 'alone']);
  });
});
