import { Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import type { Inside } from '../contract/fields/wire.js';
import type { NewRecurring, NewSchedule, Recurring, RecurringChange } from '../contract/job/recurring.js';
import { type UpcomingAnswer, upcomingFacts } from '../contract/job/recurring-answers.js';
import { checkDependencies } from '../auth/job-rights.js';
import { notFound } from '../domain/errors.js';
import { checkQueue, checkQueueOrAll, isForQueue, isForSomeQueues, notAllowed } from '../domain/rights.js';
import { checkPushUrl, withinRights } from '../domain/unique-rights.js';
import type { RecurringCalls } from '../engine/engine.js';
import { Engines } from '../engine/engines.js';
import { checkMove } from '../http/sight.js';
import type { RecurringPage } from '../engine/recurring/recurring.js';

/** Filter and page of a list of recurring jobs. */
export interface RecurringListing {
  readonly limit: number;
  /** Id of the last recurring job of the previous page. */
  readonly after: string | undefined;
  readonly queue: string | undefined;
}

const USUAL_COUNT = 10;

/** Recurring jobs on behalf of a caller, who needs permission to publish to their queues. */
@Injectable()
export class RecurringService {
  constructor(private readonly engines: Engines) {}

  /**
   * Stores a recurring job, or replaces the one with its id.
   *
   * @throws {QueueError} `queue_not_allowed`, `pool_moving`, or an error of the engine
   */
  async set(caller: Caller, recurring: NewRecurring): Promise<Recurring> {
    checkQueue(caller.rights, recurring.template.queue);
    const check = ({ id, template }: Recurring): void => {
      if (!isForQueue(caller.rights, template.queue))
        throw notAllowed(caller.rights, `the recurring job ${id}`);
    };
    await this.checkTemplate(caller, recurring);
    const template = /* guard: recurring-unique-keys-within-rights */ withinRights(
      caller.rights,
      recurring.template,
    );
    const replaced = /* guard: replaced-recurring-job-is-checked */ isForSomeQueues(caller.rights);
    return this.of(caller).set(caller.namespace, { ...recurring, template }, replaced ? check : undefined);
  }

  /** @throws {QueueError} `recurring_not_found`, `queue_not_allowed`, `pool_moving`, or an error of the engine */
  async change(caller: Caller, id: string, change: RecurringChange): Promise<Recurring> {
    const { queue } = change.template ?? {};
    const check = async (known: Recurring): Promise<void> => {
      checkSeen(caller, known);
      // guard: recurring-push-url-changed
      if (change.template) checkPushUrl(caller.rights, known.template);
      if (queue !== undefined) await checkMove(caller, this.engines, known.template.queue, queue);
    };
    await this.get(caller, id);
    if (queue !== undefined) checkQueue(caller.rights, queue);
    await this.checkTemplate(caller, change);
    const template = change.template && withinRights(caller.rights, change.template);
    return this.of(caller).change(caller.namespace, id, template ? { ...change, template } : change, check);
  }

  /** A recurring job for a queue that the caller may not use is reported as not found. @throws as `change` */
  async get(caller: Caller, id: string): Promise<Recurring> {
    return this.of(caller).get(caller.namespace, id, (known) => checkSeen(caller, known));
  }

  /**
   * Returns a page in the engine's order.
   *
   * @throws {QueueError} `queue_not_allowed`, `pool_moving`, or an error of the engine
   */
  list(caller: Caller, { limit, after, queue }: RecurringListing): Promise<RecurringPage> {
    checkQueueOrAll(caller.rights, queue);
    return this.of(caller).list(caller.namespace, limit, after, queue);
  }

  /**
   * Makes a job now. @returns its id
   *
   * @throws {QueueError} `unique_key_taken`: the job of an earlier slot has not ended; `queue_full`: a quota; `verb_missing`: its jobs name
   *   a URL that they are pushed to; or as `change`
   */
  async run(caller: Caller, id: string): Promise<string> {
    return this.of(caller).run(caller.namespace, id, (known) => {
      checkSeen(caller, known);
      // guard: recurring-push-url-run
      checkPushUrl(caller.rights, known.template);
    });
  }

  /** The next slots, also while it is paused. @throws as `change` */
  async next(caller: Caller, id: string, count = USUAL_COUNT): Promise<Inside<UpcomingAnswer>> {
    const recurring = await this.get(caller, id);
    return upcomingFacts(this.of(caller).nextOf(recurring, count), recurring.schedule);
  }

  /** The next slots of a schedule that is not stored. @throws {QueueError} `invalid_argument` */
  preview(caller: Caller, schedule: NewSchedule, count = USUAL_COUNT): Inside<UpcomingAnswer> {
    return upcomingFacts(this.of(caller).preview(schedule, count), schedule);
  }

  /** Removes a recurring job; jobs that it has published stay. @throws as `change` */
  async remove(caller: Caller, id: string): Promise<void> {
    const isGone = await this.of(caller).remove(caller.namespace, id, (known) => checkSeen(caller, known));
    if (!isGone) throw notFound('recurring job', id);
  }

  private async checkTemplate(
    caller: Caller,
    { template }: Pick<RecurringChange, 'template'>,
  ): Promise<void> {
    const { jobs } = this.engines.of(caller.pool);
    await checkDependencies(jobs, caller, template?.dependsOn ?? []);
  }

  private of({ pool }: Caller): RecurringCalls {
    return this.engines.of(pool).recurring;
  }
}

/** @throws {QueueError} `recurring_not_found`: it is for a queue that the caller may not use */
function checkSeen({ rights }: Caller, { id, template }: Recurring): void {
  if (!isForQueue(rights, template.queue)) throw notFound('recurring job', id);
}
