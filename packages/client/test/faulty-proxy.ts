import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it came. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly atMs: number;
}

/**
 * What becomes of a request. `pass`: it is forwarded; `drop`: the connection is closed before it is; `lose`: it is
 * forwarded, and its answer is lost; `keep`: it is forwarded, and its answer kept back; `hang`: it is not answered; or an
 * answer in its place.
 */
export type Fault =
  | 'pass'
  | 'drop'
  | 'lose'
  | 'keep'
  | 'hang'
  | {
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: object;
      readonly text?: string;
    }
  | { readonly afterMs: number }
  | { readonly after: Promise<void> }
  /** It is forwarded, and texts in its answer are replaced, by another one or by a list in a list …, so many. */
  | { readonly changes: readonly { readonly from: string; readonly to?: string; readonly nests?: number }[] };

/** Stands between a client and a real server, and does to its requests what bad networks and busy servers do. */
export class FaultyProxy {
  readonly seen: SeenRequest[] = [];
  /** By the end of the path: requests that are not answered yet, and the most that there were at once. */
  readonly open = new Map<string, { now: number; most: number }>();
  /** Streams of events that are open. */
  openStreams = 0;
  /** Decides about each request. */
  rule: (request: SeenRequest) => Fault = () => 'pass';
  /** What becomes of the text of an answer that is forwarded. */
  change: (text: string) => string = (text) => text;

  private constructor(
    private readonly server: Server,
    /** Of the server behind it; requests that come from now on go there. */
    public targetPort: number,
  ) {}

  static async start(targetPort: number): Promise<FaultyProxy> {
    const server = createServer();
    const proxy = new FaultyProxy(server, targetPort);
    server.on('request', (request, response) => proxy.take(request, response));
    // As the real server: a client that closes its own side is answered.
    (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  /** The next requests whose path ends so meet these faults, one each; all others pass. */
  next(pathEnd: string, ...faults: Fault[]): void {
    this.rule = ({ path }) => (path.split('?')[0]?.endsWith(pathEnd) ? (faults.shift() ?? 'pass') : 'pass');
  }

  /** Requests that came so far, by the end of their path. */
  of(pathEnd: string): SeenRequest[] {
    return this.seen.filter(({ path }) => path.split('?')[0]?.endsWith(pathEnd));
  }

  /** Cuts every connection. */
  async cut(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    this.count(request, response);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const { method = '', url: path = '', headers } = request;
      const seen = { method, path, headers, body, atMs: performance.now() };
      this.seen.push(seen);
      this.play(this.rule(seen), seen, response);
    });
  }

  private count({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const end = /[^/]*$/.exec(url.split('?')[0] ?? '')?.[0] ?? '';
    const open = this.open.get(end) ?? { now: 0, most: 0 };
    this.open.set(end, open);
    open.most = Math.max(open.most, ++open.now);
    response.on('close', () => open.now--);
  }

  private play(fault: Fault, seen: SeenRequest, response: ServerResponse): void {
    if (fault === 'hang') return;
    if (fault === 'drop') response.destroy();
    else if (fault === 'pass' || fault === 'lose' || fault === 'keep') this.forward(seen, response, fault);
    else if ('afterMs' in fault) setTimeout(() => this.forward(seen, response, 'pass'), fault.afterMs);
    else if ('after' in fault) void fault.after.then(() => this.forward(seen, response, 'pass'));
    else if ('changes' in fault) this.forward(seen, response, 'pass', changer(fault.changes));
    else {
      const { status, headers, body, text } = fault;
      response.writeHead(status, { 'content-type': 'application/problem+json', ...headers });
      response.end(text ?? JSON.stringify(status < 300 ? body : { code: 'overloaded', ...body }));
    }
  }

  private forward(
    { method, path, headers, body }: SeenRequest,
    response: ServerResponse,
    fate: 'pass' | 'lose' | 'keep',
    change = this.change,
  ): void {
    const forwarded = httpRequest(
      { host: '127.0.0.1', port: this.targetPort, method, path, headers, agent: false },
      (answer) => {
        const chunks: Buffer[] = [];
        if (headers.accept === 'text/event-stream') {
          response.writeHead(answer.statusCode ?? 0, answer.headers);
          this.openStreams++;
          response.on('close', () => this.openStreams--);
          answer.pipe(response);
          return;
        }
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          if (fate === 'keep') return;
          if (fate === 'lose') {
            response.destroy();
            return;
          }
          // They belong to the connection behind the proxy.
          const { headers: answered } = answer;
          delete answered.connection;
          delete answered['transfer-encoding'];
          const body = Buffer.from(change(Buffer.concat(chunks).toString()));
          if (answered['content-length'] !== undefined) answered['content-length'] = String(body.length);
          response.writeHead(answer.statusCode ?? 0, answered);
          response.end(body);
        });
        answer.on('error', () => response.destroy());
      },
    );
    forwarded.on('error', () => response.destroy());
    const { socket } = response;
    // The client has closed its own side: the server is to see that, too.
    const endOwnSide = (): void => void forwarded.socket?.end();
    socket?.once('end', endOwnSide);
    response.on('close', () => {
      socket?.off('end', endOwnSide);
      forwarded.destroy();
    });
    forwarded.end(body);
  }
}

function changer(changes: Extract<Fault, { changes: unknown }>['changes']): (text: string) => string {
  return (text) =>
    changes.reduce(
      (changed, { from, to = '', nests = 0 }) =>
        changed.replaceAll(from, `${to}${'['.repeat(nests)}${']'.repeat(nests)}`),
      text,
    );
}
