import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import type { NewRecurring, Recurring, RecurringChange } from '../domain/recurring.js';
import { checkQueue, checkQueueOrAll } from '../domain/rights.js';
import { withinRights } from '../domain/unique-rights.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import type { RecurringPage, Recurrings } from '../engine/full/recurring.js';

/** Which of them to list. */
export interface RecurringListing {
  readonly limit: number;
  /** The last one of the page before. */
  readonly after: string | undefined;
  readonly queue: string | undefined;
}

/** Recurring jobs on behalf of a caller, who must be allowed to publish to their queues. */
@Injectable()
export class RecurringService {
  constructor(@Inject(EngineRegistry) private readonly engines: EngineRegistry) {}

  /** Stores one, or replaces the one with its id. @throws {QueueError} `queue_not_allowed`, `pool_moving`, or the engine's own */
  async set(caller: Caller, recurring: NewRecurring): Promise<Recurring> {
    checkQueue(caller.rights, recurring.template.queue);
    if (recurring.id !== undefined && caller.rights !== null && caller.rights.queues !== null) {
      const known = await this.of(caller).find(caller.namespace, recurring.id);
      if (known) checkQueue(caller.rights, known.template.queue);
    }
    const template = withinRights(caller.rights, recurring.template);
    return this.of(caller).set(caller.namespace, { ...recurring, template });
  }

  /** @throws {QueueError} `recurring_not_found`, `queue_not_allowed`, `pool_moving`, or the engine's own */
  async change(caller: Caller, id: string, change: RecurringChange): Promise<Recurring> {
    await this.get(caller, id);
    const { queue } = change.template ?? {};
    if (queue !== undefined) checkQueue(caller.rights, queue);
    const template = change.template && withinRights(caller.rights, change.template);
    return this.of(caller).change(caller.namespace, id, template ? { ...change, template } : change);
  }

  /** @throws as `change` */
  async get(caller: Caller, id: string): Promise<Recurring> {
    const recurring = await this.of(caller).get(caller.namespace, id);
    checkQueue(caller.rights, recurring.template.queue);
    return recurring;
  }

  /** A page of them, as the engine has it. @throws {QueueError} `queue_not_allowed`, `pool_moving`, or the engine's own */
  list(caller: Caller, { limit, after, queue }: RecurringListing): Promise<RecurringPage> {
    checkQueueOrAll(caller.rights, queue);
    return this.of(caller).list(caller.namespace, limit, after, queue);
  }

  /** Ends one; the jobs that it made stay. @throws as `change` */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.get(caller, id);
    await this.of(caller).remove(caller.namespace, id);
  }

  private of({ pool }: Caller): Recurrings {
    return this.engines.fullLaneOf(pool).recurrings;
  }
}
