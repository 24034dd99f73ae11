import {
  MAX_LABEL,
  MAX_LEASE_QUEUES,
  MAX_PERIOD_MS,
  MAX_SESSION_LEASES,
  MAX_UINT32,
} from '../domain/limits.js';
import { JOB_STATES, type JobState } from '../domain/job/states.js';
import { Nullable, Optional } from './fields/field.js';
import { Flag, JobId, Label, Moment, OneOf, Part, Parts, QueueNames, Whole } from './fields/kinds.js';
import type { Inside } from './fields/wire.js';
import { MANY } from './job/answers.js';

const LABEL = { max: MAX_LABEL };

export class WorkerAnswer {
  @Label('Its name, from its lease requests; for a session its id.', LABEL) name!: string;
  @Moment('When it was last seen.') seen_at!: string;
  @Whole(
    'Jobs that it has leased. Jobs without a history do not count: those with no option beyond data, delay, ttl, tries, attributes and id.',
    0,
    MANY,
  )
  leased!: number;
  @Whole('Jobs with a history whose lease expired, not leased since.', 0, MANY) stalled!: number;
  @Nullable()
  @Label('The name of its process. This and the next fields are null or false without a session.', LABEL)
  display_name!: string | null;
  @Nullable() @Label('The host of its process.', LABEL) host!: string | null;
  @Nullable() @Whole('The id of its process.', 0, MAX_UINT32) pid!: number | null;
  @Nullable() @Label('The version of its program.', LABEL) version!: string | null;
  @Nullable() @Label('The language of its program.', LABEL) language!: string | null;
  @Nullable()
  @QueueNames('The queues that it leases from.', { min: 0, max: MAX_LEASE_QUEUES })
  queues!: readonly string[] | null;
  @Nullable() @Whole('Its maximum number of concurrent jobs.', 0, MANY) concurrency!: number | null;
  @Nullable() @Whole('Jobs that it had when it sent its last heartbeat.', 0, MANY) jobs_at_hand!:
    | number
    | null;
  @Nullable() @Moment('When it started, by its own clock.') started_at!: string | null;
  @Nullable() @Moment('When it sent its last heartbeat.') heartbeat_at!: string | null;
  @Flag('True: it was asked to lease nothing more.') quiet!: boolean;
  @Flag('True: it was asked to shut down.') stop!: boolean;
  @Flag('True: it sent no heartbeat for the `ttr_ms` of its last one.') lost!: boolean;
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
  @OneOf('The state of the lease.', ['extended', 'lease_lost', 'not_found']) status!:
    | 'extended'
    | 'lease_lost'
    | 'not_found';
  @Optional()
  @Moment('For `extended`: the new end of this lease. The ttl or `max_run_ms` of its job may end it sooner.')
  lease_ends_at?: string;
  @Optional()
  @Nullable()
  @OneOf('For `lease_lost`: the current state of the job; null = it is gone.', Object.keys(JOB_STATES))
  state?: JobState | null;
  @Optional()
  @OneOf('For `lease_lost`: `revoked` if the lease was revoked.', ['revoked'])
  reason?: 'revoked';
  @Flag('True: a cancel is requested. Stop, and acknowledge or release the job.') cancel_requested!: boolean;
}

export class SessionHeartbeatAnswer {
  @Moment('When the extended leases end at the latest.') lease_ends_at!: string;
  @Parts('One for each lease, in order.', () => ExtendedLeaseAnswer, MAX_SESSION_LEASES)
  jobs!: readonly ExtendedLeaseAnswer[];
  @Flag('True: lease nothing more.') quiet!: boolean;
  @Flag('Shut down.') stop!: boolean;
}

/** What a worker's process says of itself. */
export type WorkerInfo = Inside<WorkerInfoFields>;
/** Result of a heartbeat for one job. */
export type ExtendedLease = Inside<ExtendedLeaseAnswer>;
/** Result of a session's heartbeat. */
export type SessionHeartbeatResult = Inside<SessionHeartbeatAnswer>;

/** Heartbeat of a session. */
export interface SessionHeartbeat extends Inside<SessionHeartbeatFields> {
  /**
   * Names the queues that the caller may use; empty = all. A session belongs to the scope of its first heartbeat: for a caller with another
   * one there is no such session, unless it may use all queues; with `info`, that one takes it over.
   */
  readonly scope?: string;
}

/** A worker that leases jobs under a name, or sends the heartbeats of a session. */
export interface WorkerFacts {
  readonly name: string;
  /** Unix ms. */
  readonly seenAtMs: number;
  readonly leased: number;
  /** Jobs whose lease expired, and that have not been leased since. */
  readonly stalled: number;
  /** Null for a worker that is known by name only. */
  readonly session: WorkerSession | null;
}

/** Requests to a session, which it learns from its next heartbeat. */
export interface SessionFlags {
  /** It is to lease nothing more. */
  readonly quiet: boolean;
  /** It is to shut down. */
  readonly stop: boolean;
}

/** A running worker process, as its last heartbeat described it. */
export interface WorkerSession extends SessionFlags {
  readonly info: WorkerInfo;
  readonly startedAtMs: number;
  readonly heartbeatAtMs: number;
  /** Jobs that it had then. */
  readonly jobsAtHand: number;
  /** It has sent no heartbeat for its `ttrMs`. */
  readonly isLost: boolean;
}

/** A session as lists show it: what is not known is null, and of a worker without a session all of it null or false. */
function shownSession(session: WorkerSession | null) {
  const { name, host, pid, version, language, queues, concurrency }: Partial<WorkerInfo> =
    session?.info ?? {};
  return {
    displayName: name ?? null,
    host: host ?? null,
    pid: pid ?? null,
    version: version ?? null,
    language: language ?? null,
    queues: queues ?? null,
    concurrency: concurrency ?? null,
    jobsAtHand: session?.jobsAtHand ?? null,
    startedAtMs: session?.startedAtMs ?? null,
    heartbeatAtMs: session?.heartbeatAtMs ?? null,
    quiet: session?.quiet ?? false,
    stop: session?.stop ?? false,
    lost: session?.isLost ?? false,
  };
}

/** A worker as answers have it. */
export function workerFacts({ session, ...worker }: WorkerFacts): Inside<WorkerAnswer> {
  return { ...worker, ...shownSession(session) };
}
