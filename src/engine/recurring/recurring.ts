import { notFound, QueueError } from '../../domain/errors.js';
import { MAX_RECURRING_ID } from '../../domain/limits.js';
import { isJobId, ulidSource } from '../../domain/ids.js';
import {
  isCron,
  type CronSchedule,
  type NewRecurring,
  type NewSchedule,
  type Recurring,
  type RecurringChange,
  type Schedule,
} from '../../contract/job/recurring.js';
import {
  countRecurring,
  deleteRecurring,
  readRecurring,
  repairTimes,
  runRecurring,
  setRecurring,
  setSlots,
} from '../../redis/scripts/extended.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { checkNames } from '../core/checks.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { ScheduleWakeup } from '../timers/schedule-wakeup.js';
import { checkRecurring } from '../publish/extended-checks.js';
import type { NamespaceQuotas } from '../core/quotas.js';
import { checkCron, isMoved, slotsAfter, slotsPassed, TZDATA } from './cron.js';
import {
  argsOf,
  changed,
  type ComputedSlots,
  type KnownRecurring,
  recurringsOf,
} from './recurring-fields.js';

/** Codes of lua/commands/extended/set_recurring.lua. */
const STORED = 0;
const MISSING = 1;
/** There must be none yet: see lua/commands/extended/set_recurring.lua. */
const NEW = 'new';
/** Code of lua/commands/extended/delete_recurring.lua. */
const OTHER_REVISION = 2;
const BEYOND_QUOTA = 3;
/** Maximum number of attempts: each concurrent change of the same recurring job costs one. */
const MOST_ATTEMPTS = 20;
/** Recurring jobs that `removeAll` reads at once. */
const MOST_AT_ONCE = 100;
/** Recurring jobs that one script call counts: about half a millisecond of Redis. */
const COUNT_STEP = 500;
/** Slots of a cron schedule that are kept in Redis. */
const SLOTS_AHEAD = 32;
/** Most jobs that one recurring job makes up for: the scripts have the same bound. */
const MOST_MADE = 1_000;
/** As AHEAD_MS in lua/modules/timers/served_slots.lua. */
const CORRECTION_MS = 5_000;
const NO_SLOTS: ComputedSlots = { slots: [], isComplete: false, tzdata: '' };

/** A slot to come. */
export interface UpcomingSlot {
  /** Unix ms, without the jitter. */
  readonly atMs: number;
  /** The local time that the cron expression states does not exist: a change of the clock leaves it out. */
  readonly isMoved: boolean;
}

/** A page of recurring jobs, by id. */
export interface RecurringPage {
  readonly items: readonly Recurring[];
  /** `after` of the next page; null = this is the last one. */
  readonly after: string | null;
}

/** Looks at a recurring job that is known before it is changed. @throws what the call throws then */
export type RecurringCheck = (known: Recurring) => Promise<void> | void;

/** Recurring jobs: the tick of the extended path creates a job for each slot of their schedules. */
export class Recurrings {
  private readonly mint = ulidSource();

  constructor(
    private readonly runner: ScriptRunner,
    private readonly scheduleWakeup: ScheduleWakeup,
    /** Its jobs must respect them. */
    private readonly quotas: NamespaceQuotas,
  ) {}

  /**
   * Stores a recurring job. One with the same id is replaced: its counters continue, its slots stay if the schedule is
   * the same, and it stays paused if `paused` is left out.
   *
   * @param check of the one that is replaced; no other one can come between. It is also called for the answer
   * @throws {QueueError} `invalid_argument`, `namespace_full`, or an error of the store
   */
  async set(namespace: string, recurring: NewRecurring, check?: RecurringCheck): Promise<Recurring> {
    const id = recurring.id ?? this.mint(this.runner.now());
    return this.attempted(async () => {
      const revision = await this.checked(namespace, id, check);
      const code = await this.store(namespace, id, revision, recurring);
      return code === STORED ? this.get(namespace, id, check) : undefined;
    });
  }

