import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How often connections that have become idle are closed while a server drains, in milliseconds. */
const REAP_MS = 50;

/** The connections of a server: what it takes to end them all in time. */
export class Connections {
  private readonly open = new Set<Socket>();
  /** With TLS: what stands on them once hands were shaken. */
  private readonly secure = new Set<Socket>();

  constructor(private readonly server: Server) {
    const noteIn =
      (set: Set<Socket>) =>
      (socket: Socket): void => {
        set.add(socket);
        socket.once('close', () => set.delete(socket));
      };
    server.on('connection', noteIn(this.open)).on('secureConnection', noteIn(this.secure));
  }

  /** Those that answers are written to. */
  get speaking(): ReadonlySet<Socket> {
    return 'setSecureContext' in this.server ? this.secure : this.open;
  }

  /**
   * Stops listening and ends each connection when its request is answered; cuts those that are left after `withinMs`.
   *
   * @returns how many were cut
   */
  async drain(withinMs: number): Promise<number> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    // Node counts a connection that has sent nothing yet as busy.
    for (const socket of [...this.open, ...this.secure]) if (socket.bytesRead === 0) socket.destroy();
    const reaper = setInterval(() => this.server.closeIdleConnections(), REAP_MS);
    const halt = new AbortController();
    const patience = sleep(withinMs, undefined, { signal: halt.signal }).catch(() => undefined);
    await Promise.race([closed, patience]);
    halt.abort();
    clearInterval(reaper);
    const left = [...this.open];
    // The server's own close comes before those of its sockets, which tell who has gone without an answer.
    const gone = left.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    // Those that were idle are destroyed already, and were not cut.
    const cut = left.filter((socket) => !socket.destroyed).length;
    for (const socket of left) socket.destroy();
    await Promise.all([closed, ...gone]);
    return cut;
  }
}

/** The port that a listening server really has. */
export function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen on a port');
  return address.port;
}
