import { EventRate, MOST_PER_S } from './event-rate.js';
import { needsSignIn, requestOf } from './api.js';
import type { Place } from './place.js';

/** An event of a namespace, as the server sends it. */
export interface Event {
  readonly event: string;
  readonly at?: string;
  readonly queue?: string;
  readonly id?: string;
  readonly [field: string]: unknown;
}

/** How a stream has ended: too many events, by the server, or refused by it. */
export interface End {
  readonly why: 'busy' | 'ended' | 'refused';
  readonly text: string;
}

interface Handlers {
  readonly onOpen: () => void;
  readonly onEvents: (events: readonly Event[]) => void;
}

/** Reads a stream of events until it ends, or has too many. @throws {Error} the connection broke, or the signal ended it */
export async function follow(
  place: Place,
  path: string,
  signal: AbortSignal,
  { onOpen, onEvents }: Handlers,
): Promise<End> {
  const { url, headers, request } = requestOf({ method: 'GET', path }, place.pool);
  const sent = { ...headers, Accept: 'text/event-stream' };
  const response = await fetch(url, { ...request, headers: sent, signal });
  if (response.status === 401) needsSignIn.value = true;
  if (!response.ok || response.body === null)
    return { why: 'refused', text: (await response.text()).slice(0, 300) };
  onOpen();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const rate = new EventRate();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { why: 'ended', text: 'The server has ended the stream.' };
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    const found = lines.filter((line) => line.startsWith('data:')).map((line) => eventOf(line.slice(5)));
    const last = found.findIndex((event) => rate.add(event));
    onEvents(last < 0 ? found : found.slice(0, last + 1));
    if (last < 0) continue;
    // Not waited for: the browser may end the request later.
    reader.cancel().catch(() => undefined);
    return { why: 'busy', text: `More than ${MOST_PER_S} events have happened within a second.` };
  }
}

function eventOf(json: string): Event {
  try {
    return JSON.parse(json) as Event;
  } catch {
    return { event: 'unreadable' };
  }
}
