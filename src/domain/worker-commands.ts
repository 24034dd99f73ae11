import type { ProcessLoop } from './loop.js';

/** Commands of the admin port to all processes that serve the API: this one, or the workers of a cluster. */
export interface WorkerCommands {
  /** Switches the access log in every worker, including those started later. */
  setAccessLog(on: boolean): void;
  accessLog(): boolean;
  /** Clears the token caches of all processes that serve the API, after a change of tokens or limits. */
  forgetTokens(): void;
  /** The metrics of all workers, aggregated, in Prometheus's text format. */
  metrics(): Promise<string>;
  /** The loops of all workers. */
  loops(): Promise<readonly ProcessLoop[]>;
}

/** Nest injection token for `WorkerCommands`. */
export const WORKER_COMMANDS = Symbol('WorkerCommands');
