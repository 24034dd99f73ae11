import {
  isCron,
  type NewRecurring,
  type NewSchedule,
  type Overlap,
  type Recurring,
  type RecurringChange,
  type Schedule,
  type SkipReason,
  type Template,
} from '../../contract/job/recurring.js';
import { SERVER_KEY, type UniqueKey } from '../../domain/job/extended-job.js';
import { MAX_CATCH_UP } from '../../domain/limits.js';
import { fieldsOf } from '../core/flat-lists.js';
import { packIds } from '../publish/dependencies.js';
import { optionsText } from '../publish/extended-options.js';

/** A recurring job as it is stored. */
export interface KnownRecurring {
  readonly recurring: Recurring;
  /** Increases with each change by a client. */
  readonly revision: string;
  /** The schedule as the client gave it. */
  readonly schedule: NewSchedule;
  /** Of a cron schedule: its next slots as they are stored, in order. */
  readonly slots: readonly number[];
  /** Of a cron schedule: there are no more slots after these. */
  readonly isComplete: boolean;
  /** Of a cron schedule: the version of the time zones that the slots were computed with. */
  readonly tzdata: string;
}

/** The next slots of a cron schedule, as lua/modules/timers/cron_slots.lua reads them. */
export interface ComputedSlots {
  readonly slots: readonly number[];
  readonly isComplete: boolean;
  readonly tzdata: string;
}

/** Arguments of lua/commands/extended/set_recurring.lua. */
export function argsOf(
  id: string,
  revision: string,
  { schedule, template, maxCatchUp = 1, ...more }: NewRecurring,
  computed: ComputedSlots,
) {
  const { catchUpMs, overlap = 'allow', ...pause } = more;
  const { body, ...rest } = template;
  const fields = {
    queue: template.queue,
    template: JSON.stringify(rest),
    options: optionsText({ ...template, ...uniqueBy(id, overlap) }),
    // Earlier servers know only `backlog`, in which 0 means as many as possible.
    backlog: Math.max(maxCatchUp, 1),
    skips_late: maxCatchUp === 0 ? '1' : '0',
    catch_up: catchUpMs === undefined || catchUpMs === null ? '' : String(catchUpMs),
    overlap,
    ...pauseFieldsOf(pause),
  };
  return {
    id,
    revision,
    ...slotArgsOf(schedule, computed),
    fields: JSON.stringify(fields),
    body,
    needs: packIds(template.dependsOn ?? []),
  };
}

/** What is left out stays as it is stored: what deploys a schedule again does not end an operator's pause. */
function pauseFieldsOf({ paused, note }: Pick<NewRecurring, 'paused' | 'note'>) {
  if (paused === undefined) return note === undefined ? {} : { note: note ?? '' };
  return {
    paused: paused ? '1' : '0',
    note: /* guard: note-ends-with-the-pause */ paused ? (note ?? '') : '',
  };
}

function slotArgsOf(schedule: NewSchedule, { slots, isComplete, tzdata }: ComputedSlots) {
  const computed = { new_slots: slots.join(','), complete: isComplete ? '1' : '0', tzdata };
  if (isCron(schedule)) {
    const { cron, timeZone, jitterMs = 0, startAtMs, endAtMs } = schedule;
    const stored = JSON.stringify({ cron, timeZone, jitterMs, startAtMs, endAtMs });
    return { schedule: stored, every_ms: 0, first_ms: '', offset_ms: 0, jitter: jitterMs, ...computed };
  }
  const { everyMs, offsetMs = 0, firstAtMs } = schedule;
  const stored = JSON.stringify(firstAtMs === undefined ? { everyMs, offsetMs } : { everyMs, firstAtMs });
  const first = { first_ms: firstAtMs ?? '', offset_ms: offsetMs };
  return { schedule: stored, every_ms: everyMs, ...first, jitter: 0, ...computed };
}

