/** Logger of the code below the applications. A pino logger implements it. */
export interface Log {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Nest injection token for `Log`. */
export const LOG = Symbol('Log');
