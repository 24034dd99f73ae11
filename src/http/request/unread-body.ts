import type { IncomingMessage, ServerResponse } from 'node:http';
import { hasBody, isExpecting } from './body.js';

/**
 * The rest of a rejected body is read and discarded up to this size, in bytes, so that its connection can be reused.
 */
const KEEP_MAX_BYTES = 1_048_576;
/**
 * A larger rest is read for this long before the connection is closed: closed at once, the client would see a reset
 * instead of the answer.
 */
const LINGER_MS = 2_000;
const LINGER_MAX_BYTES = 33_554_432;

/** What happens to a connection whose request is answered before its body was read. */
export type Rest = 'none' | 'keep' | 'close' | 'linger';

/**
 * Decides how to treat the rest of a body. `none`: there is no rest. `keep`: Node discards the rest after the answer.
 */
export function restOf(request: IncomingMessage): Rest {
  const { 'content-length': declared, 'transfer-encoding': chunked } = request.headers;
  if (request.complete || !hasBody(request)) return 'none';
  if (isExpecting(request)) return 'close';
  return chunked === undefined && Number(declared) <= KEEP_MAX_BYTES ? 'keep' : 'linger';
}

/**
 * Ends a response whose head and body are already written, after the client has sent its whole body, or after a bounded
 * time and number of bytes.
 */
export function lingerThenEnd(request: IncomingMessage, response: ServerResponse): void {
  let left = LINGER_MAX_BYTES;
  const end = (): void => {
    clearTimeout(timer);
    request.off('data', discard).off('end', end).off('close', end);
    response.end();
  };
  const discard = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left < 0) end();
  };
  const timer = setTimeout(end, LINGER_MS);
  request.on('data', discard).on('end', end).on('close', end).resume();
}
