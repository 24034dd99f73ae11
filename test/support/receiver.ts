import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type Respond = (response: ServerResponse, received: Received) => void;

/** A receiver of webhooks on loopback. */
export class Receiver {
  readonly received: Received[] = [];
  respond: Respond = (response) => void response.end('ok');

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        const received = { method, url, headers, body: Buffer.concat(chunks) };
        receiver.received.push(received);
        receiver.respond(response, received);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get origin(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  get url(): string {
    return `${this.origin}/hook`;
  }

  of(id: string): Received[] {
    return this.received.filter(({ headers }) => headers['webhook-id'] === id);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

export const answerWith =
  (status: number, headers: Record<string, string> = {}, body = ''): Respond =>
  (response) =>
    void response.writeHead(status, headers).end(body);

/** Settings of a server that pushes to receivers on this machine. */
export const PUSH = {
  PUMPHOUSE_PUSH__ENABLED: 'true',
  PUMPHOUSE_PUSH__ALLOW: '127.0.0.1',
  PUMPHOUSE_PUSH__ALLOW_HTTP: 'true',
  PUMPHOUSE_PUSH__PORTS: '443,1024-65535',
  PUMPHOUSE_SERVER__DRAIN_MS: '300',
};
