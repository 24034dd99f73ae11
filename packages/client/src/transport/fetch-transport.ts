import {
  ByteCounter,
  reasonOf,
  type StreamRequest,
  timerMs,
  type TlsOptions,
  type Transport,
  TransportError,
  type WireRequest,
  type WireResponse,
  type WireStream,
} from './transport.js';

/** Browsers, Deno and Bun. In Node.js `fetch` needs five times the processor time of `node:http`. */
export function fetchTransport(url: URL, tls?: TlsOptions): Transport {
  // `fetch` has no such option: without the error the client would trust other CAs than it was told to.
  // guard: fetch-refuses-tls-options
  if (tls !== undefined) throw new TypeError('new Pumphouse: tls is for Node.js only');
  // `fetch` refuses a URL with a user or a password, by an error that shows them.
  const { origin } = url;
  return {
    send: (request) => send(origin, request),
    stream: (request) => stream(origin, request),
    close: () => undefined,
  };
}

async function stream(origin: string, { path, headers, signal }: StreamRequest): Promise<WireStream> {
  const response = await fetch(`${origin}${path}`, { headers, signal, redirect: 'error' });
  const { status, body } = response;
  return { status, header: (name) => response.headers.get(name), chunks: chunksOf(body) };
}

/** Not every browser can iterate over a stream. */
async function* chunksOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, void, void> {
  if (body === null) return;
  const reader = body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

async function textOf({ body }: Response, maxBytes: number | undefined): Promise<string> {
  const counter = new ByteCounter(maxBytes);
  const decoder = new TextDecoder();
  let text = '';
  // A loop that ends early would leave the rest of the answer to be loaded: `send` aborts the request.
  for await (const chunk of chunksOf(body)) {
    counter.add(chunk.length);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

async function send(origin: string, request: WireRequest): Promise<WireResponse> {
  const { method, path, headers, body, signal, hurry, timeoutMs } = request;
  signal?.throwIfAborted();
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), timerMs(timeoutMs));
  const sources = [signal, hurry].filter((source) => source !== undefined);
  const stop = (): void => abort.abort();
  for (const source of sources) source.addEventListener('abort', stop, { once: true });
  try {
    if (sources.some(({ aborted }) => aborted)) stop();
    const response = await fetch(`${origin}${path}`, {
      method,
      headers,
      signal: abort.signal,
      // A redirect would carry the token to another server.
      redirect: 'error',
      ...(body === undefined ? {} : { body }),
    });
    const text = await textOf(response, request.maxBytes);
    return { status: response.status, text, header: (name) => response.headers.get(name) };
  } catch (cause) {
    const aborted = sources.find((source) => source.aborted);
    if (aborted) throw reasonOf(aborted);
    if (cause instanceof TransportError) throw cause;
    if (abort.signal.aborted)
      throw new TransportError('timeout', `no answer within ${Math.ceil(timeoutMs)} ms`);
    throw new TransportError('network', 'the request failed', { cause });
  } finally {
    clearTimeout(timer);
    for (const source of sources) source.removeEventListener('abort', stop);
    abort.abort();
  }
}
