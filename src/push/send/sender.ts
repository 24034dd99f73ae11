import { type ClientRequest, type IncomingMessage, request as requestByTcp } from 'node:http';
import { request as requestByTls } from 'node:https';
import type { Socket } from 'node:net';
import { type ConnectionRules, Connections, type Peer } from './connections.js';
import { SendError, sendErrorOf } from './send-error.js';

/** A request to send. */
export interface PushRequest {
  readonly url: URL;
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Until the last byte of the answer's body, from before the connection is made. */
  readonly timeoutMs: number;
  /** Bytes of the answer's body that are read; no more are. */
  readonly maxAnswerBytes: number;
  /** Ends it at once. */
  readonly signal: AbortSignal;
}

/** What came back. */
export interface PushAnswer {
  readonly status: number;
  /** By name in lower case; of several with one name, the first. */
  readonly headers: ReadonlyMap<string, string>;
  /** At most `maxAnswerBytes`. As it came: a compressed body is not unpacked. */
  readonly body: Buffer;
  /** True if `body` is all of it. */
  readonly isWhole: boolean;
  /** Why the body is not whole, if not for its size. */
  readonly bodyError: SendError | null;
  readonly tookMs: number;
}

export interface SenderOptions {
  /** Connections to one origin at most. */
  readonly maxPerOrigin: number;
}

/** Bytes of the status line and headers of an answer. */
const MAX_HEADER_BYTES = 16_384;
/** Interim answers (1xx) to one request; more are a server that keeps the request busy. */
const MOST_INTERIM = 16;
/** Ports that a URL does not show. */
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };
/** What a connection that the other side closed or reset says. */
const CLOSED_CODES = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

/**
 * Sends requests over connections that are used again. Follows no redirects, uses no proxy, whatever the environment,
 * and unpacks nothing.
 */
export class Sender {
  private readonly plain: Connections;
  private readonly encrypted: Connections;

  constructor(rules: ConnectionRules, { maxPerOrigin }: SenderOptions) {
    this.plain = new Connections('http:', rules, maxPerOrigin);
    this.encrypted = new Connections('https:', rules, maxPerOrigin);
  }

  /** @throws {SendError} there was no status within the time */
  send(push: PushRequest): Promise<PushAnswer> {
    const connections = push.url.protocol === 'https:' ? this.encrypted : this.plain;
    return new Promise((resolve, reject) => new Exchange(push, connections, resolve, reject).begin());
  }

  /** Closes all connections: requests that are still under way fail. */
  close(): void {
    this.plain.close();
    this.encrypted.close();
  }
}

/** One request and its answer. */
class Exchange {
  private readonly startMs = performance.now();
  private readonly timer: NodeJS.Timeout;
  private readonly peer: Peer;
  private request: ClientRequest | undefined;
  private isSentAgain = false;
  private status = 0;
  private headers: ReadonlyMap<string, string> = new Map();
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  private interim = 0;
  private isOver = false;