  /**
   * Changes a recurring job.
   *
   * @param check as for `set`
   * @throws {QueueError} `recurring_not_found`, `invalid_argument`, `namespace_full`, or an error of the store
   */
  change(namespace: string, id: string, change: RecurringChange, check?: RecurringCheck): Promise<Recurring> {
    return this.attempted(async () => {
      const known = await this.read(namespace, id);
      await check?.(known.recurring);
      const code = await this.store(namespace, id, known.revision, changed(known, change));
      if (code === MISSING) throw notFound('recurring job', id);
      return code === STORED ? this.get(namespace, id, check) : undefined;
    });
  }

  /** Stops creating jobs until it is resumed. @param note why @throws as `change` */
  pause(namespace: string, id: string, note: string | null = null): Promise<Recurring> {
    return this.change(namespace, id, { paused: true, note });
  }

  /** Continues with the next slot; slots that have passed are skipped. @throws as `change` */
  resume(namespace: string, id: string): Promise<Recurring> {
    return this.change(namespace, id, { paused: false });
  }

  /**
   * Makes a job now, outside of its schedule, also while it is paused.
   *
   * @param check as for `set`
   * @returns the id of the job
   * @throws {QueueError} `recurring_not_found`; `unique_key_taken`: the job of an earlier slot has not ended; `queue_full`: a quota;
   *   `missing_dependency`; or an error of the store
   */
  run(namespace: string, id: string, check?: RecurringCheck): Promise<string> {
    checkNames(namespace);
    return this.attempted(async () => this.runOnce(namespace, id, await this.checked(namespace, id, check)));
  }

  /** @returns undefined: it has another revision by now */
  private async runOnce(namespace: string, id: string, revision: string): Promise<string | undefined> {
    const args = { id, revision, quotas: this.quotas.textOf(namespace) };
    const { raw } = await this.runner.run(runRecurring, namespace, args);
    const reason = bytesAt(raw, 2).toString();
    if (reason === 'missing') throw notFound('recurring job', id);
    if (reason === 'changed') return undefined;
    if (reason === 'quota' && integerAt(raw, 3) > 0)
      throw this.quotas.errorOf(namespace, { code: integerAt(raw, 3), present: integerAt(raw, 4) });
    if (reason !== '') throw refusalOf(reason);
    this.scheduleWakeup(namespace, integerAt(raw, 4));
    return `${id}-${String(integerAt(raw, 3))}`;
  }

  /** The next slots of a recurring job, also of a paused one. @throws {QueueError} `recurring_not_found` */
  async next(namespace: string, id: string, count: number): Promise<readonly UpcomingSlot[]> {
    return this.nextOf(await this.get(namespace, id), count);
  }

  /** The next slots of a recurring job that was read before. */
  nextOf({ schedule, nextAtMs }: Recurring, count: number): readonly UpcomingSlot[] {
    return this.upcoming(schedule, count, nextAtMs ?? undefined);
  }

  /** The next slots of a schedule that is not stored. @throws {QueueError} `invalid_argument` */
  preview(schedule: NewSchedule, count: number): readonly UpcomingSlot[] {
    if (isCron(schedule)) {
      checkCron(schedule, this.runner.now());
      return this.upcoming(schedule, count);
    }
    const { everyMs, offsetMs = 0, firstAtMs = this.runner.now() + offsetMs } = schedule;
    return this.upcoming({ everyMs, firstAtMs }, count);
  }

  /**
   * Computes more slots of a recurring job by cron, and stores them. Any number of servers may do it at once.
   *
   * @throws an error of the store
   */
  async extend(namespace: string, id: string): Promise<void> {
    const known = await this.known(namespace, id);
    if (!known || (await this.renewOne(namespace, known))) return;
    if (!known.isComplete && hasSlots(known)) await this.compute(namespace, known, false);
  }

  /**
   * Computes the slots of all recurring jobs again that come late because Redis's clock was ahead, or by cron were computed with older time
   * zones than this process has. Workers that were seen then were seen now, and timers that would come late run now.
   *
   * @returns how many
   */
  async renew(namespace: string): Promise<number> {
    let renewed = await this.repair(namespace);
    for (let after = '', hasMore = true; hasMore;) {
      const page = await this.runner.run(readRecurring, namespace, { id: '', after, limit: MOST_AT_ONCE });
      const all = recurringsOf(page.items);
      for (const known of all) if (await this.renewOne(namespace, known)) renewed++;
      after = all.at(-1)?.recurring.id ?? '';
      hasMore = page.hasMore && after !== '';
    }
    return renewed;
  }

