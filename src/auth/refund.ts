import { unwatchConnection, watchConnection } from '../http/connection.js';
import type { Exchange } from '../http/exchange.js';

/** Calls `refund` once, unless an answer of 200 or 201 goes out: only that has cost the caller a request. */
export function refundUnlessServed({ request, response }: Exchange, refund: () => void): void {
  const { socket } = request;
  if (socket.destroyed) {
    // It went while its request was being counted: nobody will tell us of it again.
    refund();
    return;
  }
  let isSettled = false;
  const settle = (isServed: boolean): void => {
    if (!isSettled && !isServed) refund();
    isSettled = true;
  };
  const watcher = { connectionClosed: (): void => settle(false) };
  watchConnection(socket, watcher);
  response.once('finish', () => {
    unwatchConnection(socket, watcher);
    // Node says so too of an answer whose connection was destroyed under it.
    settle(!socket.destroyed && (response.statusCode === 200 || response.statusCode === 201));
  });
}
