import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How often idle connections are closed while a server drains, in milliseconds. */
const REAP_MS = 50;

/** Tracks the connections of a server, to close them all in time. */
export class Connections {
  private readonly open = new Set<Socket>();
  /** With TLS: the TLS sockets, once the handshake is done. */
  private readonly secure = new Set<Socket>();

  constructor(private readonly server: Server) {
    const logIn =
      (set: Set<Socket>) =>
      (socket: Socket): void => {
        set.add(socket);
        socket.once('close', () => set.delete(socket));
      };
    server.on('connection', logIn(this.open)).on('secureConnection', logIn(this.secure));
  }

  /** The sockets that answers are written to. */
  get speaking(): ReadonlySet<Socket> {
    return 'setSecureContext' in this.server ? this.secure : this.open;
  }

  /**
   * Stops listening and closes each connection when its request is answered. Closes the rest after `withinMs`.
   *
   * @returns how many were closed before they were idle
   */
  async drain(withinMs: number): Promise<number> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.closeIdle();
    const reaper = setInterval(() => /* guard: stop-closes-idle-connections */ this.closeIdle(), REAP_MS);
    const halt = new AbortController();
    const patience = sleep(withinMs, undefined, { signal: halt.signal }).catch(() => undefined);
    await Promise.race([closed, patience]);
    halt.abort();
    clearInterval(reaper);
    const left = [...this.open];
    // The server's `close` event comes before those of its sockets, which report the clients that got no answer.
    const gone = left.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    // Idle connections are destroyed already and do not count.
    const cut = left.filter((socket) => !socket.destroyed).length;
    for (const socket of left) socket.destroy();
    await Promise.all([closed, ...gone]);
    return cut;
  }

  /**
   * Node counts a connection that has not sent anything yet as busy. With TLS, new ones can appear while the server
   * drains.
   */
  private closeIdle(): void {
    for (const socket of [...this.open, ...this.secure]) if (socket.bytesRead === 0) socket.destroy();
    this.server.closeIdleConnections();
  }
}

/** The actual port of a listening server. */
export function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen on a port');
  return address.port;
}
