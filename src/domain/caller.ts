import type { Actor } from './actor.js';
import type { Rights } from './rights.js';

/** Rate limits of a token per window; 0 or less = no limit. */
export interface Limit {
  /** Lease requests. */
  readonly read: number;
  /** Publish requests; a bulk publish counts as one. */
  readonly write: number;
  /** Length of the window in seconds. */
  readonly intervalS: number;
}

/** The client of a request, as authenticated by its token; or an account of the admin port. */
export interface Caller {
  readonly pool: string;
  readonly namespace: string;
  /** The token's digest, or the account behind `account:`; empty on a size route that needs no token. */
  readonly tokenId: string;
  /** The description of the token, or the name of the account, for people; empty as `tokenId`. */
  readonly label: string;
  /** The token's first characters, for the audit log; empty as `tokenId`. */
  readonly tokenHint: string;
  readonly limits: Limit | null;
  /** Null: everything in its namespace. */
  readonly rights: Rights | null;
  /** Left out for a token. */
  readonly actor?: Actor;
}
