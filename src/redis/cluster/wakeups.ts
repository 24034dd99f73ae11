import { performance } from 'node:perf_hooks';
import { Command, type Cluster, type Redis } from 'ioredis';
import type { Calls } from '../calls.js';
import type { ClusterNodes } from './nodes.js';
import type { Keys } from '../keys.js';
import type { WakeStyle } from '../scripts/texts.js';
import { checkSetUp } from '../set-up.js';
import { dispatchWakeup, type WakeListener, type Wakeups } from '../wakeups.js';

/** How long the subscription of a namespace without waiters is kept, in milliseconds: a new waiter may come. */
const LINGER_MS = 30_000;

/** A namespace with waiters. */
interface Followed {
  readonly channel: string;
  readonly slot: number;
  waiting: number;
  idleSinceMs: number;
  /** The node where its channel is subscribed, as `host:port`; null if at none. */
  at: string | null;
}

/**
 * Wake-ups in a Cluster. Sharded: a channel for each namespace with waiters, subscribed at the node of its slot, with
 * one connection to each such node; messages go to no other node. Plain, before Redis 7: one channel, at any node; the
 * Cluster's bus forwards each message to all nodes.
 *
 * A subscription ends when its slot leaves its node, or when the node dies. The next check, within about a second,
 * renews it; then all waiters of the namespace check for jobs whose wake-ups were missed.
 */
export class ClusterWakeups implements Wakeups {
  private readonly links = new Map<string, Redis>();
  /** Nodes that have ended an unknown one of their subscriptions. */
  private readonly doubtful = new Set<string>();
  private readonly followed = new Map<string, Followed>();
  private isClosed = false;

  constructor(
    private readonly client: Cluster,
    private readonly nodes: ClusterNodes,
    private readonly calls: Calls,
    private readonly keys: Keys,
    private readonly style: WakeStyle,
    private readonly listeners: ReadonlySet<WakeListener>,
    private readonly lingerMs = LINGER_MS,
  ) {}

  open(): Promise<void> {
    this.settle();
    return Promise.resolve();
  }

  follow(namespace: string): void {
    if (this.style === 'plain') return;
    const known = this.followed.get(namespace);
    if (known) {
      known.waiting++;
      return;
    }
    const channel = this.keys.wakeChannelOf(namespace);
    const slot = new Command('get', [channel]).getSlot();
    const fresh = { channel, slot, waiting: 1, idleSinceMs: 0, at: null };
    this.followed.set(namespace, fresh);
    this.listen(namespace, fresh);
  }

  unfollow(namespace: string): void {
    const known = this.followed.get(namespace);
    if (known && --known.waiting === 0) known.idleSinceMs = performance.now();
  }

  async probe(): Promise<void> {
    this.settle();
    await Promise.all(
      [...this.links.values()].map((link) =>
        this.calls.attempt(() => link.ping()).catch(() => link.disconnect()),
      ),
    );
  }

  disconnect(again: boolean): void {
    this.isClosed = !again;
    for (const link of this.links.values()) link.disconnect();
  }

  /** Moves subscriptions to the current nodes of their slots, and ends unused ones. */
  private settle(): void {
    if (this.isClosed) return;
    if (this.style === 'plain') {
      if (this.links.size === 0) this.listenAnywhere();
      return;
    }
    const used = new Set<string>();
    for (const [namespace, one] of this.followed) {
      if (one.waiting === 0 && performance.now() - one.idleSinceMs > this.lingerMs)
        this.forget(namespace, one);
      else {
        this.listen(namespace, one);
        used.add(one.at ?? '');
      }
    }
    this.doubtful.clear();
    for (const [owner, link] of this.links) if (!used.has(owner)) link.disconnect();
  }

  /** Subscribes to a namespace's channel at the node of its slot, unless it is subscribed there. */
  private listen(namespace: string, one: Followed): void {
    const owner = this.client.slots[one.slot]?.[0];
    if (
      owner === undefined ||
      /* guard: channel-follows-its-slot */ (one.at === owner && !this.doubtful.has(owner))
    )
      return;
    const link = this.linkTo(owner);
    if (!link) return;
    const isElsewhere = one.at !== owner;
    one.at = owner;
    link.ssubscribe(one.channel).then(
      // Wake-ups between the waiters' first fetch, or the last subscription, and now were missed.
      () =>
        /* guard: subscribed-waiters-fetch-again */ isElsewhere &&
        this.listeners.forEach((listener) => listener(namespace, null)),
      () => one.at === owner && (one.at = null),
    );
  }

  private forget(namespace: string, one: Followed): void {
    this.followed.delete(namespace);
    const link = one.at === null ? undefined : this.links.get(one.at);
    link?.sunsubscribe(one.channel).catch(() => undefined);
  }

  private listenAnywhere(): void {
    const masters = this.nodes.masters();
    const owner = masters[Math.floor(Math.random() * masters.length)];
    const link = owner === undefined ? undefined : this.linkTo(owner);
    link?.subscribe(this.keys.wakeChannel).catch(() => link.disconnect());
  }

  private linkTo(owner: string): Redis | undefined {
    const known = this.links.get(owner);
    if (known) return known;
    const like = this.nodes.connectionTo(owner);
    if (!like) return undefined;
    const link = like.duplicate({
      // If a lost connection is still needed, the next check replaces it.
      retryStrategy: () => null,
      enableOfflineQueue: true,
      readOnly: false,
    });
    checkSetUp(link);
    this.links.set(owner, link);
    link.on('error', () => undefined);
    link.on('message', (_channel: string, message: string) => dispatchWakeup(this.listeners, message));
    link.on('smessage', (_channel: string, message: string) => dispatchWakeup(this.listeners, message));
    // The driver emits this when the node has ended or rejected a subscription: the slot has moved to another node.
    link.on('moved', () => this.doubt(owner));
    link.on('end', () => this.lose(owner, link));
    return link;
  }

  private doubt(owner: string): void {
    this.doubtful.add(owner);
    this.client.refreshSlotsCache(() => this.settle());
  }

  private lose(owner: string, link: Redis): void {
    if (this.links.get(owner) === link) this.links.delete(owner);
    for (const one of this.followed.values())
      if (one.at === owner) /* guard: lost-subscription-is-renewed */ one.at = null;
  }
}
