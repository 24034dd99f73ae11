import { UlidMinter } from '../domain/ulid.js';

/** The name of the header that carries it, in the spelling that lmstfy's clients see. */
export const REQUEST_ID_HEADER = 'X-Request-Id';

const minter = new UlidMinter();

/** A ULID for a request: unique without a word with anybody, and in order after all that this process has made before. */
export function nextRequestId(): string {
  return minter.mint(Date.now());
}
