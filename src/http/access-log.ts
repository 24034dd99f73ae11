import { redactUrl } from '../config/log.js';
import type { Log } from '../domain/log.js';
import type { Exchange } from './exchange.js';
import { parseQuery } from './query.js';

/** One line for each answered request, while it is switched on. No body, no token, no query string with one. */
export class AccessLog {
  constructor(
    private readonly log: Log,
    public on: boolean,
  ) {}

  /** @param ms from the request's head to its answer */
  note({ request, requestId }: Exchange, status: number, ms: number): void {
    if (!this.on) return;
    this.log.info(
      {
        request_id: requestId,
        method: request.method,
        url: shownUrl(request.url ?? ''),
        status,
        ms: Math.round(ms * 1000) / 1000,
        remote: request.socket.remoteAddress,
      },
      'access',
    );
  }
}

/** A token may be spelt with escapes: with one in it, the whole query is left out. */
function shownUrl(url: string): string {
  const mark = url.indexOf('?');
  if (mark === -1) return redactUrl(url);
  return 'token' in parseQuery(url.slice(mark + 1)) ? url.slice(0, mark) : redactUrl(url);
}
