import { Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import type { SettingsChange } from '../domain/queue-settings.js';
import { checkVerb, matchesPattern } from '../domain/rights.js';
import type { JobState } from '../domain/job/states.js';
import { EngineRegistry } from '../engine/migration/engine.registry.js';
import { QueueAdmin, type QueueView } from '../engine/queue-admin.js';
import type { Purged } from '../engine/queues/queue-purger.js';

/** Queues on behalf of a caller. Every method throws `pool_moving` while the pool moves. */
@Injectable()
export class QueuesService {
  constructor(private readonly engines: EngineRegistry) {}

  /**
   * Returns a page of the queues that a caller may see; see `QueueAdmin.list`.
   *
   * @param after the last name of the previous page, '' = from the beginning
   */
  async list(caller: Caller, after: string, limit: number): ReturnType<QueueAdmin['list']> {
    const patterns = caller.rights?.queues ?? null;
    const isVisible = (name: string): boolean =>
      patterns === null || patterns.some((one) => matchesPattern(one, name));
    return this.of(caller).list(caller.namespace, { after, limit, isVisible });
  }

  /** A queue, whether it exists or not. */
  async find(caller: Caller, queue: string): Promise<QueueView> {
    return this.of(caller).find(caller.namespace, queue);
  }

  /**
   * @param pushTarget the target that its jobs are pushed to from now on; null = none, undefined = as before
   * @throws {QueueError} `target_not_found`, before anything has changed; `verb_missing`
   */
  async change(
    caller: Caller,
    queue: string,
    change: SettingsChange,
    pushTarget?: string | null,
  ): Promise<QueueView> {
    if (pushTarget !== undefined) checkVerb(caller.rights, 'push');
    return this.of(caller).change(caller.namespace, queue, change, pushTarget);
  }

  async pause(caller: Caller, queue: string): Promise<QueueView> {
    return this.of(caller).pause(caller.namespace, queue);
  }

  /** @throws {QueueError} `queue_not_found` */
  async resume(caller: Caller, queue: string): Promise<QueueView> {
    return this.of(caller).resume(caller.namespace, queue);
  }

  /** @throws {QueueError} `queue_not_found`, `queue_not_empty` */
  async forget(caller: Caller, queue: string): Promise<void> {
    return this.of(caller).forget(caller.namespace, queue);
  }

  /** See `QueueAdmin.drain`. @throws {QueueError} `queue_not_found` */
  async drain(caller: Caller, queue: string, waitMs: number, isWanted: () => boolean): Promise<QueueView> {
    return this.of(caller).drain(caller.namespace, queue, waitMs, isWanted);
  }

  /** @throws {QueueError} `queue_not_found` */
  async count(caller: Caller, queue: string, states: readonly JobState[]): Promise<Purged> {
    return this.of(caller).count(caller.namespace, queue, states);
  }

  /** @throws {QueueError} `queue_not_found` */
  async purge(caller: Caller, queue: string, states: readonly JobState[]): ReturnType<QueueAdmin['purge']> {
    return this.of(caller).purge(caller.namespace, queue, states);
  }

  private of({ pool }: Caller): QueueAdmin {
    return new QueueAdmin(this.engines.forPool(pool), this.engines.extendedOf(pool));
  }
}
