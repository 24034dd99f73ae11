import type { Durability } from '../../domain/durability.js';
import type { OnceNote, PublishOptions } from '../../domain/job.js';
import { QueueError, UniqueKeyTakenError } from '../../domain/errors.js';
import type { NewRichJob, PublishedJob } from '../../domain/rich-job.js';
import { stateOf } from '../../domain/states.js';
import type { UlidMinter } from '../../domain/ulid.js';
import type { Item } from '../../redis/scripts/script.js';
import { fullPut, fullStates } from '../../redis/scripts/full.js';
import { checkNames } from '../checks.js';
import { decodeId, encodeId } from '../ids.js';
import type { EngineObserver } from '../observer.js';
import { decodeNote, keyReused, nativeNoteOf } from '../notes.js';
import { checkRetry, withIds } from '../publisher.js';
import { NO_QUOTAS, quotaError } from '../quotas.js';
import type { ScriptRunner } from '../script-runner.js';
import type { Arm } from './arm.js';
import type { FullQueues } from './full-queues.js';
import { checkRichJobs } from './checks.js';
import { checkDependencies, packIds } from './dependencies.js';
import { optionsText } from './options.js';

const TAKEN = 1;
const KEY_TAKEN = 5;
/** Not stored: who holds its unique key stands for it. */
const HELD = 6;
const NOTHING = Buffer.alloc(0);
const NO_NOTE: OnceNote = { digest: NOTHING, fingerprint: NOTHING, isNative: true };

/** How a publish of the full lane is to be treated. */
export interface FullPublishOptions extends PublishOptions {
  /** The id of a job whose place the first one takes, if it is in the same queue. */
  readonly replaces?: string;
}

/** Stores jobs of the full lane. */
export class FullPublishing {
  constructor(
    /** Reaches the pool by the path of a durability, or by its own. */
    private readonly runnerOf: (durability?: Durability) => ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly arm: Arm,
    private readonly full: FullQueues,
    private readonly minter: UlidMinter,
    private readonly quotas: string,
    /** How long an idempotency key is remembered, in milliseconds. */
    private readonly idempotencyTtlMs: number,
  ) {}

  /**
   * Stores up to 64 jobs, of any queues of the namespace, all or none.
   *
   * @returns what became of each, in order; the same again for a request that comes again with its `idempotencyKey`
   * @throws {QueueError} `invalid_argument`, `idempotency_key_reused`, `job_exists`, a quota's code, `durability_unavailable`, or the store's own
   * @throws {UnconfirmedError} `not_replicated`, `pool_unavailable`: they may be stored, and are not known to be as durable as asked for
   */
  async publish(
    namespace: string,
    jobs: readonly NewRichJob[],
    options: FullPublishOptions = {},
  ): Promise<readonly PublishedJob[]> {
    const { replaces, durability, retryOf, idempotencyKey } = options;
    checkNames(namespace, ...jobs.map(({ queue }) => queue));
    checkRichJobs(jobs);
    checkDependencies(jobs);
    if (retryOf) checkRetry(retryOf, jobs.length);
    const runner = this.runnerOf(durability);
    const named = retryOf ? jobs.map((job, i) => ({ ...job, id: retryOf[i] ?? '' })) : jobs;
    const ids = named.map(({ id }) => id ?? this.minter.mint(runner.now()));
    const items = named.map((job, i): Item => {
      const id = encodeId(ids[i] ?? '') ?? NOTHING;
      return [optionsText(job), id, job.body, packIds(job.dependsOn ?? [])];
    });
    const quotas = this.quotas === NO_QUOTAS ? NO_QUOTAS : this.quotas + String(jobs.length);
    const note =
      options.note ?? (idempotencyKey === undefined ? NO_NOTE : nativeNoteOf(idempotencyKey, jobs));
    const args = {
      quotas,
      replaces: (replaces === undefined ? null : encodeId(replaces)) ?? NOTHING,
      digest: note.digest,
      fingerprint: note.fingerprint,
      ttl_ms: this.idempotencyTtlMs,
    };
    const { codes, states, nextMs, holders, noted } = await runner
      .run(fullPut, namespace, args, items)
      .catch((error: unknown) => Promise.reject(withIds(error, ids)));
    if (noted === null) throw keyReused();
    if (noted) return decodeNote(noted);
    // All were stored in one step by the attempt before, or none: what is not there any more has been done since.
    if (retryOf && codes.includes(TAKEN)) return ids.map((id) => ({ id, state: 'gone', existing: true }));
    const held = heldBy(codes, holders);
    if (codes.some((code, i) => code === TAKEN && jobs[i]?.id === undefined)) {
      return this.storedBefore(
        namespace,
        ids.map((id, i) => ({ id: held[i] ?? id, existing: held[i] !== undefined })),
      );
    }
    const refused = codes.findIndex((code) => code !== 0 && code !== HELD);
    if (refused >= 0) throw refusalOf(codes[refused] ?? 0, held[refused]);
    this.report(
      namespace,
      jobs.filter((_job, i) => codes[i] === 0),
      nextMs,
    );
    return ids.map((id, i) => {
      return { id: held[i] ?? id, state: stateOrGone(Number(states[i])), existing: held[i] !== undefined };
    });
  }

  /** A script whose answer was lost was sent again, and finds the ids that it was given to be in use. */
  private async storedBefore(
    namespace: string,
    jobs: readonly Pick<PublishedJob, 'id' | 'existing'>[],
  ): Promise<PublishedJob[]> {
    const items = jobs.map(({ id }): Item => [encodeId(id) ?? NOTHING]);
    const { codes } = await this.runnerOf().run(fullStates, namespace, {}, items);
    return jobs.map((job, i) => ({ ...job, state: stateOrGone(codes[i]) }));
  }

  private report(namespace: string, jobs: readonly NewRichJob[], nextMs: number): void {
    this.full.add(
      namespace,
      jobs.map(({ queue }) => queue),
    );
    this.arm(namespace, nextMs);
    for (const { queue, delayMs = 0, dueMs = 0 } of jobs) {
      this.observer.published(namespace, queue, 1, delayMs > 0 || dueMs > 0 ? 1 : 0);
    }
  }
}

function stateOrGone(code = 0): PublishedJob['state'] {
  return code === 0 ? 'gone' : stateOf(code);
}

/** By item, who holds its unique key; undefined = the item itself. */
function heldBy(codes: readonly number[], holders: readonly Buffer[]): (string | undefined)[] {
  let at = 0;
  return codes.map((code) =>
    code === KEY_TAKEN || code === HELD ? decodeId(holders[at++] ?? NOTHING) : undefined,
  );
}

function refusalOf(code: number, holder = ''): Error {
  if (code === KEY_TAKEN) return new UniqueKeyTakenError(`job ${holder} holds the unique key`, holder);
  if (code === TAKEN) return new QueueError('job_exists', 'a job with this id exists');
  return quotaError(code) ?? new QueueError('internal', `full_put answered ${String(code)}`);
}
