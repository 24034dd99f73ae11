import type { Rights } from './rights.js';

/** What a token may do in one window; 0 or less = as much as it likes. */
export interface Limit {
  /** Consume requests. */
  readonly read: number;
  /** Publish requests, a bulk counts as one. */
  readonly write: number;
  /** Length of the window in seconds. */
  readonly intervalS: number;
}

/** On whose behalf a request runs: what its token has proved. */
export interface Caller {
  readonly pool: string;
  readonly namespace: string;
  /** The token's digest; empty on a size route that is open to all. */
  readonly tokenId: string;
  readonly limits: Limit | null;
  /** Null: everything in its namespace. */
  readonly rights: Rights | null;
}
