import { randomHex } from '../random-hex.js';
import { sleep } from '../transport/transport.js';
import { toWire } from '../wire.js';
import type { DeadFilter, JobChange, JobFilter, JobState, Page, PageOptions } from './answers.js';
import { type CallOptions, type Calls, part, withPayload } from './calls.js';
import { objectWith } from './new-job.js';

export type OperationAction = 'cancel' | 'delete' | 'respawn' | 'retry' | 'move' | 'patch';

/** The jobs of an operation: all given conditions must hold. `{}` = all of the namespace. */
export interface OperationFilter
  extends
    Pick<JobFilter, 'queue' | 'tag' | 'type' | 'group' | 'worker'>,
    Pick<DeadFilter, 'text' | 'attributes' | 'from' | 'to'> {
  readonly state?: readonly JobState[] | undefined;
}

/** An action over all jobs that a filter matches. */
export interface NewOperation {
  readonly action: OperationAction;
  readonly filter: OperationFilter;
  /** Only counts, changes nothing. */
  readonly dryRun?: boolean | undefined;
  /** Jobs in a second, at most. */
  readonly ratePerS?: number | undefined;
  /** With `move`: the queue that the jobs move to. */
  readonly to?: string | undefined;
  /** With `patch`: the changes. */
  readonly set?: Omit<JobChange, 'queue' | 'dependsOn' | 'onMissingDependency'> | undefined;
  /** With `cancel`, as `jobs.cancel`. */
  readonly cascade?: boolean | undefined;
  readonly graceMs?: number | undefined;
  /** With `respawn`, and with `move` of dead jobs, as `deadLetter.respawn`. */
  readonly tries?: number | undefined;
  readonly keepTries?: boolean | undefined;
  readonly ttlMs?: number | undefined;
  /** With `cancel` and `delete`: for how long after its end `operations.undo` is possible; 1 minute to 24 hours. */
  readonly undoMs?: number | undefined;
}

/** How many jobs there are with a reason. */
export interface JobsByReason {
  readonly reason: string;
  readonly jobs: number;
}

/** What can be brought back of the jobs that an operation has ended, and what is. */
export interface OperationUndo {
  /** `kept`: it can be undone. `dropped`, `expired`: it cannot any more. The others are of its undo. */
  readonly state: 'kept' | 'running' | 'done' | 'stopped' | 'dropped' | 'expired';
  /** Until when an undo can begin; null: the operation runs. */
  readonly endsAt: string | null;
  /** Jobs that are kept, or were. */
  readonly jobs: number;
  readonly restored: number;
  readonly failed: number;
  /** Why jobs cannot come back. */
  readonly refusals: readonly JobsByReason[];
  /** What does not come back of jobs that are back. */
  readonly incomplete: readonly JobsByReason[];
  /** Why it was stopped, or is not possible any more. */
  readonly message: string | null;
}

export interface Operation {
  readonly id: string;
  readonly action: OperationAction;
  /** With the states that it acts on. */
  readonly filter: Readonly<Record<string, unknown>> & { readonly state: readonly JobState[] };
  readonly dryRun: boolean;
  readonly ratePerS: number | null;
  readonly to: string | null;
  /** Without the data, for which `data` is true. */
  readonly set: Readonly<Record<string, unknown>> | null;
  readonly state: 'running' | 'done' | 'stopped';
  /** Why it was stopped: a code, and a sentence. */
  readonly reason: string | null;
  readonly message: string | null;
  readonly matched: number;
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  /** Why jobs failed or were skipped. */
  readonly refusals: readonly JobsByReason[];
  /** Entries of the index that were read, and that it had; null: not known. */
  readonly looked: number;
  readonly toLook: number | null;
  /** The first jobs that matched. */
  readonly samples: readonly { readonly id: string; readonly queue: string; readonly state: JobState }[];
  readonly createdAt: string;
  readonly createdBy: string | null;
  readonly endedAt: string | null;
  readonly nextAt: string | null;
  /** Null: it was started without `undoMs`, or the server is of an earlier version. */
  readonly undo: OperationUndo | null;
}

