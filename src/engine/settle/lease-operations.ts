import { patternsText } from '../publish/extended-options.js';
import { jsonOf } from '../../contract/json/deep-json.js';
import { JsonText } from '../../contract/json/json-text.js';
import {
  jobNotFound,
  LeaseLostError,
  noRoomForData,
  NotLeasedError,
  QueueError,
} from '../../domain/errors.js';
import type {
  Completion,
  JobFailure,
  HeartbeatOptions,
  HeartbeatResult,
  LeaseRef,
  Release,
} from '../../domain/job/extended-job.js';
import type { JobState } from '../../domain/job/states.js';
import type { ExtendedLease } from '../../contract/workers.js';
import type { EngineObserver } from '../core/observer.js';
import { verbMissing } from '../../domain/rights.js';
import type { PushRights } from '../../domain/unique-rights.js';
import { checkNumberOf, checkPossible, packIds } from '../publish/dependencies.js';
import { ageOf, queueOf, ranOf, type Settled, SETTLED, type Settler, type Verb } from './settler.js';
import type { NamespaceQuotas } from '../core/quotas.js';
import type { LeaseDurations } from './lease-durations.js';
import type { ExtendedQueues } from '../queues/extended-queues.js';

/**
 * Result of a lease operation. `lease_lost`: the lease is not the job's current one. `namespace_full`: the new data goes
 * beyond the quota on bytes. `too_many_queues`, `queue_full`: a quota has no room in the next queue. `store_full`: Redis
 * has no room for longer data. `verb_missing`: the caller may not change a job with a URL of its own. The last three
 * concern the dependencies of the next step. Only `done` has changed something.
 */
export type LeaseOperationResult =
  | 'done'
  | 'not_found'
  | 'lease_lost'
  | 'namespace_full'
  | 'too_many_queues'
  | 'queue_full'
  | 'store_full'
  | 'verb_missing'
  | 'dependency_cycle'
  | 'too_many_dependencies'
  | 'missing_dependency';

/** Where a job is after its lease holder has returned it. */
export interface SettleOutcome {
  readonly state: JobState;
  /** When it is due, Unix ms; null = not scheduled. */
  readonly dueAtMs: number | null;
  /** Leases that it may still get. */
  readonly triesLeft: number;
}

const REFUSALS = [
  ...(['namespace_full', 'too_many_queues', 'queue_full', 'store_full', 'verb_missing'] as const),
  ...(['dependency_cycle', 'missing_dependency'] as const),
];
/** The path of the dependencies of a job that moves on. */
const NEXT = 'next.dependsOn';

/**
 * Operations of consumers on the jobs that they have leased. The lease number proves that the consumer is the lease
 * holder, even after the lease has expired, until the job is leased again.
 */
export class LeaseOperations {
  constructor(
    private readonly settling: Settler,
    private readonly observer: EngineObserver,
    private readonly queues: ExtendedQueues,
    private readonly durations: LeaseDurations,
    private readonly quotas: NamespaceQuotas,
  ) {}

  /**
   * Completes jobs: each job is deleted, kept with its result for its retention, or moved to its next queue. A result
   * beyond the quota on bytes, or longer in a full Redis, is left out.
   *
   * @returns the result of each, in order
   * @throws {QueueError} an error of the store
   */
  async complete(namespace: string, completions: readonly Completion[]): Promise<LeaseOperationResult[]> {
    for (const { next } of completions) {
      checkNumberOf(next?.dependsOn ?? [], NEXT);
      checkPossible(next?.dependsOn ?? [], next?.onMissingDependency === 'refuse', NEXT);
    }
    const most = this.quotas.movesOf(namespace);
    const settled = await this.settling.settle(
      namespace,
      completions.map(({ id, lease, queue, result, data, next, retentionMs, withoutPush, resultsOf }) => ({
        verb: 'ack',
        id,
        lease,
        options: {
          queue,
          has_result: result !== undefined,
          rtype: result?.contentType,
          data_bytes: data?.body.length,
          ctype: data?.contentType,
          keep_ms: retentionMs,
          no_push: withoutPush,
          next: next && {
            queue: next.queue,
            ...most,
            delay_ms: next.delayMs,
            refuse_missing: next.onMissingDependency === 'refuse' ? true : undefined,
            results_of: patternsText({ ...(resultsOf && { resultsOf }) }),
          },
        },
        dependencies: next?.dependsOn?.length,
        bytes: joined(data?.body, next ? packIds(next.dependsOn ?? []) : result?.body),
      })),
    );
    for (const { next } of completions) if (next) this.queues.add(namespace, [next.queue]);
    return settled.map((one, i) => {
      const result = resultOf(one);
      const next = completions[i]?.next;
      // The next step depends on a job that had failed.
      if (result === 'done' && next && one.state === 'dead') this.observer.failed(namespace, next.queue, 1);
      if (result === 'done') {
        const queue = queueOf(one.facts);
        this.observer.acked(namespace, queue, ageOf(one.facts) ?? null);
        // Of a simple job only the process knows it that leased it.
        const ranMs = ranOf(one.facts) ?? this.durations.end(completions[i]?.id ?? '', one.nowMs);
        if (ranMs >= 0) this.observer.ran(namespace, queue, ranMs);
      }
      if (result === 'lease_lost') this.observer.staleAck(namespace, 'refused');
      return result;
    });
  }

