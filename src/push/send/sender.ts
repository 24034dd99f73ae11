import { Agent, request } from 'undici';
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
  async send(push: PushRequest): Promise<PushAnswer> {
    const { url, method, headers, body, timeoutMs, maxAnswerBytes } = push;
    const startMs = performance.now();
    const ending = new AbortController();
    const end = (error: SendError): void => ending.abort(error);
    const timer = setTimeout(
      () => end(new SendError('timeout', `${url.hostname} did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const stop = (): void => end(new SendError('aborted', 'the server shut down, or the lease was lost'));
    push.signal.addEventListener('abort', stop, { once: true });
    if (push.signal.aborted) stop();
    let interim = 0;
    try {
      const answer = await request(url, {
        ...{ method, headers: { ...headers }, body, dispatcher: this.agent, signal: ending.signal },
        onInfo: () => {
          interim += 1;
          if (interim > MOST_INTERIM)
            end(new SendError('protocol', `${url.hostname} sends interim answers only`));
        },
      });
      const read = await readUpTo(answer.body, maxAnswerBytes, (error) => failureOf(error, ending, url));
      return {
        status: answer.statusCode,
        headers: firstOf(answer.headers),
        ...read,
        tookMs: performance.now() - startMs,
      };
    } catch (error) {
      throw failureOf(error, ending, url);
    } finally {
      clearTimeout(timer);
      push.signal.removeEventListener('abort', stop);
    }
  }

  /** Closes the idle connections, and ends requests that are still under way. */
  close(): Promise<void> {
    return this.agent.destroy();
  }
}

type Read = Pick<PushAnswer, 'body' | 'isWhole' | 'bodyError'>;

async function readUpTo(
  stream: AsyncIterable<unknown> & { destroy(): unknown },
  maxBytes: number,
  toError: (error: unknown) => SendError,
): Promise<Read> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const taken = (): Buffer => Buffer.concat(chunks).subarray(0, maxBytes);
  try {
    for await (const chunk of stream) {
      chunks.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      // Leaving the loop destroys the stream, and with it the connection.
      if (bytes > maxBytes) return { body: taken(), isWhole: false, bodyError: null };
    }
  } catch (error) {
    return { body: taken(), isWhole: false, bodyError: toError(error) };
  }
  return { body: taken(), isWhole: true, bodyError: null };
}

function failureOf(error: unknown, { signal }: AbortController, url: URL): SendError {
  if (signal.aborted && signal.reason instanceof SendError) return signal.reason;
  return sendErrorOf(error, url.hostname);
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
