import type {
  Explanation,
  Page,
  PageOptions,
  RecurringFields,
  RecurringJob,
  ScheduleFields,
  UpcomingSlot,
} from './answers.js';
import { type CallOptions, type Calls, part, withPayload } from './calls.js';
import { objectWith } from './new-job.js';
import type { Optional } from '../optional.js';
import { toWire } from '../wire.js';

/** Recurring jobs of the namespace. */
export class Recurring {
  constructor(private readonly calls: Calls) {}

  list(
    filter: PageOptions & { readonly queue?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<Page<RecurringJob>> {
    return this.calls.send({ method: 'GET', path: 'recurring', query: { ...filter } }, options);
  }

  /** The recurring jobs of all pages. */
  each(
    filter: PageOptions & { readonly queue?: string | undefined } = {},
    options: CallOptions = {},
  ): AsyncGenerator<RecurringJob, void, void> {
    return this.calls.items((page) => this.list({ ...filter, ...page }, options), filter);
  }

  /** @throws {PumphouseError} `recurring_not_found` */
  get(id: string, options: CallOptions = {}): Promise<RecurringJob> {
    return this.calls.send({ method: 'GET', path: `recurring/${part(id)}` }, options);
  }

  /** Says when it makes its next job, and why the last slot made none. @throws {PumphouseError} `recurring_not_found` */
  explain(id: string, options: CallOptions = {}): Promise<Explanation> {
    return this.calls.send({ method: 'GET', path: `recurring/${part(id)}/explain` }, options);
  }

  /** Stores one under an id, in the place of the one that has it: safe to call at each start of a program. */
  put(id: string, fields: RecurringFields, options: CallOptions = {}): Promise<RecurringJob> {
    return this.calls.send(
      { method: 'PUT', path: `recurring/${part(id)}`, body: () => bodyOf(fields) },
      options,
    );
  }

  /** Changes what is there; what is left out stays. */
  update(
    id: string,
    change: Optional<Omit<RecurringFields, 'job'>> & {
      readonly job?: Optional<RecurringFields['job']> | undefined;
    },
    options: CallOptions = {},
  ): Promise<RecurringJob> {
    return this.calls.send(
      { method: 'PATCH', path: `recurring/${part(id)}`, body: () => bodyOf(change) },
      options,
    );
  }

  /** Ends it; the jobs that it made stay. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.calls.remove(`recurring/${part(id)}`, options);
  }

  /** @param options its `note` is shown until it is resumed */
  pause(
    id: string,
    { note, ...options }: CallOptions & { readonly note?: string | undefined } = {},
  ): Promise<RecurringJob> {
    const body = note === undefined ? {} : { body: { note } };
    return this.calls.send(
      { method: 'POST', path: `recurring/${part(id)}/pause`, isRepeatable: true, ...body },
      options,
    );
  }

  /** Makes a job now, outside of the schedule. @throws {PumphouseError} `unique_key_taken`: `overlap` forbids it */
  run(id: string, options: CallOptions = {}): Promise<{ readonly id: string }> {
    return this.calls.send({ method: 'POST', path: `recurring/${part(id)}/run` }, options);
  }

  /** The next slots, also while it is paused. */
  async next(id: string, count?: number, options: CallOptions = {}): Promise<readonly UpcomingSlot[]> {
    const query = count === undefined ? {} : { count };
    const path = `recurring/${part(id)}/next`;
    const { slots } = await this.calls.send<{ slots: UpcomingSlot[] }>(
      { method: 'GET', path, query },
      options,
    );
    return slots;
  }

  /** The next slots of a schedule that is not stored. */
  async preview(
    schedule: ScheduleFields,
    count?: number,
    options: CallOptions = {},
  ): Promise<readonly UpcomingSlot[]> {
    const { slots } = await this.calls.send<{ slots: UpcomingSlot[] }>(
      { method: 'POST', path: 'recurring/preview', isRepeatable: true, body: { schedule, count } },
      options,
    );
    return slots;
  }

  resume(id: string, options: CallOptions = {}): Promise<RecurringJob> {
    return this.calls.send(
      { method: 'POST', path: `recurring/${part(id)}/resume`, isRepeatable: true },
      options,
    );
  }
}

function bodyOf({ job, ...fields }: { readonly job?: Optional<RecurringFields['job']> | undefined }): string {
  return objectWith(toWire(fields) as object, job === undefined ? '' : `"job":${withPayload(job, 'job')}`);
}
