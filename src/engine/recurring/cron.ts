import { Cron } from 'croner';
import type { CronSchedule } from '../../contract/job/recurring.js';
import { ArgumentError } from '../../contract/fields/problems.js';
import { CRON_RULE, cronProblem, zoneProblem } from '../../contract/job/cron-text.js';
import { MAX_CRON, MAX_JITTER_MS } from '../../domain/limits.js';

/** Version of the time zone database of this process: slots that an older one computed are computed again. */
export const TZDATA = process.versions.tz ?? '';

/** A schedule without a slot for so long is taken for a mistake. */
const SOON_YEARS = 10;
const SOON_MS = SOON_YEARS * 366 * 86_400_000;
const LAST_YEAR = 9_999;
/** Slots are computed so far ahead at most: those of rare days, up to the year 3000, would hold up the process. */
const AHEAD_MS = 50 * 366 * 86_400_000;
/** Changes of the clock are farther apart: Morocco's two, before and after Ramadan, are five weeks. */
const STEP_MS = 28 * 86_400_000;
/** More than any local time is from UTC. */
const FARTHEST_ZONE_MS = 2 * 86_400_000;
/** Slots that `passedBetween` looks at: about 75 ms of processor time. */
const MOST_PASSED = 1_000;
/** Schedules whose parsed form is kept. */
const MOST_KEPT = 1_000;

/** Parsed schedules, by expression and time zone. */
const parsed = new Map<string, Cron>();

/** @throws {QueueError} `invalid_argument`, naming the field and the rule */
export function checkCron(schedule: CronSchedule, nowMs: number): void {
  const { cron, timeZone, jitterMs = 0, startAtMs, endAtMs } = schedule;
  if (cron.length > MAX_CRON)
    throw new ArgumentError('schedule.cron', `must have at most ${String(MAX_CRON)} characters`);
  const zoneRule = zoneProblem(timeZone);
  if (zoneRule !== undefined) throw new ArgumentError('schedule.timeZone', zoneRule);
  const cronRule = cronProblem(cron) ?? refusalOf(schedule);
  if (cronRule !== undefined) throw new ArgumentError('schedule.cron', cronRule);
  if (!Number.isInteger(jitterMs) || jitterMs < 0 || jitterMs > MAX_JITTER_MS)
    throw new ArgumentError(
      'schedule.jitterMs',
      `must be a whole number of milliseconds, 0 to ${String(MAX_JITTER_MS)}`,
    );
  if (startAtMs !== undefined && endAtMs !== undefined && startAtMs >= endAtMs)
    throw new ArgumentError('schedule.endAtMs', 'must be later than the start of the schedule');
  const fromMs = Math.max(nowMs, (startAtMs ?? 0) - 1);
  const firstMs = firstWithin(schedule, fromMs);
  if (firstMs === undefined || firstMs - fromMs > SOON_MS)
    throw new ArgumentError(
      'schedule.cron',
      'must have a time within ten years, and has none: does such a day exist?',
    );
}

/**
 * The first slot, if there is one in the years of which the rule speaks. Without years, croner would go through 400 of them for a day that does
 * not exist, and hold up the process.
 */
function firstWithin({ cron, timeZone }: CronSchedule, fromMs: number): number | undefined {
  const fields = cron.trim().split(/\s+/);
  const year = new Date(fromMs).getUTCFullYear();
  const years = `${String(year)}-${String(Math.min(year + SOON_YEARS + 1, LAST_YEAR))}`;
  const whole = fields.length === 5 ? ['0', ...fields] : fields;
  // A nickname has a slot each year.
  const bounded =
    fields.length === 1
      ? cronOf({ cron, timeZone })
      : new Cron([...whole, /* guard: cron-search-is-bounded */ years].join(' '), {
          ...{ timezone: timeZone, paused: true, mode: '7-part' },
        });
  return bounded.nextRun(new Date(fromMs))?.getTime();
}

/** For what croner refuses and `cronProblem` does not: its own messages name fields and values of its inside. */
function refusalOf(schedule: CronSchedule): string | undefined {
  try {
    cronOf(schedule);
    return undefined;
  } catch {
    return CRON_RULE;
  }
}

/**
 * The next slots, Unix ms, in order; fewer than `count` if the schedule ends, or has no more within 50 years.
 *
 * @param afterMs the slots are later than this
 */
export function slotsAfter(schedule: CronSchedule, afterMs: number, count: number): number[] {
  const { startAtMs = 0, endAtMs = Number.POSITIVE_INFINITY } = schedule;
  const cron = cronOf(schedule);
  const slots: number[] = [];
  let atMs = Math.max(afterMs, startAtMs - 1);
  const untilMs = Math.min(endAtMs, /* guard: cron-slots-are-near */ atMs + AHEAD_MS);
  while (slots.length < count) {
    const found = cron.nextRun(new Date(atMs))?.getTime() ?? Number.POSITIVE_INFINITY;
    const next = /* guard: cron-midnight-gap */ leftOut(schedule, atMs, found) ?? found;
    if (next >= untilMs) break;
    slots.push(next);
    atMs = next;
  }
  return slots;
}

/**
 * The last slots from `afterMs` (not included) to `nowMs` (included), in order.
 *
 * @param most slots to return; how many came before them is counted up to 1,000
 */