  /**
   * Extends the lease: from now for `ttrMs`, or the namespace's `heartbeat_ms`, or the job's own ttr. After the lease has expired this needs a free
   * concurrency slot, if the job has a limit. Progress is JSON, or its `JsonText`: beyond the
   * quota on bytes, or longer in a full Redis, it is left out. With `begin` the run of the lease counts from now on.
   *
   * @throws {QueueError} `job_not_found`, `lease_lost`; `namespace_full`: the new data is beyond the quota on bytes;
   *   `store_full`: it is longer, and Redis has no room
   */
  async heartbeat(
    namespace: string,
    { id, lease }: LeaseRef,
    { ttrMs, isOwnTtr, progress, data, begin, maxRunMs, withoutPush }: HeartbeatOptions & PushRights = {},
  ): Promise<HeartbeatResult> {
    const options = {
      ttr_ms: ttrMs,
      own_ttr: isOwnTtr === true ? true : undefined,
      progress: progress === undefined ? undefined : textOf(progress),
      has_data: data !== undefined,
      begin: begin === true ? true : undefined,
      max_run_ms: begin === true ? maxRunMs : undefined,
      no_push: withoutPush,
    };
    const one = await this.settleOne(namespace, 'heartbeat', { id, lease }, options, data);
    return { leaseEndsAtMs: one.atMs, cancelRequested: one.facts['cancel'] === true };
  }

  /**
   * Extends leases, each for itself: from now for `ttrMs`, by the rules of `heartbeat`.
   *
   * @returns the result of each, in order
   * @throws {QueueError} an error of the store: some may have been extended
   */
  async heartbeatMany(
    namespace: string,
    leases: readonly LeaseRef[],
    ttrMs: number,
  ): Promise<ExtendedLease[]> {
    const options = { ttr_ms: ttrMs };
    const settled = await this.settling.settle(
      namespace,
      leases.map(({ id, lease }) => ({ verb: 'heartbeat', id, lease, options })),
    );
    return leases.map(({ id }, i) => {
      const one = settled[i];
      const result = one === undefined ? 'not_found' : resultOf(one);
      if (result === 'lease_lost') this.observer.staleAck(namespace, 'refused');
      const status = result === 'done' ? 'extended' : result === 'lease_lost' ? result : 'not_found';
      const isRevoked = one?.facts['reason'] === 'revoked';
      const lost =
        status === 'lease_lost' && one !== undefined
          ? { state: one.state, ...(isRevoked && { reason: 'revoked' as const }) }
          : {};
      const ends = status === 'extended' && one !== undefined ? { leaseEndsAtMs: one.atMs } : {};
      return { id, status, ...ends, ...lost, cancelRequested: one?.facts['cancel'] === true };
    });
  }

  /** Returns the job without using a try: to the front of its ready list, or scheduled. @throws as `heartbeat` */
  async release(
    namespace: string,
    { id, lease, delayMs, isCounted, reason, worker }: Release,
  ): Promise<SettleOutcome> {
    const options = { delay_ms: delayMs, is_counted: isCounted, reason, worker };
    const one = await this.settleOne(namespace, 'release', { id, lease }, options);
    const now = settleOutcomeOf(one);
    if (now.state !== 'cancelled')
      this.observer.released(namespace, queueOf(one.facts), reason ?? 'other', 1);
    return now;
  }

  /**
   * Ends the lease of a job for its holder, as `release` without a delay: the try is not used. Whatever the holder says
   * from then on is `lease_lost`, with the reason `revoked`.
   *
   * @throws {QueueError} `job_not_found`
   * @throws {NotLeasedError} nothing has changed
   */
  async revoke(namespace: string, id: string): Promise<SettleOutcome> {
    const options = { reason: 'revoked' };
    return settleOutcomeOf(await this.settleOne(namespace, 'revoke', { id, lease: 0 }, options));
  }