export interface WaitForOperation extends CallOptions {
  /** How often it is looked at; 500 ms. */
  readonly pollMs?: number | undefined;
  /** Is called with the operation each time. */
  readonly onProgress?: ((operation: Operation) => void) | undefined;
}

/** The calls of `operations`, over HTTP or in process. */
export interface OperationCalls {
  start(
    operation: NewOperation,
    options?: CallOptions & { readonly idempotencyKey?: string | undefined },
  ): Promise<Operation>;
  get(id: string, options?: CallOptions): Promise<Operation>;
  list(page?: PageOptions, options?: CallOptions): Promise<Page<Operation>>;
  stop(id: string, options?: CallOptions): Promise<Operation>;
  undo(id: string, options?: CallOptions): Promise<Operation>;
  wait(id: string, options?: WaitForOperation): Promise<Operation>;
}

const POLL_MS = 500;
const KEY_BYTES = 12;

/** Actions over all jobs that a filter matches. */
export class Operations implements OperationCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Starts an operation; the work is done afterwards.
   *
   * @throws {PumphouseError} `too_many_operations`: four of the namespace run
   */
  start(
    operation: NewOperation,
    {
      idempotencyKey = randomHex(KEY_BYTES),
      ...options
    }: CallOptions & { readonly idempotencyKey?: string | undefined } = {},
  ): Promise<Operation> {
    const { set, ...rest } = operation;
    const body = (): string =>
      objectWith(toWire(rest) as object, set === undefined ? '' : `"set":${withPayload(set, 'set')}`);
    const call = { method: 'POST', path: 'operations', isRepeatable: true } as const;
    const headers = { 'Idempotency-Key': idempotencyKey };
    return this.calls.send({ ...call, headers, body }, options);
  }

  /** @throws {PumphouseError} `operation_not_found` */
  get(id: string, options: CallOptions = {}): Promise<Operation> {
    return this.calls.send({ method: 'GET', path: `operations/${part(id)}` }, options);
  }

  /** A page of those that run or ended within a week, newest first. */
  list(page: PageOptions = {}, options: CallOptions = {}): Promise<Page<Operation>> {
    return this.calls.send({ method: 'GET', path: 'operations', query: { ...page } }, options);
  }

  /** Stops an operation, or its undo; what it has done stays done. @throws {PumphouseError} `operation_not_found` */
  stop(id: string, options: CallOptions = {}): Promise<Operation> {
    const path = `operations/${part(id)}/stop`;
    return this.calls.send({ method: 'POST', path, isRepeatable: true }, options);
  }

  /**
   * Begins to bring back the jobs that an operation with `undoMs` has ended; `wait` waits for the end of that, too.
   *
   * @throws {PumphouseError} `operation_not_found`; `operation_running`: stop it first; `undo_gone`: nothing is kept
   */
  undo(id: string, options: CallOptions = {}): Promise<Operation> {
    const path = `operations/${part(id)}/undo`;
    return this.calls.send({ method: 'POST', path, isRepeatable: true }, options);
  }

  /** Waits until an operation, or its undo, has ended. @throws {PumphouseError} `operation_not_found` */
  wait(id: string, options: WaitForOperation = {}): Promise<Operation> {
    return untilEnded((call) => this.get(id, call), options);
  }
}

/** Looks at an operation again and again until it, or its undo, has ended. */
export async function untilEnded(
  read: (options: CallOptions) => Promise<Operation>,
  { pollMs = POLL_MS, onProgress, signal }: WaitForOperation,
): Promise<Operation> {
  for (;;) {
    const operation = await read({ signal });
    onProgress?.(operation);
    if (operation.state !== 'running' && operation.undo?.state !== 'running') return operation;
    await sleep(pollMs, signal);
  }
}
