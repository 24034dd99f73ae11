import { MAX_CANCELS, MAX_DEPENDENCIES, MAX_LOG_DATA_BYTES, MAX_LOG_LINE } from '../../domain/limits.js';
import { Nullable, Optional } from '../../contract/fields/field.js';
import { AnyJson, Flag, JobId, JobIds, Moment, OneOf, Parts, Text } from '../../contract/fields/kinds.js';
import { CancelFields } from '../../contract/job/changes.js';
import { join, pick } from '../../contract/fields/derived.js';
import { PublishFields } from '../../contract/job/options.js';

/** Ids of the jobs that a job depends on. */
export class DependencyFields {
  @JobIds('Their ids.', { max: MAX_DEPENDENCIES }) depends_on!: string[];
}

/** Dependencies to add. */
export class MoreDependencyFields extends join(
  DependencyFields,
  pick(PublishFields, ['on_missing_dependency']),
) {}

export class CancelManyFields extends CancelFields {
  @JobIds('Their ids.', { max: MAX_CANCELS }) ids!: string[];
}

export class DeleteJobQuery {
  @Optional()
  @Flag(
    'True: also deletes a leased job, and a job with dependents (not with a token for some queues). Needs the permission admin.',
  )
  force: boolean = false;
}

export class CancelManyResult {
  @JobId('The id of the job.') id!: string;
  @OneOf(
    'The outcome, as for one cancel; `done`: the job is done; `not_found`: there is no such job, or it is outside of the queues of the token.',
    ['cancelled', 'requested', 'already_cancelled', 'done', 'not_found'],
  )
  outcome!: string;
  @Nullable() @Moment('When the lease is revoked.') revoked_at!: string | null;
}

export class CancelManyAnswer {
  @Parts('One for each id, in order.', () => CancelManyResult, MAX_CANCELS) results!: CancelManyResult[];
}

/** An entry for a job's timeline. */
export class LogFields {
  @Text('The message of the entry.', { max: MAX_LOG_LINE }) message!: string;
  @Optional() @AnyJson(`Anything else, of at most ${String(MAX_LOG_DATA_BYTES)} bytes.`) data?: unknown;
}
