import { createSocket, type Socket as DnsSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** What a hostile server does with a connection once a request has come in. */
export type Behaviour = (socket: Socket) => void;

/** A server that speaks TCP and does what a test wants; it counts what came in. */
export class HostileServer {
  connections = 0;
  requests: string[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private behaviour: Behaviour,
  ) {
    server.on('connection', (socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      socket.on('error', () => undefined).once('close', () => this.sockets.delete(socket));
      socket.on('data', (data) => {
        this.requests.push(data.toString('latin1'));
        this.behaviour(socket);
      });
    });
  }

  static async start(behaviour: Behaviour): Promise<HostileServer> {
    const server = createServer();
    const hostile = new HostileServer(server, behaviour);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return hostile;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Sockets that are still open. */
  get open(): number {
    return this.sockets.size;
  }

  becomes(behaviour: Behaviour): void {
    this.behaviour = behaviour;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}

export type DnsAnswers = (name: string, type: 'A' | 'AAAA') => readonly string[] | null;

/**
 * A DNS server on loopback. `answers` is called for each query: addresses of the name, none = no such name, null = it
 * never answers.
 */
export class TestDns {
  queries = 0;
  readonly address: string;

  private constructor(
    private readonly socket: DnsSocket,
    answers: DnsAnswers,
    ttlS: number,
  ) {
    this.address = `127.0.0.1:${String(socket.address().port)}`;
    socket.on('message', (query, { port, address }) => {
      this.queries += 1;
      const { name, type, end } = readQuestion(query);
      const found = type === 1 || type === 28 ? answers(name, type === 1 ? 'A' : 'AAAA') : [];
      if (found === null) return;
      socket.send(answerOf(query.subarray(0, end), type, found, ttlS), port, address);
    });
  }

  static async start(answers: DnsAnswers, ttlS = 0): Promise<TestDns> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new TestDns(socket, answers, ttlS);
  }

  stop(): void {
    this.socket.close();
  }
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function answerOf(query: Buffer, type: number, addresses: readonly string[], ttlS: number): Buffer {
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(addresses.length, 6);
  header.writeUInt32BE(0, 8);
  const records = addresses.map((address) => {
    const data = type === 1 ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address);
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(ttlS, 6);
    record.writeUInt16BE(data.length, 10);
    return Buffer.concat([record, data]);
  });
  return Buffer.concat([header, query.subarray(12), ...records]);
}

/** @param address with at most one `::`, and no dots */
function ipv6Bytes(address: string): Buffer {
  const [head = '', tail = ''] = address.split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((one) => Number.parseInt(one, 16));
  const [before, after] = [groups(head), groups(tail)];
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  const bytes = Buffer.alloc(16);
  all.forEach((group, i) => bytes.writeUInt16BE(group, i * 2));
  return bytes;
}
