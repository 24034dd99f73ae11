import { createRequire } from 'node:module';
import { isNativeError } from 'node:util/types';
import { pino, type DestinationStream, type Logger } from 'pino';
import type * as PinoPretty from 'pino-pretty';
import type { LogConfig } from './config.js';

const REDACTED = '[redacted]';
/** Names under which a secret could come into a line, at its top or one level below. */
const SECRETS = ['token', 'password', 'authorization', 'Authorization'];
const SECRET_PATHS = [...SECRETS.flatMap((name) => [name, `*.${name}`]), '*["x-token"]', '*["X-Token"]'];
/** File descriptor of standard output. */
const STANDARD_OUTPUT = 1;
/** How deep a chain of causes is written down. */
const MAX_CAUSES = 5;

/**
 * The log: one JSON object a line on standard output, or text for people where a terminal is. Lines are written before the call
 * returns, so that none is lost when the process ends. `level` of what is returned may be set at any time.
 *
 * @param stream instead of standard output; for tests
 */
export function createLog({ level, format }: Omit<LogConfig, 'access'>, stream?: DestinationStream): Logger {
  const isTerminal = stream === undefined && process.stdout.isTTY;
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describe, error: describe },
    redact: { paths: SECRET_PATHS, censor: REDACTED },
  };
  if (format === 'pretty' || (format === 'auto' && isTerminal)) {
    return pino(options, forPeople(isTerminal, stream ?? pino.destination(STANDARD_OUTPUT)));
  }
  return pino(options, stream ?? pino.destination(STANDARD_OUTPUT));
}

/** Turns each line before it is written: no stream of its own, which could hold lines back when the process ends. */
function forPeople(colorize: boolean, destination: DestinationStream): DestinationStream {
  // Loaded where it is wanted: most servers write for programs.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty;
  const toText = prettyFactory({ colorize, ignore: 'pid', translateTime: 'SYS:HH:MM:ss.l' });
  return {
    write: (line) => {
      destination.write(toText(line));
    },
  };
}

/** An error as a line shows it. */
interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: DescribedError | string;
}

/**
 * Name, message, code, stack and causes of an error, and nothing else of it: the Redis driver hangs the command to its errors, whose
 * arguments are passwords, tokens and bodies.
 */
function describe(error: unknown, causes = MAX_CAUSES): DescribedError | string {
  if (!isNativeError(error)) return redactUrl(typeof error === 'string' ? error : typeof error);
  const { name, message, stack, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    type: name,
    message: withoutArguments(message),
    ...(code === undefined ? {} : { code }),
    ...(stack === undefined ? {} : { stack: withoutArguments(stack) }),
    ...(cause === undefined || causes === 0 ? {} : { cause: describe(cause, causes - 1) }),
  };
}

/** Redis repeats the first arguments of a command that it does not know. */
function withoutArguments(text: string): string {
  return redactUrl(text.replace(/,? with args beginning with:.*/g, ''));
}

/**
 * The text of a URL, without what must not be logged: the value of everything in its query that is called a token (its name may be
 * escaped), the token in an admin path (`/token/<namespace>/<token>`), and the credentials of a Redis URL.
 */
export function redactUrl(text: string): string {
  const question = text.indexOf('?');
  const path = question === -1 ? text : text.slice(0, question);
  const open = path.includes('/') ? withoutPathToken(withoutCredentials(path)) : path;
  if (question === -1) return open;
  const query = text.slice(question + 1).replace(/([^?&;=\s]+)=[^&;\s]*/g, (pair, name: string) => {
    return isToken(name) ? `${name}=${REDACTED}` : pair;
  });
  return `${open}?${query}`;
}

/** The third part of `/token/<namespace>/<token>`, with or without a host before it; escapes may stand in any. */
function withoutPathToken(path: string): string {
  const parts = path.split('/');
  const name = parts.findIndex((part, i) => i > 0 && unescaped(part) === 'token');
  const token = parts[name + 2];
  if (name === -1 || token === undefined) return path;
  return parts.with(name + 2, token.replace(/^\S+/, REDACTED)).join('/');
}

/** Also a name that only looks like it: `x-token` in a query is no token to us, but it holds one. */
function isToken(name: string): boolean {
  return unescaped(name).includes('token');
}

/** In small letters. */
function unescaped(text: string): string {
  return text
    .replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .toLowerCase();
}

/** Greedy: an unescaped `@` or `/` in a password is still part of it. */
function withoutCredentials(text: string): string {
  return text.replace(/(rediss?:\/\/)[^\s"']*@/gi, `$1${REDACTED}@`);
}