  constructor(
    private readonly push: PushRequest,
    private readonly connections: Connections,
    private readonly resolve: (answer: PushAnswer) => void,
    private readonly reject: (error: SendError) => void,
  ) {
    const { timeoutMs, url } = push;
    this.peer = peerOf(url);
    this.timer = setTimeout(
      () => this.end(new SendError('timeout', `${this.host} did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
  }

  begin(): void {
    const { signal } = this.push;
    signal.addEventListener('abort', this.stop, { once: true });
    if (signal.aborted) this.stop();
    else this.send();
  }

  private send(): void {
    try {
      this.request = this.open();
    } catch (error) {
      this.fail(sendErrorOf(error, this.host));
    }
  }

  private open(): ClientRequest {
    const { url, method, headers, body } = this.push;
    const request = (url.protocol === 'https:' ? requestByTls : requestByTcp)({
      ...{ ...this.peer, agent: this.connections.agent, method, path: url.pathname + url.search },
      ...{ headers: { ...headers, 'content-length': body.length }, maxHeaderSize: MAX_HEADER_BYTES },
    });
    let isClosedUnread = (): boolean => false;
    request.once('socket', (socket) => {
      // A new one is not connected yet.
      const [isKept, before] = [!socket.connecting, socket.bytesRead];
      isClosedUnread = () =>
        /* guard: push-resend-only-kept */ isKept &&
        // guard: push-resend-only-unread
        socket.bytesRead === before;
    });
    // guard: push-bounds-interim-answers
    request.on('information', () => this.countInterim());
    request.once('upgrade', (_answer, socket: Socket) => {
      socket.destroy();
      this.fail(new SendError('protocol', `${this.host} switches to another protocol`));
    });
    request.once('response', (answer) => this.read(answer, request));
    request.on('error', (error) => {
      if (isClosedUnread() && this.maySendAgain(error)) this.sendAgain();
      else this.fail(sendErrorOf(error, this.host));
    });
    request.end(body);
    return request;
  }

  /**
   * The other side may close a kept connection at the moment at which it is used again: then it never saw the request. It may also
   * have died over it, so that this is done once.
   */
  private maySendAgain(error: NodeJS.ErrnoException): boolean {
    return (
      /* guard: push-resends-once */ !this.isSentAgain &&
      /* guard: push-no-resend-after-timeout */ !this.isOver &&
      CLOSED_CODES.has(error.code ?? '')
    );
  }

  private sendAgain(): void {
    this.isSentAgain = true;
    // guard: push-resend-on-new-connection
    this.connections.closeIdle(this.peer);
    this.send();
  }

  private countInterim(): void {
    this.interim += 1;
    if (this.interim > MOST_INTERIM) {
      this.end(new SendError('protocol', `${this.host} sends interim answers only`));
    }
  }

  private read(answer: IncomingMessage, request: ClientRequest): void {
    this.status = answer.statusCode ?? 0;
    this.headers = firstOf(answer.rawHeaders);
    answer.on('data', (chunk: Buffer) => {
      if (this.isOver) return;
      this.chunks.push(chunk);
      this.bytes += chunk.length;
      if (this.bytes <= this.push.maxAnswerBytes) return;
      this.answer({ isWhole: false, bodyError: null });
      // Closes the connection: the rest of the body would come over it.
      request.destroy();
    });
    answer.on('error', (error) => this.fail(sendErrorOf(error, this.host)));
    answer.once('end', () => {
      this.answer({ isWhole: true, bodyError: null });
      // The answer came before the request was sent: what is left of it is not wanted.
      // guard: push-ends-unsent-request
      if (!request.writableFinished) request.destroy();
    });
  }

  private get host(): string {
    return this.push.url.hostname;
  }

  private readonly stop = (): void => {
    this.end(new SendError('aborted', 'the server shut down, or the lease was lost'));
  };

  /** Also ends a request that waits for a connection; it is not sent then. */
  private end(error: SendError): void {
    this.fail(error);
    this.request?.destroy();
  }

  private fail(error: SendError): void {
    if (this.status > 0) this.answer({ isWhole: false, bodyError: error });
    else if (this.settle()) this.reject(error);
  }

  private answer(how: Pick<PushAnswer, 'isWhole' | 'bodyError'>): void {
    if (!this.settle()) return;
    this.resolve({
      status: this.status,
      headers: this.headers,
      body: Buffer.concat(this.chunks).subarray(0, this.push.maxAnswerBytes),
      ...how,
      tookMs: performance.now() - this.startMs,
    });
  }

  /** @returns false if that was done before */
  private settle(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    clearTimeout(this.timer);
    this.push.signal.removeEventListener('abort', this.stop);
    return true;
  }
}

function peerOf({ hostname, port, protocol }: URL): Peer {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return { host, port: port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port) };
}

/** @param raw names and values in turn, as they came */
function firstOf(raw: readonly string[]): ReadonlyMap<string, string> {
  const first = new Map<string, string>();
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase();
    if (!first.has(name)) first.set(name, raw[i + 1] ?? '');
  }
  return first;
}
