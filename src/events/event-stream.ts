import { timeOf, type JobEvent } from '../domain/job-event.js';
import type { EventListener } from '../engine/events/follower.js';
import { asciiJson } from '../http/answer.js';
import { type ConnectionWatcher, unwatchConnection, watchConnection } from '../http/connection.js';
import type { Exchange } from '../http/exchange.js';
import { REQUEST_ID_HEADER } from '../http/request-id.js';
import type { EventMetrics, StreamEnd } from '../metrics/event-metrics.js';
import type { EventFilter } from './event-filter.js';

/** How long a client waits before it comes back, in milliseconds: EventSource does as it is told. */
const RETRY_MS = 1_000;
const NOTHING_LEFT = ': the server ends the stream\n\n';

/** One answer that does not end: the events of a namespace that a client wants and may know of. A client that does not read is cut. */
export class EventStream implements EventListener, ConnectionWatcher {
  /** Nobody is there to be told anything. */
  isOver = false;
  /** When its token was last known to work, on the clock of `performance.now`. */
  confirmedMs = performance.now();
  private hasBegun = false;
  private lastWordMs = performance.now();
  private readonly onRoom: (() => void)[] = [];

  /**
   * @param maxBufferBytes what may wait for the client when there is something new
   * @param onEnd called once; null: it was refused before it began
   */
  constructor(
    readonly exchange: Exchange,
    private readonly filter: EventFilter | null,
    private readonly maxBufferBytes: number,
    private readonly metrics: EventMetrics,
    private readonly onEnd: (reason: StreamEnd | null) => void,
  ) {
    watchConnection(exchange.request.socket, this);
  }

  /** Sends the head, if it has not been sent: from here on there is no refusal any more. */
  begin(): void {
    const { response, requestId, context } = this.exchange;
    if (this.isOver || this.hasBegun) return;
    this.hasBegun = true;
    // Nobody can send another request behind it.
    response.shouldKeepAlive = false;
    response.writeHead(200, [
      ...['Content-Type', 'text/event-stream', 'Cache-Control', 'no-store', 'X-Accel-Buffering', 'no'],
      ...[REQUEST_ID_HEADER, requestId],
    ]);
    response.on('drain', () => this.tellRoom());
    context.gate?.leave(this.exchange);
    context.observer?.answered(this.exchange, 200);
    this.write(`retry: ${String(RETRY_MS)}\n\n`);
  }

  take(events: readonly JobEvent[]): void {
    const wanted = this.filter === null ? events : events.filter(this.filter);
    if (wanted.length === 0) return;
    this.metrics.sent.value += wanted.length;
    this.write(textOf(wanted));
  }

  missed(): void {
    this.write('data: {"event":"missed"}\n\n');
  }

  hasRoom(): Promise<void> {
    if (this.isOver || !this.exchange.response.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => this.onRoom.push(resolve));
  }

  /** The server stops, or its Redis is away: the client comes back, here or elsewhere. */
  ended(): void {
    this.end('drained');
  }

  /** A word now and then, so that nobody on the way takes the connection for dead. */
  beat(heartbeatMs: number): void {
    if (performance.now() - this.lastWordMs >= heartbeatMs) this.write(':\n\n');
  }

  /** Ends the answer, and with it the connection. */
  end(reason: StreamEnd): void {
    this.begin();
    if (this.close(reason)) this.exchange.response.end(NOTHING_LEFT);
  }

  /** It does not come about: somebody else answers. */
  abandon(): void {
    this.close(null);
  }

  connectionClosed(): void {
    this.close('gone');
  }

  private write(text: string | Buffer): void {
    this.begin();
    if (this.isOver) return;
    const { response } = this.exchange;
    // What the system has not taken since the last time: this client is slower than what it asked for.
    if (response.writableLength > this.maxBufferBytes) {
      this.close('slow');
      response.destroy();
      return;
    }
    this.lastWordMs = performance.now();
    response.write(text, 'latin1');
  }

  private close(reason: StreamEnd | null): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    unwatchConnection(this.exchange.request.socket, this);
    this.tellRoom();
    // A refusal is an answer, and leaves by itself.
    if (reason !== null) this.exchange.context.gate?.leave(this.exchange);
    this.onEnd(reason);
    return true;
  }

  private tellRoom(): void {
    for (const tell of this.onRoom.splice(0)) tell();
  }
}

/** The texts of events that several listeners are given, and of lists of them: those without a filter are given the same list. */
const frames = new WeakMap<JobEvent, string>();
const texts = new WeakMap<readonly JobEvent[], Buffer>();

function textOf(events: readonly JobEvent[]): Buffer {
  let text = texts.get(events);
  if (text === undefined) {
    text = Buffer.from(events.map(frameOf).join(''), 'latin1');
    texts.set(events, text);
  }
  return text;
}

/** An event as it is sent; ASCII. */
function frameOf(event: JobEvent): string {
  let frame = frames.get(event);
  if (frame === undefined) {
    const { place, name, queue, id, type, tags, facts } = event;
    const own = {
      event: name,
      at: new Date(timeOf(place)).toISOString(),
      queue,
      ...(id === '' ? {} : { id }),
      ...(type === '' ? {} : { type }),
      ...(tags.length === 0 ? {} : { tags }),
    };
    // Facts stand behind, and never in the place of what each event has.
    const json = asciiJson({ ...own, ...facts, ...own });
    frame = `id: ${place}\ndata: ${json}\n\n`;
    frames.set(event, frame);
  }
  return frame;
}
