import type { NewJob } from '../../domain/job.js';
import type { RedisPool } from '../../redis/pool.js';
import type { Item } from '../../redis/scripts/script.js';
import { tell } from '../../redis/scripts/plain.js';
import type { Reserved } from '../decode.js';
import { encodeId } from '../ids.js';
import type { EngineObserver } from '../observer.js';

/** How often a server finds out in which namespaces somebody listens, in milliseconds: one command for all of them. */
const LOOK_MS = 1_000;
/** Events that one script call writes: half a millisecond of Redis. */
const TELL_STEP = 256;
/** Events that may wait for Redis in one process; more are left out. */
const MOST_WAITING = 20_000;
const NO_ID = Buffer.alloc(0);

/** What waits to be written of one namespace. */
interface Backlog {
  readonly items: Item[];
  isUnderWay: boolean;
}

/**
 * Writes the events of what the hot scripts did, after the step, while somebody listens to the namespace. All other scripts write theirs
 * themselves (lua/lib/events.lua), in the step. It holds up nobody: what Redis does not take in time is left out, and counted.
 */
export class EventTeller {
  /** Somebody listens somewhere in the pool. All that the hot path ever looks at while nobody does. */
  isOn = false;
  private heard = new Set<string>();
  private readonly backlogs = new Map<string, Backlog>();
  private waiting = 0;
  private looker: NodeJS.Timeout | undefined;
  private isStopped = false;
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly pool: RedisPool,
    private readonly observer: EngineObserver,
  ) {}

  start(): void {
    this.looker ??= setInterval(() => void this.track(this.look()), LOOK_MS).unref();
  }

  /** Writes what waits, and ends. */
  async stop(): Promise<void> {
    clearInterval(this.looker);
    while (this.running.size > 0) await Promise.all(this.running);
    this.isStopped = true;
  }

  /** Somebody of this process listens to it from now on: nobody else need say so. */
  hear(namespace: string): void {
    this.heard.add(namespace);
    this.turn(true);
  }

  /** Finds out where somebody listens. Does not fail: while Redis is away what was known goes on. */
  async look(): Promise<void> {
    try {
      const { keys, clock } = this.pool;
      const found = await this.pool.read('ZRANGEBYSCORE', keys.watched, clock.now(), '+inf');
      this.heard = new Set(Array.isArray(found) ? found.map(String) : []);
      this.turn(this.heard.size > 0);
    } catch (error) {
      this.observer.loopError('events', error);
    }
  }

  /** The first time, Redis is made to know the script: an event must not come late for having been sent twice. */
  private turn(isOn: boolean): void {
    const [namespace] = this.heard;
    if (isOn && !this.isOn && namespace !== undefined) void this.track(this.send(namespace, []));
    this.isOn = isOn;
  }

  /** Jobs were stored. */
  published(namespace: string, queue: string, jobs: readonly NewJob[], ids: readonly string[]): void {
    if (!this.heard.has(namespace)) return;
    jobs.forEach(({ delayMs }, i) => {
      const facts = delayMs > 0 ? `{"delay_ms":${String(delayMs)}}` : '';
      this.add(namespace, 'published', queue, encodeId(ids[i] ?? '') ?? NO_ID, facts);
    });
  }

  /** A job was stored in the place of another one. */
  replaced(namespace: string, queue: string, id: string, oldId: string): void {
    if (!this.heard.has(namespace)) return;
    this.add(namespace, 'published', queue, encodeId(id) ?? NO_ID, JSON.stringify({ replaces: oldId }));
  }

  /** Jobs were leased: what each question of a batch was answered. */
  leased(namespace: string, answers: readonly Reserved[]): void {
    if (!this.heard.has(namespace)) return;
    for (const { id, queue, attempts } of answers.flatMap((jobs) => (jobs === 'full' ? [] : (jobs ?? [])))) {
      this.add(namespace, 'leased', queue, encodeId(id) ?? NO_ID, `{"attempt":${String(attempts)}}`);
    }
  }

  /** A job was removed: its work is done, or nobody had ever taken it. */
  acked(namespace: string, queue: string, id: Buffer, wasLeased: boolean): void {
    if (this.heard.has(namespace)) this.add(namespace, wasLeased ? 'acked' : 'deleted', queue, id, '');
  }

  private add(namespace: string, event: string, queue: string, id: Buffer, facts: string): void {
    if (this.waiting >= MOST_WAITING || this.isStopped) {
      this.observer.told(0, 1);
      return;
    }
    let backlog = this.backlogs.get(namespace);
    if (!backlog) {
      backlog = { items: [], isUnderWay: false };
      this.backlogs.set(namespace, backlog);
    }
    this.waiting++;
    backlog.items.push([event, queue, id, facts]);
    if (backlog.isUnderWay) return;
    backlog.isUnderWay = true;
    void this.track(this.write(namespace, backlog));
  }

  /** One call at a time for a namespace, so that its events are in the order of their steps. */
  private async write(namespace: string, backlog: Backlog): Promise<void> {
    // What the same reply told of travels along; what follows from it, such as an undo, is sent later.
    await Promise.resolve();
    while (backlog.items.length > 0) {
      const items = backlog.items.splice(0, TELL_STEP);
      await this.send(namespace, items);
      this.waiting -= items.length;
    }
    this.backlogs.delete(namespace);
  }

  private async send(namespace: string, items: readonly Item[]): Promise<void> {
    try {
      const written = await this.pool.run(tell, this.pool.keys.namespace(namespace), {}, items);
      // Below zero: nobody listens any more, and this process has not heard of it yet.
      if (written >= 0) this.observer.told(written, items.length - written);
    } catch (error) {
      this.observer.loopError('events', error);
      this.observer.told(0, items.length);
    }
  }

  private async track(work: Promise<void>): Promise<void> {
    this.running.add(work);
    await work.finally(() => this.running.delete(work));
  }
}
