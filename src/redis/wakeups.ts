import type { Redis } from 'ioredis';
import type { Calls } from './calls.js';

/** The lease requests that are to end: those of a worker; with a scope, from the queues that it names only. */
export interface EndedWaits {
  readonly worker: string;
  /** See `Workers.heartbeat`. */
  readonly scope?: string;
}

/**
 * Called when a queue may have jobs, or with null, when any queue of the namespace may; or with lease requests that are
 * to end. Only a hint: may be lost or superfluous.
 *
 * @param type that of the jobs, '' = none; undefined: any type
 */
export type WakeListener = (
  namespace: string,
  queue: string | null,
  ended?: EndedWaits,
  type?: string,
) => void;

/** Source of the wake-ups of a pool. */
export interface Wakeups {
  /** Starts to listen. @throws {Error} it cannot */
  open(): Promise<void>;
  /** Registers a waiter in the namespace; `unfollow` must be called as often. */
  follow(namespace: string): void;
  unfollow(namespace: string): void;
  /**
   * Checks the connections, and replaces broken ones. @throws the connection's error: waiters receive no wake-ups now
   */
  probe(): Promise<void>;
  /** Closes the connections; with `again`, reopens them. */
  disconnect(again: boolean): void;
}

/**
 * Passes a message to the listeners: `namespace queue`, with a third part the type of the jobs; or `namespace`, two spaces
 * and a worker, with a scope behind a line feed.
 */
export function dispatchWakeup(listeners: ReadonlySet<WakeListener>, message: string): void {
  const [namespace, queue, ...rest] = message.split(' ');
  if (namespace === undefined || queue === undefined) return;
  const text = rest.join(' ');
  const [worker = '', scope] = text.split('\n');
  const ended = { worker, ...(scope === undefined ? {} : { scope }) };
  for (const listener of listeners) {
    if (queue === '') listener(namespace, null, ended);
    else listener(namespace, queue, undefined, rest.length === 0 ? undefined : text);
  }
}

/** One channel for all namespaces, on one connection: a single Redis, or a Sentinel group's master. */
export class ChannelWakeups implements Wakeups {
  /** @param subscriber without `autoResubscribe` */
  constructor(
    private readonly subscriber: Redis,
    private readonly calls: Calls,
    private readonly channel: string,
    private readonly listeners: ReadonlySet<WakeListener>,
  ) {}

  async open(): Promise<void> {
    this.subscriber.on('message', (_channel: string, message: string) =>
      dispatchWakeup(this.listeners, message),
    );
    // If it fails, the next probe tries again. The driver would not handle the error, and the process would end.
    this.subscriber.on(
      'ready',
      () => void (/* guard: refused-subscription-ends-nothing */ this.subscribe().catch(() => undefined)),
    );
    await this.calls.persist(() => this.subscribe(), { repeatable: true });
  }

  private subscribe(): Promise<unknown> {
    return this.subscriber.subscribe(this.channel);
  }

  /** All namespaces are always received. */
  follow(): void {
    return undefined;
  }

  unfollow(): void {
    return undefined;
  }

  /** Detects a half-open socket, or a missing subscription, which would silently lose wake-ups. */
  async probe(): Promise<void> {
    const isSubscribed = /* guard: refused-subscription-retried */ this.subscriber.mode === 'subscriber';
    await this.calls.attempt(() => (isSubscribed ? this.subscriber.ping() : this.subscribe()));
  }

  disconnect(again: boolean): void {
    if (!again || this.subscriber.status === 'ready') this.subscriber.disconnect(again);
  }
}
