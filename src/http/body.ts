import type { IncomingMessage } from 'node:http';
import { QueueError } from '../domain/errors.js';
import type { Exchange } from './exchange.js';

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

/** True if the head of a request says that a body follows. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': declared, 'transfer-encoding': chunked } = headers;
  return chunked !== undefined || (declared !== undefined && declared !== '0');
}

/** Marks a request without a body as read: else Node starts its stream when it is answered, only to throw nothing away (0.7 µs). */
export function expectNoBody(request: IncomingMessage): void {
  if (!hasBody(request)) request.read(0);
}

/**
 * Reads a request's body whole and goes on with it. If the client breaks off, or if `take` throws, the exchange is refused.
 *
 * @param maxBytes inclusive
 * @throws {QueueError} `body_too_large`: a declared length above the limit is refused before a byte of it is read; `overloaded`: with it,
 * the bodies that are under way would have too many bytes
 */
export function readBody(exchange: Exchange, maxBytes: number, take: (body: Buffer) => void): void {
  const { request, response } = exchange;
  if (!hasBody(request)) {
    expectNoBody(request);
    take(NOTHING);
    return;
  }
  const { headers } = request;
  const length = headers['transfer-encoding'] === undefined ? Number(headers['content-length']) : undefined;
  if (length !== undefined) {
    if (length > maxBytes) throw tooLarge();
    exchange.context.gate?.hold(exchange, length);
  }
  if (headers.expect !== undefined && expecting.delete(request)) response.writeContinue();
  else if (length !== undefined) {
    process.nextTick(takeBuffered, exchange, length, take);
    return;
  }
  collect(exchange, maxBytes, take);
}

/**
 * The same for who may wait. It never settles if the client breaks off or says too much: then the exchange is refused, and there is
 * nothing to go on with.
 *
 * @throws as `readBody`
 */
export function wholeBody(exchange: Exchange, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve) => readBody(exchange, maxBytes, resolve));
}

/**
 * Most bodies come in one packet with their headers. Node tells of the request when it has read the headers; one tick later the body
 * is there as well, and is read without a listener.
 */
function takeBuffered(exchange: Exchange, length: number, take: (body: Buffer) => void): void {
  const { request } = exchange;
  if (request.readableLength !== length || length === 0) {
    collect(exchange, length, take);
    return;
  }
  try {
    const body: unknown = request.read();
    if (!Buffer.isBuffer(body)) throw brokenOff();
    take(body);
  } catch (error) {
    exchange.fail(error);
  }
}

function collect(exchange: Exchange, maxBytes: number, take: (body: Buffer) => void): void {
  const { request } = exchange;
  const chunks: Buffer[] = [];
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  let size = 0;
  const stop = (): void => {
    request.off('data', add).off('end', end).off('close', broken).off('error', broken);
  };
  const add = (chunk: Buffer): void => {
    size += chunk.length;
    chunks.push(chunk);
    try {
      if (size > maxBytes) throw tooLarge();
      if (isChunked) exchange.context.gate?.hold(exchange, chunk.length);
    } catch (error) {
      stop();
      request.pause();
      chunks.length = 0;
      exchange.fail(error);
    }
  };
  const end = (): void => {
    stop();
    try {
      take(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size));
    } catch (error) {
      exchange.fail(error);
    }
  };
  const broken = (): void => {
    stop();
    exchange.fail(brokenOff());
  };
  if (request.destroyed && !request.complete) broken();
  else request.on('data', add).on('end', end).on('close', broken).on('error', broken);
}

function tooLarge(): QueueError {
  return new QueueError('body_too_large', 'body too large');
}

function brokenOff(): QueueError {
  return new QueueError('invalid_argument', 'failed to read body');
}
