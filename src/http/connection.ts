import type { Socket } from 'node:net';

/** Who wants to know that a client has gone, by its connection. */
const watchers = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls `gone` once if the connection closes before the returned function is called.
 *
 * It watches the socket and not the response: a response that waits behind another one of its connection (pipelining)
 * never learns that the connection is gone. There is one listener a connection, however many requests it carries.
 */
export function watchConnection(socket: Socket, gone: () => void): () => void {
  let waiting = watchers.get(socket);
  if (waiting === undefined) {
    waiting = new Set();
    watchers.set(socket, waiting);
    socket.once('close', tellAll);
  }
  const all = waiting;
  all.add(gone);
  return () => all.delete(gone);
}

function tellAll(this: Socket): void {
  const all = watchers.get(this);
  watchers.delete(this);
  if (all !== undefined) for (const gone of [...all]) gone();
}
