import type { IncomingMessage, ServerResponse } from 'node:http';
import { QueueError } from '../domain/errors.js';

const NOTHING = Buffer.alloc(0);

/** Requests that said `Expect: 100-continue` and have not been told to go on. */
const expecting = new WeakSet<IncomingMessage>();

/** Marks a request whose client waits for our word before it sends the body. */
export function expectsContinue(request: IncomingMessage): void {
  expecting.add(request);
}

/** True if the client of this request still waits to be told to send its body. */
export function isExpecting(request: IncomingMessage): boolean {
  return expecting.has(request);
}

/**
 * Reads a request's body whole. A declared length above the limit is refused before a byte of it is read.
 *
 * @param maxBytes inclusive
 * @throws {QueueError} `body_too_large`; or `invalid_argument` if the client broke off
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number,
): Buffer | Promise<Buffer> {
  const { 'content-length': declared, 'transfer-encoding': chunked } = request.headers;
  if (chunked === undefined) {
    if (declared === undefined || declared === '0') return NOTHING;
    const length = Number(declared);
    if (length > maxBytes) throw tooLarge();
    // Most bodies come in one packet with their headers: then there is nothing to wait for.
    if (request.complete && request.readableLength === length) return buffered(request);
  }
  if (expecting.delete(request)) response.writeContinue();
  return collect(request, maxBytes);
}

function buffered(request: IncomingMessage): Buffer {
  const body: unknown = request.read();
  return Buffer.isBuffer(body) ? body : NOTHING;
}

function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const stop = (): void => {
      request.off('data', take).off('end', end).off('close', broken).off('error', broken);
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size <= maxBytes) return;
      stop();
      request.pause();
      reject(tooLarge());
    };
    const end = (): void => {
      stop();
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size));
    };
    const broken = (): void => {
      stop();
      reject(new QueueError('invalid_argument', 'failed to read body'));
    };
    if (request.destroyed && !request.complete) {
      broken();
      return;
    }
    request.on('data', take).on('end', end).on('close', broken).on('error', broken);
  });
}

function tooLarge(): QueueError {
  return new QueueError('body_too_large', 'body too large');
}
