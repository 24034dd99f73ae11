import { comparePlaces } from '../../domain/job/job-event.js';
import { QueueError } from '../../domain/errors.js';
import type { RedisPool } from '../../redis/pool.js';
import { readEvents } from '../../redis/scripts/simple.js';
import { Loop } from '../timers/loop.js';
import type { EngineObserver } from '../core/observer.js';
import type { Timers } from '../timers/timers.js';
import { pageOf, type Page } from './entries.js';
import { Follower, type EventListener } from './follower.js';
import type { EventWriter } from './writer.js';

/** How often the stream of a namespace is read, in milliseconds, while one round can read all of them. */
const POLL_MS = 100;
/** Namespaces that one round reads. With more, each is read less often, and the load on Redis stays the same. */
const CHANNELS_IN_ROUND = 64;
/**
 * Events that one read returns, and all reads of a round. A listener that is slower than its stream gets `missed()`; it
 * does not delay others.
 */
const PAGE = 500;
const MOST_IN_ROUND = 4_000;
/**
 * Listeners are served for this long without a break, in milliseconds; then other work of the event loop runs first.
 */
const STRETCH_MS = 5;
/** Maximum share of the time that serving may take: listeners that cannot be served within it miss events. */
const MOST_BUSY = 0.25;
/** How often the subscription of a namespace is renewed in Redis, in milliseconds, unless it expires sooner. */
const RENEW_MS = 1_000;

/** Position before every entry of a stream. */
const BEGINNING = '0-0';

/** A namespace with listeners in this process. */
interface Channel {
  readonly namespace: string;
  readonly followers: Set<Follower>;
  /** Position of the last entry that was read; undefined before the first read. */
  place: string | undefined;
  renewAtMs: number;
}

/**
 * Delivers the events of the pool's namespaces to the listeners of this process. It reads each stream once for all of
 * them, on the pool's own connection, and only while there are listeners. Earlier events are read separately for each
 * new listener that requests them.
 */
export class EventFeed {
  readonly loop: Loop;
  private readonly channels = new Map<string, Channel>();
  private watchAtMs = 0;
  /** How long this round has been delivering events, in milliseconds. */
  private busyMs = 0;
  private isStopped = false;
  private readonly running = new Set<Promise<void>>();

  /**
   * @param keepMs events are still written for this long after the last listener has left: it may return and request
   *   them
   */
  constructor(
    private readonly pool: RedisPool,
    observer: EngineObserver,
    timers: Timers,
    private readonly writer: EventWriter,
    private readonly keepMs: number,
    /** About how many events of a namespace are kept. */
    private readonly maxKept: number,
  ) {
    this.loop = new Loop({
      ...{ name: 'events', pool: pool.name, timers, observer },
      run: () => this.round(),
      pauseMs: () => this.pauseMs(),
    });
  }

  /**
   * Subscribes to a namespace: from now on, or from a position that an earlier listener had reached.
   *
   * @param after null = from now on
   * @returns a function that ends the subscription
   * @throws {QueueError} `pool_unavailable`, `store_full`; `shutting_down`
   */
  async subscribe(namespace: string, after: string | null, listener: EventListener): Promise<() => void> {
    const follower = new Follower(listener, after ?? '0-0');
    const channel = this.join(namespace, follower);
    const leave = (): void => this.leave(channel, follower);
    try {
      const [page] = await Promise.all([
        this.read(channel, after ?? '', this.keepMs),
        this.watch([namespace]),
      ]);
      if (this.isStopped) throw shuttingDown();
      this.writer.onListening(namespace);
      channel.place ??= page.newest;
      if (after === null) follower.begin(page.newest);
      follower.isLive = after === null;
      if (!follower.isLive) void this.track(this.catchUp(channel, follower, page));
    } catch (error) {
      leave();
      throw error;
    }
    this.loop.schedule(POLL_MS);
    return leave;
  }

  /** Ends every subscription now, and accepts no new ones. */
  close(): void {
    this.isStopped = true;
    void this.loop.stop();
    for (const { followers } of [...this.channels.values()]) for (const one of [...followers]) one.end();
    this.channels.clear();
  }

