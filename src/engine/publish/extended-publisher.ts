import type { Durability } from '../../domain/durability.js';
import type { IdempotencyRecord, PublishOptions } from '../../domain/job/job.js';
import { jobExists, QueueError, UniqueKeyTakenError } from '../../domain/errors.js';
import { verbMissing } from '../../domain/rights.js';
import type { NewExtendedJob } from '../../contract/job/extended-job.js';
import type { PublishedJob } from '../../domain/job/extended-job.js';
import { stateOf } from '../../domain/job/states.js';
import type { UlidMinter } from '../../domain/ids.js';
import type { Item } from '../../redis/scripts/script.js';
import { extendedPublish, readStates } from '../../redis/scripts/extended.js';
import { checkNames } from '../core/checks.js';
import { decodeId, encodeId } from '../core/ids.js';
import type { EngineObserver } from '../core/observer.js';
import {
  decodeIdempotencyRecord,
  isReplay,
  keyReused,
  nativeIdempotencyRecordOf,
} from './idempotency-records.js';
import { checkRetry, replyLost, TAGS_WEIGHT, withIds } from './publisher.js';
import { ALONE, type PublishReply, SharedPublishes } from './shared-publishes.js';
import { isQuotaCode, type NamespaceQuotas, queueError } from '../core/quotas.js';
import { type ScriptRunner, weightOfOne } from '../core/scripts.js';
import type { ScheduleWakeup } from '../timers/schedule-wakeup.js';
import type { ExtendedQueues } from '../queues/extended-queues.js';
import { checkExtendedJobs } from './extended-checks.js';
import {
  checkDependencies,
  dependenciesOf,
  DEPENDENCY_WEIGHT,
  missingDependencies,
  missingOf,
  packIds,
} from './dependencies.js';
import { type InPlace, optionsText } from './extended-options.js';

const TAKEN = 1;
const LEASED = 8;
const HAS_DEPENDENTS = 9;
const MAY_NOT_PUSH = 11;
const MISSING_DEPENDENCY = 12;
const KEY_TAKEN = 5;
/** Not stored: the result is the job that holds its unique key. */
const HELD = 6;
const NOTHING = Buffer.alloc(0);
/** Approximate size of a job in a batch without its body, in bytes. */
const JOB_WEIGHT = 500;
/** A script gives so many held jobs a slot (`calls_left` of lua/modules/limits/held_jobs.lua): as `DEPENDENCY_WEIGHT`. */
const KEY_WEIGHT = /* guard: shared-publish-calls-all */ weightOfOne(24);

/** Options of a publish on the extended path. */
export interface ExtendedPublishOptions extends PublishOptions {
  /** Id of a job that the first new job replaces, if it is in the same queue. */
  readonly replaces?: string;
  /** For one job with a chosen id. */
  readonly inPlace?: InPlace;
}

/** Result of a publish in place of a job. */
export interface PutJob extends PublishedJob {
  readonly isReplaced: boolean;
}

/** Stores jobs on the extended path. */
export class ExtendedPublisher {
  private readonly shared = new SharedPublishes((namespace, jobs) => this.argsFor(namespace, jobs));

  constructor(
    /** Runner with the connection path of a durability, or with the pool's own path. */
    private readonly runnerOf: (durability?: Durability) => ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly scheduleWakeup: ScheduleWakeup,
    private readonly queues: ExtendedQueues,
    private readonly minter: UlidMinter,
    private readonly quotas: NamespaceQuotas,
    /** How long an idempotency key is kept, in milliseconds. */
    private readonly idempotencyTtlMs: number,
  ) {}

  private argsFor(namespace: string, jobs: number): { readonly quotas: string } {
    return { quotas: this.quotas.textOf(namespace, () => String(jobs)) };
  }

  /** Redis's time, Unix ms. */
  get nowMs(): number {
    return this.runnerOf().now();
  }

