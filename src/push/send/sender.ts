import { Agent, type Dispatcher } from 'undici';
import { type ConnectionRules, guardedConnector } from './connector.js';
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
/** How long a connection is used again after its name was looked up, in milliseconds. */
const CONNECTION_AGE_MS = 60_000;
/** How long it may be idle. */
const IDLE_MS = 10_000;
/** Interim answers (1xx) to one request; more are a server that keeps the request busy. */
const MOST_INTERIM = 16;

/**
 * Sends requests over connections that are used again. Follows no redirects, uses no proxy, whatever the environment,
 * and unpacks nothing.
 */
export class Sender {
  private readonly agent: Agent;

  constructor(rules: ConnectionRules, { maxPerOrigin }: SenderOptions) {
    this.agent = new Agent({
      connect: guardedConnector(rules),
      connections: maxPerOrigin,
      pipelining: 1,
      allowH2: false,
      clientTtl: CONNECTION_AGE_MS,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: CONNECTION_AGE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // They count between two bytes; the deadline of the request counts over all.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** @throws {SendError} there was no status within the time */
  send(push: PushRequest): Promise<PushAnswer> {
    return new Promise((resolve, reject) => new Exchange(push, resolve, reject).begin(this.agent));
  }

  /** Closes the idle connections, and ends requests that are still under way. */
  close(): Promise<void> {
    return this.agent.destroy();
  }
}

/**
 * One request and its answer. A handler of undici's `dispatch`, which costs a third of its `request`: no stream is made for a
 * body that is short.
 */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly startMs = performance.now();
  private readonly timer: NodeJS.Timeout;
  private controller: Dispatcher.DispatchController | undefined;
  private status = 0;
  private headers: ReadonlyMap<string, string> = new Map();
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  private interim = 0;
  private error: SendError | null = null;
  private isOver = false;

  constructor(
    private readonly push: PushRequest,
    private readonly resolve: (answer: PushAnswer) => void,
    private readonly reject: (error: SendError) => void,
  ) {
    const { timeoutMs } = push;
    this.timer = setTimeout(
      () => this.end(new SendError('timeout', `${this.host} did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
  }

  begin(agent: Agent): void {
    const { url, method, headers, body, signal } = this.push;
    signal.addEventListener('abort', this.stop, { once: true });
    if (signal.aborted) {
      this.stop();
      return;
    }
    const { origin, pathname, search } = url;
    agent.dispatch({ origin, path: pathname + search, method, headers, body }, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // Its time ended while it waited for a connection.
    if (this.error) controller.abort(this.error);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status >= 200) {
      this.status = status;
      this.headers = firstOf(headers);
      return;
    }
    this.interim += 1;
    if (this.interim > MOST_INTERIM)
      this.end(new SendError('protocol', `${this.host} sends interim answers only`));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    if (this.bytes <= this.push.maxAnswerBytes) return;
    this.answer({ isWhole: false, bodyError: null });
    // Closes the connection: the rest of the body would come over it.
    controller.abort(new SendError('aborted', 'the rest of the answer is not read'));
  }

  onResponseEnd(): void {
    this.answer({ isWhole: true, bodyError: null });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.fail(this.error ?? sendErrorOf(error, this.host));
  }

  private get host(): string {
    return this.push.url.hostname;
  }

  private readonly stop = (): void => {
    this.end(new SendError('aborted', 'the server shut down, or the lease was lost'));
  };

  /** Also ends a request that waits for a connection; it is not sent then. */
  private end(error: SendError): void {
    this.error = error;
    this.fail(error);
    this.controller?.abort(error);
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

function firstOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): ReadonlyMap<string, string> {
  const first = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const text = Array.isArray(value) ? value[0] : value;
    if (text !== undefined) first.set(name, text);
  }
  return first;
}
