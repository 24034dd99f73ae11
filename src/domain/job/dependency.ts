import type { JobState } from './states.js';

/** How a dependency stands that is not there any more, or never was. `missing`: no job had its id when it was named. */
export const GONE_STATES = ['expired', 'deleted', 'replaced', 'missing'] as const;

/** The state of a job that another one depends on. */
export type DependencyState = JobState | (typeof GONE_STATES)[number];

/** A dependency of a job, as the job is told of it. */
export interface DependencyResult {
  readonly id: string;
  readonly state: DependencyState;
  /** Null if it has none, or if it is left out. Content type null = JSON. */
  readonly result: { readonly body: Buffer; readonly contentType: string | null } | null;
  /** The result is left out: the results of one job have up to 64 KiB in all. */
  readonly truncated?: true;
}