export function slotsPassed(
  schedule: CronSchedule,
  afterMs: number,
  nowMs: number,
  most: number,
): { readonly slots: readonly number[]; readonly others: number } {
  const { startAtMs = 0, endAtMs = Number.POSITIVE_INFINITY } = schedule;
  // `previousRuns` gives runs before its reference.
  const untilMs = Math.min(nowMs + 1, endAtMs);
  const fromMs = Math.max(afterMs, startAtMs - 1);
  if (untilMs <= fromMs) return { slots: [], others: 0 };
  const all = runsBetween(cronOf(schedule), fromMs, untilMs);
  for (let i = all.length; i >= 0; i--) {
    const untilNextMs = all[i] ?? untilMs;
    let at = i;
    for (let slot = leftOut(schedule, all[i - 1] ?? fromMs, untilNextMs); slot !== null;) {
      all.splice(at++, 0, slot);
      slot = leftOut(schedule, slot, untilNextMs);
    }
  }
  const slots = all.slice(Math.max(all.length - most, 0));
  return { slots, others: all.length - slots.length };
}

/** The last 1,000 runs behind `fromMs` and before `untilMs`, in order. Usually there are few: so few are computed first. */
function runsBetween(cron: Cron, fromMs: number, untilMs: number): number[] {
  for (let count = 8; ; count = Math.min(count * 5, MOST_PASSED)) {
    const runs = cron.previousRuns(count, new Date(untilMs)).map((date) => date.getTime());
    const between = runs.filter((slot) => slot > fromMs && slot < untilMs);
    if (between.length < count || count === MOST_PASSED) return between.reverse();
  }
}

/** True if the slot is not at the local time that the expression states: a change of the clock leaves that out. */
export function isMoved(schedule: CronSchedule, slotMs: number): boolean {
  return !cronOf(schedule).match(new Date(slotMs));
}

/**
 * The end of a gap between two slots in which a fixed local time lies: croner leaves it out if the gap reaches into the next day (Scoresbysund
 * each spring, 23:00 to 00:00; Apia 2011, a whole day). Null = there is none.
 */
function leftOut(schedule: CronSchedule, fromMs: number, toMs: number): number | null {
  const { cron, timeZone } = schedule;
  if (!isFixedTime(cron) || toMs === Number.POSITIVE_INFINITY) return null;
  const beginsMs = toMs - fromMs > 2 * STEP_MS ? firstStated(schedule, fromMs, toMs) : fromMs;
  let before = offsetMs(timeZone, beginsMs);
  for (let atMs = beginsMs; atMs < toMs; atMs += /* guard: each-change-of-the-clock-counts */ STEP_MS) {
    const untilMs = Math.min(atMs + STEP_MS, toMs);
    const after = offsetMs(timeZone, untilMs);
    const slot = before < after ? endOfGap(schedule, [atMs, before], [untilMs, after]) : null;
    if (slot !== null && slot < toMs) return slot;
    before = after;
  }
  return null;
}

/**
 * From where on a gap may have a local time that the expression states. Between most slots it states none: to walk through the years between
 * rare ones would take long.
 */
function firstStated({ cron, timeZone }: CronSchedule, fromMs: number, toMs: number): number {
  const stated = cronOf({ cron, timeZone: 'UTC' })
    .nextRun(new Date(fromMs + offsetMs(timeZone, fromMs)))
    ?.getTime();
  if (stated === undefined || stated >= toMs + offsetMs(timeZone, toMs)) return toMs;
  return Math.max(fromMs, stated - FARTHEST_ZONE_MS);
}

/** The same for two times, with the offsets of the local time then, between which the clock is set forward once. */
function endOfGap(
  { cron, timeZone }: CronSchedule,
  [fromMs, before]: readonly [number, number],
  [untilMs, after]: readonly [number, number],
): number | null {
  let [low, high] = [fromMs, untilMs];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMs(timeZone, middle) === before) low = middle;
    else high = middle;
  }
  const wall = cronOf({ cron, timeZone: 'UTC' })
    .nextRun(new Date(high + before - 1))
    ?.getTime();
  return wall !== undefined && wall < high + after ? high : null;
}

/** Seconds, minutes and hours have neither a wildcard nor a step. */
function isFixedTime(cron: string): boolean {
  const fields = cron.trim().split(/\s+/);
  if (fields.length === 1) return cron.trim().toLowerCase() !== '@hourly';
  return fields.slice(0, -3).every((field) => !/[*?/]/.test(field));
}

const formats = new Map<string, Intl.DateTimeFormat>();

function offsetMs(timeZone: string, atMs: number): number {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
    if (formats.size >= MOST_KEPT) formats.clear();
    formats.set(timeZone, format);
  }
  const text = format.format(atMs);
  const [, sign = '+', hours = 0, minutes = 0, seconds = 0] =
    /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(text) ?? [];
  const ms = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
  return sign === '-' ? -ms : ms;
}

function cronOf({ cron, timeZone }: CronSchedule): Cron {
  const key = `${timeZone} ${cron}`;
  const known = parsed.get(key);
  if (known) return known;
  const made = new Cron(cron, {
    ...{ timezone: timeZone, paused: true, mode: '5-or-6-parts' },
    // A list or a range of hours is treated as a single one at a change of the clock.
    // guard: cron-hour-lists-fixed
    fixedTimeRule: 'no-wildcard',
  });
  if (parsed.size >= MOST_KEPT) parsed.clear();
  parsed.set(key, made);
  return made;
}
