import type {
  Ack,
  AckStatus,
  EndedJob,
  FailureReport,
  HeartbeatAnswer,
  HeartbeatCall,
  JobDriver,
  LeasedJob,
  LeaseRef,
  LeaseRequest,
  NewJob,
  PublishCall,
  PublishedJob,
  ReleaseOptions,
  SessionAnswer,
  SessionHeartbeat,
} from '@pumphouse/client';
import { isPumphouseError, PumphouseError } from '@pumphouse/client';
import { DURABILITY_RULE, type Durability, isDurability } from '#src/domain/durability';
import { QueueError } from '#src/domain/errors';
import { MAX_TIMER_MS } from '#src/domain/limits';
import { isJobId, isQueueName, JOB_ID_RULE } from '#src/domain/ids';
import type { LeasedJob as EngineJob, Receipt } from '#src/domain/job/job';
import type { ExtendedAck } from '#src/domain/job/extended-job';
import type { Engine } from '#src/engine/engine';
import { ackEach } from '#src/engine/settle/ack-each';
import { failureOf } from './answers.js';
import { call, repeat } from './calls.js';
import { EngineLeasedJob } from './leased-job.js';
import { engineJobOf } from './new-job.js';
import { encodedData, readData } from './payload.js';

/** How long a job is kept after the wait for it, so that its end can still be read; as over HTTP. */
const KEPT_LONGER_MS = 60_000;

/** The engine in this process: Redis alone, no server. */
export class EngineDriver implements JobDriver {
  constructor(
    private readonly engine: Engine,
    private readonly namespace: string,
  ) {}

  publish(jobs: readonly NewJob[], options: PublishCall): Promise<readonly PublishedJob[]> {
    const { idempotencyKey, idempotencyTtlMs, isOwnKey, signal } = options;
    const { jobs: stored } = this.engine;
    return repeat(async (attempt) => {
      const durability = durabilityOf(options.durability);
      let replayed = false;
      const published = await stored.publish(this.namespace, jobs.map(engineJobOf), {
        idempotencyKey,
        ...(idempotencyTtlMs === undefined ? {} : { idempotencyTtlMs }),
        ...(durability === undefined ? {} : { durability }),
        // A key of the library's own can be known from an earlier attempt only: then this call has stored the jobs.
        onReplay: () => (replayed = attempt === 1 || isOwnKey !== true),
      });
      return published.map((job) => ({ ...job, replayed }));
    }, signal);
  }

  async publishAndWait(job: NewJob, options: PublishCall & { readonly waitMs: number }): Promise<EndedJob> {
    const { signal = new AbortController().signal } = options;
    const waitMs = Math.min(Math.max(Math.round(options.waitMs) || 0, 0), MAX_TIMER_MS);
    const retentionMs = Math.max(job.retentionMs ?? 0, waitMs + KEPT_LONGER_MS);
    const [published] = await this.publish([{ ...job, retentionMs }], options);
    const { id, existing, replayed } = published as PublishedJob;
    const endMs = performance.now() + waitMs;
    const found = await repeat(() => {
      const leftMs = Math.max(endMs - performance.now(), 0);
      return this.engine.jobs.waitForEnd(this.namespace, id, leftMs, signal);
    }, signal);
    const result = found?.result;
    return {
      ...{ id, existing, replayed, state: found?.state ?? null },
      result: result ? readData(result.body, result.contentType).value : undefined,
      failure: found?.failure ? failureOf(found.failure) : null,
    };
  }

  /**
   * Calls that confirm the jobs of a lease request one by one: when they have begun, or were given back before.
   */
  private readonly handed = new WeakMap<
    LeaseRef,
    { readonly job: EngineJob; readonly arrived: () => void }
  >();

  /** The engine takes back what it has leased for a signal that is aborted by then. */
  async lease(request: LeaseRequest): Promise<readonly LeasedJob[]> {
    const { queues, order, types, count, waitMs, lingerMs, min = count, ttrMs, worker, signal } = request;
    const jobs = await call(() =>
      this.engine.lease(this.namespace, {
        ...{ queues, count, waitMs, ttrMs, signal, confirms: true },
        ...(lingerMs === undefined ? {} : { linger: { ms: lingerMs, min } }),
        ...(types === undefined ? {} : { types }),
        ...(worker === undefined ? {} : { worker }),
        ...(order === 'round_robin' ? { inTurns: true } : {}),
      }),
    );
    const left = new Map<Receipt | undefined, number>();
    for (const { receipt } of jobs) left.set(receipt, (left.get(receipt) ?? 0) + 1);
    return jobs.map((job) => {
      const { receipt } = job;
      const arrived = (): void => {
        const others = (left.get(receipt) ?? 1) - 1;
        left.set(receipt, others);
        if (others === 0) receipt?.arrived();
      };
      const leased = new EngineLeasedJob(job);
      this.handed.set(leased, { job, arrived });
      return leased;
    });
  }

  /** Its lease is taken out of the delivery log. */
  async begin(job: LeasedJob): Promise<void> {
    const handed = this.handed.get(job);
    if (handed === undefined) return;
    // guard: handler-uses-try
    await call(() => this.engine.begin(this.namespace, handed.job));
    this.confirm(job);
  }

  private confirm(lease: LeaseRef): void {
    this.handed.get(lease)?.arrived();
    this.handed.delete(lease);
  }

