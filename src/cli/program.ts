import { readFileSync } from 'node:fs';
import { isPumphouseError } from '@pumphouse/client';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { AdminClient, Refused, Unreachable } from './admin-client.js';
import type { TlsTrust } from './http-call.js';
import { importCommand } from './import-command.js';
import { limitCommand } from './limit-command.js';
import { loopsCommand } from './loops-command.js';
import { namespaceCommand } from './namespace-command.js';
import { type OpenApiSession, openApiSession, withApiOptions } from './api-session.js';
import { columns, entriesOf, json, type Output } from './print.js';
import { recurringCommand } from './recurring-command.js';
import { serve } from './serve.js';
import type { OpenSession, Session } from './session.js';
import { tokenCommand } from './token-command.js';
import { workersCommand } from './workers-command.js';

/** Exit codes. */
export const EXIT = { ok: 0, refused: 1, failed: 2 } as const;

const DEFAULT_ADMIN = 'http://127.0.0.1:7778';
const DEFAULT_TIMEOUT_S = 10;
/** Commands that do not call the admin port. */
const NO_CALLS = ['serve', 'import-lmstfy'];
/** HTTP statuses from here on are failures of the server. */
const SERVER_ERROR = 500;

const EXAMPLES = `
Examples:
  pumphouse serve -c /etc/pumphouse.toml
  pumphouse token create mail --description "the mailer"
  pumphouse token list mail
  pumphouse limit set mail 01K2Z8M5Q0X3… --read 100 --write 50 --interval 1
  pumphouse info --json --admin http://10.0.0.5:7778 --account ops:secret

Exit status: 0 done, 1 refused by the server, 2 wrong usage or no answer.`;

/**
 * Runs one command line.
 *
 * @param args without the program's name
 * @returns the exit code
 */
export async function run(args: readonly string[], output: Output): Promise<number> {
  try {
    await program(output).parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    // Commander has already printed its own errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.failed;
    if (error instanceof Refused || error instanceof Unreachable) {
      output.err(`pumphouse: ${error.message}\n`);
      return error instanceof Refused ? EXIT.refused : EXIT.failed;
    }
    if (isPumphouseError(error)) {
      output.err(`pumphouse: ${error.message}\n`);
      return error.status > 0 && error.status < SERVER_ERROR ? EXIT.refused : EXIT.failed;
    }
    throw error;
  }
}

function program(output: Output): Command {
  const root = new Command('pumphouse')
    .description('Runs a Pumphouse server, and manages one through its admin port.')
    .exitOverride()
    .configureOutput({ writeOut: output.out, writeErr: output.err })
    .enablePositionalOptions()
    .showHelpAfterError('(--help tells more)')
    .addHelpText('after', EXAMPLES);
  withSessionOptions(root);
  const open: OpenSession = (command) => openSession(command, output);
  root.addCommand(serveCommand());
  for (const group of [tokenCommand(open), limitCommand(open), namespaceCommand(open)])
    root.addCommand(group);
  for (const single of [poolsCommand(open), infoCommand(open), loopsCommand(open), importCommand(output)])
    root.addCommand(single);
  const openApi: OpenApiSession = (command) => openApiSession(command, output);
  const ofApi = [workersCommand(openApi), recurringCommand(openApi)];
  for (const group of ofApi) root.addCommand(group);
  const apiCalls = ofApi.flatMap((group) => everyCommand(group));
  for (const command of everyCommand(root)) {
    command.copyInheritedSettings(root);
    if (apiCalls.includes(command)) {
      if (command.commands.length === 0) withApiOptions(command, { url: parseUrl, seconds: parseSeconds });
      continue;
    }
    const isCall = command !== root && command.commands.length === 0 && !NO_CALLS.includes(command.name());
    if (isCall) withSessionOptions(command);
  }
  return root;
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

/** Session options are allowed anywhere on the line, so every command has them, and the root too. */
function withSessionOptions(command: Command): void {
  command
    .addOption(
      new Option('--admin <url>', `the server's admin port (default: ${DEFAULT_ADMIN})`).argParser(parseUrl),
    )
    .option('--account <user:password>', 'an account of the admin port; @FILE reads it from a file')
    .option('--ca <file>', 'for https: the CA that signed the certificate of the admin port, PEM')
    .option('--cert <file>', 'for https: our certificate, if the admin port asks for one, PEM')
    .option('--key <file>', 'the key of that certificate, PEM')
    .option('--json', 'print the answer as JSON')
    .addOption(
      new Option('--timeout <seconds>', `give up after (default: ${String(DEFAULT_TIMEOUT_S)})`).argParser(
        parseSeconds,
      ),
    );
}

interface SessionOptions {
  readonly admin?: URL;
  readonly account?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly json?: boolean;
  readonly timeout?: number;
}

function openSession(command: Command, output: Output): Session {
  const options: SessionOptions = command.optsWithGlobals();
  const own: SessionOptions = command.opts();
  const chosen = { ...options, ...own };
  const timeoutMs = (chosen.timeout ?? DEFAULT_TIMEOUT_S) * 1000;
  const url = chosen.admin ?? new URL(DEFAULT_ADMIN);
  const account = accountOf(chosen.account, url);
  const admin = new AdminClient({ url, account, timeoutMs, tls: trustOf(chosen) });
  return { admin, isJson: chosen.json === true, ...output };
}

function trustOf({ ca, cert, key }: SessionOptions): TlsTrust {
  return {
    ...(ca === undefined ? {} : { ca: textOf(ca, 'the CA') }),
    ...(cert === undefined ? {} : { cert: textOf(cert, 'the certificate') }),
    ...(key === undefined ? {} : { key: textOf(key, 'the key') }),
  };
}

/** @param what describes the file in error messages */
function textOf(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Unreachable(`cannot read ${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Any user of the machine can read an account on the command line; a file can be protected. */
function accountOf(option: string | undefined, { username, password }: URL): string | undefined {
  if (option?.startsWith('@') === true) return textOf(option.slice(1), 'the account').trim();
  if (option !== undefined || username === '') return option;
  return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new InvalidArgumentError('It must begin with http:// or https://.');
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds > 0 && seconds <= 3_600) return seconds;
  throw new InvalidArgumentError('It must be between 0 and 3600.');
}

function serveCommand(): Command {
  return new Command('serve')
    .description('run a server; all options go to it')
    .argument('[options...]', '-c FILE names its configuration; --check-config, --print-default-config, -v')
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args: string[]) => serve(args));
}

function poolsCommand(open: OpenSession): Command {
  return new Command('pools')
    .description('list the pools')
    .action(async (_options: object, command: Command) => {
      const { admin, isJson, out } = open(command);
      const pools = await admin.call({ method: 'GET', path: ['pools'] });
      out(isJson ? json(pools) : columns((Array.isArray(pools) ? pools : []).map((pool) => [String(pool)])));
    });
}

function infoCommand(open: OpenSession): Command {
  return new Command('info')
    .description('list the namespaces of a pool, with their queues')
    .option('--pool <name>', 'another pool than the default one')
    .action(async ({ pool }: { pool?: string }, command: Command) => {
      const { admin, isJson, out } = open(command);
      const info = await admin.call({ method: 'GET', path: ['info'], query: { pool } });
      const rows = entriesOf(info).map(([namespace, queues]) => [
        namespace,
        Array.isArray(queues) ? queues.join(' ') : '',
      ]);
      out(isJson ? json(info) : columns(rows));
    });
}
