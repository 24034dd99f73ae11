import {
  MAX_LABEL,
  MAX_LEASE_QUEUES,
  MAX_MESSAGE,
  MAX_PERIOD_MS,
  MAX_SESSION_LEASES,
  MAX_UINT32,
} from '../domain/limits.js';
import { JOB_STATES } from '../domain/job/states.js';
import { Nullable, Optional } from '../contract/fields/field.js';
import {
  Flag,
  JobId,
  Label,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueNames,
  Whole,
} from '../contract/fields/kinds.js';
import { WorkerAnswer } from '../contract/workers.js';

const MANY = 1_000_000_000;
const MOST_ITEMS = 1_000;
const LABEL = { max: MAX_LABEL };

export class WorkersPage {
  @Parts('The workers, last seen first.', () => WorkerAnswer, MOST_ITEMS)
  items!: readonly WorkerAnswer[];
  @Nullable() @Label('The cursor of the next page; null at the end.', { max: MAX_MESSAGE }) next_cursor!:
    | string
    | null;
}

/** What a worker's process says of itself. */
export class WorkerInfoFields {
  @Label('Its name. Other sessions may have the same.', LABEL) name!: string;
  @Optional() @Label('The host of its process.', LABEL) host?: string;
  @Optional() @Whole('The id of its process.', 0, MAX_UINT32) pid?: number;
  @Optional() @Label('The version of its program.', LABEL) version?: string;
  @Optional() @Label('The language of its program.', LABEL) language?: string;
  @Optional()
  @QueueNames('The queues that it leases from.', { min: 0, max: MAX_LEASE_QUEUES })
  queues?: string[];
  @Optional() @Whole('Its maximum number of concurrent jobs.', 0, MANY) concurrency?: number;
  @Optional()
  @Moment('When it started, by its own clock; default: the time of its first heartbeat.')
  started_at?: string;
}

/** A lease that a session has. */
export class HeldLeaseFields {
  @JobId('The id of the job.') id!: string;
  @Whole('The number of the lease, from the leased job.', 1, MAX_UINT32) lease!: number;
}

export class SessionHeartbeatFields {
  @Whole(
    'Duration of the leases from now. A session without a heartbeat for this time is lost.',
    1,
    MAX_PERIOD_MS,
  )
  ttr_ms!: number;
  @Parts(
    'The leases of the session; may be empty. More than these go in several heartbeats.',
    () => HeldLeaseFields,
    MAX_SESSION_LEASES,
    0,
  )
  leases!: HeldLeaseFields[];
  @Optional()
  @Whole(
    'Number of all leases of the session, if `leases` is a part of them; default: their number.',
    0,
    MANY,
  )
  jobs_at_hand?: number;
  @Optional()
  @Part(
    'Description of the process. Required if the server does not know the session.',
    () => WorkerInfoFields,
  )
  info?: WorkerInfoFields;
}

export class ExtendedLeaseAnswer {
  @JobId('The id of the job.') id!: string;
  @OneOf('The state of the lease.', ['extended', 'lease_lost', 'not_found']) status!: string;
  @Optional()
  @Nullable()
  @OneOf('For `lease_lost`: the current state of the job; null = it is gone.', Object.keys(JOB_STATES))
  state?: string | null;
  @Flag('True: a cancel is requested. Stop, and acknowledge or release the job.') cancel_requested!: boolean;
}

export class SessionHeartbeatAnswer {
  @Moment('When the extended leases end; sooner if the ttl of the job ends before.') lease_ends_at!: string;
  @Parts('One for each lease, in order.', () => ExtendedLeaseAnswer, MAX_SESSION_LEASES)
  jobs!: readonly ExtendedLeaseAnswer[];
  @Flag('True: lease nothing more.') quiet!: boolean;
  @Flag('Shut down.') stop!: boolean;
}
