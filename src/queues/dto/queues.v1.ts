import { MAX_UINT32 } from '../../domain/limits.js';
import { type JobState, STATE_NAMES } from '../../domain/job/states.js';
import { Nullable, Optional } from '../../contract/fields/field.js';
import { Flag, Label, Part, Parts, SomeOf, Whole } from '../../contract/fields/kinds.js';
import { QueueAnswer } from '../../contract/queue-settings.js';

export class PurgeFields {
  @SomeOf('The states whose jobs are deleted.', STATE_NAMES) states!: JobState[];
  @Optional() @Flag('True: only counts.') dry_run: boolean = false;
}

/** Number of removed jobs for each requested state. */
export class PurgedAnswer {
  @Optional() @Whole('', 0, MAX_UINT32) ready?: number;
  @Optional() @Whole('', 0, MAX_UINT32) scheduled?: number;
  @Optional() @Whole('', 0, MAX_UINT32) leased?: number;
  @Optional() @Whole('', 0, MAX_UINT32) dead?: number;
  @Optional() @Whole('', 0, MAX_UINT32) blocked?: number;
  @Optional() @Whole('', 0, MAX_UINT32) held?: number;
  @Optional() @Whole('', 0, MAX_UINT32) done?: number;
  @Optional() @Whole('', 0, MAX_UINT32) cancelled?: number;
}

export class PurgeAnswer {
  @Part('Number of jobs by state.', () => PurgedAnswer) jobs!: PurgedAnswer;
  @Flag('True: nothing was deleted.') dry_run!: boolean;
  @Flag('True: all were deleted or counted. False: call again.') complete!: boolean;
}

export class QueuesAnswer {
  @Parts('The queues of this page.', () => QueueAnswer, 1_000) items!: QueueAnswer[];
  @Nullable()
  @Label('The cursor of the next page; null on the last one.', { max: 512 })
  next_cursor!: string | null;
}
