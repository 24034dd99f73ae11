/** What the admin port asks of all processes that serve the API: this one, or the workers of a cluster. */
export interface WorkerCommands {
  /** Switches the access log in every worker, those started later too. */
  setAccessLog(on: boolean): void;
  accessLog(): boolean;
  /** Tokens or their limits have changed: no process that serves the API goes on with what it remembers of them. */
  forgetTokens(): void;
  /** The metrics of all workers, aggregated, in Prometheus's text format. */
  metrics(): Promise<string>;
}

/** Nest injection token for `WorkerCommands`. */
export const WORKER_COMMANDS = Symbol('WorkerCommands');
