import { MAX_LABEL, MAX_LEASE_QUEUES, MAX_PERIOD_MS, MAX_RESERVE_COUNT } from '../../domain/limits.js';
import { Optional } from '../../http/fields/field.js';
import { Label, OneOf, Parts, QueueNames, Whole } from '../../http/fields/kinds.js';
import { LeasedJobAnswer } from './job.v1.js';

export class LeasesFields {
  @QueueNames('Where to look for jobs.', { max: MAX_LEASE_QUEUES }) queues!: string[];
  @Optional()
  @OneOf(
    '`ordered`, as if it is left out: the second queue is looked at when the first is empty. `round_robin`: one job of each in turn.',
    ['ordered', 'round_robin'],
  )
  order?: 'ordered' | 'round_robin';
  @Optional() @Whole('Most jobs to lease; 1 if it is left out.', 1, MAX_RESERVE_COUNT) count?: number;
  @Optional()
  @Whole('How long to wait for a first job; not at all if it is left out.', 0, MAX_PERIOD_MS)
  wait_ms?: number;
  @Optional()
  @Whole('How long the leases last; if it is left out, as long as each job says.', 1, MAX_PERIOD_MS)
  ttr_ms?: number;
  @Optional()
  @Label('Who asks. It proves nothing, and is shown to whoever looks at the job.', { max: MAX_LABEL })
  worker?: string;
}

export class LeasesAnswer {
  @Parts('The jobs; none if there are none.', () => LeasedJobAnswer, MAX_RESERVE_COUNT)
  jobs!: LeasedJobAnswer[];
}
