import type { Redis } from 'ioredis';
import type { Calls } from './calls.js';

/** Hears that a queue may have work, or with null any queue of the namespace; a hint that may be lost or too much. */
export type WakeListener = (namespace: string, queue: string | null) => void;

/** Where the wake-ups of a pool come from. */
export interface Wakeups {
  /** Begins to listen. @throws {Error} it cannot */
  open(): Promise<void>;
  /** Somebody waits in the namespace, until `unfollow` is called as often. */
  follow(namespace: string): void;
  unfollow(namespace: string): void;
  /** Finds out whether the connections still hear, and mends what does not. @throws the connection's error: waiters hear nothing now */
  probe(): Promise<void>;
  /** Closes the connections; with `again`, opens them anew. */
  disconnect(again: boolean): void;
}

/** Tells listeners of a message `namespace queue`. */
export function heardBy(listeners: ReadonlySet<WakeListener>, message: string): void {
  const [namespace, queue] = message.split(' ');
  if (namespace === undefined || queue === undefined) return;
  for (const listener of listeners) listener(namespace, queue);
}

/** One channel for all namespaces, on one connection: a single Redis, or a Sentinel group's master. */
export class ChannelWakeups implements Wakeups {
  constructor(
    private readonly subscriber: Redis,
    private readonly calls: Calls,
    private readonly channel: string,
    private readonly listeners: ReadonlySet<WakeListener>,
  ) {}

  async open(): Promise<void> {
    this.subscriber.on('message', (_channel: string, message: string) => heardBy(this.listeners, message));
    await this.subscriber.subscribe(this.channel);
  }

  /** Every namespace is heard of at all times. */
  follow(): void {
    return undefined;
  }

  unfollow(): void {
    return undefined;
  }

  /** A subscriber whose socket is half open would lose wake-ups without a word. */
  async probe(): Promise<void> {
    await this.calls.attempt(() => this.subscriber.ping());
  }

  disconnect(again: boolean): void {
    if (!again || this.subscriber.status === 'ready') this.subscriber.disconnect(again);
  }
}