  /**
   * Stores up to 64 jobs, of any queues of the namespace, all or none.
   *
   * @returns the result of each, in order; the same again for a repeated request with the same `idempotencyKey`
   * @throws {QueueError} `invalid_argument`, `idempotency_key_reused`, `job_exists`, `missing_dependency`, a quota's code,
   *   `durability_unavailable`, or an error of the store
   * @throws {UnconfirmedError} `not_replicated`, `pool_unavailable`: the jobs may be stored, but perhaps not with the
   *   durability that was requested
   */
  async publish(
    namespace: string,
    jobs: readonly NewExtendedJob[],
    options: ExtendedPublishOptions = {},
  ): Promise<readonly PublishedJob[]> {
    const { replaces, durability, retryOf, idempotencyKey, inPlace } = options;
    checkNames(namespace, ...jobs.map(({ queue }) => queue));
    checkExtendedJobs(jobs);
    checkDependencies(jobs);
    if (retryOf) checkRetry(retryOf, jobs.length);
    const runner = this.runnerOf(durability);
    const named = retryOf ? jobs.map((job, i) => ({ ...job, id: retryOf[i] ?? '' })) : jobs;
    const ids = named.map(({ id }) => id ?? this.minter.mint(runner.now()));
    const items = named.map((job, i): Item => {
      const id = encodeId(ids[i] ?? '') ?? NOTHING;
      return [optionsText(job, replaces, inPlace), id, job.body, packIds(job.dependsOn ?? [])];
    });
    const record =
      options.idempotencyRecord ??
      (idempotencyKey === undefined ? undefined : nativeIdempotencyRecordOf(idempotencyKey, jobs));
    const {
      codes,
      states,
      nextMs,
      missing,
      holders,
      idempotencyRecord: storedRecord,
      isOfRepeat,
    } = await this.store(runner, namespace, { jobs, items }, options, record).catch((error: unknown) =>
      Promise.reject(withIds(error, ids)),
    );
    if (storedRecord === null) throw keyReused();
    if (storedRecord) {
      const stored = decodeIdempotencyRecord(storedRecord);
      const storedIds = stored.map(({ id }) => id);
      if (isReplay(named, ids, storedIds)) options.onReplay?.();
      return stored;
    }
    const held = heldBy(codes, holders);
    // The earlier attempt stored all of them atomically, or none; other jobs stood for some.
    if (retryOf && codes.includes(TAKEN))
      return ids.map((id, i) => ({
        id: held[i] ?? id,
        state: stateAtFirst(jobs[i], this),
        existing: /* guard: retried-stand-in-is-named */ held[i] !== undefined,
      }));
    if (codes.some((code, i) => code === TAKEN && jobs[i]?.id === undefined)) {
      return this.storedBefore(
        namespace,
        ids.map((id, i) => ({ id: held[i] ?? id, existing: held[i] !== undefined })),
      );
    }
    const refused = codes.findIndex((code) => code !== 0 && code !== HELD);
    // What refuses it may be the job that the first attempt has stored.
    // guard: lost-extended-publish-is-not-refused
    if (isOfRepeat && refused >= 0) throw withIds(replyLost(), ids);
    const missingFor = (i: number): string[] => missingOf(jobs[i]?.dependsOn ?? [], missing[i] ?? '');
    if (codes[refused] === MISSING_DEPENDENCY)
      throw missingDependencies(
        jobs[refused]?.dependsOn ?? [],
        missingFor(refused),
        dependenciesOf(jobs, refused),
      );
    if (refused >= 0) throw this.refusalOf(namespace, codes[refused] ?? 0, held[refused], holders);
    this.report(
      namespace,
      jobs.filter((_job, i) => codes[i] === 0),
      nextMs,
    );
    return ids.map((id, i) => {
      const state = stateOrGone(Number(states[i]));
      // It depends on a job that had failed.
      if (codes[i] === 0 && state === 'dead') this.observer.failed(namespace, jobs[i]?.queue ?? '', 1);
      const existing = held[i] !== undefined;
      const lacks = existing ? [] : missingFor(i);
      const one = {
        id: held[i] ?? id,
        state,
        existing,
        ...(lacks.length > 0 && { missingDependencies: lacks }),
      };
      // Without a code for a held key, a holder is the job that was replaced.
      return inPlace === undefined ? one : { ...one, isReplaced: holders.length > 0 };
    });
  }

  /** Runs the script, with jobs of other calls if it may. */
  private async store(
    runner: ScriptRunner,
    namespace: string,
    { jobs, items }: { readonly jobs: readonly NewExtendedJob[]; readonly items: readonly Item[] },
    { replaces, retryOf, inPlace, idempotencyTtlMs = this.idempotencyTtlMs }: ExtendedPublishOptions,
    record: IdempotencyRecord | undefined,
  ): Promise<PublishReply> {
    const isAlone = [replaces, retryOf, inPlace, record].some((one) => one !== undefined);
    let isOfRepeat = false;
    if (!isAlone && jobs.every(mayShare)) {
      const shared = await this.shared.store(runner, namespace, items, weightOf(jobs));
      if (shared.codes.length > 0) return shared;
      ({ isOfRepeat } = shared);
    }
    const reply = await runner.run(
      extendedPublish,
      namespace,
      {
        ...ALONE,
        ...this.argsFor(namespace, jobs.length),
        ...(replaces !== undefined && { replaces: encodeId(replaces) ?? NOTHING }),
        ...(record && { digest: record.digest, fingerprint: record.fingerprint, ttl_ms: idempotencyTtlMs }),
      },
      items,
    );
    return isOfRepeat ? { ...reply, isOfRepeat } : reply;
  }

