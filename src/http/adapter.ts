import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerConfig } from '../config/config.js';
import { QueueError } from '../domain/errors.js';
import { answer, answerNothing } from './answer/answer.js';
import { hasForeignCoding, hasTooManyHeaders, hasTwoHosts, parseQuery } from './request/head.js';
import { expectsContinue } from './request/body.js';
import { answerClientError } from './answer/client-error.js';
import { nextRequestId, REQUEST_ID_HEADER } from './request/request-context.js';
import { contextOf } from './request/context-of.js';
import { WithHeaders } from './answer/with-headers.js';
import { jsonOfTexts } from '../contract/json/json-text.js';

/** The guard checks names, and the header limit bounds a list of queues: the router needs no limit. */
const NO_PARAM_LIMIT = 1_073_741_824;
/** TCP's keep-alive probes detect a peer that has vanished; they start after this idle time. */
const TCP_PROBE_AFTER_MS = 30_000;

/**
 * No route has a schema. By default Fastify loads two compilers for them, which costs as much as all of its other code.
 */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } };

function noSchema(): never {
  throw new Error('routes check their fields themselves, and have no schemas of Fastify');
}

/** An empty name in a path, followed by more path. */
const SOMETHING_FOLLOWS = /^\/[^?]*\/\/[^/?]/;

/** The part of the server's settings that its sockets need. */
export type SocketSettings = Pick<
  ServerConfig,
  'keep_alive_ms' | 'max_header_bytes' | 'max_url_bytes' | 'header_timeout_ms' | 'request_timeout_ms'
>;

/** Options of a listener with TLS, with Node's names; PEM texts. */
export interface TlsOptions {
  readonly cert?: string;
  readonly key?: string;
  /** CA of the clients' certificates. */
  readonly ca?: string;
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
}

/** Dependencies of an adapter. */
export interface AdapterParts {
  readonly settings: SocketSettings;
  /** Default: plain HTTP. */
  readonly tls?: TlsOptions | undefined;
}

/**
 * Sends what handlers return with the same code as the fast path, so that both answers are identical to the byte.
 * Fastify's own code would write header names in lower case. Objects become JSON, strings and buffers are sent as
 * they are, undefined is 204.
 */
class ApiAdapter extends FastifyAdapter {
  override reply(reply: FastifyReply, result: unknown): FastifyReply {
    const context = contextOf(reply.request, reply);
    const own: WithHeaders = result instanceof WithHeaders ? result : new WithHeaders(result, []);
    const { body, headers, options } = own;
    const { status = reply.statusCode, ...type } = options;
    if (body === undefined) answerNothing(context);
    else answer(context, status, isText(body) ? body : jsonOfTexts(body), { headers, ...type });
    return reply;
  }
}

function isText(body: unknown): body is string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body);
}

/**
 * A Fastify instance for the queue APIs: no body parsing (controllers read the stream after they have checked the
 * parameters), no HEAD routes, queries parsed like lmstfy does, an X-Request-Id on every answer of its own.
 */
export function apiAdapter(parts: AdapterParts): FastifyAdapter {
  const adapter = baseAdapter(ApiAdapter, parts);
  const instance: FastifyInstance = adapter.getInstance();
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']) {
    if (instance.supportedMethods.includes(method)) {
      instance.addHttpMethod(method, { hasBody: false, overrideExisting: true });
    }
  }
  instance.addHook('onRequest', (request, reply, done) => {
    // Other protocols are not supported. Node's parser may have dropped what followed such a request, so that a client
    // would wait for its answer without end.
    if (/* guard: upgrade-ends-connection */ request.headers.upgrade !== undefined)
      reply.raw.shouldKeepAlive = false;
    done(refusedHead(request.raw, reply.raw) ?? misrouted(request));
  });
  return adapter;
}

/** A Fastify instance for the admin port: bodies are parsed, every answer gets its X-Request-Id here. */
export function adminAdapter(parts: AdapterParts): FastifyAdapter {
  const adapter = baseAdapter(FastifyAdapter, parts);
  const instance: FastifyInstance = adapter.getInstance();
  instance.addHook('onRequest', (request, reply, done) => {
    reply.raw.setHeader(REQUEST_ID_HEADER, request.id);
    done(refusedHead(request.raw, reply.raw));
  });
  return adapter;
}

