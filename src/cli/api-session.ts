import { readFileSync } from 'node:fs';
import { Pumphouse } from '@pumphouse/client';
import { type Command, Option } from 'commander';
import { Unreachable } from './admin-client.js';
import type { Output } from './print.js';

/** The environment of a command that calls the native API. */
export interface ApiSession extends Output {
  readonly client: Pumphouse;
  /** Print answers as JSON. */
  readonly isJson: boolean;
}

/** Opens a session with the options of the command. */
export type OpenApiSession = (command: Command) => ApiSession;

const DEFAULT_URL = 'http://127.0.0.1:7777';
const DEFAULT_TIMEOUT_S = 10;

interface ApiOptions {
  readonly url: URL | string;
  readonly namespace: string;
  readonly token: string;
  readonly json?: boolean;
  readonly timeout?: number;
}

/** Adds the options of a command that calls the native API. */
export function withApiOptions(
  command: Command,
  parse: { readonly url: (text: string) => URL; readonly seconds: (text: string) => number },
): void {
  command
    .addOption(
      new Option('--url <url>', "the server's API")
        .env('PUMPHOUSE_URL')
        .default(DEFAULT_URL)
        .argParser(parse.url),
    )
    .addOption(
      new Option('--namespace <name>', 'the namespace').env('PUMPHOUSE_NAMESPACE').makeOptionMandatory(),
    )
    .addOption(
      new Option('--token <token>', 'a token of the namespace; @FILE reads it from a file')
        .env('PUMPHOUSE_TOKEN')
        .makeOptionMandatory(),
    )
    .option('--json', 'print the answer as JSON')
    .option('--timeout <seconds>', `give up after (default: ${String(DEFAULT_TIMEOUT_S)})`, parse.seconds);
}

export function openApiSession(command: Command, output: Output): ApiSession {
  // Options may stand before the command, too: `--json`, `--timeout`.
  const options = { ...command.optsWithGlobals<ApiOptions>(), ...command.opts<ApiOptions>() };
  const { url, namespace, token } = options;
  const withinMs = (options.timeout ?? DEFAULT_TIMEOUT_S) * 1_000;
  const client = new Pumphouse({
    ...{ url, namespace, token: tokenOf(token) },
    retry: { withinMs, attemptMs: withinMs },
  });
  return { client, isJson: options.json === true, ...output };
}

/** Any user of the machine can read a token on the command line; a file can be protected. */
function tokenOf(given: string): string {
  if (!given.startsWith('@')) return given;
  try {
    return readFileSync(given.slice(1), 'utf8').trim();
  } catch (error) {
    throw new Unreachable(`cannot read the token: ${error instanceof Error ? error.message : String(error)}`);
  }
}
