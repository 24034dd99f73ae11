import {
  type Explanation,
  type Given,
  givenOptions,
  type Page,
  type PageOptions,
  type Pumphouse,
  type RecurringFields,
  type RecurringJob,
  type ScheduleFields,
  type UpcomingSlot,
} from '@pumphouse/client';
import { toShown } from '#src/contract/fields/wire';
import {
  RecurringAnswer,
  recurringFacts,
  UpcomingAnswer,
  upcomingFacts,
} from '#src/contract/job/recurring-answers';
import { notFound, QueueError } from '#src/domain/errors';
import type { NewRecurring, NewSchedule, Recurring, RecurringChange } from '#src/contract/job/recurring';
import { checkNumber } from '#src/engine/core/checks';
import type { Engine, RecurringCalls } from '#src/engine/engine';
import { explainedRecurring } from '#src/engine/explain/explanations';
import type { UpcomingSlot as EngineSlot } from '#src/engine/recurring/recurring';
import { call, type CallOptions, itemsOf, repeat, repeatRemoval } from './calls.js';
import { explain } from './explain.js';
import { engineJobOf, timeOf } from './new-job.js';
import { dataOf, givenData } from './payload.js';

type ListFilter = PageOptions & { readonly queue?: string | undefined };
type Change = Parameters<Pumphouse['recurring']['update']>[1];

const PAGE = 100;
const MAX_PAGE = 1_000;
const USUAL_COUNT = 10;
const MAX_COUNT = 100;

/** Recurring jobs of the namespace: the methods that `recurring` of the HTTP client has. */
export class EngineRecurring {
  private readonly recurrings: RecurringCalls;

  constructor(
    private readonly engine: Engine,
    private readonly namespace: string,
  ) {
    this.recurrings = engine.recurring;
  }

  list(filter: ListFilter = {}, { signal }: CallOptions = {}): Promise<Page<RecurringJob>> {
    const { limit = PAGE, cursor = '', queue } = filter;
    return repeat(async () => {
      checkNumber('limit', limit, 1, MAX_PAGE);
      const { items, after } = await this.recurrings.list(this.namespace, limit, cursor, queue);
      return { items: items.map(shown), nextCursor: after };
    }, signal);
  }

  /** The recurring jobs of all pages. */
  each(filter: ListFilter = {}, options: CallOptions = {}): AsyncGenerator<RecurringJob, void, void> {
    return itemsOf((request) => this.list(request, options), filter);
  }

  /** @throws {PumphouseError} `recurring_not_found` */
  get(id: string, { signal }: CallOptions = {}): Promise<RecurringJob> {
    return repeat(async () => shown(await this.recurrings.get(this.namespace, id)), signal);
  }

  /** Says when it makes its next job, and why the last slot made none. @throws {PumphouseError} `recurring_not_found` */
  explain(id: string, options: CallOptions = {}): Promise<Explanation> {
    return explain(this.engine, this.namespace, (view) => explainedRecurring(view, id), options);
  }

  /** Stores one under an id, in the place of the one that has it: safe to call at each start of a program. */
  put(id: string, fields: RecurringFields, { signal }: CallOptions = {}): Promise<RecurringJob> {
    return repeat(async () => {
      const recurring = { ...newRecurringOf(fields), id };
      return shown(await this.recurrings.set(this.namespace, recurring));
    }, signal);
  }

  /** Changes what is there; what is left out stays. */
  update(id: string, change: Change, { signal }: CallOptions = {}): Promise<RecurringJob> {
    return repeat(
      async () => shown(await this.recurrings.change(this.namespace, id, changeOf(change))),
      signal,
    );
  }

