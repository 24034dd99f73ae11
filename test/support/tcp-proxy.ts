import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/setup/free-port.mjs';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** Neither side hears the other any more, nor that it has gone. */
  isDead: boolean;
  /** Something that the server answered was swallowed. */
  hasLost: boolean;
  /** Resolves when the last reply that is held back has gone. */
  held: Promise<void> | undefined;
}

/** Stands between a client and a Redis on this machine, and does to their bytes what bad networks do. */
export class TcpProxy {
  /** Swallow what the server answers. */
  dropsReplies = false;
  /** Hold back what the server answers for so long, in milliseconds; its order stays. */
  replyDelayMs = 0;
  private readonly links = new Set<Link>();
  private readonly watchers = new Set<(request: Buffer) => void>();
  private server: Server | undefined;
  private cutIn = Number.POSITIVE_INFINITY;

  private constructor(
    /** Where new connections go. */
    public targetPort: number,
    private readonly port: number,
  ) {}

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort, await freePort());
    await proxy.up();
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Accepts connections, on the same port as before. */
  async up(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (client) => this.accept(client));
    this.server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', resolve);
    });
  }

  /** Cuts every connection and refuses new ones. */
  async down(): Promise<void> {
    const closed = new Promise((resolve) => this.server?.close(resolve));
    this.cut();
    await closed;
  }

  /** Cuts every connection; new ones are accepted. */
  cut(): void {
    for (const link of this.links) this.end(link);
  }

  /** Cuts the connections when so many more bytes of replies have gone through; the last reply may be torn. */
  cutAfterReplyBytes(bytes: number): void {
    this.cutIn = bytes;
  }

  /** Every connection of now stays open and dumb on both sides; new ones work. */
  halfOpen(): void {
    for (const link of this.links) link.isDead = true;
  }

  /** Resolves when a request goes through that has this text in it. */
  request(text: string): Promise<void> {
    return new Promise((resolve) => {
      const watcher = (request: Buffer): void => {
        if (!request.includes(text)) return;
        this.watchers.delete(watcher);
        resolve();
      };
      this.watchers.add(watcher);
    });
  }

  private accept(client: Socket): void {
    const link: Link = {
      client,
      server: connect(this.targetPort, '127.0.0.1'),
      isDead: false,
      hasLost: false,
      held: undefined,
    };
    this.links.add(link);
    client.on('data', (bytes) => this.forward(link, bytes));
    link.server.on('data', (bytes) => this.reply(link, bytes));
    for (const socket of [client, link.server]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      for (const event of ['end', 'close']) socket.on(event, () => link.isDead || this.end(link));
    }
  }

  private forward(link: Link, bytes: Buffer): void {
    if (link.isDead) return;
    link.server.write(bytes);
    for (const watcher of [...this.watchers]) watcher(bytes);
  }

  private reply(link: Link, bytes: Buffer): void {
    const pass = (): void => {
      if (link.isDead) return;
      if (this.dropsReplies) {
        link.hasLost = true;
        return;
      }
      // No connection loses what is in its middle: what came behind it would be read as the answer to another call.
      if (link.hasLost) {
        this.end(link);
        return;
      }
      const rest = this.cutIn - bytes.length;
      link.client.write(rest > 0 ? bytes : bytes.subarray(0, this.cutIn));
      this.cutIn = rest > 0 ? rest : Number.POSITIVE_INFINITY;
      if (rest <= 0) this.end(link);
    };
    if (this.replyDelayMs === 0 && link.held === undefined) {
      pass();
      return;
    }
    const since = Promise.all([sleep(this.replyDelayMs), link.held]);
    const held = since.then(() => {
      pass();
      if (link.held === held) link.held = undefined;
    });
    link.held = held;
  }

  private end(link: Link): void {
    this.links.delete(link);
    link.client.destroySoon();
    link.server.destroy();
  }

  /** Ends everything, dead connections too. */
  async stop(): Promise<void> {
    await this.down();
  }
}
