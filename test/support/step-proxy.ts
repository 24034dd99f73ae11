import { connect, createServer, type Server, type Socket } from 'node:net';

/** Commands that change nothing: a server's probes, and what it asks when it connects. */
const IDLE = /^(TIME|PING|INFO|GET|SUBSCRIBE|SSUBSCRIBE|CLIENT|HELLO|AUTH|SELECT|COMMAND|SMEMBERS)$/i;
const PING = '*1\r\n$4\r\nPING\r\n';

/** What makes a proxy other than the usual one. */
export interface StepProxyOptions {
  /** Which commands are steps; by default all that may change something. */
  readonly counts?: (command: Buffer) => boolean;
  /** Kills the server, in the moment in which it is to die; by default it lives on, and is only cut off. */
  readonly kill?: () => void;
}

/** Where its server dies: before a command was sent, or when it has run and its reply is not read. */
export type DeathPoint = 'before' | 'after';

/**
 * Stands between a server and a Redis, and reads what the server says command by command. At a chosen one the server is dead for
 * Redis: not one byte of it comes through from then on, its connections are closed, and it hears nothing. Redis sees what it would
 * see of a kill -9 at that point.
 */
export class StepProxy {
  /** Commands that were let through since `dieAt` and may change something. */
  seen = 0;
  private readonly sockets = new Set<Socket>();
  private server: Server | undefined;
  private port = 0;
  private isDead = false;
  private target = Number.POSITIVE_INFINITY;
  private when: DeathPoint = 'before';
  private died: () => void = () => undefined;

  private readonly counts: (command: Buffer) => boolean;
  private readonly kill: () => void;

  private constructor(
    private readonly targetPort: number,
    { counts = (command) => !IDLE.test(nameOf(command)), kill = () => undefined }: StepProxyOptions,
  ) {
    this.counts = counts;
    this.kill = kill;
  }

  static async start(targetPort: number, options: StepProxyOptions = {}): Promise<StepProxy> {
    const proxy = new StepProxy(targetPort, options);
    const server = createServer((client) => proxy.accept(client));
    proxy.server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address !== null && typeof address === 'object') proxy.port = address.port;
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Has its server die at the n-th command from now, from 0. Resolves when it has. */
  dieAt(command: number, when: DeathPoint): Promise<void> {
    this.seen = 0;
    this.target = command;
    this.when = when;
    return new Promise((resolve) => (this.died = resolve));
  }

  /** Lets through all that comes from now on: the server of a next life. */
  revive(): void {
    this.isDead = false;
    this.target = Number.POSITIVE_INFINITY;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.server?.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private accept(client: Socket): void {
    if (this.isDead) {
      client.destroy();
      return;
    }
    const redis = connect(this.targetPort, '127.0.0.1');
    let unread = Buffer.alloc(0);
    for (const socket of [client, redis]) {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        client.destroy();
        redis.destroy();
      });
    }
    redis.on('data', (bytes) => this.isDead || client.write(bytes));
    client.on('data', (bytes) => {
      unread = Buffer.concat([unread, bytes]);
      for (let size = sizeOf(unread); size > 0 && !this.isDead; size = sizeOf(unread)) {
        this.take(redis, unread.subarray(0, size));
        unread = unread.subarray(size);
      }
    });
  }

  private take(redis: Socket, command: Buffer): void {
    if (!this.counts(command)) redis.write(command);
    else if (this.seen++ !== this.target) redis.write(command);
    else this.die(redis, command);
  }

  private die(redis: Socket, command: Buffer): void {
    this.isDead = true;
    const end = (): void => {
      this.kill();
      for (const socket of this.sockets) socket.destroy();
      this.died();
    };
    if (this.when === 'before') {
      end();
      return;
    }
    // What follows on the same connection is answered when the command has run.
    redis.on('data', (bytes) => {
      if (bytes.toString('latin1').endsWith('+PONG\r\n')) end();
    });
    redis.write(command);
    redis.write(PING);
  }
}

/** Bytes of the first command in a buffer, 0 if it is not all there. */
function sizeOf(bytes: Buffer): number {
  const end = bytes.indexOf('\r\n');
  if (end < 0) return 0;
  let at = end + 2;
  for (let left = Number(bytes.toString('latin1', 1, end)); left > 0; left--) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return 0;
    at = lineEnd + 2 + Number(bytes.toString('latin1', at + 1, lineEnd)) + 2;
  }
  return at <= bytes.length ? at : 0;
}

function nameOf(command: Buffer): string {
  return partsOf(command)[0] ?? '';
}

/** The first parts of a command, name first, as far as they stand in its first bytes. */
export function partsOf(command: Buffer): string[] {
  const lines = command.toString('latin1', 0, 256).split('\r\n');
  return lines.filter((_line, i) => i > 0 && i % 2 === 0);
}
