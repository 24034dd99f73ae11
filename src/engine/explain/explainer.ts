import type { LoopStatus } from '../../domain/loop.js';
import { explainJob, explainQueue, explainRecurring } from '../../redis/scripts/extended.js';
import { checkNames } from '../core/checks.js';
import { textsOf } from '../core/flat-lists.js';
import { encodeId } from '../core/ids.js';
import type { ScriptRunner } from '../core/scripts.js';
import { detailsOf } from '../jobs/job-reader.js';
import type { RequestedQueues } from '../queues/requested-queues.js';
import { recurringsOf } from '../recurring/recurring-fields.js';
import {
  deadDependenciesOf,
  dependenciesOf,
  endOf,
  frontOf,
  listOf,
  originOf,
  type Parts,
  queueOf,
  slotsOf,
  textOf,
  turnOf,
  timeOf,
} from './parts.js';
import type { JobEnd, JobReasons, QueueReasons, RecurringReasons } from './reasons.js';

/** Jobs in front of a ready job that are counted exactly. */
export const MOST_COUNTED = 1_000;

/** Reads why jobs do not run: each answer is one script call, which changes nothing. */
export class Explainer {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly requested: Pick<RequestedQueues, 'seenAtMs'>,
    private readonly pump: { loops(): LoopStatus[] },
  ) {}

  /** What decides when a job runs, or how a tracked one ended that is gone; null if there is neither. */
  async job(namespace: string, id: string): Promise<JobReasons | JobEnd | null> {
    checkNames(namespace);
    const encoded = encodeId(id);
    if (!encoded) return null;
    const args = { id: encoded, most: MOST_COUNTED };
    const { parts, nowMs } = await this.runner.run(explainJob, namespace, args, []);
    const job = detailsOf(encoded, listOf(parts.get('job')), nowMs);
    if (job === null) return endOf(id, parts, nowMs);
    const session = textsOf(parts.get('session'));
    return {
      nowMs,
      job,
      queue: this.queueOf(namespace, job.queue, parts, nowMs, true),
      leasedAtMs: timeOf(parts.get('leased_ms')),
      runEndsAtMs: timeOf(parts.get('run_ends_ms')),
      front: frontOf(listOf(parts.get('front'))),
      turn: turnOf(listOf(parts.get('turn'))),
      typeRequestMs: this.newestMs(namespace, job.queue, job.type, timeOf(parts.get('type_request_ms'))),
      isTypeAwaited: Number(textOf(parts.get('type_waits_until_ms'))) > nowMs,
      typedRequestMs:
        Number(textOf(parts.get('typed_waits_until_ms'))) > nowMs
          ? nowMs
          : timeOf(parts.get('typed_request_ms')),
      slots: slotsOf(listOf(parts.get('slots'))),
      heldBefore: Number(parts.get('held_before') ?? 0),
      keyRateAtMs: timeOf(parts.get('key_rate_ms')),
      dependencies: dependenciesOf(listOf(parts.get('needs'))),
      deadDependencies: deadDependenciesOf(listOf(parts.get('dead'))),
      isStuck: Object.keys(job.failedDependencies).length > 0,
      hiddenDependencies: 0,
      origin: originOf(
        listOf(parts.get('origin')).map(textOf),
        listOf(parts.get('target')).map(textOf),
        nowMs,
      ),
      session: session.has('at')
        ? { heartbeatAtMs: Number(session.get('at')), ttrMs: Number(session.get('ttr')) }
        : null,
      loops: this.pump.loops(),
    };
  }

  /** What decides whether a queue gives jobs. */
  async queue(namespace: string, queue: string): Promise<QueueReasons> {
    checkNames(namespace, queue);
    const { parts, nowMs } = await this.runner.run(explainQueue, namespace, { queue }, []);
    return this.queueOf(namespace, queue, parts, nowMs, textOf(parts.get('exists')) === '1');
  }

  /** What decides when a recurring job makes its next job; null if there is none. */
  async recurring(namespace: string, id: string): Promise<RecurringReasons | null> {
    checkNames(namespace);
    const { parts, nowMs } = await this.runner.run(explainRecurring, namespace, { id }, []);
    const [known] = recurringsOf(listOf(parts.get('recurring')));
    if (known === undefined) return null;
    const { recurring } = known;
    return {
      nowMs,
      recurring,
      queue: this.queueOf(namespace, recurring.template.queue, parts, nowMs, parts.has('settings')),
    };
  }

  /** When a lease request took jobs of a type last: as Redis knows it, or this process. */
  private newestMs(
    namespace: string,
    queue: string,
    type: string | null,
    storedMs: number | null,
  ): number | null {
    return Math.max(this.requested.seenAtMs(namespace, queue, type), storedMs ?? 0) || null;
  }

  /** What Redis knows of a queue, and the lease requests to this process that Redis does not know yet. */
  private queueOf(
    namespace: string,
    queue: string,
    parts: Parts,
    nowMs: number,
    exists: boolean,
  ): QueueReasons {
    const stored = queueOf(queue, parts, nowMs, exists);
    const types = stored.types.map((one) => ({
      ...one,
      lastRequestAtMs: this.newestMs(namespace, queue, one.type, one.lastRequestAtMs),
    }));
    const known = { ...stored, types };
    const seenAtMs = this.requested.seenAtMs(namespace, queue);
    const isNewer = seenAtMs > (known.lastRequest?.atMs ?? 0);
    if (!isNewer) return known;
    return { ...known, lastRequest: { queue, atMs: seenAtMs, worker: known.lastRequest?.worker ?? null } };
  }
}
