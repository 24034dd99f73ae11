import type { ServerResponse } from 'node:http';
import { REQUEST_ID_HEADER, type RequestContext } from '../request/request-context.js';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Options of an answer besides its status and body. */
export interface AnswerOptions {
  /** Content type; default plain JSON. */
  readonly type?: string;
  /** Further header names and values, alternating. */
  readonly headers?: readonly string[];
  /** False if the caller ends the response. */
  readonly last?: boolean;
}

/**
 * Sends a JSON body and ends the request context.
 *
 * @param json ASCII only (`asciiJson`, or text built from checked names). A buffer is not copied: many answers may
 *   share it
 */
export function answer(
  context: RequestContext,
  status: number,
  json: string | Buffer,
  options?: AnswerOptions,
): void {
  const { response, requestId } = context;
  const fields = [
    'Content-Type',
    options?.type ?? JSON_TYPE,
    REQUEST_ID_HEADER,
    requestId,
    'Content-Length',
    String(json.length),
  ];
  if (options?.headers !== undefined) fields.push(...options.headers);
  begin(context);
  response.writeHead(status, fields);
  if (options?.last === false) response.write(json, 'latin1');
  else end(response, json);
  // guard: answered-not-in-flight
  context.end();
  context.server.observer.answered(context, status);
}

/** Sends 204, which has no body. */
export function answerNothing(context: RequestContext): void {
  const { response, requestId } = context;
  begin(context);
  response.writeHead(204, [REQUEST_ID_HEADER, requestId]);
  response.end();
  context.end();
  context.server.observer.answered(context, 204);
}

function begin({ server, response }: RequestContext): void {
  if (server.drain.announced) response.shouldKeepAlive = false;
}

/**
 * Ends a response with a body. With a separate body, Node passes the system two chunks, the second one empty, which
 * costs 0.6 µs more than one chunk. So the body is appended to the head: both are Latin-1. If a Node version stores its
 * head elsewhere, the body is sent separately.
 */
function end(response: ServerResponse, body: string | Buffer): void {
  const inside = response as ServerResponse & { _header?: unknown };
  if (typeof body === 'string' && typeof inside._header === 'string' && response.req.method !== 'HEAD') {
    inside._header += body;
    response.end();
  } else response.end(body, 'latin1');
}
