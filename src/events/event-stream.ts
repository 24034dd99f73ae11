import type { EventFilter } from '../domain/job/event-filter.js';
import { type JobEvent, shownEvent } from '../domain/job/job-event.js';
import type { EventListener } from '../engine/events/follower.js';
import { asciiJson } from '../contract/json/ascii-json.js';
import { type ConnectionWatcher, unwatchConnection, watchConnection } from '../http/request/connection.js';
import { REQUEST_ID_HEADER, type RequestContext } from '../http/request/request-context.js';
import type { EventMetrics, StreamEnd } from '../metrics/event-metrics.js';
import type { EventSight } from './event-sight.js';

/** Time before a client reconnects, in milliseconds. EventSource takes it from the stream. */
const RETRY_MS = 1_000;
const NOTHING_LEFT = ': the server ends the stream\n\n';

/**
 * One response without an end: the events of a namespace that a client wants and may see. A client that does not read
 * is disconnected.
 */
export class EventStream implements EventListener, ConnectionWatcher {
  /** The stream has ended; nothing more is written. */
  isOver = false;
  /** When the token was last known to be valid, in milliseconds of `performance.now`. */
  confirmedMs = performance.now();
  private hasBegun = false;
  /** Where it began; '' = where the client asked for. */
  private place = '';
  private lastWriteMs = performance.now();
  private readonly onDrain: (() => void)[] = [];
  /** The last text that waits to be written, because its sight is not known yet. */
  private waiting: Promise<void> | undefined;

  /**
   * @param maxBufferBytes a client with more unsent bytes than this is disconnected at the next write
   * @param sight undefined: the client sees all of an event
   * @param onEnd called once; null: the request was rejected before the stream began
   */
  constructor(
    readonly context: RequestContext,
    private readonly filter: EventFilter | null,
    private readonly maxBufferBytes: number,
    private readonly metrics: EventMetrics,
    private readonly onEnd: (reason: StreamEnd | null) => void,
    private readonly sight?: EventSight,
  ) {
    watchConnection(context.request.socket, this);
  }

  /** Sends the response head, once. After that the request can no longer be answered with an error. */
  begin(): void {
    const { response, requestId, server } = this.context;
    if (this.isOver || this.hasBegun) return;
    this.hasBegun = true;
    // The stream is the last response of its connection.
    response.shouldKeepAlive = false;
    response.writeHead(200, [
      ...['Content-Type', 'text/event-stream', 'Cache-Control', 'no-store', 'X-Accel-Buffering', 'no'],
      ...[REQUEST_ID_HEADER, requestId],
    ]);
    response.on('drain', () => this.notifyDrained());
    server.loadShedder.release(this.context);
    server.observer.answered(this.context, 200);
    // A connection that breaks before the first event goes on from here.
    const id = /* guard: stream-begins-with-its-place */ this.place === '' ? '' : `id: ${this.place}\n`;
    this.write(`${id}retry: ${String(RETRY_MS)}\n\n`);
  }

  begins(place: string): void {
    this.place = place;
  }

  take(events: readonly JobEvent[]): void {
    const wanted = this.filter === null ? events : events.filter(this.filter);
    if (wanted.length === 0) return;
    this.metrics.sent.value += wanted.length;
    const seen = this.sight === undefined ? wanted : this.sight(wanted);
    if (seen instanceof Promise) this.writeLater(seen.then(textOf));
    else this.writeNext(textOf(seen));
  }

  missed(): void {
    this.writeNext('data: {"event":"missed"}\n\n');
  }

  async hasRoom(): Promise<void> {
    await this.waiting;
    if (this.isOver || !this.context.response.writableNeedDrain) return;
    await new Promise<void>((resolve) => this.onDrain.push(resolve));
  }

  /** The server shuts down or its Redis is unreachable: the client reconnects, here or to another server. */
  ended(): void {
    this.end('drained');
  }

  /** Writes a comment after a time without writes, so that no proxy closes the connection as idle. */
  keepAlive(heartbeatMs: number): void {
    if (performance.now() - this.lastWriteMs >= heartbeatMs) this.write(':\n\n');
  }

  /** Ends the response and its connection. */
  end(reason: StreamEnd): void {
    this.begin();
    if (this.close(reason)) this.context.response.end(NOTHING_LEFT);
  }

  /** Gives up a stream that did not begin; the caller answers the request. */
  abandon(): void {
    this.close(null);
  }

  connectionClosed(): void {
    this.close('gone');
  }

  /** The client closed its sending side, and perhaps the whole connection: without this, only a later write would show it. */
  waitEnds(): void {
    this.end('gone');
  }

  /** Writes after what waits. */
  private writeNext(text: string | Buffer): void {
    if (this.waiting === undefined) this.write(text);
    else this.writeLater(Promise.resolve(text));
  }

  private writeLater(text: Promise<string | Buffer>): void {
    const turn = Promise.all([text, this.waiting]).then(([its]) => {
      if (this.waiting === turn) this.waiting = undefined;
      this.write(its);
    });
    this.waiting = turn;
  }

  private write(text: string | Buffer): void {
    this.begin();
    if (this.isOver) return;
    const { response } = this.context;
    // Bytes that the system has not taken since the last write: the client reads slower than its events arrive.
    // guard: unread-stream-is-cut
    if (response.writableLength > this.maxBufferBytes) {
      this.close('slow');
      response.destroy();
      return;
    }
    this.lastWriteMs = performance.now();
    response.write(text, 'latin1');
  }

  private close(reason: StreamEnd | null): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    unwatchConnection(this.context.request.socket, this);
    this.notifyDrained();
    // A rejected request is answered, and its context ended, by the caller.
    if (reason !== null) this.context.end();
    this.onEnd(reason);
    return true;
  }

  private notifyDrained(): void {
    for (const notify of this.onDrain.splice(0)) notify();
  }
}

/** Encoded events and lists of events, shared between streams. Streams without a filter get the same list. */
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

/** Encodes an event for the stream, in ASCII. */
function frameOf(event: JobEvent): string {
  let frame = frames.get(event);
  if (frame === undefined) {
    frame = `id: ${event.place}\ndata: ${asciiJson(shownEvent(event))}\n\n`;
    frames.set(event, frame);
  }
  return frame;
}
