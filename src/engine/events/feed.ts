import { comparePlaces } from '../../domain/job-event.js';
import { QueueError } from '../../domain/errors.js';
import type { RedisPool } from '../../redis/pool.js';
import { listen } from '../../redis/scripts/plain.js';
import type { EngineObserver } from '../observer.js';
import { pageOf, type Page } from './entries.js';
import { Follower, type EventListener } from './follower.js';
import type { EventTeller } from './teller.js';

/** How often a namespace's stream is looked at, in milliseconds, while there are no more of them than one round looks at. */
const POLL_MS = 100;
/** Namespaces that one round looks at: with more, each has its turn less often, and Redis no more to do. */
const CHANNELS_IN_ROUND = 64;
/** Events that one look reads, and one round in all: who is too slow for its stream is told so, and nobody else is held up. */
const PAGE = 500;
const MOST_IN_ROUND = 4_000;
/** Listeners are given events for so long at a stretch, in milliseconds; then what else there is to do comes first. */
const STRETCH_MS = 5;
/** The part of the time that may go into it: who cannot be served in that misses some. */
const MOST_BUSY = 0.25;
/** What says that somebody listens is renewed so often, in milliseconds, if the time that it lasts is longer. */
const RENEW_MS = 1_000;

/** Before every entry of a stream. */
const BEGINNING = '0-0';

/** A namespace that somebody of this process listens to. */
interface Channel {
  readonly namespace: string;
  readonly followers: Set<Follower>;
  /** Of the last entry that was read; undefined before the first look. */
  place: string | undefined;
  renewAtMs: number;
}

/**
 * The events of the pool's namespaces, for the listeners of this process. It reads each stream once for all of them, on the pool's own
 * connection, and only while there are any. What has happened before a listener came is read for it alone.
 */
export class EventFeed {
  private readonly channels = new Map<string, Channel>();
  private timer: NodeJS.Timeout | undefined;
  private watchAtMs = 0;
  /** How long this round has been giving events, in milliseconds. */
  private busyMs = 0;
  private isStopped = false;
  private readonly running = new Set<Promise<void>>();

  /** @param keepMs events are written for so long after the last listener has gone, for it may come back and ask for them */
  constructor(
    private readonly pool: RedisPool,
    private readonly observer: EngineObserver,
    private readonly teller: EventTeller,
    private readonly keepMs: number,
    /** About how many of a namespace are kept. */
    private readonly maxKept: number,
  ) {}

