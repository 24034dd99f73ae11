import type { DependencyResult } from '../../domain/job/dependency.js';
import type {
  DependencyFailure,
  JobSummary,
  NoHandler,
  RetryPolicy,
  TimelineEntry,
  UniqueKey,
} from '../../domain/job/extended-job.js';
import type { ResultRights } from '../../domain/unique-rights.js';
import type { Inside } from '../fields/wire.js';
import type { KeptOptions, PublishFields } from './options.js';

/* Types of the engine that follow from the declared options. Times are Unix ms. */

/** What the engine has in place of fields with a class of their own. */
interface Parts {
  readonly retry?: RetryPolicy;
  readonly unique?: UniqueKey;
}

/** Options of a class as the engine has them. */
export type OptionsOf<T extends object> = Omit<Inside<T>, keyof Parts> & Pick<Parts, keyof Parts & keyof T>;

/** A job of the native API as a producer publishes it. The queue's defaults apply to omitted fields. */
export interface NewExtendedJob
  extends OptionsOf<Omit<PublishFields, 'data' | 'data_base64' | 'push' | 'run_at'>>, ResultRights {
  /** With the field `contentType`; without it, JSON. */
  readonly body: Buffer;
  /** When it is due; alternative to `delayMs`. */
  readonly dueMs?: number;
}

/** Options of a job, and its data. */
export type NewJobOptions = Partial<Omit<NewExtendedJob, 'queue' | 'id' | 'delayMs' | 'dueMs'>>;

/** What a job keeps of its options; null = a default applies when it is needed. */
export type KeptValues = {
  readonly [K in keyof OptionsOf<KeptOptions>]-?: Exclude<OptionsOf<KeptOptions>[K], undefined> | null;
};

/** All details of a job. */
export interface JobDetails extends JobSummary, KeptValues {
  readonly body: Buffer;
  readonly contentType: string | null;
  readonly cancelRequested: boolean;
  readonly result: { readonly body: Buffer; readonly contentType: string | null } | null;
  readonly dependsOn: readonly string[];
  /** Failed dependencies, and how they ended: `died`, `cancelled`, `expired`, … */
  readonly failedDependencies: Readonly<Record<string, string>>;
  /** All of them in the order in which they were named, with those that have ended, and their results. */
  readonly dependencies: readonly DependencyResult[];
  /** Up to 100 of them. */
  readonly dependents: readonly string[];
  readonly onDependencyFailure: DependencyFailure;
  readonly uniqueKey: string | null;
  readonly spawnedFrom: string | null;
  /** Null if a handler began since. */
  readonly noHandler: NoHandler | null;
  readonly timeline: readonly TimelineEntry[];
}
