import type { IncomingMessage } from 'node:http';
import type { LimitsConfig } from '../../config/config.js';
import { REDACTED } from '../../contract/json/redacted-json.js';
import { QueueError } from '../../domain/errors.js';
import { seesRedacted } from '../../domain/roles.js';
import type { RequestContext } from './request-context.js';

const NOTHING = Buffer.alloc(0);

/** The longest body of a call. */
export interface BodyLimit {
  /** Inclusive. */
  readonly maxBytes: number;
  /** The key of the configuration that has it; omitted for a limit that cannot be configured. */
  readonly setting?: string;
}

/** The limit of calls that carry one job. */
export function bodyLimit({ max_body_bytes }: LimitsConfig): BodyLimit {
  return { maxBytes: max_body_bytes, setting: 'limits.max_body_bytes' };
}

/** The limit of all other calls with data of clients. */
export function bulkLimit({ max_bulk_bytes }: LimitsConfig): BodyLimit {
  return { maxBytes: max_bulk_bytes, setting: 'limits.max_bulk_bytes' };
}

/** The error for a body that is longer than its call allows. */
function bodyTooLarge({ maxBytes, setting }: BodyLimit): QueueError {
  const limit = `the body is longer than ${String(maxBytes)} bytes`;
  const detail =
    setting === undefined
      ? `${limit}, the most that this call takes`
      : `${limit}, the limit that the server sets in ${setting}: send less in one call, or raise it`;
  return new QueueError('body_too_large', 'body too large', { detail });
}

/** Requests with `Expect: 100-continue` that have not got the 100 yet. */
const expecting = new WeakSet<IncomingMessage>();

/** Marks a request whose client waits for a 100 before it sends the body. */
export function expectsContinue(request: IncomingMessage): void {
  expecting.add(request);
}

/** True if the client of this request still waits for a 100. */
export function isExpecting(request: IncomingMessage): boolean {
  return expecting.has(request);
}

/** True if the head of a request announces a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': declared, 'transfer-encoding': chunked } = headers;
  return chunked !== undefined || (declared !== undefined && declared !== '0');
}

/**
 * Marks a request without a body as read: otherwise Node starts its stream when it is answered, only to discard nothing
 * (0.7 µs).
 */
export function expectNoBody(request: IncomingMessage): void {
  if (!hasBody(request)) request.read(0);
}

/**
 * Reads the whole body of a request and passes it to `take`. If the client disconnects, or if `take` throws, answers
 * with an error.
 *
 * @throws {QueueError} `body_too_large`: a declared length above the limit is rejected before any byte is read;
 *   `overloaded`: the bodies in progress would have too many bytes with it
 */
export function readBody(context: RequestContext, limit: BodyLimit, take: (body: Buffer) => void): void {
  if (seesRedacted(context.admitted?.actor?.role)) readBytes(context, limit, (body) => take(whole(body)));
  else readBytes(context, limit, take);
}

/**
 * A body of an account that does not see all data: what was left out of an answer must not become data.
 *
 * @throws {QueueError} `role_missing`
 */
function whole(body: Buffer): Buffer {
  if (/* guard: redacted-data-is-not-written */ !body.includes(REDACTED)) return body;
  throw new QueueError(
    'role_missing',
    `the body has ${REDACTED} in the place of values that were withheld from this account: leave the data out, send other data, or use an account with the role admin`,
  );
}

function readBytes(context: RequestContext, limit: BodyLimit, take: (body: Buffer) => void): void {
  const { request, response } = context;
  if (!hasBody(request)) {
    expectNoBody(request);
    take(NOTHING);
    return;
  }
  const { headers } = request;
  const length = headers['transfer-encoding'] === undefined ? Number(headers['content-length']) : undefined;
  if (length !== undefined) {
    if (length > limit.maxBytes) throw bodyTooLarge(limit);
    // guard: body-bytes-bounded
    context.server.loadShedder.reserveBytes(context, length);
  }
  if (headers.expect !== undefined && expecting.delete(request)) response.writeContinue();
  else if (length !== undefined) {
    process.nextTick(takeBuffered, context, length, limit, take);
    return;
  }
  collect(context, limit, take);
}

/**
 * Like `readBody`, as a promise. It never settles if the client disconnects or the body is too large: the error is
 * answered, and there is nothing to continue with.
 *
 * @throws as `readBody`
 */
export function wholeBody(context: RequestContext, limit: BodyLimit): Promise<Buffer> {
  return new Promise((resolve) => readBody(context, limit, resolve));
}

/**
 * Reads a body that arrived with its headers, as most do, in one packet. Node emits the request when it has read the
 * headers; one tick later the body is there as well, and is read without a listener.
 */
function takeBuffered(
  context: RequestContext,
  length: number,
  limit: BodyLimit,
  take: (body: Buffer) => void,
): void {
  const { request } = context;
  if (request.readableLength !== length || length === 0) {
    collect(context, limit, take);
    return;
  }
  try {
    const body: unknown = request.read();
    if (!Buffer.isBuffer(body)) throw brokenOff();
    take(body);
  } catch (error) {
    context.fail(error);
  }
}

/** Chunks that are put together: a body of single bytes would take hundreds of times its length. */
const TOGETHER = 256;

function collect(context: RequestContext, limit: BodyLimit, take: (body: Buffer) => void): void {
  const { request } = context;
  const chunks: Buffer[] = [];
  const last: Buffer[] = [];
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  let size = 0;
  const stop = (): void => {
    request.off('data', add).off('end', end).off('close', broken).off('error', broken);
  };
  const add = (chunk: Buffer): void => {
    size += chunk.length;
    last.push(chunk);
    if (last.length === TOGETHER) chunks.push(Buffer.concat(last.splice(0)));
    try {
      if (size > limit.maxBytes) throw bodyTooLarge(limit);
      // guard: chunked-body-bytes-bounded
      if (isChunked) context.server.loadShedder.reserveBytes(context, chunk.length);
    } catch (error) {
      stop();
      request.pause();
      chunks.length = 0;
      last.length = 0;
      context.fail(error);
    }
  };
  const end = (): void => {
    stop();
    chunks.push(...last);
    try {
      take(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size));
    } catch (error) {
      context.fail(error);
    }
  };
  const broken = (): void => {
    stop();
    context.fail(brokenOff());
  };
  // A request whose client has disconnected emits no end, even if it is complete.
  if (request.destroyed) broken();
  else request.on('data', add).on('end', end).on('close', broken).on('error', broken);
}

function brokenOff(): QueueError {
  return new QueueError('invalid_argument', 'failed to read body');
}
