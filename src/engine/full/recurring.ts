import { QueueError } from '../../domain/errors.js';
import { MAX_RECURRING_ID } from '../../domain/limits.js';
import { isJobId } from '../../domain/names.js';
import type { NewRecurring, Recurring, RecurringChange } from '../../domain/recurring.js';
import type { UlidMinter } from '../../domain/ulid.js';
import { fullRecurEnd, fullRecurLook, fullRecurSet } from '../../redis/scripts/recurring.js';
import { integerAt } from '../../redis/scripts/script.js';
import { checkNames } from '../checks.js';
import type { ScriptRunner } from '../script-runner.js';
import type { Arm } from './arm.js';
import { checkRecurring } from './checks.js';
import { argsOf, changed, type KnownRecurring, recurringsOf } from './recurring-fields.js';

/** Codes of lua/scripts/full_recur_set.lua. */
const STORED = 0;
const MISSING = 1;
/** Changes of the same one at the same time, each of which lets one of us begin anew. */
const MOST_ATTEMPTS = 20;
/** Those that are looked at together, to end them. */
const MOST_AT_ONCE = 100;

/** A page of recurring jobs, by id. */
export interface RecurringPage {
  readonly items: readonly Recurring[];
  /** Where the next page begins; null = this was the last one. */
  readonly after: string | null;
}

/** Recurring jobs: the clock of the full lane makes a job for each slot of their schedules. */
export class Recurrings {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly arm: Arm,
    private readonly minter: UlidMinter,
  ) {}

  /**
   * Stores a recurring job. One with its id is replaced: it goes on counting, and its slots stay if the schedule is the same.
   *
   * @throws {QueueError} `invalid_argument`, or the store's own
   */
  async set(namespace: string, recurring: NewRecurring): Promise<Recurring> {
    const id = recurring.id ?? this.minter.mint(this.runner.now());
    await this.store(namespace, id, '', recurring);
    return this.get(namespace, id);
  }

  /**
   * Changes one while it runs.
   *
   * @throws {QueueError} `recurring_not_found`, `invalid_argument`, or the store's own
   */
  async change(namespace: string, id: string, change: RecurringChange): Promise<Recurring> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const known = await this.look(namespace, id);
      const code = await this.store(namespace, id, known.revision, changed(known, change));
      if (code === STORED) return this.get(namespace, id);
      if (code === MISSING) throw missing(id);
    }
    throw new QueueError('internal', 'it was changed by others all the time');
  }

  /** Makes no jobs until it is resumed. @throws as `change` */
  pause(namespace: string, id: string): Promise<Recurring> {
    return this.change(namespace, id, { isPaused: true });
  }

  /** Goes on with the next slot; those that have passed are not made up for. @throws as `change` */
  resume(namespace: string, id: string): Promise<Recurring> {
    return this.change(namespace, id, { isPaused: false });
  }

  /** Null if there is none. */
  async find(namespace: string, id: string): Promise<Recurring | null> {
    return (await this.known(namespace, id))?.recurring ?? null;
  }

  /** @throws {QueueError} `recurring_not_found` */
  async get(namespace: string, id: string): Promise<Recurring> {
    return (await this.look(namespace, id)).recurring;
  }

  /**
   * A page, in the order of ids. It may be short before the last, with much data or with a queue; with one even empty.
   *
   * @param after where it begins; empty = at the first one
   * @param queue only those that publish to it
   */
  async list(namespace: string, limit: number, after = '', queue?: string): Promise<RecurringPage> {
    checkNames(namespace);
    const { items, hasMore } = await this.runner.run(fullRecurLook, namespace, { id: '', after, limit });
    const all = recurringsOf(items).map(({ recurring }) => recurring);
    return {
      items: all.filter(({ template }) => queue === undefined || template.queue === queue),
      after: hasMore ? (all.at(-1)?.id ?? null) : null,
    };
  }

  /** Ends it. The jobs that it made stay. @returns false if there was none */
  async remove(namespace: string, id: string): Promise<boolean> {
    checkNames(namespace);
    if (!isJobId(id)) return false;
    const { raw } = await this.runner.run(fullRecurEnd, namespace, { id });
    return integerAt(raw, 2) === 1;
  }

  /** Ends all of them. */
  async removeAll(namespace: string): Promise<void> {
    for (let after: string | null = ''; after !== null;) {
      const page: RecurringPage = await this.list(namespace, MOST_AT_ONCE, after);
      for (const { id } of page.items) await this.remove(namespace, id);
      after = page.after;
    }
  }

  private async look(namespace: string, id: string): Promise<KnownRecurring> {
    const known = await this.known(namespace, id);
    if (!known) throw missing(id);
    return known;
  }

  private async known(namespace: string, id: string): Promise<KnownRecurring | undefined> {
    checkNames(namespace);
    if (id.length > MAX_RECURRING_ID || !isJobId(id)) return undefined;
    const { items } = await this.runner.run(fullRecurLook, namespace, { id, after: '', limit: 1 });
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
    const { raw } = await this.runner.run(fullRecurSet, namespace, argsOf(id, revision, recurring));
    this.arm(namespace, integerAt(raw, 3));
    return integerAt(raw, 2);
  }
}

function missing(id: string): QueueError {
  return new QueueError('recurring_not_found', `no recurring job ${id}`);
}
