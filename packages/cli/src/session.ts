import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { Pumphouse, type PumphouseOptions, type TlsOptions } from '@pumphouse/client';
import { type Command, Option } from 'commander';
import { addressOf, AdminClient, Unreachable } from './admin-client.js';
import { PemError, readPemFile } from '#src/config/pem-files';
import { type Context, contextFile, readContext, type TlsFiles } from './context.js';
import { fileText } from './input.js';
import { known, parseSeconds } from './parse.js';
import type { Output } from './print.js';

/** The environment of a command: the clients of a server, and the output. */
export interface Session extends Output {
  /** Print answers as JSON. */
  readonly isJson: boolean;
  readonly timeoutMs: number;
  /** Of the native API. @throws {Unreachable} no namespace, or no token */
  readonly client: Pumphouse;
  readonly admin: AdminClient;
  readonly namespace: string | undefined;
  /** The pool of the token. Undefined: the default pool, or there is no token. */
  readonly pool: string | undefined;
  /** Options of this line that another command needs to reach the same server; a secret only as `@FILE`. */
  readonly repeated: readonly string[];
}

/** Opens a session with the options before or after the command's name. */
export type OpenSession = (command: Command) => Session;

const DEFAULT_PORT = '7777';
const DEFAULT_ADMIN_PORT = '7778';
const MAX_PORT = 65_535;
export const DEFAULT_TIMEOUT_S = 10;
const GROUP = 'Connection:';

export interface ConnectionOptions {
  readonly url?: string;
  readonly namespace?: string;
  readonly token?: string;
  readonly admin?: string;
  readonly account?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly json?: boolean;
  readonly timeout?: number;
  readonly configHome?: string;
  /** Ports of a server of this machine, as its configuration has them. */
  readonly serverPort?: string;
  readonly adminPort?: string;
}

/** Options of every command that calls a server. They are allowed anywhere on the line, so the root has them, too. */
export function withConnectionOptions(command: Command): void {
  const options = [
    new Option('--url <url>', `URL of the API (default: ${localUrl(DEFAULT_PORT)})`).env('PUMPHOUSE_URL'),
    new Option('--namespace <name>', 'the namespace').env('PUMPHOUSE_NAMESPACE'),
    new Option('--token <token>', 'a token of the namespace; @FILE reads it from a file').env(
      'PUMPHOUSE_TOKEN',
    ),
    new Option('--admin <url>', `URL of the admin port (default: ${localUrl(DEFAULT_ADMIN_PORT)})`).env(
      'PUMPHOUSE_ADMIN_URL',
    ),
    new Option('--account <user:password>', 'an account of the admin port; @FILE reads it from a file').env(
      'PUMPHOUSE_ADMIN_AUTH',
    ),
    new Option('--ca <file>', 'for https: the CA of the certificate of the server, PEM').env('PUMPHOUSE_CA'),
    new Option('--cert <file>', 'for https: the client certificate, if the server requires one, PEM').env(
      'PUMPHOUSE_CERT',
    ),
    new Option('--key <file>', 'the private key of the client certificate, PEM').env('PUMPHOUSE_KEY'),
    new Option('--json', 'print the answer as JSON'),
    new Option(
      '--timeout <seconds>',
      `maximum duration of a call (default: ${String(DEFAULT_TIMEOUT_S)})`,
    ).argParser(parseSeconds),
  ];
  for (const option of options) {
    // `token create --token` is that command's own.
    if (command.options.some(({ long }) => long === option.long)) continue;
    command.addOption(option.helpGroup(GROUP));
  }
}

/** What the environment alone gives: the folder of the context, and the ports of a server that is configured by it. */
export function environmentOptions(): Option[] {
  return [
    new Option('--config-home <folder>').env('XDG_CONFIG_HOME').hideHelp(),
    new Option('--server-port <port>').env('PUMPHOUSE_SERVER__PORT').hideHelp(),
    new Option('--admin-port <port>').env('PUMPHOUSE_ADMIN__PORT').hideHelp(),
  ];
}

