import type { IncomingMessage, ServerResponse } from 'node:http';
import { hasBody, isExpecting } from './body.js';

/** What is left of a refused body is read and thrown away up to this many bytes, so that its connection can be used again. */
const KEEP_MAX_BYTES = 1_048_576;
/** A larger rest is read for this long before the connection is closed: closed at once, the client would see a reset, not the answer. */
const LINGER_MS = 2_000;
const LINGER_MAX_BYTES = 33_554_432;

/** What becomes of a connection whose request is answered before its body was read. */
export type Rest = 'none' | 'keep' | 'close' | 'linger';

/** Decides it. `none`: there is no rest. `keep`: Node discards the rest after the answer. */
export function restOf(request: IncomingMessage): Rest {
  const { 'content-length': declared, 'transfer-encoding': chunked } = request.headers;
  if (request.complete || !hasBody(request)) return 'none';
  if (isExpecting(request)) return 'close';
  return chunked === undefined && Number(declared) <= KEEP_MAX_BYTES ? 'keep' : 'linger';
}

/**
 * Ends a response whose head and body are written already, once the client has sent what it wanted to send, or after a
 * bounded time and number of bytes.
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
