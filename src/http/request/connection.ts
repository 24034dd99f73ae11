import type { Socket } from 'node:net';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';

/** Receives events of the connection of a request. */
export interface ConnectionWatcher {
  /**
   * The connection is closed. Called once, unless unwatched before; asynchronously, if the connection is already
   * closed.
   */
  connectionClosed(): void;
  /**
   * The client must not wait any longer (see `mayWait`). Called when that becomes so; asynchronously, if it is so
   * already.
   */
  waitEnds?(): void;
}

/** State of a connection. */
interface Connection {
  readonly watchers: ConnectionWatcher[];
  /** The server does not read from it, and so cannot detect that the client disconnects. */
  isHeld: boolean;
}

const CONNECTION = Symbol('connection');

interface WatchedSocket extends Socket {
  [CONNECTION]?: Connection;
}

/**
 * Calls `watcher` when the connection closes, even if it is already closed.
 *
 * It watches the socket and not the response: a response that waits behind another one of its connection (pipelining)
 * is not notified when the connection closes. There is one pair of listeners per connection, for all its requests.
 */
export function watchConnection(socket: WatchedSocket, watcher: ConnectionWatcher): void {
  if (socket.closed) {
    // guard: closed-connection-reported
    // guard: closed-request-released
    queueMicrotask(() => watcher.connectionClosed());
    return;
  }
  connectionOf(socket).watchers.push(watcher);
  if (watcher.waitEnds !== undefined && !mayWait(socket)) queueMicrotask(() => watcher.waitEnds?.());
}

/** Stops calling it. */
export function unwatchConnection(socket: WatchedSocket, watcher: ConnectionWatcher): void {
  const watchers = socket[CONNECTION]?.watchers;
  if (watchers === undefined) return;
  // Usually there is one request at a time.
  if (watchers.at(-1) === watcher) watchers.pop();
  else {
    const at = watchers.indexOf(watcher);
    if (at !== -1) watchers.splice(at, 1);
  }
}

/**
 * True if the client has closed the connection, or only its own side: both begin with the same packet. It may still
 * read an answer, so it must get one; but the answer must not contain anything that would be lost if the client does
 * not read it.
 */
export function hasHungUp(socket: Socket): boolean {
  return socket.destroyed || /* guard: half-closed-gets-no-lease */ socket.readableEnded;
}

/**
 * True if not all that was written reached the operating system. Node emits `finish` for such an answer, too: also just
 * before it destroys a connection whose write has failed.
 */
export function isBroken(socket: Socket): boolean {
  return socket.destroyed || /* guard: failed-write-is-no-answer */ socket.errored !== null;
}

/** True if a client may wait: it has not closed its side, and the server would notice if it did. */
export function mayWait(socket: WatchedSocket): boolean {
  return !hasHungUp(socket) && socket[CONNECTION]?.isHeld !== true;
}

/** Records that the server stops or resumes reading from a connection. Stopping ends waits. */
export function markConnectionHeld(socket: WatchedSocket, isHeld: boolean): void {
  connectionOf(socket).isHeld = isHeld;
  // guard: unread-connection-no-wait
  if (isHeld) endWaits.call(socket);
}

function connectionOf(socket: WatchedSocket): Connection {
  let connection = socket[CONNECTION];
  if (connection === undefined) {
    connection = { watchers: [], isHeld: false };
    socket[CONNECTION] = connection;
    socket.on('close', notifyClosed).on('end', /* guard: half-closed-connection-ends-waits */ endWaits);
  }
  return connection;
}

function notifyClosed(this: WatchedSocket): void {
  for (const watcher of this[CONNECTION]?.watchers.splice(0) ?? []) watcher.connectionClosed();
}

function endWaits(this: WatchedSocket): void {
  for (const watcher of [...(this[CONNECTION]?.watchers ?? [])]) watcher.waitEnds?.();
}

/** Requests of one connection that are served while an earlier one has not been answered, or its answer not been read. */
export const MAX_PIPELINED = 32;

