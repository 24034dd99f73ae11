/** One HTTP request, once. */
export interface WireRequest {
  readonly method: string;
  /** From the slash on, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Milliseconds until it is given up; where connections are scarce, from the moment that it has one. */
  readonly timeoutMs: number;
  /** Milliseconds that it may wait for a connection. */
  readonly queueMs: number;
  readonly signal?: AbortSignal | undefined;
  /**
   * Aborted: the answer is wanted now. A transport that can, closes its side of the connection: the server then answers
   * a long poll at once, and a job that is on its way still arrives. Others abort the request.
   */
  readonly hurry?: AbortSignal | undefined;
  /** Of the answer's body, at most; a longer one is given up with a `TransportError` of the kind `too_large`. */
  readonly maxBytes?: number | undefined;
  /** The server may take long: the request must not use up connections that others wait for. */
  readonly waits?: boolean | undefined;
}

export interface WireResponse {
  readonly status: number;
  readonly text: string;
  /** @param name in lower case */
  header(name: string): string | null;
}

/** A GET request whose answer is read while it arrives. */
export interface StreamRequest {
  /** From the slash on, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted: the connection is closed, also while the answer is read. */
  readonly signal: AbortSignal;
}

export interface WireStream {
  readonly status: number;
  /** @param name in lower case */
  header(name: string): string | null;
  /** The body. Ends with the answer, or throws when the connection breaks. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** PEM texts for connections with TLS. */
export interface TlsOptions {
  /** Certificates of the CAs that are trusted, in place of those of the system. */
  readonly ca?: string | undefined;
  /** The client certificate and its key, if the server asks for one. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** Sends requests to one server. */
export interface Transport {
  /** @throws {TransportError} no answer; or the reason of `signal` */
  send(request: WireRequest): Promise<WireResponse>;
  /** Resolves with the status and the headers. @throws {Error} no answer; or the reason of `signal` */
  stream(request: StreamRequest): Promise<WireStream>;
  /** Closes idle connections. */
  close(): void;
}

export type TransportFactory = (url: URL, tls?: TlsOptions) => Transport;

/** There is no answer. */
export class TransportError extends Error {
  constructor(
    /** `refused`: the server cannot have seen the request; `too_large`: it has answered more than the client takes. */
    readonly kind: 'timeout' | 'network' | 'refused' | 'too_large',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Longest timer, in milliseconds: a longer one would fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;

/** A time that a timer can have; of one that is longer, the longest. */
export function timerMs(ms: number): number {
  return /* guard: client-timers-are-capped */ Math.min(ms, MAX_TIMER_MS);
}

/** A wait as the API takes it, in whole milliseconds: 0 for one that is less, or no number. */
export function wholeWait(ms: number): number {
  return /* guard: waits-are-whole */ Math.max(Math.round(ms) || 0, 0);
}

/** Counts the bytes of an answer. @throws {TransportError} they are more than the client takes */
export class ByteCounter {
  private bytes = 0;

  constructor(private readonly maxBytes = Infinity) {}

  add(bytes: number): void {
    this.bytes += bytes;
    if (/* guard: answer-size-is-bounded */ this.bytes > this.maxBytes) {
      const limit = `the answer has more than ${String(this.maxBytes)} bytes`;
      throw new TransportError('too_large', `${limit}: lease or list less at once, or raise maxAnswerBytes`);
    }
  }
}

/** Resolves after `ms`, or rejects with the reason of `signal`. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, timerMs(ms));
    const stop = (): void => {
      clearTimeout(timer);
      reject(reasonOf(signal));
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** The reason of an aborted signal, as an `Error`. */
export function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new DOMException(String(reason), 'AbortError');
}
