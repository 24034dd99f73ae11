import { MAX_LABEL, MAX_MESSAGE } from '../../domain/limits.js';
import { HoldsData, Nullable } from '../fields/field.js';
import { JobId, Label, Moment, Part, Parts, Text, Whole, Wholes } from '../fields/kinds.js';
import { MANY } from './answers.js';

const MOST_ITEMS = 1_000;
const HOURS = 24;
const MOST_CHARACTERS = 500;

/** The job of a failure group that died last. */
export class FailureSampleAnswer {
  @JobId('Its id.') id!: string;
  @Label('Its queue.', { max: MAX_LABEL }) queue!: string;
  @HoldsData()
  @Text(`The beginning of its error message: at most ${MOST_CHARACTERS} characters.`, {
    min: 0,
    max: MOST_CHARACTERS,
  })
  message!: string;
}

export class FailureGroupAnswer {
  @Label('The name.', { max: MAX_LABEL }) name!: string;
  @Whole('The number of dead jobs in it.', 1, MANY) jobs!: number;
  @Moment('When the first of them died.') first_at!: string;
  @Moment('When the last of them died.') last_at!: string;
  @Nullable()
  @Part('The job that died last; null if it cannot be read.', () => FailureSampleAnswer)
  sample!: FailureSampleAnswer | null;
  @Wholes(
    'How many of them died in each hour of the last day, UTC; the last number is of the current hour.',
    { min: HOURS, max: HOURS },
    0,
    MANY,
  )
  trend!: readonly number[];
}

export class FailureGroupsPage {
  @Parts('The groups, those first that most jobs have.', () => FailureGroupAnswer, MOST_ITEMS)
  items!: readonly FailureGroupAnswer[];
  @Nullable() @Label('The cursor of the next page; null at the end.', { max: MAX_MESSAGE }) next_cursor!:
    | string
    | null;
}
