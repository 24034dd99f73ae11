import type { AdminServer } from './admin-server.js';

/** A server that serves: of one process, or of a primary and its workers. */
export interface RunningServer {
  readonly admin: AdminServer;
  readonly apiPort: number;
  /** `/readyz` says no from now on; requests are served as ever. */
  announceEnd(): void;
  /** Ends everything in order; resolves when nothing is left but the embedded Redis. */
  stop(): Promise<void>;
  /** Ends what must not outlive this process, at once. */
  kill(): void;
}
