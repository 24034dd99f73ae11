import type { Action, OperationDetails } from '../../../src/contract/operations.js';
import type { Respawn } from '../../../src/domain/job/job-lists.js';
import type { JobState } from '../../../src/domain/job/states.js';
import type { JobChange } from '../../../src/engine/jobs/job-updater.js';

/** An operation as a caller starts it. */
export interface OperationWish {
  readonly action: Action;
  readonly filter: {
    readonly queue?: string;
    readonly state?: readonly JobState[];
    readonly tag?: string;
    readonly type?: string;
    readonly group?: string;
  };
  readonly dryRun: boolean;
  readonly ratePerS?: number;
  readonly cascade: boolean;
  readonly graceMs: number;
  readonly to: string;
  readonly change: JobChange;
  readonly respawn: Respawn;
}

/** What a job was when the operation began: a job of the same id that was published later is another one. */
interface Snapshot {
  readonly facts: string;
  readonly hasHistory: boolean;
}

/** An operation in the model. */
export interface ModelOperation {
  readonly id: string;
  readonly wish: OperationWish;
  readonly createdMs: number;
  /** By the order of publish. */
  readonly before: ReadonlyMap<number, Snapshot>;
  /** Jobs that it has acted on, by the order of publish. */
  readonly acted: Set<number>;
  /** Jobs that it may have met when it would not act on them. */
  readonly passed: Set<number>;
  state: OperationDetails['state'];
}
