import { Command, CommanderError, Help } from 'commander';
import { version } from '#src/domain/version';
import { accountCommand } from './commands/account-command.js';
import { auditCommand } from './commands/audit-command.js';
import { benchCommand } from './commands/bench-command.js';
import { COMPLETE, completeCommand, completionCommand } from './commands/completion-command.js';
import { deadCommand } from './commands/dead-command.js';
import { doctorCommand } from './commands/doctor-command.js';
import { formatCommand } from './commands/format-command.js';
import { importCommand } from './commands/import-command.js';
import { jobCommand } from './commands/job-command.js';
import { limitCommand } from './commands/limit-command.js';
import { loginCommand, logoutCommand } from './commands/login-command.js';
import { loopCommand, loopsCommand } from './commands/loop-command.js';
import { namespaceCommand, namespacesCommand } from './commands/namespace-command.js';
import { operationCommand } from './commands/operation-command.js';
import { poolCommand, poolsCommand } from './commands/pool-command.js';
import { EXIT, failureJson, failureOf, failureText } from './failures.js';
import type { Output } from './print.js';
import { quotaCommand } from './commands/quota-command.js';
import { queueCommand } from './commands/queue-command.js';
import { recurringCommand } from './commands/recurring-command.js';
import { serve } from './serve.js';
import { environmentOptions, openSession, type OpenSession, withConnectionOptions } from './session.js';
import { statsCommand } from './commands/stats-command.js';
import { tailCommand } from './commands/tail-command.js';
import { targetCommand } from './commands/target-command.js';
import { tokenCommand } from './commands/token-command.js';
import { variableCommand } from './commands/variable-command.js';
import { whyCommand } from './commands/why-command.js';
import { workerCommand } from './commands/worker-command.js';

/** Commands that call no server, or have those options of their own. */
const NO_CALLS = ['serve', 'import-lmstfy', 'login', 'logout', 'completion', 'hash', COMPLETE];
/** Names of earlier versions. */
const OLD_NAMES = new Map([
  ['ls', 'list'],
  ['show', 'get'],
  ['rm', 'delete'],
]);
const EXAMPLES = `
Examples:
  pumphouse serve -c /etc/pumphouse.toml
  pumphouse token create mail --description "the mailer"
  pumphouse login --namespace mail
  pumphouse job publish mail '{"to":"ada@example.com"}'
  pumphouse queue ls
  pumphouse dead respawn --queue mail
  pumphouse tail --queue mail
  pumphouse doctor

Exit status: 0 done, 1 refused by the server, 2 wrong usage or no answer.

Connection options override their environment variables, and these override what \`pumphouse login\`
stored.`;

/**
 * Runs one command line.
 *
 * @param args without the program's name
 * @returns the exit code
 */
export async function run(args: readonly string[], output: Output): Promise<number> {
  const isJson = args.includes('--json');
  try {
    await program(output, isJson).parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    const failure = failureOf(error);
    if (!failure) throw error;
    if (failure.exit === EXIT.ok) return EXIT.ok;
    if (isJson) output.err(failureJson(failure));
    // Commander has already printed its own errors.
    else if (!(error instanceof CommanderError)) output.err(failureText(failure));
    return failure.exit;
  }
}

/** All commands. @param isJson errors are printed as JSON, by the caller */
export function program(output: Output, isJson = false): Command {
  const root = new Command('pumphouse')
    .description('Runs a Pumphouse server, or manages one through its API and its admin port.')
    .version(version.number, '-V, --version', 'print the version')
    .configureOutput({ writeOut: output.out, writeErr: output.err })
    .enablePositionalOptions()
    .configureHelp(HELP)
    .showHelpAfterError(isJson ? false : '(see --help)')
    .addHelpText('after', EXAMPLES);
  for (const option of environmentOptions()) root.addOption(option);
  withConnectionOptions(root);
  const open: OpenSession = (command) => openSession(command, output);
  const groups: readonly (readonly [heading: string, ...commands: Command[]])[] = [
    ['Server:', serveCommand(), doctorCommand(open), benchCommand(open), importCommand(output)],
    [
      'Jobs and queues:',
      jobCommand(open),
      queueCommand(open),
      deadCommand(open),
      recurringCommand(open),
      operationCommand(open),
      whyCommand(open),
      variableCommand(open),
    ],
    ['Push and workers:', targetCommand(open), workerCommand(open)],
    ['Monitoring:', statsCommand(open), tailCommand(open)],
    [
      'Access:',
      accountCommand(output),
      auditCommand(open),
      tokenCommand(open),
      limitCommand(open),
      quotaCommand(open),
      namespaceCommand(open),
    ],
    ['Operation:', poolCommand(open), formatCommand(open), loopCommand(open)],
    ['This program:', loginCommand(output), logoutCommand(output), completionCommand(output)],
  ];
  for (const [heading, ...commands] of groups) {
    for (const command of commands) root.addCommand(command.helpGroup(heading));
  }
  const hidden = [
    ...[completeCommand(output), poolsCommand('pools', open), loopsCommand('loops', open)],
    namespacesCommand('info', open),
  ];
  for (const command of hidden) root.addCommand(command, { hidden: true });
  for (const command of everyCommand(root)) {
    command.copyInheritedSettings(root);
    const oldName = OLD_NAMES.get(command.name());
    if (oldName !== undefined) command.alias(oldName);
    command
      .exitOverride(({ exitCode, code, message }) => {
        throw new CommanderError(exitCode, code, withMeantOptions(command, message));
      })
      .configureOutput({
        outputError: (text, write) =>
          isJson ? undefined : write(`${withMeantOptions(command, text.trimEnd())}\n`),
      });
    const isCall = command !== root && command.commands.length === 0 && !NO_CALLS.includes(command.name());
    if (isCall) withConnectionOptions(command);
  }
  return root;
}

/** Suggests the options that begin with an unknown one. Commander by itself suggests only misspelt ones. */
function withMeantOptions(command: Command, message: string): string {
  const [problem, given] = /^.*unknown option '(--[^']+)'/.exec(message) ?? [];
  if (given === undefined) return message;
  const visible = command.createHelp().visibleOptions(command);
  const meant = visible.flatMap(({ long }) => (long?.startsWith(given) === true ? [long] : []));
  if (meant.length === 0) return message;
  return `${problem}\n(Did you mean ${meant.length === 1 ? '' : 'one of '}${meant.join(', ')}?)`;
}

/** Old names of commands are aliases: they work, and no help shows them. */
const HELP = {
  subcommandTerm: (command: Command): string => withoutAlias(command, (help) => help.subcommandTerm(command)),
  commandUsage: (command: Command): string => withoutAlias(command, (help) => help.commandUsage(command)),
};

function withoutAlias(command: Command, write: (help: Help) => string): string {
  const [alias] = command.aliases();
  const text = write(new Help());
  return alias === undefined ? text : text.replace(`${command.name()}|${alias}`, command.name());
}

/** A command and all below it. */
export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

function serveCommand(): Command {
  return new Command('serve')
    .description('run a server; it gets all options')
    .argument('[options...]', '-c FILE: its configuration; --check-config, --print-default-config, -v')
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args: string[]) => serve(args));
}