/** Methods by which a client asks for no change: their order does not matter. */
const SAFE: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);
/** Three names, of which the first is not that of the native API: lmstfy's consume, a GET that leases, in any spelling. */
const CONSUME = /^(?:https?:\/\/[^/]*)?\/(?!v1\/)[^/?]*\/[^/?]*\/[^/?]*(?:\?|$)/i;

function isSafe({ method, url = '' }: Pick<IncomingMessage, 'method' | 'url'>): boolean {
  return SAFE.has(method) && /* guard: pipelined-consume-is-unsafe */ !CONSUME.test(url);
}

/** The response that is sent now, or next, on a connection. Node keeps it on the socket, in an internal field. */
export function currentResponse(socket: Socket): ServerResponse | undefined {
  return (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

/**
 * Serves the requests of one connection one at a time, except safe ones behind safe ones: they run at the same time
 * (RFC 9112, 9.3.2). So a client that sends a publish and its queue's size, without waiting between them, gets the size
 * with its job.
 *
 * It also limits how many run, and so the answers that wait in memory for a client that does not read. Requests that must
 * wait are served when an earlier one is answered; until then the connection is not read. Node alone also stops reading
 * when much is unsent, but it serves everything in the packet that it has read: thousands of requests.
 *
 * Call it after all request listeners have been added.
 */
export function boundPipelines(server: Server): void {
  const takers = server.listeners('request') as RequestListener[];
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    for (const take of takers) take.call(server, request, response);
  };
  const pipelines = new WeakMap<Socket, Pipeline>();
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // A response has its socket once all earlier ones were sent: the usual case.
    if (response.socket !== null) {
      serve(request, response);
      return;
    }
    const { socket } = request;
    let pipeline = pipelines.get(socket);
    if (pipeline === undefined) {
      pipeline = new Pipeline(socket, serve);
      pipelines.set(socket, pipeline);
    }
    pipeline.take(request, response);
  });
}

/** The requests of a connection that arrived before an earlier answer was sent. */
class Pipeline {
  /** Those that are served beside the one whose answer is next. All of them are safe, and so is that one. */
  private underWay = 0;
  private readonly held: [IncomingMessage, ServerResponse][] = [];

  constructor(
    private readonly socket: Socket,
    private readonly serve: (request: IncomingMessage, response: ServerResponse) => void,
  ) {
    // Node resumes reading by itself when an answer was sent or a body is read.
    socket.on('resume', () => {
      if (this.held.length > 0) socket.pause();
    });
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    if (this.held.length === 0 && this.mayBegin(request, response)) {
      this.begin(request, response);
      return;
    }
    this.held.push([request, response]);
    if (this.held.length > 1) return;
    // The first request of a connection was served without us.
    currentResponse(this.socket)?.once('close', () => this.goOn());
    this.socket.pause();
    markConnectionHeld(this.socket, true);
  }

  /** With its socket, all earlier answers were sent; it never gets one when the connection ends with one of those. */
  private mayBegin(request: IncomingMessage, response: ServerResponse): boolean {
    if (response.socket !== null) return true;
    const current = currentResponse(this.socket);
    return (
      // guard: pipelined-safe-are-few
      this.underWay < MAX_PIPELINED &&
      // guard: pipelined-unsafe-waits
      isSafe(request) &&
      current !== undefined &&
      // guard: pipelined-behind-unsafe-waits
      isSafe(current.req)
    );
  }

  private begin(request: IncomingMessage, response: ServerResponse): void {
    this.underWay++;
    response.once('close', () => {
      this.underWay--;
      this.goOn();
    });
    this.serve(request, response);
  }

  private goOn(): void {
    if (this.held.length === 0) return;
    while (!this.socket.destroyed) {
      const [next] = this.held;
      if (next === undefined || !this.mayBegin(...next)) break;
      this.held.shift();
      if (this.held.length === 0) {
        markConnectionHeld(this.socket, false);
        this.socket.resume();
      }
      this.begin(...next);
    }
  }
}