  /** Resolves when no work is in progress. */
  async settled(): Promise<void> {
    await this.loop.stop();
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private join(namespace: string, follower: Follower): Channel {
    if (this.isStopped) throw shuttingDown();
    const renewAtMs = performance.now() + this.renewMs;
    const channel = this.channels.get(namespace) ?? {
      namespace,
      followers: new Set(),
      place: undefined,
      renewAtMs,
    };
    this.channels.set(namespace, channel);
    channel.followers.add(follower);
    return channel;
  }

  private leave(channel: Channel, follower: Follower): void {
    follower.isOver = true;
    channel.followers.delete(follower);
    if (channel.followers.size === 0 && this.channels.get(channel.namespace) === channel) {
      this.channels.delete(channel.namespace);
    }
  }

  /**
   * Delivers earlier events to a listener, page by page, at its own speed, until it has reached the position of the
   * others.
   */
  private async catchUp(channel: Channel, follower: Follower, first: Page): Promise<void> {
    try {
      // A position ahead of the stream is from another store, or from before a failover: the events after it are
      // unknown here.
      const isAhead = comparePlaces(follower.place, first.newest) > 0;
      // guard: stream-cursor-ahead
      if (isAhead) follower.place = first.newest;
      for (let page = first; !follower.isOver; page = await this.read(channel, follower.place, 0)) {
        if (page.hasGap || (page === first && isAhead)) follower.missed();
        if (!isAhead) follower.give(page.events, page.place);
        // guard: earlier-events-are-read-to-the-end
        if (page.size < PAGE && !isBehind(page, channel)) break;
        await follower.hasRoom();
      }
      follower.isLive = true;
    } catch (error) {
      this.loop.fail(error);
      follower.end();
      this.leave(channel, follower);
    }
  }

  private pauseMs(): number | null {
    const pauseMs = Math.max(POLL_MS, this.busyMs / MOST_BUSY - this.busyMs);
    this.busyMs = 0;
    return this.channels.size === 0 ? null : pauseMs;
  }

  /**
   * Reads some of the namespaces, in turn. If that fails, listeners stay subscribed: they get `missed()` when Redis
   * answers again.
   *
   * @returns how many entries there were
   */
  private async round(): Promise<number> {
    const turn = [...this.channels.values()].slice(0, CHANNELS_IN_ROUND);
    for (const channel of turn) {
      // Move to the end of the order.
      this.channels.delete(channel.namespace);
      this.channels.set(channel.namespace, channel);
    }
    if (performance.now() >= this.watchAtMs) {
      this.watchAtMs = performance.now() + this.renewMs;
      // If the renewal fails, other servers write events until the last renewal expires.
      await this.watch([...this.channels.keys()]).catch((error: unknown) => this.loop.fail(error));
    }
    let left = MOST_IN_ROUND;
    for (let open = turn; open.length > 0 && left > 0 && this.busyMs < POLL_MS && !this.isStopped;) {
      const sizes = await Promise.all(open.map((channel) => this.readOn(channel)));
      open = open.filter((_channel, i) => sizes[i] === PAGE);
      for (const size of sizes) left -= size;
    }
    return MOST_IN_ROUND - left;
  }

  /** Delivers new events to the live listeners. @returns how many entries there were */
  private async readOn(channel: Channel): Promise<number> {
    const { place } = channel;
    if (place === undefined) return 0;
    const isDue = performance.now() >= channel.renewAtMs;
    if (isDue) channel.renewAtMs = performance.now() + this.renewMs;
    const page = await this.read(channel, place, isDue ? this.keepMs : 0);
    // The stream expired while it could not be renewed; the next renewal creates it again.
    if (page.newest === '') return 0;
    // guard: new-event-stream-from-its-beginning
    if (comparePlaces(page.newest, place) < 0) {
      rewind(channel);
      return 0;
    }
    channel.place = page.place;
    await this.giveAll([...channel.followers], page);
    return page.size;
  }

  /** Delivers a page to all live listeners. A thousand of them take a while, so other work runs in between. */
  private async giveAll(followers: readonly Follower[], page: Page): Promise<void> {
    let sinceMs = performance.now();
    for (const follower of followers) {
      if (!follower.isLive) continue;
      if (page.hasGap) follower.missed();
      follower.give(page.events, page.place);
      const tookMs = performance.now() - sinceMs;
      if (tookMs < STRETCH_MS) continue;
      this.busyMs += tookMs;
      // guard: many-subscribers-no-delay
      await new Promise(setImmediate);
      sinceMs = performance.now();
    }
    this.busyMs += performance.now() - sinceMs;
  }

  private async read({ namespace }: Channel, after: string, keepMs: number): Promise<Page> {
    const args = {
      after,
      count: PAGE,
      keep_ms: keepMs,
      most: /* guard: kept-events-as-configured */ this.maxKept,
    };
    return pageOf(await this.pool.run(readEvents, this.pool.keys.namespace(namespace), args), after);
  }

  /**
   * Registers in Redis that these namespaces have listeners, for all servers of the pool, and removes expired
   * registrations.
   */
  private async watch(namespaces: readonly string[]): Promise<void> {
    if (namespaces.length === 0) return;
    const { keys, clock } = this.pool;
    const untilMs = clock.now() + this.keepMs;
    const members = namespaces.flatMap((namespace) => [untilMs, namespace]);
    await Promise.all([
      this.pool.read('ZADD', keys.watched, 'GT', ...members),
      this.pool.read('ZREMRANGEBYSCORE', keys.watched, '-inf', clock.now()),
      this.pool.read('PEXPIRE', keys.watched, this.keepMs),
    ]);
  }

  private get renewMs(): number {
    return Math.min(RENEW_MS, this.keepMs / 3);
  }

  private async track(work: Promise<void>): Promise<void> {
    this.running.add(work);
    await work.finally(() => this.running.delete(work));
  }
}

/**
 * The stream was created again by a server whose clock is behind, for example after a failover: all entries of it are
 * new, and events may be missing.
 */
function rewind(channel: Channel): void {
  channel.place = BEGINNING;
  for (const follower of channel.followers) if (follower.isLive) follower.place = BEGINNING;
}

/** True if live listeners have got entries that the stream did not have when the page was read. */
function isBehind({ newest }: Page, { place }: Channel): boolean {
  return newest !== '' && place !== undefined && comparePlaces(place, newest) > 0;
}

function shuttingDown(): QueueError {
  return new QueueError('shutting_down', 'the server is shutting down');
}
