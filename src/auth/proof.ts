import type { Socket } from 'node:net';
import type { Caller } from '../domain/caller.js';
import type { KnownToken } from './token-cache.js';

/** That a text was found to be a token of a namespace, once, in full. */
export interface Proof {
  /** As it was sent, with its pool's prefix. */
  readonly text: string;
  /** What it was compared with. Anything else that the token cache has by now is compared anew. */
  readonly known: KnownToken;
  readonly caller: Caller;
}

const PROOF = Symbol('proof');

interface ProvenSocket extends Socket {
  [PROOF]?: Proof;
}

/**
 * What this connection proved last, if it sends the same again: it saves a digest and a comparison per request. Comparing what a
 * client sends with what the same client sent before tells it nothing, so that it may take as long as it takes. (A proxy that shares one
 * connection among clients lets them compare with each other's: there the comparison is one of two strings in memory, behind the
 * proxy's own delays.) The token cache must be asked all the same: tokens are revoked.
 */
export function provenOn(socket: ProvenSocket, namespace: string, text: string): Proof | undefined {
  const proof = socket[PROOF];
  return proof !== undefined && proof.text === text && proof.caller.namespace === namespace
    ? proof
    : undefined;
}

export function rememberProof(socket: ProvenSocket, proof: Proof): void {
  socket[PROOF] = proof;
}
