import type { LeasedJob } from '../driver.js';
import { PumphouseError } from '../errors.js';
import type { Registration } from './handlers.js';

/** Why a handler's signal was aborted: the `code` of its reason. */
export type AbortCode = 'lease_lost' | 'max_run_exceeded' | 'lease_unconfirmed' | 'cancelled' | 'shutdown';

/** The server ends a run so much later: it has the time of the grant in whole milliseconds. */
const RUN_END_MS = 1;

const ABORT_MESSAGES: Readonly<Record<AbortCode, string>> = {
  lease_lost: 'another worker may have the job: nothing that this handler returns counts',
  max_run_exceeded: 'it ran for longer than its maxRunMs: nothing that this handler returns counts',
  lease_unconfirmed: 'no heartbeat was answered for 80 % of the lease: another worker may get the job soon',
  cancelled: 'a client wants the job cancelled',
  shutdown: 'the worker stops',
};

export interface Progress {
  readonly value: unknown;
  readonly waiting: readonly { readonly resolve: () => void; readonly reject: (error: unknown) => void }[];
}

/** A job that this worker has leased and not settled yet. */
export class HeldJob {
  /**
   * `ended`: its handler has, and nothing is sent yet; `settling`: the server is told; `gone`: it is not this worker's any
   * more.
   */
  state: 'waiting' | 'running' | 'ended' | 'settling' | 'gone' = 'waiting';
  /** When the last lease or heartbeat that was answered began, on the monotonic clock. */
  confirmedMs: number;
  /** When its run has ended on the server by `maxRunMs`, on the monotonic clock: counted from answers, so never sooner. */
  runEndsMs: number;
  /** A value that is to be stored, and the calls that wait for it. */
  progress: Progress | undefined;
  isStoringProgress = false;
  /** Storing it has failed; it is due again then. */
  progressDueMs = 0;
  /** The worker has warned that a line of its log, or its outcome, is not stored. */
  hasWarnedOfLog = false;
  hasWarnedOfWait = false;
  /** The worker has given it back without waiting for its handler. */
  isAbandoned = false;
  private controller: AbortController | undefined;
  private abortReason: PumphouseError | undefined;

  constructor(
    readonly job: LeasedJob,
    /** Undefined: this worker has no handler for it. */
    readonly registration: Registration | undefined,
    nowMs: number,
  ) {
    this.confirmedMs = nowMs;
    this.runEndsMs = nowMs + RUN_END_MS + (job.maxRunMs ?? Infinity);
  }

  /** Its handler begins now. @param nowMs on the monotonic clock, after the server knows of it */
  begin(nowMs: number): void {
    const limitMs = Math.min(this.job.maxRunMs ?? Infinity, this.registration?.maxRunMs ?? Infinity);
    this.runEndsMs = nowMs + RUN_END_MS + limitMs;
  }

  /** Made when it is first wanted: most handlers of short jobs never look. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.abortReason && !this.controller.signal.aborted) this.controller.abort(this.abortReason);
    return this.controller.signal;
  }

  get abortedBy(): AbortCode | undefined {
    return this.abortReason?.code as AbortCode | undefined;
  }

  /** The first reason counts, but that a lost lease comes before all others. */
  abort(code: AbortCode): void {
    if (this.isLost || (this.abortReason && !isLoss(code))) return;
    this.abortReason = new PumphouseError(code, ABORT_MESSAGES[code]);
    this.controller?.abort(this.abortReason);
  }

  get isLost(): boolean {
    return isLoss(this.abortReason?.code);
  }
}

/** True if the lease has ended: nothing of the job can be settled any more. */
function isLoss(code: string | undefined): boolean {
  return code === 'lease_lost' || code === 'max_run_exceeded';
}
