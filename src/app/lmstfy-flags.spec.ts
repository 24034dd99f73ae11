import { withoutLmstfyFlags } from './lmstfy-flags.js';

describe("lmstfy's start flags", () => {
  it.each([
    ['-c FILE -bt debug -sv', '-c FILE', ['-bt', '-sv']],
    ['-sv -bt=debug -p running.pid -c=FILE', '-c FILE', ['-sv', '-bt', '-p']],
    ['--sv=true --bt info --c=FILE', '-c FILE', ['-sv', '-bt']],
    ['--c FILE --sv', '-c FILE', ['-sv']],
    ['--c FILE -c=FILE', '-c FILE -c FILE', []],
    ['--v', '-v', []],
    ['-c FILE --check-config', '-c FILE --check-config', []],
    ['--config FILE -v', '--config FILE -v', []],
    ['-c bt', '-c bt', []],
    ['-bt', '', ['-bt']],
    ['-toString -x', '-toString -x', []],
  ])(
    'are removed from the arguments %j with a warning for each flag, and other arguments stay',
    (given, left, flags) => {
      const { args, warnings } = withoutLmstfyFlags(given.split(' '));

      expect(args.join(' ')).toBe(left);
      expect(warnings.map((line) => line.split(' ', 1)[0])).toEqual(flags);
    },
  );

  it('cause a warning for -sv that every call needs its token', () => {
    expect(withoutLmstfyFlags(['-sv']).warnings).toEqual([
      '-sv of lmstfy has no effect here: every call needs its token',
    ]);
  });
});
