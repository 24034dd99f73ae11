import {
  MAX_LABEL,
  MAX_LEASE_COUNT,
  MAX_LEASE_QUEUES,
  MAX_LEASE_TYPES,
  MAX_PERIOD_MS,
} from '../../domain/limits.js';
import { Optional } from '../../contract/fields/field.js';
import { Label, LabelsOrNull, OneOf, Parts, QueueNames, Whole } from '../../contract/fields/kinds.js';
import { LeasedJobAnswer } from '../../contract/job/answers.js';

export class LeasesFields {
  @QueueNames('The queues to lease from.', { max: MAX_LEASE_QUEUES }) queues!: string[];
  @Optional()
  @OneOf(
    '`ordered` (default): strict priority, the second queue is used when the first is empty. `round_robin`: one job of each in turn.',
    ['ordered', 'round_robin'],
  )
  order?: 'ordered' | 'round_robin';
  @Optional() @Whole('Maximum number of jobs; default 1.', 1, MAX_LEASE_COUNT) count?: number;
  @Optional()
  @Whole('How long to wait for a first job (long poll); default 0.', 0, MAX_PERIOD_MS)
  wait_ms?: number;
  @Optional()
  @Whole(
    'How long to wait for `min` jobs, from when a first one is there; then the answer has those that are there. Until the answer none is leased. Default 0.',
    0,
    MAX_PERIOD_MS,
  )
  linger_ms?: number;
  @Optional()
  @Whole(
    'With `linger_ms`: so many jobs end its wait early; at most `count`, which is the default.',
    1,
    MAX_LEASE_COUNT,
  )
  min?: number;
  @Optional()
  @Whole('Duration of the leases (visibility timeout); default: that of each job.', 1, MAX_PERIOD_MS)
  ttr_ms?: number;
  @Optional()
  @Label('The name of the worker. Informational only; not used for authorization.', { max: MAX_LABEL })
  worker?: string;
  @Optional()
  @LabelsOrNull(
    'Leases only jobs of these types; `null` stands for jobs without a type. Left out: any job.',
    { max: MAX_LEASE_TYPES },
    { max: MAX_LABEL },
  )
  types?: (string | null)[];
}

export class LeasesAnswer {
  @Parts('The leased jobs; empty if there are none.', () => LeasedJobAnswer, MAX_LEASE_COUNT)
  jobs!: LeasedJobAnswer[];
}