function baseAdapter(
  Adapter: new (options: ConstructorParameters<typeof ApiAdapter>[0]) => FastifyAdapter,
  { settings, tls }: AdapterParts,
): FastifyAdapter {
  const listener = listenerOptions(settings);
  const adapter = new Adapter({
    logger: false,
    // `OPTIONS *` asks about the server as a whole, and a star would be a pattern for the router.
    rewriteUrl: ({ url = '/' }) => (url === '*' ? '/' : url),
    exposeHeadRoutes: false,
    // We drain the server ourselves: Fastify would answer 503 on open connections.
    return503OnClosing: false,
    forceCloseConnections: false,
    skipMiddie: true,
    schemaController: NO_SCHEMAS,
    genReqId: nextRequestId,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      contextOf(request, reply).fail(error),
    clientErrorHandler: answerClientError,
    routerOptions: { maxParamLength: NO_PARAM_LIMIT, querystringParser: parseQuery },
    requestTimeout: settings.request_timeout_ms,
    keepAliveTimeout: settings.keep_alive_ms,
    ...(tls === undefined
      ? { http: listener }
      : { https: { ...listener, ...tls, allowHalfOpen: true, handshakeTimeout: listener.headersTimeout } }),
  });
  const instance: FastifyInstance = adapter.getInstance();
  onExpectations(instance.server);
  answerHalfClosed(instance.server);
  // `hasTooManyHeaders` counts them. Beyond a limit of its own Node 20 leaves headers out, and Node 24 answers itself.
  instance.server.maxHeadersCount = 0;
  return adapter;
}

/** Options of a listener with Node's names. */
export function listenerOptions({ max_header_bytes, header_timeout_ms, request_timeout_ms }: SocketSettings) {
  const headersTimeout = Math.min(header_timeout_ms, request_timeout_ms);
  return {
    maxHeaderSize: max_header_bytes,
    headersTimeout,
    requestTimeout: request_timeout_ms,
    connectionsCheckingInterval: Math.min(5_000, Math.max(50, headersTimeout / 4)),
    requireHostHeader: false,
    keepAlive: true,
    keepAliveInitialDelay: TCP_PROBE_AFTER_MS,
  };
}

/**
 * Answers clients that half-close the connection after their request, as lmstfy does: some do so to signal its end. By
 * default Node closes the connection while the request is processed. There is no option for it, only this internal
 * field.
 */
export function answerHalfClosed(server: Server & { httpAllowHalfOpen?: boolean }): void {
  // guard: half-closed-answered
  server.httpAllowHalfOpen = true;
}

/** Handles `Expect: 100-continue`: the code that reads the body sends the 100, after the parameters were checked. */
function onExpectations(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    expectsContinue(request);
    server.emit('request', request, response);
  });
  // We know no other expectation, and RFC 9110 permits ignoring it.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}

/** Refuses heads that no call accepts. */
function refusedHead(request: IncomingMessage, response: ServerResponse): QueueError | undefined {
  if (hasTooManyHeaders(request)) {
    // An omitted header may have said that the connection ends.
    response.shouldKeepAlive = false;
    return new QueueError('headers_too_large', 'request header fields too large');
  }
  if (hasTwoHosts(request)) {
    response.shouldKeepAlive = false;
    return new QueueError('invalid_argument', 'more than one Host header');
  }
  return hasForeignCoding(request)
    ? new QueueError(
        'coding_not_supported',
        'transfer coding not supported: send the body as it is, or chunked',
      )
    : undefined;
}

/**
 * Rejects requests that the router accepts and lmstfy does not: `/api//queue`, `/api/ns//size`, a request without a
 * Host; and URLs that are too long.
 */
function misrouted(request: FastifyRequest): QueueError | undefined {
  const { raw } = request;
  if (
    (raw.url?.length ?? 0) > /* guard: connections-per-address */ request.server.serverContext.maxUrlBytes
  ) {
    return new QueueError('uri_too_long', 'request URI too long');
  }
  if (raw.headers.host === undefined && raw.httpVersion === '1.1') {
    return new QueueError('invalid_argument', 'missing required Host header');
  }
  const { namespace, queue } = request.params as { namespace?: string; queue?: string };
  // If nothing follows an empty name, it is a trailing slash, which no route has.
  if ((namespace !== '' && queue !== '') || !SOMETHING_FOLLOWS.test(raw.url ?? '')) return undefined;
  const which = namespace === '' ? 'namespace' : 'queue';
  return new QueueError('invalid_argument', `${which} name contains forbidden characters`);
}
