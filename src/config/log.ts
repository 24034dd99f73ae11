import { pino, type DestinationStream, type Logger } from 'pino';
import { default as pretty } from 'pino-pretty';
import type { LogConfig } from './config.js';

/** Names of fields whose values never go into a log. */
const SECRETS = ['token', 'password', 'authorization', 'body', 'data'];

/** The server's log: JSON lines on standard output, or readable ones on a terminal. */
export function createLog({ level, format }: LogConfig, stream?: DestinationStream): Logger {
  const isPretty = format === 'pretty' || (format === 'auto' && process.stdout.isTTY);
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: [...SECRETS, ...SECRETS.map((name) => `*.${name}`)], censor: '[secret]' },
  };
  if (stream) return pino(options, stream);
  return isPretty ? pino(options, pretty({ ignore: 'pid', sync: true })) : pino(options);
}

/** A URL that may be shown: without tokens in its query and without credentials. */
export function redactUrl(url: string): string {
  return url
    .replace(/([?&;]token=)[^&;#]*/gi, '$1[secret]')
    .replace(/^([a-z+]+:\/\/)[^@/]*@/i, '$1[secret]@');
}
