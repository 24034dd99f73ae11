import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { asciiJson } from '../../contract/json/ascii-json.js';
import { currentResponse } from '../request/connection.js';
import { nextRequestId, REQUEST_ID_HEADER } from '../request/request-context.js';

const STATUS: Readonly<Record<string, { status: number; error: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, error: 'request header fields too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, error: 'body too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'request timeout' },
};
const BAD_REQUEST = { status: 400, error: 'bad request' };

/**
 * Answers what Node's parser could not read as a request, if the client can still receive it, and closes the
 * connection.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  // The error is in data after a request that is not answered yet: an answer now would be taken for that request's.
  if (isOwedAnAnswer(socket)) {
    // More bytes after the last request of the connection are ignored; its answer ends the connection.
    const isIdleTalk = error.code === 'HPE_CLOSED_CONNECTION' && !socket.readableEnded;
    if (!isIdleTalk) socket.destroy();
    return;
  }
  const isUnheard = error.code === 'ECONNRESET' || isTlsFailure(error.code);
  if (isUnheard || !socket.writable || socket.destroyed) {
    socket.destroy(error);
    return;
  }
  const { status, error: text } = STATUS[error.code ?? ''] ?? BAD_REQUEST;
  socket.end(rawAnswer(status, asciiJson({ error: text })), () => socket.destroySoon());
}

/** True if a complete request waits for its answer. */
function isOwedAnAnswer(socket: Socket): boolean {
  return /* guard: garbage-is-not-answered */ currentResponse(socket)?.req.complete === true;
}

/** A failed handshake: there is no connection to answer on. */
function isTlsFailure(code = ''): boolean {
  return code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code === 'EPROTO';
}

/**
 * A complete answer that closes the connection, for a connection without a request.
 *
 * @param json ASCII only
 * @param headers further names and values, alternating
 */
export function rawAnswer(status: number, json: string, headers: readonly string[] = []): string {
  const lines = [
    `HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `${REQUEST_ID_HEADER}: ${nextRequestId()}`,
    `Content-Length: ${String(json.length)}`,
  ];
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i] ?? ''}: ${headers[i + 1] ?? ''}`);
  return [...lines, 'Connection: close', '', json].join('\r\n');
}
