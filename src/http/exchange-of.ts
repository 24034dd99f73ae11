import type { ArgumentsHost } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Exchange, type ServerContext } from './exchange.js';
import { NO_QUERY, type Query } from './query.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Set by the adapter. */
    exchanges: ServerContext;
  }
  interface FastifyRequest {
    exchange?: Exchange;
  }
}

/** The names that routes have. Fastify has none at all for an address that it could not decode. */
type RouteParams = Partial<Record<'namespace' | 'queue' | 'id', string>> | null | undefined;

/** The exchange of a request that came over the router: always the same one. From here on the answer is ours, not Fastify's. */
export function exchangeOf(request: FastifyRequest, reply: FastifyReply): Exchange {
  request.exchange ??= begin(request, reply);
  return request.exchange;
}

/** The same, from what Nest hands to guards, filters and decorators. */
export function exchangeIn(host: ArgumentsHost): Exchange {
  const http = host.switchToHttp();
  return exchangeOf(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
}

function begin(request: FastifyRequest, reply: FastifyReply): Exchange {
  const context = reply.server.exchanges;
  const params = request.params as RouteParams;
  reply.hijack();
  return new Exchange(context, request.raw, reply.raw, request.id, {
    door: context.doorOf(request.raw.url ?? ''),
    route: request.is404 ? '' : (request.routeOptions.url ?? ''),
    namespace: params?.namespace ?? '',
    queue: params?.queue ?? '',
    jobId: params?.id ?? '',
    query: (request.query as Query | undefined) ?? NO_QUERY,
  });
}