  /**
   * Stores a job under its id, in one step: in the place of the job that has the id, if that waits, or has ended.
   *
   * @returns as `publish`; `isReplaced`: a job that waited went for it
   * @throws {QueueError} as `publish`. `job_exists`: the job with the id is dead, or may not be replaced; `leased`;
   *   `has_dependents`: others depend on it. `unique_key_taken` whenever another job holds the unique key. Nothing has
   *   changed then
   */
  async put(
    namespace: string,
    job: NewExtendedJob & { readonly id: string },
    inPlace: InPlace = {},
    durability?: Durability,
  ): Promise<PutJob> {
    const options = { inPlace, ...(durability && { durability }) };
    const [published] = await this.publish(namespace, [job], options);
    if (published === undefined) throw new QueueError('internal', 'a publish of one job has no answer');
    return { isReplaced: false, ...published };
  }

  /** @param texts of the script: after the holders of unique keys, how much there was for a call that a quota refuses */
  private refusalOf(
    namespace: string,
    code: number,
    holder: string | undefined,
    texts: readonly Buffer[],
  ): Error {
    if (!isQuotaCode(code)) return refusalOf(code, holder);
    return this.quotas.errorOf(namespace, { code, present: Number(texts.at(-1) ?? 0) });
  }

  /** Result for a script that was sent again after its reply was lost, and found its own ids in use. */
  private async storedBefore(
    namespace: string,
    jobs: readonly Pick<PublishedJob, 'id' | 'existing'>[],
  ): Promise<PublishedJob[]> {
    const items = jobs.map(({ id }): Item => [encodeId(id) ?? NOTHING]);
    const { codes } = await this.runnerOf().run(readStates, namespace, {}, items);
    return jobs.map((job, i) => ({ ...job, state: stateOrGone(codes[i]) }));
  }

  private report(namespace: string, jobs: readonly NewExtendedJob[], nextMs: number): void {
    this.queues.add(
      namespace,
      jobs.map(({ queue }) => queue),
    );
    this.scheduleWakeup(namespace, nextMs);
    for (const { queue, delayMs = 0, dueMs = 0 } of jobs) {
      this.observer.published(namespace, queue, 1, delayMs > 0 || dueMs > 0 ? 1 : 0);
    }
  }
}

/** The state of a new job, as far as its options tell it. */
export function stateAtFirst(
  job: NewExtendedJob | undefined,
  { nowMs }: { readonly nowMs: number },
): 'blocked' | 'scheduled' | 'ready' {
  if ((job?.dependsOn?.length ?? 0) > 0) return 'blocked';
  const isLater = (job?.delayMs ?? 0) > 0 || (job?.dueMs !== undefined && job.dueMs > nowMs);
  return isLater ? 'scheduled' : 'ready';
}

/**
 * Whether the script of a job may have jobs of other calls. One with a unique key may stand for one of another call. Jobs
 * whose ids were chosen could depend on one another in a cycle, which no two calls make one after the other.
 */
function mayShare({ unique, id, dependsOn = [] }: NewExtendedJob): boolean {
  return (
    unique === undefined &&
    /* guard: shared-publish-makes-no-cycle */ (id === undefined || dependsOn.length === 0)
  );
}

function weightOf(jobs: readonly NewExtendedJob[]): number {
  let weight = 0;
  for (const { body, tags, dependsOn = [], concurrencyKey } of jobs)
    weight +=
      body.length +
      JOB_WEIGHT +
      dependsOn.length * DEPENDENCY_WEIGHT +
      (concurrencyKey === undefined ? 0 : KEY_WEIGHT) +
      (tags?.join().length ?? 0) * TAGS_WEIGHT;
  return weight;
}

function stateOrGone(code = 0): PublishedJob['state'] {
  return code === 0 ? 'gone' : stateOf(code);
}

/** For each item the id of the job that holds its unique key; undefined = the item itself. */
function heldBy(codes: readonly number[], holders: readonly Buffer[]): (string | undefined)[] {
  let at = 0;
  return codes.map((code) =>
    code === KEY_TAKEN || code === HELD ? decodeId(holders[at++] ?? NOTHING) : undefined,
  );
}

function refusalOf(code: number, holder = ''): Error {
  if (code === KEY_TAKEN) return new UniqueKeyTakenError(`job ${holder} holds the unique key`, holder);
  if (code === TAKEN) return jobExists();
  if (code === LEASED) return new QueueError('leased', 'the job is leased: it cannot be replaced');
  if (code === MAY_NOT_PUSH) return verbMissing('push');
  if (code === HAS_DEPENDENTS)
    return new QueueError('has_dependents', 'other jobs depend on it: change it, or cancel them first');
  return (
    queueError(code) ??
    new QueueError('internal', `${extendedPublish.label}: the reply has an unknown code, ${String(code)}`)
  );
}
