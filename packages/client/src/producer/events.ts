import { isPumphouseError, PumphouseError } from '../errors.js';
import { type ApiClient, errorOf, parseAnswer, queryOf, retryAfterMs } from '../transport/api-client.js';
import { type CallPlace, noAnswerText } from '../transport/error-texts.js';
import {
  ByteCounter,
  reasonOf,
  sleep,
  TransportError,
  type WireResponse,
  type WireStream,
} from '../transport/transport.js';
import { fromWire } from '../wire.js';
import type { JobEvent } from './answers.js';

export interface EventOptions {
  /** Filters: any value of one will do, each filter counts. */
  readonly queues?: readonly string[] | undefined;
  readonly events?: readonly string[] | undefined;
  readonly jobs?: readonly string[] | undefined;
  readonly types?: readonly string[] | undefined;
  readonly tags?: readonly string[] | undefined;
  /** The `place` of the last event that was seen: goes on behind it. Left out: from now on. */
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called when the stream has begun, each time: what happens from then on is told. */
  readonly onOpen?: (() => void) | undefined;
}

/** An event, and its place in the stream for `after`; null for `missed`. */
export type PlacedEvent = JobEvent & { readonly place: string | null };

/** The server writes every 15 s at least; without a byte for so long the connection is dead. */
const SILENCE_MS = 45_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
const OK = 200;
/** A server that asks for a longer pause is asked again after this one. */
const MAX_ASKED_MS = 300_000;

/**
 * The events of a namespace. It connects again, and goes on where it was, until its `signal` aborts or its loop ends.
 *
 * @throws {PumphouseError} the server refuses: the token, a filter; or the reason of the signal
 */
export async function* eventsOf(
  api: ApiClient,
  options: EventOptions,
): AsyncGenerator<PlacedEvent, void, void> {
  const { queues, events, jobs, types, tags, signal } = options;
  const query = queryOf({ queue: queues, event: events, job: jobs }, { type: types, tag: tags });
  const place = api.placeOf('GET', 'events');
  let after = options.after;
  for (let pauses = 0; ; pauses++) {
    // Ends the connection also where the reader leaves its loop.
    const connection = new AbortController();
    const stop = (): void => connection.abort(signal && reasonOf(signal));
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    let askedMs = 0;
    try {
      const headers = {
        accept: 'text/event-stream',
        ...(after === undefined ? {} : { 'last-event-id': after }),
      };
      const answer = await answerOf(
        api.stream(`events${query}`, headers, connection.signal),
        () => connection.abort(silent(api, place)),
        api,
      );
      if ('text' in answer) {
        askedMs = Math.min(retryAfterMs(answer.header('retry-after')) ?? 0, MAX_ASKED_MS);
        throw errorOf(answer, place);
      }
      options.onOpen?.();
      for await (const frame of framesOf(answer.chunks, connection, api.maxAnswerBytes)) {
        pauses = 0;
        // guard: events-go-on-from-their-start
        after = frame.id ?? after;
        if (frame.data === undefined) continue;
        const event = parseAnswer({ text: frame.data, status: OK, place });
        yield { ...(fromWire(event) as JobEvent), place: frame.id ?? null };
      }
    } catch (error) {
      if (signal?.aborted) throw reasonOf(signal);
      if (isPumphouseError(error) && !error.retryable) throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
      connection.abort();
    }
    await sleep(
      /* guard: event-stream-waits-retry-after */ askedMs +
        Math.random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** pauses),
      signal,
    );
  }
}

/** The stream, or the whole answer of a server that refuses. @param giveUp is called when there is none in time */
async function answerOf(
  sent: Promise<WireStream>,
  giveUp: () => void,
  { attemptMs, maxAnswerBytes }: Pick<ApiClient, 'attemptMs' | 'maxAnswerBytes'>,
): Promise<WireStream | WireResponse> {
  const timer = setTimeout(giveUp, /* guard: event-stream-is-given-up */ attemptMs);
  const counter = new ByteCounter(maxAnswerBytes);
  try {
    const response = await sent;
    const { status, chunks } = response;
    if (status === OK) return response;
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of chunks) {
      counter.add(chunk.length);
      text += decoder.decode(chunk, { stream: true });
    }
    return { status, text, header: (name) => response.header(name) };
  } finally {
    clearTimeout(timer);
  }
}

function silent({ attemptMs }: ApiClient, place: CallPlace): PumphouseError {
  const late = new TransportError('timeout', `no answer within ${String(attemptMs)} ms`);
  return new PumphouseError('timeout', noAnswerText(late, place), { retryable: true });
}

interface Frame {
  readonly id: string | undefined;
  readonly data: string | undefined;
}

/** The frames of a stream of server-sent events. The first one has the place of its start, and no data. */
async function* framesOf(
  chunks: AsyncIterable<Uint8Array>,
  connection: AbortController,
  maxBytes: number,
): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  const reader = chunks[Symbol.asyncIterator]();
  let rest = '';
  for (;;) {
    const timer = setTimeout(() => {
      connection.abort(new PumphouseError('timeout', 'the stream of events is silent', { retryable: true }));
    }, SILENCE_MS);
    const next = await reader.next().finally(() => clearTimeout(timer));
    if (next.done === true) return;
    rest += decoder.decode(next.value, { stream: true });
    const frames = rest.split('\n\n');
    rest = frames.pop() ?? '';
    if (rest.length > maxBytes)
      throw new PumphouseError('answer_too_large', 'an event has more than maxAnswerBytes');
    for (const frame of frames) yield frameOf(frame);
  }
}

function frameOf(text: string): Frame {
  let id: string | undefined;
  let data: string | undefined;
  for (const line of text.split('\n')) {
    const [, name, value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === 'id') id = value;
    if (name === 'data') data = data === undefined ? value : `${data}\n${value}`;
  }
  return { id, data };
}
