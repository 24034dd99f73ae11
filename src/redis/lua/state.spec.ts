import { withReset } from './state.js';

const bodyOf = (body: string, exports: readonly string[] = []): string =>
  withReset({ name: 'm', exports, requires: [], body }).body;

describe('a module in a Lua library', () => {
  it('is loaded with its functions once, and sets its variables at the beginning of each call', () => {
    expect(
      bodyOf(
        '-- Known.\n\n-- By id.\nlocal seen, last = {}, 0\nlocal open\nfunction f()\n  return seen\nend\n',
      ),
    ).toBe(
      'local seen, last\nlocal open\nfunction f()\n  return seen\nend\n' +
        'resets[#resets + 1] = function()\nseen, last = {}, 0\nopen = nil\nend\n',
    );
  });

  it('is loaded with constants once, and computes values of functions in each call', () => {
    expect(bodyOf('local WAYS = { a = 1 }\nlocal EMPTY = string.rep("x", 2)\n')).toBe(
      'local WAYS = { a = 1 }\nlocal EMPTY\nresets[#resets + 1] = function()\nEMPTY = string.rep("x", 2)\nend\n',
    );
  });

  it('begins each call without the exported values of an earlier call', () => {
    expect(bodyOf('jobs = {}\nfunction now()\n  clock = 1\nend\n', ['jobs', 'now', 'clock'])).toBe(
      'function now()\n  clock = 1\nend\nresets[#resets + 1] = function()\nclock = nil\njobs = {}\nend\n',
    );
  });

  it('runs its other statements in each call', () => {
    expect(bodyOf('local sum = 0\nfor i = 1, 3 do\n  sum = sum + i\nend\n')).toBe(
      'local sum\nresets[#resets + 1] = function()\nsum = 0\nfor i = 1, 3 do\n  sum = sum + i\nend\nend\n',
    );
  });
});
