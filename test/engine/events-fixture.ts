import type { JobEvent } from '../../src/domain/job/job-event.js';
import type { PoolEngine } from '../../src/engine/pool-engine.js';
import type { EventListener } from '../../src/engine/events/follower.js';
import { waitFor } from '../support/redis.js';

/** Subscribes to a namespace and records its events. */
export class Listening implements EventListener {
  readonly events: JobEvent[] = [];
  /** How many events there were when something was said to be missing. */
  readonly gaps: number[] = [];
  isOver = false;
  began = '';
  leave = (): void => undefined;

  static async to(engine: PoolEngine, namespace: string, after: string | null = null): Promise<Listening> {
    const listening = new Listening();
    listening.leave = await engine.events.subscribe(namespace, after, listening);
    return listening;
  }

  begins(place: string): void {
    this.began = place;
  }

  take(events: readonly JobEvent[]): void {
    this.events.push(...events);
  }

  missed(): void {
    this.gaps.push(this.events.length);
  }

  hasRoom(): Promise<void> {
    return Promise.resolve();
  }

  ended(): void {
    this.isOver = true;
  }

  /** `event queue id` of each, once there are so many. */
  async received(count: number): Promise<string[]> {
    await waitFor(() => this.events.length >= count, 5_000);
    return this.events.map(({ name, queue, id }) => `${name} ${queue} ${id}`);
  }

  /** The last one's place. */
  get place(): string {
    return this.events.at(-1)?.place ?? '';
  }
}
