import { jobNotFound, QueueError } from '../../domain/errors.js';
import type { Completion, GivenUp, HeartbeatNews, LeaseRef, Release } from '../../domain/rich-job.js';
import type { EngineObserver } from '../observer.js';
import { checkNumberOf, packIds } from './dependencies.js';
import { queueOf, ranOf, type Settled, SETTLED, type Settling, type Verb } from './settling.js';
import type { FullQueues } from './full-queues.js';

/**
 * How what an owner of a lease said ended: `lease_lost` = the lease is not the job's present one. The last two are of what it was to wait
 * for next. Nothing has changed but for `done`.
 */
export type OwnerResult = 'done' | 'not_found' | 'lease_lost' | 'dependency_cycle' | 'too_many_dependencies';

/** Where a job is after its owner let go of it. */
export interface LetGo {
  readonly state: 'ready' | 'scheduled' | 'dead' | 'blocked' | 'cancelled';
  /** When it is due, Unix ms; null = it is not scheduled. */
  readonly dueAtMs: number | null;
}

const ELSEWHERE = ['scheduled', 'dead', 'blocked', 'cancelled'] as const;

/** What consumers do with the jobs that they have leased. The lease's number proves whose it is. */
export class Owners {
  constructor(
    private readonly settling: Settling,
    private readonly observer: EngineObserver,
    private readonly full: FullQueues,
  ) {}

  /**
   * The work is done: each job goes, is kept with its result for its retention, or moves on to its next queue.
   *
   * @returns what became of each, in order
   * @throws {QueueError} the store's own
   */
  async complete(namespace: string, completions: readonly Completion[]): Promise<OwnerResult[]> {
    for (const { next } of completions) checkNumberOf(next?.dependsOn ?? [], 'next.dependsOn');
    const settled = await this.settling.say(
      namespace,
      completions.map(({ id, lease, queue, result, next, retentionMs }) => ({
        verb: 'ack',
        id,
        lease,
        options: {
          queue,
          has_result: result !== undefined,
          rtype: result?.contentType,
          keep_ms: retentionMs,
          next: next && { queue: next.queue, delay_ms: next.delayMs },
        },
        bytes: next ? packIds(next.dependsOn ?? []) : result?.body,
      })),
    );
    for (const { next } of completions) if (next) this.full.add(namespace, [next.queue]);
    return settled.map((one) => {
      const result = resultOf(one);
      const [queue, ranMs] = [queueOf(one.facts), ranOf(one.facts)];
      if (result === 'done') this.observer.acked(namespace, queue, 0);
      if (result === 'done' && ranMs !== undefined) this.observer.ran(namespace, queue, ranMs);
      if (result === 'lease_lost') this.observer.staleAck(namespace, 'refused');
      return result;
    });
  }

  /**
   * Still at it: the lease lasts from now for `ttrMs`, or for as long as the job says. It is heard until somebody else has the job, even
   * after the lease has run out.
   *
   * @throws {QueueError} `job_not_found`, `lease_lost`
   */
  async heartbeat(
    namespace: string,
    { id, lease }: LeaseRef,
    {
      ttrMs,
      progress,
      data,
    }: { readonly ttrMs?: number; readonly progress?: unknown; readonly data?: Buffer } = {},
  ): Promise<HeartbeatNews> {
    const options = {
      ttr_ms: ttrMs,
      progress: progress === undefined ? undefined : JSON.stringify(progress),
      has_data: data !== undefined,
    };
    const one = await this.sayOne(namespace, 'beat', { id, lease }, options, data);
    return { leaseEndsAtMs: one.atMs, cancelRequested: one.facts['cancel'] === true };
  }

  /** Gives the job back, and the try with it: to the front of its line, or scheduled. @throws as `heartbeat` */
  async release(namespace: string, { id, lease, delayMs }: Release): Promise<LetGo> {
    return letGo(await this.sayOne(namespace, 'release', { id, lease }, { delay_ms: delayMs }));
  }

  /**
   * It went wrong; the try is spent. It is tried again after `delayMs`, or when the job's policy says; or dies.
   *
   * @throws as `heartbeat`
   */
  async retry(namespace: string, { id, lease, group, message, delayMs }: GivenUp): Promise<LetGo> {
    const options = { group, message, delay_ms: delayMs };
    return this.tellGivenUp(namespace, await this.sayOne(namespace, 'retry', { id, lease }, options));
  }

  /** It went wrong for good: to the dead letter at once. @throws as `heartbeat` */
  async fail(namespace: string, { id, lease, group, message }: GivenUp): Promise<LetGo> {
    return this.tellGivenUp(
      namespace,
      await this.sayOne(namespace, 'fail', { id, lease }, { group, message }),
    );
  }

  private tellGivenUp(namespace: string, one: Settled): LetGo {
    const now = letGo(one);
    if (now.state === 'dead') this.observer.failed(namespace, queueOf(one.facts), 1);
    else if (now.state !== 'cancelled') this.observer.retried(namespace, queueOf(one.facts), 1);
    return now;
  }

  private async sayOne(
    namespace: string,
    verb: Verb,
    { id, lease }: LeaseRef,
    options: Readonly<Record<string, unknown>>,
    bytes?: Buffer,
  ): Promise<Settled> {
    const [one] = await this.settling.say(namespace, [{ verb, id, lease, options, bytes }]);
    const result = one === undefined ? 'not_found' : resultOf(one);
    if (one === undefined || result === 'not_found') throw jobNotFound(id);
    if (result === 'lease_lost') {
      this.observer.staleAck(namespace, 'refused');
      throw new QueueError('lease_lost', 'this lease is not the present one of the job');
    }
    return one;
  }
}

function resultOf({ code, facts }: Settled): OwnerResult {
  if (code === SETTLED.refused)
    return facts['refused'] === 'dependency_cycle' ? 'dependency_cycle' : 'too_many_dependencies';
  if (code === SETTLED.missing) return 'not_found';
  return code === SETTLED.lost ? 'lease_lost' : 'done';
}

function letGo({ state, atMs }: Settled): LetGo {
  const now = ELSEWHERE.find((one) => one === state) ?? 'ready';
  return { state: now, dueAtMs: now === 'scheduled' ? atMs : null };
}