  private async repair(namespace: string): Promise<number> {
    let repaired = 0;
    for (let skip = 0, skipTimers = 0; skip >= 0;) {
      const args = { skip, skip_timers: skipTimers, limit: MOST_AT_ONCE };
      const { raw } = await this.runner.run(repairTimes, namespace, args);
      this.scheduleWakeup(namespace, integerAt(raw, 5));
      repaired += integerAt(raw, 4);
      skipTimers = integerAt(raw, 3);
      skip = integerAt(raw, 2);
    }
    return repaired;
  }

  /** Null if there is none. */
  async find(namespace: string, id: string): Promise<Recurring | null> {
    return (await this.knownRenewed(namespace, id))?.recurring ?? null;
  }

  /** @throws {QueueError} `recurring_not_found`; what `check` throws */
  async get(namespace: string, id: string, check?: RecurringCheck): Promise<Recurring> {
    const { recurring } = await this.read(namespace, id);
    // guard: recurring-answer-is-checked
    await check?.(recurring);
    return recurring;
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

  /** Deletes a recurring job. Its jobs stay. @param check as for `set` @returns false if there was none */
  async remove(namespace: string, id: string, check?: RecurringCheck): Promise<boolean> {
    checkNames(namespace);
    if (!isJobId(id)) return false;
    return this.attempted(async () => {
      const revision = await this.checked(namespace, id, check);
      const { raw } = await this.runner.run(deleteRecurring, namespace, { id, revision });
      const code = integerAt(raw, 2);
      return code === OTHER_REVISION ? undefined : code === 1;
    });
  }

  /** The revision that was checked, `NEW` = there was none; '' = any, without a check. */
  private async checked(namespace: string, id: string, check?: RecurringCheck): Promise<string> {
    if (check === undefined) return '';
    const known = await this.known(namespace, id);
    if (known) await check(known.recurring);
    return known?.revision ?? /* guard: unknown-recurring-job-stays */ NEW;
  }

  /** Tries until it gives a result: a recurring job may change between its check and its change. */
  private async attempted<T>(once: () => Promise<T | undefined>): Promise<T> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const result = await once();
      if (result !== undefined) return result;
    }
    throw new QueueError('internal', 'the recurring job changed during every attempt');
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
    const known = await this.knownRenewed(namespace, id);
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
    const { schedule } = recurring;
    const nowMs = this.runner.now();
    if (isCron(schedule)) checkCron(schedule, nowMs);
    const computed = isCron(schedule) ? firstSlots(schedule, nowMs) : NO_SLOTS;
    const args = argsOf(id, revision, recurring, computed);
    const most = this.quotas.of(namespace).bytes;
    const { raw } = await this.runner.run(setRecurring, namespace, { ...args, most_bytes: most });
    if (integerAt(raw, 2) === BEYOND_QUOTA) throw this.quotas.bytesError(namespace, integerAt(raw, 3));
    this.scheduleWakeup(namespace, integerAt(raw, 3));
    return integerAt(raw, 2);
  }

  /** As `known`, with slots by this process's time zones, if they are newer. */
  private async knownRenewed(namespace: string, id: string): Promise<KnownRecurring | undefined> {
    const known = await this.known(namespace, id);
    if (known === undefined) return undefined;
    // A read is answered also where the store takes no writes. The hourly pass tries again.
    const isRenewed = await this.renewOne(namespace, known).catch(() => false);
    return isRenewed ? this.known(namespace, id) : known;
  }

  /** Computes slots again that a server with older time zones has computed. @returns false if there are none */
  private async renewOne(namespace: string, known: KnownRecurring): Promise<boolean> {
    if (!hasSlots(known)) return false;
    const isOld =
      /* guard: cron-old-zones-recomputed */ known.tzdata < TZDATA ||
      // guard: cron-after-clock-set-back
      isAhead(known, this.runner.now());
    return isOld && this.compute(namespace, known, true);
  }

  /** @param replaces the known slots that have not come yet are computed again; otherwise more slots are added */
  private compute(
    namespace: string,
    known: KnownRecurring & { readonly schedule: CronSchedule },
    replaces: boolean,
  ): Promise<boolean> {
    const nowMs = this.runner.now();
    const { slots, recurring, schedule } = known;
    const baseMs = slots.at(-1) ?? recurring.lastAtMs ?? recurring.createdAtMs;
    const passed = slotsPassed(schedule, baseMs, nowMs, MOST_MADE);
    const wanted = replaces ? SLOTS_AHEAD : SLOTS_AHEAD - slots.filter((slot) => slot > nowMs).length;
    const lastMs = isAhead(known, nowMs) ? 0 : (recurring.lastAtMs ?? 0);
    const afterMs = Math.max(nowMs, lastMs, replaces ? 0 : baseMs);
    const ahead = slotsAfter(schedule, afterMs, wanted);
    return this.storeSlots(namespace, known, {
      slots: /* guard: slots-of-an-outage-are-kept */ [...passed.slots, ...ahead],
      ...{ skipped: passed.others, isComplete: ahead.length < wanted, replaces },
    });
  }

  private async storeSlots(
    namespace: string,
    { recurring, slots: before, revision }: KnownRecurring,
    more: Omit<ComputedSlots, 'tzdata'> & { readonly skipped: number; readonly replaces: boolean },
  ): Promise<boolean> {
    const { slots, skipped, isComplete, replaces } = more;
    const { raw } = await this.runner.run(setSlots, namespace, {
      ...{ id: recurring.id, revision, after: before.at(-1) ?? recurring.lastAtMs ?? '' },
      ...{ new_slots: slots.join(','), complete: isComplete ? '1' : '0', skipped, tzdata: TZDATA },
      replaces: replaces ? '1' : '0',
    });
    this.scheduleWakeup(namespace, integerAt(raw, 3));
    return integerAt(raw, 2) === 1;
  }

  private upcoming(schedule: Schedule, count: number, nextMs?: number): readonly UpcomingSlot[] {
    const nowMs = this.runner.now();
    if (isCron(schedule)) {
      const slots = slotsAfter(schedule, nextMs === undefined ? nowMs : nextMs - 1, count);
      return slots.map((atMs) => ({ atMs, isMoved: isMoved(schedule, atMs) }));
    }
    const { everyMs, firstAtMs } = schedule;
    const passed = Math.max(0, Math.ceil((nowMs - firstAtMs) / everyMs));
    const fromMs = nextMs ?? firstAtMs + passed * everyMs;
    return Array.from({ length: count }, (_, i) => ({ atMs: fromMs + i * everyMs, isMoved: false }));
  }
}

