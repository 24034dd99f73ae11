import { createRequire } from 'node:module';
import { isNativeError } from 'node:util/types';
import { pino, type DestinationStream, type Logger } from 'pino';
import type * as PinoPretty from 'pino-pretty';
import type { LogConfig } from './config.js';

const REDACTED = '[redacted]';
/** Field names that may contain a secret, at the top of a log line or one level below. */
const SECRETS = ['token', 'password', 'authorization', 'Authorization'];
const SECRET_PATHS = [...SECRETS.flatMap((name) => [name, `*.${name}`]), '*["x-token"]', '*["X-Token"]'];
/** File descriptor of standard output. */
const STANDARD_OUTPUT = 1;
/** Maximum depth of a chain of causes in the log. */
const MAX_CAUSES = 5;

/**
 * Creates the log: one JSON object per line on standard output, or text for people on a terminal. Lines are written
 * before the call returns, so that none is lost when the process ends. `level` of the returned logger may be set at any
 * time.
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

/**
 * Formats each line before it is written, without a stream of its own, which could delay lines when the process ends.
 */
function forPeople(colorize: boolean, destination: DestinationStream): DestinationStream {
  // Loaded only when needed: most servers log JSON.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty;
  const toText = prettyFactory({ colorize, ignore: 'pid', translateTime: 'SYS:HH:MM:ss.l' });
  return {
    write: (line) => {
      destination.write(toText(line));
    },
  };
}

/** An error in a log line. */
interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: DescribedError | string;
}

/**
 * Describes an error by name, message, code, stack and causes only: the Redis driver adds the command to its errors,
 * whose arguments may be passwords, tokens and bodies.
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

/** Redis quotes the first arguments of an unknown command. */
function withoutArguments(text: string): string {
  return redactUrl(text.replace(/,? with args beginning with:.*/g, ''));
}

/**
 * Removes secrets from the text of a URL: the values of all query parameters whose name contains `token` (possibly
 * escaped), the token in an admin path (`/token/<namespace>/<token>`), and the credentials of a Redis URL.
 */
export function redactUrl(text: string): string {
  const queryAt = text.indexOf('?');
  const path = queryAt === -1 ? text : text.slice(0, queryAt);
  const open = path.includes('/') ? withoutPathToken(withoutCredentials(path)) : path;
  if (queryAt === -1) return open;
  const query = text.slice(queryAt + 1).replace(/([^?&;=\s]+)=[^&;\s]*/g, (pair, name: string) => {
    return isToken(name) ? `${name}=${REDACTED}` : pair;
  });
  return `${open}?${query}`;
}

/**
 * Removes the third part of `/token/<namespace>/<token>`, with or without a host before it; each part may contain
 * escapes.
 */
function withoutPathToken(path: string): string {
  const parts = path.split('/');
  const name = parts.findIndex((part, i) => i > 0 && unescaped(part) === 'token');
  const token = parts[name + 2];
  if (name === -1 || token === undefined) return path;
  return parts.with(name + 2, token.replace(/^\S+/, REDACTED)).join('/');
}

/** True also for similar names: `x-token` in a query is not a token for us, but contains one. */
function isToken(name: string): boolean {
  return unescaped(name).includes('token');
}

/** Decoded, in lower case. */
function unescaped(text: string): string {
  return text
    .replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .toLowerCase();
}

/** Greedy: an unescaped `@` or `/` in a password is part of it. */
function withoutCredentials(text: string): string {
  return text.replace(/(rediss?:\/\/)[^\s"']*@/gi, `$1${REDACTED}@`);
}
