import type { Socket } from 'node:net';

/** Somebody who wants to know that a client has gone. */
export interface ConnectionWatcher {
  /** The connection is closed. Called once, unless it was unwatched before. */
  connectionClosed(): void;
}

const WATCHERS = Symbol('watchers');

interface WatchedSocket extends Socket {
  [WATCHERS]?: ConnectionWatcher[];
}

/**
 * Tells `watcher` when the connection closes.
 *
 * It watches the socket and not the response: a response that waits behind another one of its connection (pipelining)
 * never learns that the connection is gone. There is one listener a connection, however many requests it carries.
 */
export function watchConnection(socket: WatchedSocket, watcher: ConnectionWatcher): void {
  const watchers = socket[WATCHERS];
  if (watchers !== undefined) watchers.push(watcher);
  else {
    socket[WATCHERS] = [watcher];
    socket.on('close', tellAll);
  }
}

/** Tells it no more. */
export function unwatchConnection(socket: WatchedSocket, watcher: ConnectionWatcher): void {
  const watchers = socket[WATCHERS];
  const at = watchers?.indexOf(watcher) ?? -1;
  if (at !== -1) watchers?.splice(at, 1);
}

function tellAll(this: WatchedSocket): void {
  for (const watcher of this[WATCHERS]?.splice(0) ?? []) watcher.connectionClosed();
}
