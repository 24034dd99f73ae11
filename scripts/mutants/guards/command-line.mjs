const SPEC = 'packages/cli/src/bulk.spec.ts';
const TLS = 'test/api/tls.spec.ts';

/**
 * The command line: what it changed is never hidden by what failed.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const COMMAND_LINE = [
  {
    id: 'empty-flag-is-null',
    name: 'command line: an empty flag of a nullable field is null',
    off: { with: 'false' },
    spec: 'packages/cli/src/flags.spec.ts',
    test: 'a flag of a field › gives null for an empty text, if the field may be null',
  },
  ...[
    [
      'chosen-token-from-file',
      'a chosen token is read from its file',
      { with: 'token' },
      'reads a chosen token from a file',
    ],
    [
      'admin-port-under-a-path',
      'the path of the admin port is kept',
      { with: "''" },
      'calls an admin port that a proxy serves under a path',
    ],
  ].map(([id, name, off, test]) => ({
    ...{ id, name: `command line: ${name}`, off, spec: 'packages/cli/src/program.spec.ts' },
    test: `the command line with an admin port › ${test}`,
  })),
  {
    id: 'large-numbers-are-not-changed',
    name: 'command line: a number is not changed',
    off: 'true',
    spec: 'packages/cli/src/parse.spec.ts',
    test: 'JSON that is written again without a change › is refused with a number that would be rounded: %s',
  },
  {
    id: 'repeated-options-have-no-secret',
    name: 'command line: no secret of a line is repeated in a remedy',
    off: 'true',
    spec: 'packages/cli/src/jobs.spec.ts',
    test: 'pumphouse job, queue and dead › pumphouse queue › repeats in a remedy how the server was reached, but no secret',
  },
  {
    id: 'cli-ids-take-no-dry-run',
    name: 'command line: a dry run of jobs by their ids changes nothing',
    off: 'remove',
    spec: 'packages/cli/src/operate.spec.ts',
    test: 'operations on the command line › do not begin with ids: --dry-run and --rate are refused, and change nothing',
  },
  {
    id: 'bulk-goes-on-after-an-error',
    name: 'command line: an error of one name does not end the command',
    off: 'true',
    spec: SPEC,
    test: 'changeEach › continues with the next name after a refusal, and fails at the end with the number of failures',
  },
  {
    id: 'cli-ends-without-answer',
    name: 'command line: a server that does not answer ends it',
    off: 'remove',
    spec: SPEC,
    test: 'changeEach › ends at a name for which the server does not answer, and counts the names that were not tried',
  },
  {
    id: 'bulk-fails-at-the-end',
    name: 'command line: a command with an error fails at its end',
    off: 'true',
    spec: SPEC,
    test: 'changeEach › continues with the next name after a refusal, and fails at the end with the number of failures',
  },
  {
    id: 'json-has-no-progress-bar',
    name: 'command line: JSON has no progress bar',
    off: 'false',
    spec: 'packages/cli/src/jobs.spec.ts',
    test: 'pumphouse job, queue and dead › queue purge draws its progress on a terminal, and not with --json',
  },
  {
    id: 'cli-api-ca',
    name: 'command line: the API is called with the given CA',
    off: { with: '{}' },
    spec: TLS,
    test: 'TLS › the command line over TLS › trusts the CA of --ca or PUMPHOUSE_CA, and no other, in calls of the %s',
  },
  {
    id: 'stored-ca-is-of-one-server',
    name: 'command line: a stored CA is for its server only',
    off: 'true',
    spec: TLS,
    test: 'TLS › the command line over TLS › stores the CA at login, and uses it for the same address only',
  },
  {
    id: 'file-must-be-a-certificate',
    name: 'command line: a file that is no certificate is refused',
    off: 'remove',
    spec: TLS,
    test: 'TLS › the command line over TLS › trusts the CA of --ca or PUMPHOUSE_CA, and no other, in calls of the %s',
  },
  {
    id: 'cli-events-ca',
    name: 'command line: events are read with the given CA',
    off: 'remove',
    spec: TLS,
    test: 'TLS › the command line over TLS › prints the events of a server with the given CA',
  },
  {
    id: 'dry-run-compares-the-offset',
    name: 'command line: a dry run compares the offset of an interval',
    off: { with: 'fields' },
    spec: 'packages/cli/src/commands/recurring-command.spec.ts',
    test: 'pumphouse recurring › apply --dry-run › lists the change that apply then makes: %j becomes %j',
  },
  {
    id: 'dry-run-knows-the-defaults',
    name: 'command line: a dry run knows the defaults of a recurring job',
    off: 'remove',
    spec: 'packages/cli/src/commands/recurring-command.spec.ts',
    test: 'pumphouse recurring › apply --dry-run › lists all entries as unchanged for the file that was applied',
  },
  {
    id: 'no-login-in-the-working-folder',
    name: 'command line: an empty HOME is no login in the folder in which it runs',
    off: 'false',
    spec: 'packages/cli/src/context.spec.ts',
    test: 'the file of a login › is missing for a user that %s, and a login is refused with the remedy',
  },
  {
    id: 'argument-must-be-utf-8',
    name: 'command line: an argument that was not UTF-8 is not published',
    off: 'remove',
    spec: 'packages/cli/src/input.spec.ts',
    test: 'input › is refused if it is not UTF-8, with its line',
  },
  {
    id: 'error-hides-the-url',
    name: 'engine: an error does not show the text of an invalid Redis URL',
    off: 'false',
    spec: 'test/worker/secrets.spec.ts',
    test: 'a failed connection › shows no password: %s',
  },
];
