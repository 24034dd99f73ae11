import type { NewJob } from '../../domain/job/job.js';
import type { RedisPool } from '../../redis/pool.js';
import type { Item } from '../../redis/scripts/script.js';
import { writeEvents } from '../../redis/scripts/simple.js';
import type { FetchResult } from '../core/decode.js';
import { encodeId } from '../core/ids.js';
import { Loop } from '../timers/loop.js';
import type { EngineObserver } from '../core/observer.js';
import type { Timers } from '../timers/timers.js';

/** How often a server reads which namespaces have listeners, in milliseconds: one command for all of them. */
const REFRESH_MS = 1_000;
/** Events that one script call writes: half a millisecond of Redis. */
const EMIT_BATCH = 256;
/** Maximum number of events that wait for Redis in one process; more are dropped. */
const MOST_WAITING = 20_000;
const NO_ID = Buffer.alloc(0);

/** Events of one namespace that wait to be written. */
interface Backlog {
  readonly items: Item[];
  /** When the first of them was added, Unix ms by Redis's clock. */
  sinceMs: number;
  isUnderWay: boolean;
}

/**
 * Writes the events of jobs changed by the simple scripts, after the change, while the namespace has listeners. All
 * other scripts write their events themselves (lua/modules/jobs/events.lua), atomically with the change. Callers never wait:
 * events that Redis does not take in time are dropped, and counted.
 */
export class EventWriter {
  readonly loop: Loop;
  /** True if a namespace of the pool has listeners. The only check on the fast path while there are none. */
  isOn = false;
  private received = new Set<string>();
  private readonly backlogs = new Map<string, Backlog>();
  private waiting = 0;
  private isStopped = false;
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly pool: RedisPool,
    private readonly observer: EngineObserver,
    timers: Timers,
  ) {
    this.loop = new Loop({
      ...{ name: 'event_listeners', pool: pool.name, timers, observer },
      run: () => this.refresh(),
      pauseMs: () => REFRESH_MS,
    });
  }

  start(): void {
    this.loop.schedule(REFRESH_MS);
  }

  /** Writes the waiting events, and ends. */
  async stop(): Promise<void> {
    await this.loop.stop();
    while (this.running.size > 0) await Promise.all(this.running);
    this.isStopped = true;
  }

  /** Marks a namespace as subscribed in this process, without waiting for the next read. */
  onListening(namespace: string): void {
    this.received.add(namespace);
    this.turn(true);
  }

  /**
   * Reads which namespaces have listeners; while Redis is unavailable the last result stays valid. @returns their
   * number
   */
  private async refresh(): Promise<number> {
    const { keys, clock } = this.pool;
    const found = await this.pool.read('ZRANGEBYSCORE', keys.watched, clock.now(), '+inf');
    this.received = new Set(Array.isArray(found) ? found.map(String) : []);
    this.turn(/* guard: other-subscribers-learned */ this.received.size > 0);
    return this.received.size;
  }

  /** Loads the script into Redis at the first listener: sending it a second time would delay an event. */
  private turn(isOn: boolean): void {
    const [namespace] = this.received;
    if (isOn && !this.isOn && namespace !== undefined) void this.track(this.send(namespace, [], 0));
    this.isOn = isOn;
  }

  /**
   * Records events of stored jobs; the script itself writes those of extended ones.
   *
   * @param replaces the id of the job that the first one has replaced
   */
  published(
    namespace: string,
    queue: string,
    jobs: readonly NewJob[],
    ids: readonly string[],
    replaces?: string,
  ): void {
    if (!this.received.has(namespace)) return;
    const nowMs = this.pool.clock.now();
    jobs.forEach(({ delayMs, dueMs, extended }, i) => {
      if (extended) return;
      const waitMs = dueMs === undefined ? delayMs : Math.ceil(dueMs - nowMs);
      const facts = {
        ...(waitMs > 0 && { delay_ms: waitMs }),
        ...(replaces !== undefined && { replaces }),
      };
      const text = waitMs > 0 || replaces !== undefined ? JSON.stringify(facts) : '';
      this.add(namespace, 'published', queue, encodeId(ids[i] ?? '') ?? NO_ID, text);
    });
  }

  /** Records events of leased jobs: the results of the fetch requests of a batch. */
  leased(namespace: string, answers: readonly FetchResult[]): void {
    if (!this.received.has(namespace)) return;
    for (const { id, queue, attempts } of answers.flatMap(({ jobs }) => jobs)) {
      this.add(namespace, 'leased', queue, encodeId(id) ?? NO_ID, `{"attempt":${String(attempts)}}`);
    }
  }

  /** Records the event of a removed job: acknowledged, or deleted without ever having been leased. */
  acked(namespace: string, queue: string, id: Buffer, wasLeased: boolean): void {
    if (this.received.has(namespace)) this.add(namespace, wasLeased ? 'acked' : 'deleted', queue, id, '');
  }

  private add(namespace: string, event: string, queue: string, id: Buffer, facts: string): void {
    if (this.waiting >= MOST_WAITING || this.isStopped) {
      this.observer.emitted(0, 1);
      return;
    }
    let backlog = this.backlogs.get(namespace);
    if (!backlog) {
      backlog = { items: [], sinceMs: 0, isUnderWay: false };
      this.backlogs.set(namespace, backlog);
    }
    this.waiting++;
    if (backlog.items.length === 0) backlog.sinceMs = this.pool.clock.now();
    backlog.items.push([event, queue, id, facts]);
    if (backlog.isUnderWay) return;
    backlog.isUnderWay = true;
    void this.track(this.write(namespace, backlog));
  }

  /** One call at a time per namespace, so that its events are in the order of the changes. */
  private async write(namespace: string, backlog: Backlog): Promise<void> {
    // Events of the same reply are sent together; those that follow from it, such as an undo, are sent later.
    await Promise.resolve();
    while (backlog.items.length > 0) {
      const items = backlog.items.splice(0, EMIT_BATCH);
      await this.send(namespace, items, backlog.sinceMs);
      this.waiting -= items.length;
    }
    this.backlogs.delete(namespace);
  }

  private async send(namespace: string, items: readonly Item[], sinceMs: number): Promise<void> {
    try {
      const args = { clock_ms: '', since_ms: sinceMs };
      const written = await this.pool.run(writeEvents, this.pool.keys.namespace(namespace), args, items);
      // Negative: the namespace has no listeners any more, and this process has not read that yet.
      if (written >= 0) this.observer.emitted(written, items.length - written);
    } catch (error) {
      this.observer.loopError('event_writer', error);
      this.observer.emitted(0, items.length);
    }
  }

  private async track(work: Promise<void>): Promise<void> {
    this.running.add(work);
    await work.finally(() => this.running.delete(work));
  }
}
