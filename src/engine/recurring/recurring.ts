import { notFound, QueueError } from '../../domain/errors.js';
import { MAX_RECURRING_ID } from '../../domain/limits.js';
import { isJobId, ulidSource } from '../../domain/ids.js';
import type { NewRecurring, Recurring, RecurringChange } from '../../domain/recurring.js';
import {
  countRecurring,
  deleteRecurring,
  readRecurring,
  setRecurring,
} from '../../redis/scripts/recurring.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { checkNames } from '../core/checks.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { ScheduleWakeup } from '../timers/schedule-wakeup.js';
import { checkRecurring } from '../publish/extended-checks.js';
import { argsOf, changed, type KnownRecurring, recurringsOf } from './recurring-fields.js';

/** Codes of lua/commands/extended/set_recurring.lua. */
const STORED = 0;
const MISSING = 1;
/** Maximum number of attempts: each concurrent change of the same recurring job costs one. */
const MOST_ATTEMPTS = 20;
/** Recurring jobs that `removeAll` reads at once. */
const MOST_AT_ONCE = 100;
/** Recurring jobs that one script call counts: about half a millisecond of Redis. */
const COUNT_STEP = 500;

/** A page of recurring jobs, by id. */
export interface RecurringPage {
  readonly items: readonly Recurring[];
  /** `after` of the next page; null = this is the last one. */
  readonly after: string | null;
}

/** Recurring jobs: the tick of the extended path creates a job for each slot of their schedules. */
export class Recurrings {
  private readonly mint = ulidSource();

  constructor(
    private readonly runner: ScriptRunner,
    private readonly scheduleWakeup: ScheduleWakeup,
  ) {}

  /**
   * Stores a recurring job. One with the same id is replaced: its counters continue, and its slots stay if the schedule
   * is the same.
   *
   * @throws {QueueError} `invalid_argument`, or an error of the store
   */
  async set(namespace: string, recurring: NewRecurring): Promise<Recurring> {
    const id = recurring.id ?? this.mint(this.runner.now());
    await this.store(namespace, id, '', recurring);
    return this.get(namespace, id);
  }

  /**
   * Changes a recurring job.
   *
   * @throws {QueueError} `recurring_not_found`, `invalid_argument`, or an error of the store
   */
  async change(namespace: string, id: string, change: RecurringChange): Promise<Recurring> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const known = await this.read(namespace, id);
      const code = await this.store(namespace, id, known.revision, changed(known, change));
      if (code === STORED) return this.get(namespace, id);
      if (code === MISSING) throw notFound('recurring job', id);
    }
    throw new QueueError('internal', 'it was changed by others all the time');
  }

  /** Stops creating jobs until it is resumed. @throws as `change` */
  pause(namespace: string, id: string): Promise<Recurring> {
    return this.change(namespace, id, { isPaused: true });
  }

  /** Continues with the next slot; slots that have passed are skipped. @throws as `change` */
  resume(namespace: string, id: string): Promise<Recurring> {
    return this.change(namespace, id, { isPaused: false });
  }

  /** Null if there is none. */
  async find(namespace: string, id: string): Promise<Recurring | null> {
    return (await this.known(namespace, id))?.recurring ?? null;
  }

  /** @throws {QueueError} `recurring_not_found` */
  async get(namespace: string, id: string): Promise<Recurring> {
    return (await this.read(namespace, id)).recurring;
  }

  /**
   * Lists a page in the order of ids. A page before the last may have fewer items, with much data or with `queue`; with
   * `queue` even none.
   *
   * @param after id after which the page starts; empty = the first page
   * @param queue only recurring jobs that publish to this queue
   */
  async list(namespace: string, limit: number, after = '', queue?: string): Promise<RecurringPage> {
    checkNames(namespace);
    const { items, hasMore } = await this.runner.run(readRecurring, namespace, { id: '', after, limit });
    const all = recurringsOf(items).map(({ recurring }) => recurring);
    return {
      items: all.filter(({ template }) => queue === undefined || template.queue === queue),
      after: hasMore ? (all.at(-1)?.id ?? null) : null,
    };
  }

  /** Counts the recurring jobs of each queue that has any, paused ones too. */
  async countByQueue(namespace: string): Promise<ReadonlyMap<string, number>> {
    checkNames(namespace);
    const counts = new Map<string, number>();
    let after = '';
    do {
      const { raw } = await this.runner.run(countRecurring, namespace, { after, limit: COUNT_STEP });
      after = bytesAt(raw, 2).toString();
      for (let i = 3; i < raw.length; i++) {
        const queue = bytesAt(raw, i).toString();
        counts.set(queue, (counts.get(queue) ?? 0) + 1);
      }
    } while (after !== '');
    return counts;
  }

  /** Deletes a recurring job. Its jobs stay. @returns false if there was none */
  async remove(namespace: string, id: string): Promise<boolean> {
    checkNames(namespace);
    if (!isJobId(id)) return false;
    const { raw } = await this.runner.run(deleteRecurring, namespace, { id });
    return integerAt(raw, 2) === 1;
  }

  /** Deletes all recurring jobs of the namespace. */
  async removeAll(namespace: string): Promise<void> {
    for (let after: string | null = ''; after !== null;) {
      const page: RecurringPage = await this.list(namespace, MOST_AT_ONCE, after);
      for (const { id } of page.items) await this.remove(namespace, id);
      after = page.after;
    }
  }

  private async read(namespace: string, id: string): Promise<KnownRecurring> {
    const known = await this.known(namespace, id);
    if (!known) throw notFound('recurring job', id);
    return known;
  }

  private async known(namespace: string, id: string): Promise<KnownRecurring | undefined> {
    checkNames(namespace);
    if (id.length > MAX_RECURRING_ID || !isJobId(id)) return undefined;
    const { items } = await this.runner.run(readRecurring, namespace, { id, after: '', limit: 1 });
    return recurringsOf(items)[0];
  }

  private async store(
    namespace: string,
    id: string,
    revision: string,
    recurring: NewRecurring,
  ): Promise<number> {
    checkNames(namespace, recurring.template.queue);
    checkRecurring(id, recurring);
    const { raw } = await this.runner.run(setRecurring, namespace, argsOf(id, revision, recurring));
    this.scheduleWakeup(namespace, integerAt(raw, 3));
    return integerAt(raw, 2);
  }
}