  async heartbeatSession({
    session,
    info: { startedAt, ...info },
    leases,
    jobsAtHand,
    ttrMs,
    timeoutMs,
  }: SessionHeartbeat): Promise<SessionAnswer> {
    const heartbeat = call(() =>
      this.engine.sessions.heartbeat(this.namespace, session, {
        ttrMs,
        leases: leases.map(({ id, lease }) => ({ id, lease })),
        ...(jobsAtHand === undefined ? {} : { jobsAtHand }),
        info: { ...info, startedAtMs: startedAt.getTime() },
      }),
    );
    const { jobs, quiet, stop } = await within(heartbeat, timeoutMs);
    return {
      leases: jobs.map(({ status, cancelRequested }) => ({ status, cancelRequested })),
      ...{ quiet, stop },
    };
  }

  async endSession(session: string): Promise<void> {
    await call(() => this.engine.sessions.deregister(this.namespace, session));
  }

  async heartbeat({ id, lease }: LeaseRef, options: HeartbeatCall): Promise<HeartbeatAnswer> {
    const { ttrMs, timeoutMs, progress, begin } = options;
    const limit = begin?.maxRunMs === undefined ? {} : { maxRunMs: begin.maxRunMs };
    const heartbeat = call(() =>
      this.engine.settle.heartbeat(
        this.namespace,
        { id, lease },
        { ...{ ttrMs, progress }, ...(begin && { begin: true, ...limit }) },
      ),
    );
    const { cancelRequested } = await within(heartbeat, timeoutMs);
    return { cancelRequested };
  }

  async ack(acks: readonly Ack[]): Promise<readonly AckStatus[]> {
    return call(async () => ackEach(this.engine, this.namespace, acks.map(extendedAckOf)));
  }

  async release(ref: LeaseRef, { delayMs, reason, worker }: ReleaseOptions): Promise<void> {
    const { id, lease } = ref;
    const release = {
      ...{ id, lease },
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(reason === undefined ? {} : { reason }),
      ...(worker === undefined ? {} : { worker }),
    };
    await settle(() => this.engine.settle.release(this.namespace, release));
    this.confirm(ref);
  }

  retry(
    { id, lease }: LeaseRef,
    { group, message, delayMs }: FailureReport & { readonly delayMs?: number | undefined },
  ): Promise<void> {
    const failure = { id, lease, group, message, ...(delayMs === undefined ? {} : { delayMs }) };
    return settle(() => this.engine.settle.retry(this.namespace, failure));
  }

  fail({ id, lease }: LeaseRef, { group, message }: FailureReport): Promise<void> {
    return settle(() => this.engine.settle.fail(this.namespace, { id, lease, group, message }));
  }

  /** A line that stands there twice does less harm than one that is missing. */
  log(id: string, message: string, data?: unknown): Promise<void> {
    return repeat(() => this.engine.jobs.log(this.namespace, id, message, data));
  }
}

async function settle(operation: () => Promise<unknown>): Promise<void> {
  let attempts = 0;
  try {
    await repeat((attempt) => {
      attempts = attempt;
      return operation();
    });
  } catch (error) {
    // An earlier attempt, whose answer was lost, has ended the lease.
    if (isPumphouseError(error, 'lease_lost', 'job_not_found') && attempts > 1) return;
    throw error;
  }
}

async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => {
        reject(
          new PumphouseError('timeout', `no answer within ${String(timeoutMs)} ms`, { retryable: true }),
        );
      },
      Math.min(timeoutMs, MAX_TIMER_MS),
    );
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function extendedAckOf({ queue, id, lease, ...outcome }: Ack): ExtendedAck {
  return { queue, id, lease, ...(hasOutcome(outcome) ? { outcome: outcomeOf(outcome) } : {}) };
}

type Outcome = Pick<Ack, 'result' | 'next' | 'data'>;

function hasOutcome({ result, next, data }: Outcome): boolean {
  return result !== undefined || next !== undefined || data !== undefined;
}

function outcomeOf({ result, next, data }: Outcome): NonNullable<ExtendedAck['outcome']> {
  const stored = result && encodedData(result);
  const { delayMs, dependsOn, onMissingDependency } = next ?? {};
  if (next !== undefined && /* guard: next-queue-has-a-legal-name */ !isQueueName(next.queue))
    throw new QueueError('invalid_argument', `next: ${JSON.stringify(next.queue)} is no name of a queue`);
  if (dependsOn?.every(isJobId) === false)
    throw new QueueError('invalid_argument', `next: dependsOn: an id ${JOB_ID_RULE}`);
  return {
    ...(stored ? { result: { contentType: 'application/json', ...stored } } : {}),
    ...(data ? { data: encodedData(data) } : {}),
    ...(next
      ? {
          next: {
            queue: next.queue,
            ...(delayMs === undefined ? {} : { delayMs }),
            ...(dependsOn === undefined ? {} : { dependsOn }),
            ...(onMissingDependency === undefined ? {} : { onMissingDependency }),
          },
        }
      : {}),
  };
}

/** @throws {QueueError} `invalid_argument` */
function durabilityOf(text: string | undefined): Durability | undefined {
  if (text === undefined || isDurability(text)) return text;
  throw new QueueError('invalid_argument', `durability ${DURABILITY_RULE}`);
}
