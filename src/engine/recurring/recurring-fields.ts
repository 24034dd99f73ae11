import type {
  NewRecurring,
  NewSchedule,
  Recurring,
  RecurringChange,
  Template,
} from '../../domain/recurring.js';
import { MAX_CATCH_UP } from '../../domain/limits.js';
import { packIds } from '../publish/dependencies.js';
import { optionsText } from '../publish/extended-options.js';

/** A recurring job as it is stored. */
export interface KnownRecurring {
  readonly recurring: Recurring;
  /** Increases with each change by a client. */
  readonly revision: string;
  /** The schedule as the client gave it. */
  readonly schedule: NewSchedule;
}

/** Arguments of lua/commands/extended/set_recurring.lua. */
export function argsOf(
  id: string,
  revision: string,
  { schedule, template, maxCatchUp = 1, isPaused }: NewRecurring,
) {
  const { everyMs, offsetMs = 0, firstAtMs } = schedule;
  const { body, ...rest } = template;
  const fields = {
    queue: template.queue,
    template: JSON.stringify(rest),
    options: optionsText(template, 'native'),
    // Earlier servers know only `backlog`, in which 0 means as many as possible.
    backlog: Math.max(maxCatchUp, 1),
    skips_late: maxCatchUp === 0 ? '1' : '0',
    paused: isPaused === true ? '1' : '0',
  };
  return {
    id,
    revision,
    schedule: JSON.stringify(firstAtMs === undefined ? { everyMs, offsetMs } : { everyMs, firstAtMs }),
    every_ms: everyMs,
    first_ms: firstAtMs ?? '',
    offset_ms: offsetMs,
    fields: JSON.stringify(fields),
    body,
    needs: packIds(template.dependsOn ?? []),
  };
}

/** Applies a change to a recurring job. */
export function changed({ recurring, schedule }: KnownRecurring, change: RecurringChange): NewRecurring {
  return {
    id: recurring.id,
    schedule: change.schedule ? anchored(change.schedule, recurring) : schedule,
    template: { ...dataless(recurring.template, change), ...change.template },
    maxCatchUp: change.maxCatchUp ?? recurring.maxCatchUp,
    isPaused: change.isPaused ?? recurring.isPaused,
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
function anchored(schedule: NewSchedule, { schedule: { firstAtMs } }: Recurring): NewSchedule {
  const hasStart = schedule.offsetMs !== undefined || schedule.firstAtMs !== undefined;
  return hasStart ? schedule : { ...schedule, firstAtMs };
}

/** Decodes the items of a reply of lua/commands/extended/read_recurring.lua. */
export function recurringsOf(items: readonly unknown[]): KnownRecurring[] {
  const all: KnownRecurring[] = [];
  for (let i = 0; i + 1 < items.length; i += 2) all.push(recurringOf(String(items[i]), items[i + 1]));
  return all;
}

function recurringOf(id: string, list: unknown): KnownRecurring {
  const fields = new Map<string, Buffer>();
  const flat = Array.isArray(list) ? (list as Buffer[]) : [];
  for (let i = 0; i + 1 < flat.length; i += 2) fields.set(String(flat[i]), flat[i + 1] ?? Buffer.alloc(0));
  const text = (field: string): string => fields.get(field)?.toString() ?? '';
  const number = (field: string): number => Number(text(field));
  const isPaused = text('paused') === '1';
  const template = {
    ...(JSON.parse(text('template')) as Omit<Template, 'body'>),
    body: fields.get('body') ?? Buffer.alloc(0),
  };
  return {
    revision: text('revision'),
    schedule: JSON.parse(text('schedule')) as NewSchedule,
    recurring: {
      id,
      schedule: { everyMs: number('every'), firstAtMs: number('first') },
      template,
      maxCatchUp: text('skips_late') === '1' ? 0 : Math.min(number('backlog') || MAX_CATCH_UP, MAX_CATCH_UP),
      isPaused,
      made: number('made'),
      skipped: number('skipped'),
      nextAtMs: isPaused ? null : number('next'),
      lastAtMs: fields.has('last') ? number('last') : null,
      createdAtMs: number('created'),
    },
  };
}