  /** Ends it; the jobs that it made stay. */
  delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    const remove = async (): Promise<void> => {
      if (!(await this.recurrings.remove(this.namespace, id))) throw notFound('recurring job', id);
    };
    return repeatRemoval('recurring_not_found', remove, signal);
  }

  /** @param options its `note` is shown until it is resumed */
  pause(
    id: string,
    { note, signal }: CallOptions & { readonly note?: string | undefined } = {},
  ): Promise<RecurringJob> {
    return repeat(async () => shown(await this.recurrings.pause(this.namespace, id, note)), signal);
  }

  resume(id: string, { signal }: CallOptions = {}): Promise<RecurringJob> {
    return repeat(async () => shown(await this.recurrings.resume(this.namespace, id)), signal);
  }

  /** Makes a job now, outside of the schedule. @throws {PumphouseError} `unique_key_taken`: `overlap` forbids it */
  run(id: string, { signal }: CallOptions = {}): Promise<{ readonly id: string }> {
    return call(async () => ({ id: await this.recurrings.run(this.namespace, id) }), signal);
  }

  /** The next slots, also while it is paused. */
  next(id: string, count?: number, { signal }: CallOptions = {}): Promise<readonly UpcomingSlot[]> {
    return repeat(async () => {
      const recurring = await this.recurrings.get(this.namespace, id);
      return slotsOf(this.recurrings.nextOf(recurring, checkedCount(count)), recurring.schedule);
    }, signal);
  }

  /** The next slots of a schedule that is not stored. */
  preview(
    schedule: ScheduleFields,
    count?: number,
    { signal }: CallOptions = {},
  ): Promise<readonly UpcomingSlot[]> {
    return call(async () => {
      const engineSchedule = scheduleOf(schedule);
      const slots = this.recurrings.preview(engineSchedule, checkedCount(count));
      return Promise.resolve(slotsOf(slots, engineSchedule));
    }, signal);
  }
}

/** @throws {QueueError} `invalid_argument` */
function newRecurringOf(fields: RecurringFields): NewRecurring {
  const { schedule, job, ...rest } = givenOptions(fields);
  return { ...rest, schedule: scheduleOf(schedule), template: engineJobOf(job) };
}

/** @throws as `newRecurringOf` */
function changeOf(change: Change): RecurringChange {
  const { schedule, job, ...rest } = givenOptions(change);
  return {
    ...rest,
    ...(schedule === undefined ? {} : { schedule: scheduleOf(schedule) }),
    ...(job === undefined ? {} : { template: templateChangeOf(job) }),
  };
}

function templateChangeOf({ data, json, contentType, ...options }: Given<NonNullable<Change['job']>>) {
  const { unique, ...rest } = options;
  return {
    ...rest,
    ...(unique === undefined ? {} : { unique: { mode: 'existing', ...unique } as const }),
    ...givenData({ data, json, contentType }),
  };
}

function scheduleOf(schedule: ScheduleFields): NewSchedule {
  if ('cron' in schedule) {
    const { tz, startAt, endAt, ...rest } = givenOptions(schedule);
    return {
      ...{ ...rest, timeZone: tz },
      ...(startAt === undefined ? {} : { startAtMs: timeOf('schedule.startAt', startAt) }),
      ...(endAt === undefined ? {} : { endAtMs: timeOf('schedule.endAt', endAt) }),
    };
  }
  const { firstAt, ...rest } = givenOptions(schedule);
  if (firstAt === undefined) return rest;
  if (rest.offsetMs !== undefined)
    throw new QueueError('invalid_argument', 'give one of `offsetMs` and `firstAt`');
  return { ...rest, firstAtMs: timeOf('schedule.firstAt', firstAt) };
}

function shown(recurring: Recurring): RecurringJob {
  const { body, contentType = null } = recurring.template;
  return toShown(RecurringAnswer, recurringFacts(recurring, dataOf(body, contentType))) as RecurringJob;
}

function slotsOf(slots: readonly EngineSlot[], schedule: NewSchedule): readonly UpcomingSlot[] {
  return toShown(UpcomingAnswer, upcomingFacts(slots, schedule)).slots;
}

/** @throws {QueueError} `invalid_argument` */
function checkedCount(count = USUAL_COUNT): number {
  checkNumber('count', count, 1, MAX_COUNT);
  return count;
}
