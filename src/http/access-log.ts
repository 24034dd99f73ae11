import type { Log } from '../domain/log.js';
import { sentToken } from './request/head.js';
import type { RequestContext } from './request/request-context.js';
import { shownUrl } from './request/shown-url.js';

/** Writes one line per answered request, while enabled. No body, no token, no query with a token. */
export class AccessLog {
  constructor(
    private readonly log: Log,
    public on: boolean,
  ) {}

  /** @param ms from the request's head to its answer */
  write({ request, requestId, query, route }: RequestContext, status: number, ms: number): void {
    if (!this.on) return;
    this.log.info(
      {
        request_id: requestId,
        method: request.method,
        url: shownUrl(request.url ?? '', sentToken(request, query, route)),
        status,
        ms: Math.round(ms * 1000) / 1000,
        remote: request.socket.remoteAddress,
      },
      'access',
    );
  }
}
