import { isPumphouseError, type Page, type PageOptions } from '@pumphouse/client';
import { type ErrorCode, QueueError } from '#src/domain/errors';
import { toClientError } from './errors.js';

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** How long a call is tried again while Redis does not answer, in milliseconds; as over HTTP. */
const WITHIN_MS = 10_000;
/** The first pause is drawn from 0 … this; each further one from twice as much, up to `MAX_PAUSE_MS`. */
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;

/**
 * Calls the engine. @throws {PumphouseError} the engine's refusal; or the reason of `signal`: what was called goes on
 * then
 */
export async function call<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  signal?.throwIfAborted();
  try {
    return await (signal ? /* guard: signal-ends-calls-in-process */ abortable(run(), signal) : run());
  } catch (error) {
    throw toClientError(error);
  }
}

/**
 * The same for calls that are as good twice as once: again and again, for ten seconds, while the error is one that
 * passes. @param run is given the number of the attempt, from 1
 */
export async function repeat<T>(run: (attempt: number) => Promise<T>, signal?: AbortSignal): Promise<T> {
  const endMs = performance.now() + WITHIN_MS;
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(() => run(attempt), signal);
    } catch (error) {
      if (!isPumphouseError(error) || !error.retryable) throw error;
      const pauseMs = Math.random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
      if (performance.now() + pauseMs >= endMs) throw toClientError(error.cause, attempt);
      const pause = new Promise<void>((resolve) => setTimeout(resolve, pauseMs));
      await (signal ? abortable(pause, signal) : pause);
    }
  }
}

/**
 * The same for a call that ends something: it is right that an earlier attempt, whose answer was lost, has done it. @param done what is
 * answered then
 */
export function repeatEnd<T>(
  missing: ErrorCode,
  end: () => Promise<T>,
  done: T,
  signal?: AbortSignal,
): Promise<T> {
  return repeat(async (attempt) => {
    try {
      return await end();
    } catch (error) {
      if (attempt > 1 && error instanceof QueueError && error.code === missing) return done;
      throw error;
    }
  }, signal);
}

export async function repeatRemoval(
  missing: ErrorCode,
  remove: () => Promise<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  await repeatEnd<unknown>(missing, remove, undefined, signal);
}

/** The items of all pages, from the one that `first` asks for. */
export async function* itemsOf<Item, Request extends PageOptions>(
  fetchPage: (request: Request) => Promise<Page<Item>>,
  first: Request,
): AsyncGenerator<Item, void, void> {
  let request: Request | null = first;
  while (request !== null) {
    const { items, nextCursor }: Page<Item> = await fetchPage(request);
    yield* items;
    request = nextCursor === null ? null : { ...first, cursor: nextCursor };
  }
}

export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(reasonOf(signal));
    signal.addEventListener('abort', stop, { once: true });
    // A signal that has aborted before sends no event any more.
    // guard: client-in-process-events-signal
    if (signal.aborted) stop();
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** The reason of an aborted signal, as an `Error`. */
export function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new DOMException(String(reason), 'AbortError');
}
