import { monotonicFactory } from 'ulid';

/**
 * A ULID for each request: sortable, and unique without a word with anybody. Nobody gains by guessing one, so its random part
 * comes from the cheap source: the library's own asks the operating system for each of 16 characters.
 */
const mint = monotonicFactory(Math.random);

/** The name of the header that carries it, in the spelling that lmstfy's clients see. */
export const REQUEST_ID_HEADER = 'X-Request-Id';

export function nextRequestId(): string {
  return mint();
}
