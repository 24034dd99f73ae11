import { connect, type Socket } from 'node:net';
import { waitFor } from './redis.js';

/** An event as it came over the wire. */
export interface SentEvent {
  /** Of the stream; undefined if it has no place in it. */
  readonly place: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A client of a stream of events, on a connection of its own: it reads only while it is asked to. */
export class EventClient {
  received = '';
  isClosed = false;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('latin1').on('data', (chunk) => (this.received += String(chunk)));
    socket.on('error', () => undefined).on('close', () => (this.isClosed = true));
  }

  /** Sends the request; `path` begins with a slash. */
  static async open(
    port: number,
    path: string,
    token: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<EventClient> {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    const client = new EventClient(socket);
    const all = { Host: 'x', Accept: 'text/event-stream', 'X-Token': token, ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    return client;
  }

  /** The status line, once the head is there. */
  async status(): Promise<number> {
    await waitFor(() => this.received.includes('\r\n\r\n'), 5_000);
    return Number(this.received.split(' ')[1]);
  }

  /** The stream has begun: what happens from here on is told. */
  async begun(): Promise<this> {
    await waitFor(() => this.body.includes('retry: '), 5_000);
    return this;
  }

  /** What came so far, chunks put together. */
  get body(): string {
    let rest = this.received.slice(this.received.indexOf('\r\n\r\n') + 4);
    let body = '';
    for (;;) {
      const head = /^([0-9a-f]+)\r\n/i.exec(rest);
      const size = parseInt(head?.[1] ?? '0', 16);
      if (!head || size === 0) return body;
      body += rest.slice(head[0].length, head[0].length + size);
      rest = rest.slice(head[0].length + size + 2);
    }
  }

  get events(): SentEvent[] {
    return this.body.split('\n\n').flatMap((frame) => {
      const [, data] = /^data: (.*)$/m.exec(frame) ?? [];
      const [, place] = /^id: (.*)$/m.exec(frame) ?? [];
      // The last one may be on its way.
      if (data === undefined || !data.endsWith('}')) return [];
      return [{ place, data: JSON.parse(data) as Record<string, unknown> }];
    });
  }

  /** The events, once there are so many. */
  async until(count: number, withinMs = 5_000): Promise<SentEvent[]> {
    await waitFor(() => this.events.length >= count, withinMs);
    return this.events;
  }

  closed(withinMs = 5_000): Promise<unknown> {
    return waitFor(() => this.isClosed, withinMs);
  }

  cut(): void {
    this.socket.destroy();
  }
}