  /**
   * Listens to a namespace: from now on, or from what came after a place that an earlier listener had come to.
   *
   * @param after null = from now on
   * @returns what ends it
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
      this.teller.hear(namespace);
      channel.place ??= page.newest;
      if (after === null) follower.place = page.newest;
      follower.isLive = after === null;
      if (!follower.isLive) void this.track(this.catchUp(channel, follower, page));
    } catch (error) {
      leave();
      throw error;
    }
    this.arm();
    return leave;
  }

  /** Ends every listener now, and lets nobody in from here on. */
  close(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    for (const { followers } of [...this.channels.values()]) for (const one of [...followers]) one.end();
    this.channels.clear();
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
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

  /** Gives a listener what was before it came, page by page, as fast as it takes it, until it has come to where the others are. */
  private async catchUp(channel: Channel, follower: Follower, first: Page): Promise<void> {
    try {
      // A place ahead of the stream is of another store, or of before a fail-over: what was there is not known here.
      const isAhead = comparePlaces(follower.place, first.newest) > 0;
      if (isAhead) follower.place = first.newest;
      for (let page = first; !follower.isOver; page = await this.read(channel, follower.place, 0)) {
        if (page.hasGap || (page === first && isAhead)) follower.missed();
        if (!isAhead) follower.give(page.events, page.place);
        if (page.size < PAGE && !isBehind(page, channel)) break;
        await follower.hasRoom();
      }
      follower.isLive = true;
    } catch (error) {
      this.observer.loopError('events', error);
      follower.end();
      this.leave(channel, follower);
    }
  }

  private arm(): void {
    if (this.isStopped || this.timer || this.channels.size === 0) return;
    const pauseMs = Math.max(POLL_MS, this.busyMs / MOST_BUSY - this.busyMs);
    this.busyMs = 0;
    this.timer = setTimeout(() => void this.track(this.round()), pauseMs).unref();
  }

  /** Looks at some of the namespaces, those whose turn it is. */
  private async round(): Promise<void> {
    try {
      const turn = [...this.channels.values()].slice(0, CHANNELS_IN_ROUND);
      for (const channel of turn) {
        // To the end of the row.
        this.channels.delete(channel.namespace);
        this.channels.set(channel.namespace, channel);
      }
      if (performance.now() >= this.watchAtMs) {
        this.watchAtMs = performance.now() + this.renewMs;
        // If it cannot be told, others write for as long as they were told before.
        await this.watch([...this.channels.keys()]).catch((error: unknown) =>
          this.observer.loopError('events', error),
        );
      }
      let left = MOST_IN_ROUND;
      for (let open = turn; open.length > 0 && left > 0 && this.busyMs < POLL_MS && !this.isStopped;) {
        const sizes = await Promise.all(open.map((channel) => this.readOn(channel)));
        open = open.filter((_channel, i) => sizes[i] === PAGE);
        for (const size of sizes) left -= size;
      }
    } catch (error) {
      // Listeners stay: what they miss is told when Redis answers again.
      this.observer.loopError('events', error);
    } finally {
      this.timer = undefined;
      this.arm();
    }
  }

  /** Gives what is new to those that have come so far. @returns how many entries there were */
  private async readOn(channel: Channel): Promise<number> {
    const { place } = channel;
    if (place === undefined) return 0;
    const isDue = performance.now() >= channel.renewAtMs;
    if (isDue) channel.renewAtMs = performance.now() + this.renewMs;
    const page = await this.read(channel, place, isDue ? this.keepMs : 0);
    // Its time ran out while nobody could renew it; the next renewal makes it again.
    if (page.newest === '') return 0;
    if (comparePlaces(page.newest, place) < 0) {
      rewind(channel);
      return 0;
    }
    channel.place = page.place;
    await this.giveAll([...channel.followers], page);
    return page.size;
  }

  /** Gives a page to all who have come so far; a thousand of them take a while, in which others are served. */
  private async giveAll(followers: readonly Follower[], page: Page): Promise<void> {
    let sinceMs = performance.now();
    for (const follower of followers) {
      if (!follower.isLive) continue;
      if (page.hasGap) follower.missed();
      follower.give(page.events, page.place);
      const tookMs = performance.now() - sinceMs;
      if (tookMs < STRETCH_MS) continue;
      this.busyMs += tookMs;
      await new Promise(setImmediate);
      sinceMs = performance.now();
    }
    this.busyMs += performance.now() - sinceMs;
  }

  private async read({ namespace }: Channel, after: string, keepMs: number): Promise<Page> {
    const args = { after, count: PAGE, keep_ms: keepMs, most: this.maxKept };
    return pageOf(await this.pool.run(listen, this.pool.keys.namespace(namespace), args), after);
  }

  /** Tells all servers of the pool where somebody listens, and forgets where nobody does any more. */
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

/** Its stream was made anew by a clock that is behind the old one's, after a fail-over say: all of it is new, and something was missed. */
function rewind(channel: Channel): void {
  channel.place = BEGINNING;
  for (const follower of channel.followers) if (follower.isLive) follower.place = BEGINNING;
}

/** The others have been given more than what the stream had when the page was read. */
function isBehind({ newest }: Page, { place }: Channel): boolean {
  return newest !== '' && place !== undefined && comparePlaces(place, newest) > 0;
}

function shuttingDown(): QueueError {
  return new QueueError('shutting_down', 'the server is shutting down');
}
