import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { answerNothing } from './answer/answer.js';
import { hasBody } from './request/body.js';
import { hasTooManyHeaders, hasTwoHosts, NO_QUERY } from './request/head.js';
import { nextRequestId, RequestContext, type ServerContext } from './request/request-context.js';

/** Paths of the native API. */
const PREFIX = '/v1/';
const METHODS = 'GET, POST, PUT, PATCH, DELETE';
/** Headers of requests that the native API reads. */
const REQUEST_HEADERS = [
  ...['X-Token', 'Authorization', 'Content-Type', 'Idempotency-Key', 'Idempotency-TTL-Ms'],
  ...['X-Durability', 'X-Job-ID', 'If-None-Match', 'Last-Event-ID'],
].join(', ');
/** Headers of answers that a page may read, besides those that every page may. */
const ANSWER_HEADERS = 'X-Request-Id, Retry-After, X-Job-ID, Location, Allow, Idempotency-Replayed';
/** Seconds that a browser may keep the answer to a preflight. Chromium's limit. */
const MAX_AGE_S = 7_200;
/** Label of preflights in metrics. */
const ROUTE = 'preflight';

/**
 * Lets web pages of the given origins call the native API (CORS). Each response gets its headers before a handler sees
 * it, so that the fast path, event streams and errors have them too: `writeHead` keeps headers that are set. A preflight
 * is answered here, because it carries no token.
 *
 * Credentials of browsers are never allowed: a token is a header that the page sends itself.
 *
 * @param origins exact, such as `https://app.example.com`; `*` is every origin
 */
export function installCors(server: Server, origins: readonly string[], context: ServerContext): void {
  const listeners = server.listeners('request') as RequestListener[];
  const allowed = new Set(origins);
  const isPublic = allowed.has('*');
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { origin } = request.headers;
    if (request.url?.startsWith(PREFIX) === true) {
      // A cache must not give one origin the answer to another one, or to a program.
      if (!isPublic) response.setHeader('Vary', 'Origin');
      if (origin !== undefined && /* guard: cors-for-listed-origins */ (isPublic || allowed.has(origin))) {
        response.setHeader('Access-Control-Allow-Origin', isPublic ? '*' : origin);
        if (isPreflight(request, context)) {
          answerPreflight(request, response, context);
          return;
        }
        response.setHeader('Access-Control-Expose-Headers', ANSWER_HEADERS);
      }
    }
    for (const listen of listeners) listen.call(server, request, response);
  });
}

/** The router refuses what no browser sends: a body, another protocol, a URL that is too long. */
function isPreflight(request: IncomingMessage, { maxUrlBytes }: ServerContext): boolean {
  const { method, url = '', headers } = request;
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
  const isUnusual = headers.host === undefined || headers.upgrade !== undefined || hasTooManyHeaders(request);
  return !isUnusual && !hasTwoHosts(request) && url.length <= maxUrlBytes && !hasBody(request);
}

/** The same answer for each path: browsers only ask whether the API may be called at all. */
function answerPreflight(request: IncomingMessage, response: ServerResponse, server: ServerContext): void {
  response.setHeader('Access-Control-Allow-Methods', METHODS);
  response.setHeader('Access-Control-Allow-Headers', REQUEST_HEADERS);
  response.setHeader('Access-Control-Max-Age', MAX_AGE_S);
  const errors = server.errorsOf(PREFIX);
  const target = { errors, route: ROUTE, namespace: '', queue: '', jobId: '', query: NO_QUERY };
  answerNothing(new RequestContext(server, request, response, nextRequestId(), target));
}
