import type { FastifyReply, FastifyRequest } from 'fastify';
import { redactUrl } from '../config/log.js';
import type { Log } from '../domain/log.js';

/** One line for each answered request, while it is switched on. No body, no token, no query string with one. */
export class AccessLog {
  constructor(
    private readonly log: Log,
    public on: boolean,
  ) {}

  note(request: FastifyRequest, reply: FastifyReply): void {
    if (!this.on) return;
    const { raw } = request;
    this.log.info(
      {
        request_id: request.id,
        method: raw.method,
        url: urlOf(request),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 1000) / 1000,
        remote: raw.socket.remoteAddress,
      },
      'access',
    );
  }
}

/** A token may be spelt with escapes: with one in it, the whole query is left out. */
function urlOf({ raw: { url = '' }, query }: FastifyRequest): string {
  const hasToken = typeof query === 'object' && query !== null && 'token' in query;
  return hasToken ? (url.split('?', 1)[0] ?? '') : redactUrl(url);
}
