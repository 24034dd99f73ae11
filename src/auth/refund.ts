import { isBroken, unwatchConnection, watchConnection } from '../http/request/connection.js';
import type { RequestContext } from '../http/request/request-context.js';

/** What counts: jobs or ids were answered; 202 = a publish that waited has stored its job. */
const SERVED: ReadonlySet<number> = new Set([200, 201, 202]);

/**
 * Calls `refund` once, unless the request was served. A lease that does not reach its client is undone, so it does not count; a publish whose
 * client has gone may be stored, so it counts.
 */
export function refundUnlessServed(
  context: RequestContext,
  kind: 'read' | 'write',
  refund: () => void,
): void {
  const { request, response } = context;
  const isServed = (): boolean => SERVED.has(response.statusCode) && !context.isEmpty;
  if (kind === 'write') {
    response.once('close', () => {
      if (!isServed()) refund();
    });
    return;
  }
  const { socket } = request;
  let isSettled = false;
  const settle = (hasServed: boolean): void => {
    if (!isSettled && !hasServed) refund();
    isSettled = true;
  };
  const watcher = { connectionClosed: (): void => settle(false) };
  watchConnection(socket, watcher);
  response.once('finish', () => {
    unwatchConnection(socket, watcher);
    settle(!isBroken(socket) && isServed());
  });
}
