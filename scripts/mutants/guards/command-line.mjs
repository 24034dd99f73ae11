const FILE = 'src/cli/bulk.ts';
const SPEC = 'src/cli/bulk.spec.ts';

/**
 * The command line: what it changed is never hidden by what failed.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const COMMAND_LINE = [
  {
    name: 'command line: an error of one name does not end the command',
    file: FILE,
    from: 'if (!failure || names.length === 1) throw error;',
    to: 'throw error;',
    spec: SPEC,
    test: 'goes on behind a refusal',
  },
  {
    name: 'command line: a server that does not answer ends it',
    file: FILE,
    from: 'if (failure.exit === EXIT.failed) break;',
    to: '',
    spec: SPEC,
    test: 'ends at a server that does not answer',
  },
  {
    name: 'command line: it fails at the end',
    file: FILE,
    from: 'if (exit === EXIT.ok) return;',
    to: 'if (exit >= EXIT.ok) return;',
    spec: SPEC,
    test: 'goes on behind a refusal',
  },
];
