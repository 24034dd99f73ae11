import type { IncomingMessage } from 'node:http';
import type { Actor } from '../../domain/actor.js';

/** A call of the native API that an account may make. */
export interface AccountCall {
  /** Such as `POST /v1/:namespace/queues/:queue/pause`. */
  readonly action: string;
  readonly pool: string;
  readonly namespace: string;
  /** The other names in its path. */
  readonly names: Readonly<Record<string, string>>;
}

/** An account that makes a call of the native API, through the admin port. */
export interface AccountClient {
  readonly actor: Actor;
  /** False once the account has signed out, or its session has ended. */
  isSignedIn(): Promise<boolean>;
  /** Records the call in the audit log, if it may change something. Does not fail. */
  admitted(call: AccountCall): Promise<void> | undefined;
  /** Records fields of the request. */
  recordRequest(fields: object): void;
  /** Records numbers of the answer. */
  recordAnswer(result: unknown): void;
}

const CLIENT = Symbol('account client');

interface AccountRequest extends IncomingMessage {
  [CLIENT]?: AccountClient;
}

/** Marks a request as one of an account: it needs no token. Only the admin port may do this. */
export function markAccount(request: AccountRequest, client: AccountClient): void {
  request[CLIENT] = client;
}

/** The account that makes a request; undefined for all requests of the API port. */
export function accountOf(request: AccountRequest): AccountClient | undefined {
  return request[CLIENT];
}
