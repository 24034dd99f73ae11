/** What the code below the applications logs with; pino's shape, so that a pino logger is one. */
export interface Log {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Nest injection token for `Log`. */
export const LOG = Symbol('Log');
