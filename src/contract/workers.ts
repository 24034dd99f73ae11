import { MAX_LABEL, MAX_LEASE_QUEUES, MAX_UINT32 } from '../domain/limits.js';
import { shownSession, type WorkerFacts } from '../domain/job/job-lists.js';
import { Nullable } from './fields/field.js';
import { Flag, Label, Moment, QueueNames, Whole } from './fields/kinds.js';
import type { Inside } from './fields/wire.js';

const MANY = 1_000_000_000;
const LABEL = { max: MAX_LABEL };

export class WorkerAnswer {
  @Label('Its name, from its lease requests; for a session its id.', LABEL) name!: string;
  @Moment('When it was last seen.') seen_at!: string;
  @Whole('Extended jobs that it has leased: simple jobs store no worker.', 0, MANY) leased!: number;
  @Whole('Extended jobs whose lease expired, not leased since.', 0, MANY) stalled!: number;
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

/** A worker as answers have it. */
export function workerFacts({ session, ...worker }: WorkerFacts): Inside<WorkerAnswer> {
  return { ...worker, ...shownSession(session) };
}
