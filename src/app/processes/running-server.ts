import type { AdminServer } from '../admin-server.js';

/** A running server: one process, or a primary and its API processes. */
export interface RunningServer {
  readonly admin: AdminServer;
  readonly apiPort: number;
  /** The port of later's API; null if there is none. */
  readonly laterPort: number | null;
  /** Makes `/readyz` fail from now on. Requests are still served. */
  announceEnd(): void;
  /** Shuts down in order. Resolves when only the embedded Redis still runs. */
  stop(): Promise<void>;
  /** Kills all processes that must not outlive this one, at once. */
  kill(): void;
}
