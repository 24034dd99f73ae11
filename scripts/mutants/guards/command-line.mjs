const FILE = 'src/cli/bulk.ts';
const SPEC = 'src/cli/bulk.spec.ts';
const TLS = 'test/api/tls.spec.ts';

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
  {
    name: 'command line: JSON has no progress bar',
    file: 'src/cli/session.ts',
    from: 'progressTo: isJson ? undefined : output.progressTo,',
    to: 'progressTo: output.progressTo,',
    spec: 'src/cli/jobs.spec.ts',
    test: 'draws the progress of a purge',
  },
  {
    name: 'command line: the API is called with the CA that was given',
    file: 'src/cli/session.ts',
    from: '    tls: tlsOf(filesOf(given, context)),',
    to: '    tls: {},',
    spec: TLS,
    test: 'trusts the CA of',
  },
  {
    name: 'command line: a stored CA is for its server only',
    file: 'src/cli/session.ts',
    from: 'isSameServer(given.admin, kept.admin ?? DEFAULT_ADMIN) ? kept : {}',
    to: 'kept',
    spec: TLS,
    test: 'keeps the CA at login',
  },
  {
    name: 'command line: a file that is no certificate is refused',
    file: 'src/config/pem-files.ts',
    from: 'else new X509Certificate(text);',
    to: '',
    spec: TLS,
    test: 'trusts the CA of',
  },
  {
    name: 'command line: events are read with the CA that was given',
    file: 'packages/client/src/transport/node-transport.ts',
    from: 'agent: false, ...tls',
    to: 'agent: false',
    spec: TLS,
    test: 'prints the events',
  },
  {
    name: 'command line: a dry run compares the offset of an interval',
    file: 'src/cli/recurring-changes.ts',
    from: 'return { ...fields, offsetMs: offsetMs ?? 0 };',
    to: 'return fields;',
    spec: 'src/cli/commands/recurring-command.spec.ts',
    test: 'says what would change',
  },
  {
    name: 'command line: a dry run knows the defaults of a recurring job',
    file: 'src/cli/recurring-changes.ts',
    from: "overlap: overlap ?? 'allow',",
    to: 'overlap,',
    spec: 'src/cli/commands/recurring-command.spec.ts',
    test: 'says which entries would stay',
  },
  {
    name: 'engine: an error shows no URL of a Redis that is none',
    file: 'src/redis/pool.ts',
    from: 'if (problem !== null) throw new TypeError',
    to: "if (problem === '') throw new TypeError",
    spec: 'test/worker/secrets.spec.ts',
    test: 'shows no password',
  },
];
