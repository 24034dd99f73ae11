import {
  MAX_LABEL,
  MAX_LEASE_QUEUES,
  MAX_MESSAGE,
  MAX_PERIOD_MS,
  MAX_SESSION_LEASES,
  MAX_UINT32,
} from '../domain/limits.js';
import { Nullable, Optional } from '../http/fields/field.js';
import { Flag, JobId, Label, Moment, OneOf, Part, Parts, QueueNames, Whole } from '../http/fields/kinds.js';

const MANY = 1_000_000_000;
const MOST_ITEMS = 1_000;
const LABEL = { max: MAX_LABEL };

export class WorkerAnswer {
  @Label('Its name, as it gave it with its leases; of a session, its id.', LABEL) name!: string;
  @Moment('When it was heard of last.') seen_at!: string;
  @Whole('Jobs that it has leased.', 0, MANY) leased!: number;
  @Whole('Jobs whose lease ran out, and that nobody has leased since.', 0, MANY) stalled!: number;
  @Nullable()
  @Label('The name that its process has. This and what follows: null or false without a session.', LABEL)
  display_name!: string | null;
  @Nullable() @Label('The host of its process.', LABEL) host!: string | null;
  @Nullable() @Whole('The id of its process.', 0, MAX_UINT32) pid!: number | null;
  @Nullable() @Label('The version of its program.', LABEL) version!: string | null;
  @Nullable() @Label('The language of its program.', LABEL) language!: string | null;
  @Nullable()
  @QueueNames('The queues that it leases from.', { min: 0, max: MAX_LEASE_QUEUES })
  queues!: readonly string[] | null;
  @Nullable() @Whole('Most jobs that it works on at once.', 0, MANY) concurrency!: number | null;
  @Nullable() @Whole('Jobs that it had when it sent its last heartbeat.', 0, MANY) jobs_at_hand!:
    number | null;
  @Nullable() @Moment('When it started, by its own clock.') started_at!: string | null;
  @Nullable() @Moment('When it sent its last heartbeat.') heartbeat_at!: string | null;
  @Flag('It was asked to lease nothing more.') quiet!: boolean;
  @Flag('It was asked to shut down.') stop!: boolean;
  @Flag('It has sent no heartbeat for the `ttr_ms` of its last one.') lost!: boolean;
}

export class WorkersPage {
  @Parts('Those first that were heard of last.', () => WorkerAnswer, MOST_ITEMS)
  items!: readonly WorkerAnswer[];
  @Nullable() @Label('Where the list goes on; null at its end.', { max: MAX_MESSAGE }) next_cursor!:
    string | null;
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
  @Optional() @Whole('Most jobs that it works on at once.', 0, MANY) concurrency?: number;
  @Optional()
  @Moment('When it started, by its own clock; the time of its first heartbeat if it is left out.')
  started_at?: string;
}

/** A lease that a session has. */
export class HeldLeaseFields {
  @JobId('The id of the job.') id!: string;
  @Whole('The number of the lease, as it came with the job.', 1, MAX_UINT32) lease!: number;
}

export class SessionHeartbeatFields {
  @Whole('How long the leases last from now. A session that is silent for so long is lost.', 1, MAX_PERIOD_MS)
  ttr_ms!: number;
  @Parts('All leases that it has; none if it has none.', () => HeldLeaseFields, MAX_SESSION_LEASES, 0)
  leases!: HeldLeaseFields[];
  @Optional()
  @Part(
    'What the process says of itself. Required if the server does not know the session.',
    () => WorkerInfoFields,
  )
  info?: WorkerInfoFields;
}

export class ExtendedLeaseAnswer {
  @JobId('The id of the job.') id!: string;
  @OneOf('What became of the lease.', ['extended', 'lease_lost', 'not_found']) status!: string;
  @Flag('The job is to be cancelled: stop, and acknowledge or release it.') cancel_requested!: boolean;
}

export class SessionHeartbeatAnswer {
  @Moment('When the extended leases end; sooner if the ttl of the job ends before.') lease_ends_at!: string;
  @Parts('One for each lease, in order.', () => ExtendedLeaseAnswer, MAX_SESSION_LEASES)
  jobs!: readonly ExtendedLeaseAnswer[];
  @Flag('Lease nothing more.') quiet!: boolean;
  @Flag('Shut down.') stop!: boolean;
}