/** Why no job is made now, by the reason of the script: `quota`, `unique_key`, `overlap` or `missing_dependency`. */
function refusalOf(reason: string): QueueError {
  if (reason === 'quota')
    return new QueueError('queue_full', 'a quota of the namespace does not allow the job');
  if (reason === 'missing_dependency')
    return new QueueError(
      reason,
      'a job that the template depends on does not exist, and the template refuses that (onMissingDependency)',
    );
  const rule = reason === 'overlap' ? '`overlap`' : 'the unique key of its jobs';
  return new QueueError(
    'unique_key_taken',
    `an earlier job has not ended, and ${rule} does not allow another one`,
  );
}

/** Servers compute its slots, and it is not paused. */
function hasSlots(known: KnownRecurring): known is KnownRecurring & { readonly schedule: CronSchedule } {
  return isCron(known.schedule) && !known.recurring.paused;
}

/**
 * The last slot was served while Redis's clock was ahead: it has not come yet, and is not even the next one, as it may be after a small
 * correction of the clock.
 */
function isAhead(
  { recurring, schedule }: { readonly recurring: Recurring; readonly schedule: CronSchedule },
  nowMs: number,
): boolean {
  const lastMs = recurring.lastAtMs ?? 0;
  const [nextMs = lastMs] = lastMs > nowMs + CORRECTION_MS ? slotsAfter(schedule, nowMs, 1) : [];
  return nextMs < lastMs;
}

function firstSlots(schedule: CronSchedule, afterMs: number): ComputedSlots {
  const slots = slotsAfter(schedule, afterMs, SLOTS_AHEAD);
  return { slots, isComplete: slots.length < SLOTS_AHEAD, tzdata: TZDATA };
}
