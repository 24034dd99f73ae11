import type { ArgumentsHost } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expectNoBody } from './body.js';
import { RequestContext, type ServerContext } from './request-context.js';
import { NO_QUERY, type Query } from './head.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Set by `serverContextOf`. */
    serverContext: ServerContext;
  }
  interface FastifyRequest {
    context?: RequestContext;
  }
}

/** Path parameters of routes. Fastify has none for a URL that it could not decode. */
type RouteParams = Partial<Record<'namespace' | 'queue' | 'id' | 'job_id', string>> | null | undefined;

/** The context of a request from the router: always the same object. */
export function contextOf(request: FastifyRequest, reply: FastifyReply): RequestContext {
  request.context ??= begin(request, reply);
  return request.context;
}

/** Likewise, from the Nest context of guards, filters and decorators. */
export function contextIn(host: ArgumentsHost): RequestContext {
  const http = host.switchToHttp();
  return contextOf(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
}

/** Likewise, for a handler that answers later by itself: Fastify does not touch the response any more. */
export function takeOver(reply: FastifyReply): RequestContext {
  reply.hijack();
  const context = contextOf(reply.request, reply);
  expectNoBody(context.request);
  return context;
}

function begin(request: FastifyRequest, reply: FastifyReply): RequestContext {
  const server = reply.server.serverContext;
  const params = request.params as RouteParams;
  const route = request.is404 ? '' : (request.routeOptions.url ?? '');
  const context = new RequestContext(server, request.raw, reply.raw, request.id, {
    // A path may be written in several ways; its route is one.
    errors: server.errorsOf(route || (request.raw.url ?? '')),
    route,
    namespace: params?.namespace ?? '',
    queue: params?.queue ?? '',
    jobId: params?.id ?? params?.job_id ?? '',
    query: (request.query as Query | undefined) ?? NO_QUERY,
  });
  // Handlers answer with `answer`, which ends the context. This is for those that do not.
  reply.raw.once('finish', () => context.end());
  return context;
}
