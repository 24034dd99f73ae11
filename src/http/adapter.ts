import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerConfig } from '../config/config.js';
import type { Log } from '../domain/log.js';
import { QueueError } from '../domain/errors.js';
import { expectsContinue } from './body.js';
import { answerClientError } from './client-error.js';
import { Drain } from './drain.js';
import { LmstfyDoor } from './errors.lmstfy.js';
import { V1Door } from './errors.v1.js';
import type { ServerContext } from './exchange.js';
import { exchangeOf } from './exchange-of.js';
import { parseQuery } from './query.js';
import { RouteTable } from './route-table.js';
import { nextRequestId, REQUEST_ID_HEADER } from './request-id.js';

/** Names are checked by the guard, and the header limit bounds a list of queues: the router need not. */
const NO_PARAM_LIMIT = 1_073_741_824;
/** A peer that vanished without a word is found by TCP's own probes, which start after this idle time. */
const TCP_PROBE_AFTER_MS = 30_000;

/** No route has a schema. Without a word Fastify loads two compilers for them, which costs as much as all of its other code. */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } };

function noSchema(): never {
  throw new Error('routes check their fields themselves, and have no schemas of Fastify');
}

/** An empty name in a path, and more path after it. */
const SOMETHING_FOLLOWS = /^\/[^?]*\/\/[^/?]/;

/** The part of the server's settings that its sockets need. */
export type SocketSettings = Pick<
  ServerConfig,
  'keep_alive_ms' | 'max_header_bytes' | 'max_url_bytes' | 'header_timeout_ms' | 'request_timeout_ms'
>;

/** What a listener with TLS needs, in Node's words; PEM texts. */
export interface TlsOptions {
  readonly cert?: string;
  readonly key?: string;
  /** Who must have signed the clients' certificates. */
  readonly ca?: string;
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
}

/** What an adapter is made of. */
export interface AdapterParts {
  readonly settings: SocketSettings;
  readonly log: Log;
  readonly drain: Drain;
  /** Left out: plain HTTP. */
  readonly tls?: TlsOptions | undefined;
}

/**
 * A Fastify for the lmstfy API: no body parsing (controllers read the stream after they have checked the parameters), no HEAD
 * routes, queries parsed lmstfy's way, an X-Request-Id on whatever it answers by itself.
 */
export function apiAdapter(parts: AdapterParts): FastifyAdapter {
  const adapter = baseAdapter(parts);
  const instance: FastifyInstance = adapter.getInstance();
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']) {
    if (instance.supportedMethods.includes(method)) {
      instance.addHttpMethod(method, { hasBody: false, overrideExisting: true });
    }
  }
  instance.addHook('onRequest', (request, reply, done) => {
    // We speak no other protocol. Node's parser may have dropped what came behind such a request: nobody shall wait for its answer.
    if (request.headers.upgrade !== undefined) reply.raw.shouldKeepAlive = false;
    done(misrouted(request));
  });
  return adapter;
}

/** A Fastify for the admin port: bodies are parsed, every answer gets its X-Request-Id here. */
export function adminAdapter(parts: AdapterParts): FastifyAdapter {
  const adapter = baseAdapter(parts);
  const instance: FastifyInstance = adapter.getInstance();
  instance.addHook('onRequest', (request, reply, done) => {
    reply.raw.setHeader(REQUEST_ID_HEADER, request.id);
    done();
  });
  return adapter;
}

function baseAdapter({ settings, log, drain, tls }: AdapterParts): FastifyAdapter {
  const listener = listenerOptions(settings);
  const adapter = new FastifyAdapter({
    logger: false,
    exposeHeadRoutes: false,
    // Draining is ours: Fastify would answer 503 to whoever comes on an open connection.
    return503OnClosing: false,
    forceCloseConnections: false,
    skipMiddie: true,
    schemaController: NO_SCHEMAS,
    genReqId: nextRequestId,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      exchangeOf(request, reply).fail(error),
    clientErrorHandler: answerClientError,
    routerOptions: { maxParamLength: NO_PARAM_LIMIT, querystringParser: parseQuery },
    requestTimeout: settings.request_timeout_ms,
    keepAliveTimeout: settings.keep_alive_ms,
    ...(tls === undefined
      ? { http: listener }
      : { https: { ...listener, ...tls, handshakeTimeout: listener.headersTimeout } }),
  });
  const instance: FastifyInstance = adapter.getInstance();
  const routes = new RouteTable();
  instance.addHook('onRoute', ({ url, method }) => routes.add(url, method));
  instance.decorate('exchanges', { ...contextOf(log, drain, routes), maxUrlBytes: settings.max_url_bytes });
  onExpectations(instance.server);
  return adapter;
}

function listenerOptions({ max_header_bytes, header_timeout_ms, request_timeout_ms }: SocketSettings) {
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

function contextOf(log: Log, drain: Drain, routes: RouteTable): Omit<ServerContext, 'maxUrlBytes'> {
  const lmstfy = new LmstfyDoor(log);
  const v1 = new V1Door(log, routes);
  return { drain, doorOf: (url) => (url.startsWith('/v1/') ? v1 : lmstfy) };
}

/** A client that waits for our word is told to go on by whoever reads its body, not before its parameters were checked. */
function onExpectations(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    expectsContinue(request);
    server.emit('request', request, response);
  });
  // Any other expectation is unknown to us, and RFC 9110 lets us go on as if it were not there.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}

/** What the router lets through and lmstfy does not: `/api//queue`, `/api/ns//size`, a request without a Host; and what is too long. */
function misrouted(request: FastifyRequest): QueueError | undefined {
  const { raw } = request;
  if ((raw.url?.length ?? 0) > request.server.exchanges.maxUrlBytes) {
    return new QueueError('uri_too_long', 'request URI too long');
  }
  if (raw.headers.host === undefined && raw.httpVersion === '1.1') {
    return new QueueError('invalid_argument', 'missing required Host header');
  }
  const { namespace, queue } = request.params as { namespace?: string; queue?: string };
  // Nothing after an empty name is a trailing slash, which is no route at all.
  if ((namespace !== '' && queue !== '') || !SOMETHING_FOLLOWS.test(raw.url ?? '')) return undefined;
  const which = namespace === '' ? 'namespace' : 'queue';
  return new QueueError('invalid_argument', `${which} name contains forbidden characters`);
}
