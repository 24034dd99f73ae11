import { connect, type Socket } from 'node:net';

/**
 * A poll on a connection of its own that may be given up. Giving up is closing our half: what the server had handed to its operating
 * system by then still arrives and is counted, so that every job can be accounted for.
 */
export class Poll {
  private readonly socket: Socket;
  private received = '';
  private readonly closed: Promise<unknown>;

  /** @param withinMs the connection is cut after that time */
  constructor(port: number, request: string, withinMs = 0) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
      if (this.isAnswered) this.socket.end();
    });
    this.socket.on('error', () => undefined);
    this.socket.on('end', () => this.socket.end());
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
    if (withinMs > 0) this.socket.setTimeout(withinMs, () => this.socket.destroy());
    this.socket.write(request);
  }

  /** Resolves with all that came, once the connection is closed on both sides. */
  async answer(): Promise<string> {
    await this.closed;
    return this.received;
  }

  giveUp(): void {
    this.socket.end();
  }

  /** Closed at once, on both sides. */
  cut(): void {
    this.socket.destroy();
  }

  private get isAnswered(): boolean {
    const [head, body] = this.received.split('\r\n\r\n');
    const length = /content-length: (\d+)/i.exec(head ?? '')?.[1];
    return body !== undefined && body.length >= Number(length ?? 0);
  }
}
