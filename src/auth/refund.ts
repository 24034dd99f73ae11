import { isBroken, unwatchConnection, watchConnection } from '../http/request/connection.js';
import type { RequestContext } from '../http/request/request-context.js';

/** Calls `refund` once, unless the response is 200 or 201: only those count against the limit. */
export function refundUnlessServed({ request, response }: RequestContext, refund: () => void): void {
  const { socket } = request;
  let isSettled = false;
  const settle = (isServed: boolean): void => {
    if (!isSettled && !isServed) refund();
    isSettled = true;
  };
  const watcher = { connectionClosed: (): void => settle(false) };
  watchConnection(socket, watcher);
  response.once('finish', () => {
    unwatchConnection(socket, watcher);
    settle(!isBroken(socket) && (response.statusCode === 200 || response.statusCode === 201));
  });
}