  /**
   * Fails a job for good in any state, without a lease: it goes to the dead-letter queue, and its lease holder loses the
   * lease. A dead job stays as it is.
   *
   * @throws {QueueError} `job_not_found`; `job_done`: it is done or cancelled
   */
  async forceFail(
    namespace: string,
    id: string,
    { group, message }: Pick<JobFailure, 'group' | 'message'>,
  ): Promise<SettleOutcome> {
    const one = await this.settleOne(namespace, 'force_fail', { id, lease: 0 }, { group, message });
    if (one.code === SETTLED.done) this.observer.failed(namespace, queueOf(one.facts), 1);
    return settleOutcomeOf(one);
  }

  /**
   * Reports a failed try. The job is tried again after `delayMs`, or after the delay of its retry policy; or it dies.
   *
   * @throws as `heartbeat`
   */
  async retry(namespace: string, failure: JobFailure): Promise<SettleOutcome> {
    return this.reportFailure(namespace, 'retry', failure, { delay_ms: failure.delayMs });
  }

  /** Reports a permanent failure: the job goes to the dead-letter queue at once. @throws as `heartbeat` */
  async fail(namespace: string, failure: JobFailure): Promise<SettleOutcome> {
    return this.reportFailure(namespace, 'fail', failure);
  }

  private async reportFailure(
    namespace: string,
    verb: 'retry' | 'fail',
    { id, lease, group, message, data, withoutPush }: JobFailure,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<SettleOutcome> {
    const options = {
      group,
      message,
      has_data: data && true,
      ctype: data?.contentType,
      no_push: withoutPush,
      ...more,
    };
    const one = await this.settleOne(namespace, verb, { id, lease }, options, data?.body);
    const now = settleOutcomeOf(one);
    if (now.state === 'dead') this.observer.failed(namespace, queueOf(one.facts), 1);
    else if (now.state !== 'cancelled') this.observer.retried(namespace, queueOf(one.facts), 1);
    return now;
  }

  private async settleOne(
    namespace: string,
    verb: Verb,
    { id, lease }: LeaseRef,
    options: Readonly<Record<string, unknown>>,
    bytes?: Buffer,
  ): Promise<Settled> {
    const [one] = await this.settling.settle(namespace, [{ verb, id, lease, options, bytes }]);
    if (one && resultOf(one) === 'namespace_full')
      throw this.quotas.bytesError(namespace, Number(one.facts['present']));
    if (one && resultOf(one) === 'store_full') throw noRoomForData();
    if (one && resultOf(one) === 'verb_missing') throw verbMissing('push');
    if (one?.code === SETTLED.notLeased)
      throw verb === 'revoke' ? new NotLeasedError(one.state) : hasEnded(one.state);
    const result = one === undefined ? 'not_found' : resultOf(one);
    if (one === undefined || result === 'not_found') throw jobNotFound(id);
    if (result === 'lease_lost') {
      this.observer.staleAck(namespace, 'refused');
      throw new LeaseLostError(
        /* guard: lost-call-shows-state */ /* guard: lost-lease-shows-state */ one.state,
        one.facts['reason'] === 'revoked' ? { reason: 'revoked' } : {},
      );
    }
    return one;
  }
}

function hasEnded(state: string | null): QueueError {
  return new QueueError('job_done', `the job is ${state ?? 'done'}: it cannot be failed`);
}

/** The JSON of a value; what was written before is not written again. */
function textOf(value: unknown): string {
  return value instanceof JsonText ? value.text : jsonOf(value);
}

function joined(data: Buffer | undefined, rest: Buffer | undefined): Buffer | undefined {
  return data && rest ? Buffer.concat([data, rest]) : (data ?? rest);
}

function resultOf({ code, facts }: Settled): LeaseOperationResult {
  if (code === SETTLED.refused)
    return REFUSALS.find((one) => one === facts['refused']) ?? 'too_many_dependencies';
  if (code === SETTLED.missing) return 'not_found';
  return code === SETTLED.lost ? 'lease_lost' : 'done';
}

/** A job that is gone after such an operation was cancelled: nothing else ends it there. */
function settleOutcomeOf({ state, atMs, facts }: Settled): SettleOutcome {
  return {
    state: state ?? 'cancelled',
    dueAtMs: state === 'scheduled' ? atMs : null,
    triesLeft: Number(facts['tries']),
  };
}