/** What the command line and the environment give; an option on the line counts before the environment. */
export function givenOptions(command: Command): ConnectionOptions {
  const levels = levelsOf(command);
  const given: Record<string, unknown> = {};
  for (const source of ['env', 'cli']) {
    for (const level of levels) {
      for (const [name, value] of Object.entries(level.opts())) {
        // An empty variable is one that is not set.
        if (source === 'env' && value === '') continue;
        if (level.getOptionValueSource(name) === source) given[name] = value;
      }
    }
  }
  checkUrls(command, given);
  return given;
}

const REPEATED = ['url', 'token', 'admin', 'account', 'ca', 'cert', 'key'] as const;
const SECRETS: readonly string[] = ['token', 'account'];

function repeatedOptions(command: Command): string[] {
  const levels = levelsOf(command);
  return REPEATED.flatMap((name) => {
    const level = levels.findLast((one) => one.getOptionValueSource(name) === 'cli');
    const value: unknown = level?.opts()[name];
    if (typeof value !== 'string') return [];
    const isShown = /* guard: repeated-options-have-no-secret */ !hasSecret(name, value);
    return isShown ? [`--${name}`, value] : [];
  });
}

/** A URL may have a password, or a token in place of a user. */
function hasSecret(name: string, value: string): boolean {
  if (SECRETS.includes(name)) return !value.startsWith('@');
  const url = URL.parse(value);
  return url !== null && url.username + url.password !== '';
}

/** A command and those that it is a part of, from the root on. */
function levelsOf(command: Command): Command[] {
  const levels: Command[] = [];
  for (let at: Command | null = command; at; at = at.parent) levels.unshift(at);
  return levels;
}

/**
 * Here and not while options are parsed: a wrong one in the environment is no reason for `serve` not to start. The error
 * does not print the URL, which may have a password.
 */
function checkUrls(command: Command, { url, admin, serverPort, adminPort }: ConnectionOptions): void {
  for (const [name, text] of Object.entries({ url, admin })) {
    if (text === undefined) continue;
    const { protocol } = URL.parse(text) ?? {};
    if (protocol !== 'http:' && protocol !== 'https:')
      command.error(`error: --${name} (or its environment variable) must begin with http:// or https://`);
  }
  const ports = { PUMPHOUSE_SERVER__PORT: serverPort, PUMPHOUSE_ADMIN__PORT: adminPort };
  for (const [name, port] of Object.entries(ports)) {
    if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= MAX_PORT))
      command.error(`error: ${name} must be a port, 1 to ${String(MAX_PORT)}`);
  }
}

function localUrl(port: string): string {
  return `http://127.0.0.1:${port}`;
}

/** The API of a server of this machine. */
export function usualUrl({ serverPort }: ConnectionOptions): string {
  return localUrl(serverPort ?? DEFAULT_PORT);
}

function usualAdmin({ adminPort }: ConnectionOptions): string {
  return localUrl(adminPort ?? DEFAULT_ADMIN_PORT);
}

export function openSession(command: Command, output: Output): Session {
  const given = givenOptions(command);
  const timeoutMs = (given.timeout ?? DEFAULT_TIMEOUT_S) * 1_000;
  const context = readContext(contextFile(given.configHome));
  const isJson = given.json === true;
  return {
    ...output,
    isJson,
    // JSON is for programs: no progress bars.
    progressTo: /* guard: json-has-no-progress-bar */ isJson ? undefined : output.progressTo,
    timeoutMs,
    namespace: given.namespace ?? context.namespace,
    get pool() {
      const token = given.token ?? context.token;
      return token === undefined ? undefined : /^([^:]+):/.exec(secretOf(token, 'the token'))?.[1];
    },
    get repeated() {
      return repeatedOptions(command);
    },
    get client() {
      return clientOf(given, context, timeoutMs);
    },
    get admin() {
      return adminOf(given, context, timeoutMs);
    },
  };
}