/** The unique key that keeps the jobs of a recurring job from overlapping. */
function uniqueBy(id: string, overlap: Overlap): { unique?: UniqueKey } {
  if (overlap === 'allow') return {};
  return { unique: { key: `${SERVER_KEY}recurring:${id}`, mode: overlap === 'skip' ? 'reject' : 'replace' } };
}

/** Applies a change to a recurring job. */
export function changed({ recurring, schedule }: KnownRecurring, change: RecurringChange): NewRecurring {
  return {
    id: recurring.id,
    schedule: change.schedule ? anchored(change.schedule, recurring) : schedule,
    template: { ...dataless(recurring.template, change), ...change.template },
    maxCatchUp: change.maxCatchUp ?? recurring.maxCatchUp,
    catchUpMs: change.catchUpMs === undefined ? recurring.catchUpMs : change.catchUpMs,
    overlap: change.overlap ?? recurring.overlap,
    paused: change.paused ?? recurring.paused,
    note: change.note === undefined ? recurring.note : change.note,
  };
}

/** New data without a content type of its own is JSON, whatever the old one was. */
function dataless(template: Template, change: RecurringChange): Template {
  if (change.template?.body === undefined) return template;
  const rest: { contentType?: string } & Template = { ...template };
  delete rest.contentType;
  return rest;
}

/** A new interval alone does not change the first slot. */
function anchored(schedule: NewSchedule, { schedule: before }: Recurring): NewSchedule {
  if (isCron(schedule) || isCron(before)) return schedule;
  const hasStart = schedule.offsetMs !== undefined || schedule.firstAtMs !== undefined;
  return hasStart ? schedule : { ...schedule, firstAtMs: before.firstAtMs };
}

/** Decodes the items of a reply of lua/commands/queries/read_recurring.lua. */
export function recurringsOf(items: readonly unknown[]): KnownRecurring[] {
  const all: KnownRecurring[] = [];
  for (let i = 0; i + 1 < items.length; i += 2) all.push(recurringOf(String(items[i]), items[i + 1]));
  return all;
}

function offsetOf({ offsetMs }: { readonly offsetMs?: number }): { readonly offsetMs?: number } {
  return offsetMs === undefined ? {} : { offsetMs };
}

function recurringOf(id: string, list: unknown): KnownRecurring {
  const fields = fieldsOf(list);
  const text = (field: string): string => fields.get(field)?.toString() ?? '';
  const number = (field: string): number => Number(text(field));
  const paused = text('paused') === '1';
  const schedule = JSON.parse(text('schedule')) as NewSchedule;
  const shown: Schedule = isCron(schedule)
    ? schedule
    : { everyMs: number('every'), firstAtMs: number('first'), ...offsetOf(schedule) };
  const template = {
    ...(JSON.parse(text('template')) as Omit<Template, 'body'>),
    body: fields.get('body') ?? Buffer.alloc(0),
  };
  return {
    revision: text('revision'),
    schedule,
    slots: text('slots') === '' ? [] : text('slots').split(',').map(Number),
    isComplete: text('complete') === '1',
    tzdata: text('tzdata'),
    recurring: {
      id,
      schedule: shown,
      template,
      maxCatchUp: text('skips_late') === '1' ? 0 : Math.min(number('backlog') || MAX_CATCH_UP, MAX_CATCH_UP),
      catchUpMs: text('catch_up') === '' ? null : number('catch_up'),
      overlap: (text('overlap') || 'allow') as Overlap,
      paused,
      note: text('note') || null,
      // Earlier servers store no `taken`.
      made: number('made') - number('taken'),
      skipped: number('skipped'),
      lastSkip:
        text('skip_reason') === ''
          ? null
          : { atMs: number('skip_at'), reason: text('skip_reason') as SkipReason },
      nextAtMs: paused || text('next') === '' ? null : number('next'),
      lastAtMs: fields.has('last') ? number('last') : null,
      createdAtMs: number('created'),
    },
  };
}
