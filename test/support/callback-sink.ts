import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A callback that came in. */
export interface Received {
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly atMs: number;
}

export type SinkAnswer = (response: ServerResponse, times: number) => void;

/** What later's targets answer. */
export const code =
  (value: number, status = 200): SinkAnswer =>
  (response) =>
    void response.writeHead(status).end(JSON.stringify({ code: value }));

/** A server that callbacks go to. It answers by path, else with code 100. */
export class CallbackSink {
  readonly received: Received[] = [];
  readonly answers = new Map<string, SinkAnswer>();

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        const body = Buffer.concat(chunks).toString();
        this.received.push({ line: `${method} ${url}`, headers, body, atMs: Date.now() });
        (this.answers.get(url) ?? code(100))(response, this.at(url).length);
      });
    });
  }

  static async start(): Promise<CallbackSink> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new CallbackSink(server);
  }

  get origin(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  /** What came in for a path. */
  at(path: string): Received[] {
    return this.received.filter(({ line }) => line.endsWith(` ${path}`));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
