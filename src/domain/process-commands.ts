import type { ProcessLoop } from './loop.js';

/** Commands of the admin port to all processes that serve the API: this one, or the API processes of a cluster. */
export interface ProcessCommands {
  /** Switches the access log in every API process, including those started later. */
  setAccessLog(on: boolean): void;
  accessLog(): boolean;
  /** Clears the token caches of all processes that serve the API, after a change of tokens or limits. */
  forgetTokens(): void;
  /** The metrics of all API processes, aggregated, in Prometheus's text format. */
  metrics(): Promise<string>;
  /** The loops of all API processes. */
  loops(): Promise<readonly ProcessLoop[]>;
}

/** Nest injection token for `ProcessCommands`. */
export const PROCESS_COMMANDS = Symbol('ProcessCommands');
