import { textOf } from './outcomes.js';

/**
 * Where a worker reports failed jobs, and what no caller can be told. It is never given tokens, payloads or results, nor the
 * messages of failures, which may have some.
 */
export interface Logger {
  warn(message: string, details: Readonly<Record<string, unknown>>): void;
  error(message: string, details: Readonly<Record<string, unknown>>): void;
}

/** One line each: its time, ISO 8601 in UTC, the message, and the details in JSON. */
export const consoleLogger: Logger = {
  warn: (message, details) => console.warn(lineOf(message, details)),
  error: (message, details) => console.error(lineOf(message, details)),
};

function lineOf(message: string, details: object): string {
  return `${new Date().toISOString()} pumphouse: ${message} ${JSON.stringify(details)}`;
}

/** An error for the log: its code and message, without causes that may carry a request. */
export function errorText(error: unknown): string {
  return textOf(error instanceof Error ? error.message : error);
}