function clientOf(given: ConnectionOptions, kept: Context, timeoutMs: number): Pumphouse {
  const usual = usualUrl(given);
  // Credentials of one server are not sent to another.
  const context = isSameServer(given.url, kept.url ?? usual) ? kept : {};
  const { namespace = context.namespace } = given;
  const token = given.token ?? (namespace === context.namespace ? context.token : undefined);
  if (namespace === undefined) throw missing('namespace', '--namespace', 'PUMPHOUSE_NAMESPACE');
  if (token === undefined) throw missing('token', '--token', 'PUMPHOUSE_TOKEN');
  return pumphouseOf({
    ...{ url: given.url ?? context.url ?? usual, namespace },
    token: tokenOf(secretOf(token, 'the token')),
    retry: { withinMs: timeoutMs, attemptMs: timeoutMs },
    tls: /* guard: cli-api-ca */ tlsOf(filesOf(given, context)),
  });
}

/** @throws {Unreachable} an option cannot be used: the namespace, the token */
export function pumphouseOf(options: PumphouseOptions): Pumphouse {
  try {
    return new Pumphouse(options);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Unreachable(error.message.replace('new Pumphouse: ', 'the '));
  }
}

/** @throws {Unreachable} it is empty */
export function tokenOf(text: string): string {
  const token = text.trim();
  if (token === '')
    throw new Unreachable(
      'the token is empty: give --token, set PUMPHOUSE_TOKEN, or pipe it into `pumphouse login`',
    );
  return token;
}

function adminOf(given: ConnectionOptions, kept: Context, timeoutMs: number): AdminClient {
  const usual = usualAdmin(given);
  const context = /* guard: stored-ca-is-of-one-server */ isSameServer(given.admin, kept.admin ?? usual)
    ? kept
    : {};
  const url = URL.parse(given.admin ?? context.admin ?? usual);
  if (url === null) throw new Unreachable('the stored address of the admin port is no URL: log in again');
  const account = accountOf(given.account, url) ?? context.account;
  return new AdminClient({ url, account, timeoutMs, tls: tlsOf(filesOf(given, context)) });
}

/** Another path of the same host may be another server. */
function isSameServer(given: string | undefined, kept: string): boolean {
  if (given === undefined) return true;
  const [one, other] = [URL.parse(given), URL.parse(kept)];
  return one !== null && other !== null && addressOf(one) === addressOf(other);
}

function missing(what: string, option: string, variable: string): Unreachable {
  return new Unreachable(`no ${what}: give ${option}, set ${variable}, or run \`pumphouse login\` once`);
}

/** The files that were given, else those that `pumphouse login` stored; a certificate and its key together. */
export function filesOf(given: ConnectionOptions, context: TlsFiles = {}): TlsFiles {
  const fullName = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : resolve(file);
  const { cert, key } = given.cert === undefined && given.key === undefined ? context : given;
  return known({ ca: fullName(given.ca) ?? context.ca, cert: fullName(cert), key: fullName(key) });
}

/** @throws {Unreachable} a file cannot be used; the message names its option */
export function tlsOf(files: TlsFiles): TlsOptions {
  const tls: TlsOptions = Object.fromEntries(
    Object.entries(files).map(([name, file]: [string, string]) => [name, pemOf(name, file)]),
  );
  const { cert, key } = tls;
  if (cert === undefined && key === undefined) return tls;
  if (cert === undefined || key === undefined)
    throw new Unreachable('--cert and --key must be given together');
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Unreachable(`--cert and --key cannot be used together: ${why}`);
  }
  return tls;
}

function pemOf(option: string, file: string): string {
  try {
    return readPemFile(file, option === 'key');
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    const variable = `PUMPHOUSE_${option.toUpperCase()}`;
    throw new Unreachable(`--${option} (or ${variable}, or \`pumphouse login\`): ${error.message}`);
  }
}

/** Any user of the machine can read a secret on the command line; a file can be protected. */
export function secretOf(given: string, what: string): string {
  return given.startsWith('@') ? fileText(given.slice(1), `${what} in ${given.slice(1)}`).trim() : given;
}

/** @throws {Unreachable} it has no colon */
export function accountOf(option: string | undefined, { username, password }: URL): string | undefined {
  if (option === undefined) {
    return username === '' ? undefined : `${decoded(username)}:${decoded(password)}`;
  }
  const account = secretOf(option, 'the account');
  if (account.includes(':')) return account;
  throw new Unreachable('--account (or PUMPHOUSE_ADMIN_AUTH) must be user:password');
}

/** A percent sign of a password may be none of an escape. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
