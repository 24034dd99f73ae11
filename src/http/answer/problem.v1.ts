import { JOB_STATES } from '../../domain/job/states.js';
import { Nullable, Optional } from '../../contract/fields/field.js';
import { JobId, JobIds, OneOf, Parts, Text, Whole } from '../../contract/fields/kinds.js';

/* Error responses of the native API. */

const LONGEST = 1_000_000;

export class FieldProblemAnswer {
  @Text('Its path, such as `jobs[3].delay_ms`; empty for the whole body.', { min: 0, max: LONGEST })
  field!: string;
  @Text('What it must be.', { max: LONGEST }) rule!: string;
}

/** RFC 9457. */
export class Problem {
  @Text('The kind of error, stable: for programs.', { max: LONGEST }) code!: string;
  @Text('What is wrong, for people.', { max: LONGEST }) detail!: string;
  @Optional()
  @Parts(
    'The invalid fields and their rules, for `invalid_argument` and `missing_dependency`; at most 20.',
    () => FieldProblemAnswer,
    20,
  )
  errors?: FieldProblemAnswer[];
  @Optional()
  @JobIds('Some of the dependents, for `has_dependents`.', { max: LONGEST })
  dependents?: string[];
  @Optional()
  @Nullable()
  @OneOf(
    'For `lease_lost` and `not_leased`: the current state of the job; null = it is gone.',
    Object.keys(JOB_STATES),
  )
  state?: string | null;
  @Optional()
  @OneOf('For `lease_lost`: `revoked` if the lease was revoked.', ['revoked'])
  reason?: 'revoked';
  @Optional() @JobId('For `unique_key_taken`: the job that holds the key.') holder_id?: string;
  @Whole('The status.', 400, 599) status!: number;
  @Text('The status in words.', { max: LONGEST }) title!: string;
  @Text('Always `about:blank`: the title is the status in words.', { max: LONGEST }) type!: string;
}
