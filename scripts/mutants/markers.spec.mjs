import { markersOf, switchOff, unitsOf } from './markers.mjs';

const TYPESCRIPT = `
export function settle(job: Job, lease: number): boolean {
  // guard: fence
  if (job.lease !== lease) return false;
  const isLate = /* guard: clock */ now() > job.ends || /* guard: ended */ job.isEnded;
  // guard: undo
  undo(job, [
    // guard: first
    one,
    two,
  ]);
  if (/* guard: twice */ isOne(job) && /* guard: twice */ isTwo(job)) log();
  else /* guard: all */ log({ /* guard: named */ a: 1 }, \`a\${/* guard: part */ b}b\`);
  return /* guard: encoded */ encode(job) && !isLate;
}
`;
const LUA = `
-- guard: touch
redis.call("EXISTS", key)
local is_held = --[[ guard: held ]] state == LEASED or (--[[ guard: tried ]] state == READY and attempts > 0)
-- guard: fence
if lease ~= present then
  return 2
end
return --[[ guard: parens ]] (a or b) and c
`;
const PYTHON = `
def run(self):
    # guard: alone
    if job is None:
        return
    # guard: settle
    self.settle(
        job,
        "}",
    )
    done()
`;
const GO = `
func run() {
	// guard: bound
	if err := read(); err != nil {
		return
	}
	// guard: close
	close(a,
		b)
}
`;
const off = (file, text, id, way) => switchOff(file, text, id, way).replaceAll(/\s+/gu, ' ');

describe('markers of guards', () => {
  it('are found with their ids', () => {
    expect(markersOf(LUA).map(({ id }) => id)).toEqual(['touch', 'held', 'tried', 'fence', 'parens']);
  });

  it.each([
    ['fence', 'true', 'if (true) return false;'],
    ['fence', 'remove', '// guard: fence ; const'],
    ['clock', 'remove', 'const isLate = /* guard: clock */ job.isEnded;'],
    ['clock', 'false', '/* guard: clock */ false || /* guard: ended */ job.isEnded'],
    ['ended', 'remove', 'const isLate = /* guard: clock */ now() > job.ends;'],
    ['undo', 'remove', '// guard: undo ; if'],
    ['first', 'remove', '[ // guard: first two, ]'],
    ['encoded', 'unwrap', 'return /* guard: encoded */ job && !isLate'],
    ['encoded', { with: "''" }, "return /* guard: encoded */ '' && !isLate"],
    ['encoded', { with: '[$&, $&]' }, '[encode(job), encode(job)] && !isLate'],
    ['undo', { replace: 'log(); $&' }, '// guard: undo log(); undo(job, ['],
    ['first', { behind: 1 }, '[ // guard: first two, one, ]'],
    ['all', 'remove', 'else /* guard: all */ ;'],
    ['named', 'remove', 'log({ /* guard: named */ },'],
    ['named', { replace: 'b' }, 'log({ /* guard: named */ b },'],
    ['part', { with: "''" }, "`a${/* guard: part */ ''}b`"],
    ['twice', 'true', 'if (/* guard: twice */ true && /* guard: twice */ true)'],
  ])('make the expected mutant of TypeScript: the guard %s, switched off by %j', (id, way, expected) => {
    expect(off('a.ts', TYPESCRIPT, id, way)).toContain(expected);
  });

  it.each([
    ['touch', 'remove', '-- guard: touch local'],
    [
      'held',
      'remove',
      'local is_held = --[[ guard: held ]] (--[[ guard: tried ]] state == READY and attempts > 0)',
    ],
    ['tried', 'true', '(--[[ guard: tried ]] true and attempts > 0)'],
    ['fence', 'false', 'if false then return 2 end'],
    ['fence', { behind: 1 }, '-- guard: fence return --[[ guard: parens ]] (a or b) and c if lease'],
    ['parens', 'remove', 'return --[[ guard: parens ]] c'],
    ['parens', 'true', 'return --[[ guard: parens ]] true and c'],
  ])('make the expected mutant of Lua: the guard %s, switched off by %j', (id, way, expected) => {
    expect(off('a.lua', LUA, id, way)).toContain(expected);
  });

  it.each([
    ['a.py', PYTHON, 'alone', 'false', 'if False: return'],
    ['a.py', PYTHON, 'alone', 'remove', '# guard: alone pass # guard: settle'],
    ['a.py', PYTHON, 'settle', 'remove', '# guard: settle pass done()'],
    ['a.go', GO, 'bound', 'false', 'if err := read(); false { return }'],
    ['a.go', GO, 'close', 'remove', '// guard: close }'],
  ])('make the expected mutant of a statement in %s', (file, text, id, way, expected) => {
    expect(off(file, text, id, way)).toContain(expected);
  });

  it('cause an error if the marker is missing or if its code cannot be switched off in the given way', () => {
    expect(() => unitsOf('a.ts', TYPESCRIPT, 'none')).toThrow('has no marker "guard: none"');
    expect(() => switchOff('a.ts', TYPESCRIPT, 'clock', 'unwrap')).toThrow('is for a call');
    expect(() => switchOff('a.ts', TYPESCRIPT, 'first', { behind: 2 })).toThrow('with others behind it');
  });
});
