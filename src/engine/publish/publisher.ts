import type { Durability } from '../../domain/durability.js';
import { jobExists, QueueError, UnconfirmedError } from '../../domain/errors.js';
import type { IdempotencyRecord, LeftOut, NewJob, PublishOptions } from '../../domain/job/job.js';
import { JOB_ID_RULE, packUlid, UlidMinter } from '../../domain/ids.js';
import type { Item } from '../../redis/scripts/script.js';
import { publish as publishScript } from '../../redis/scripts/simple.js';
import { type BatchCall, Batcher, type Callbacks, type ScriptRunner } from '../core/scripts.js';
import { checkJobs, checkNames } from '../core/checks.js';
import { encodeId } from '../core/ids.js';
import {
  decodeIdempotencyRecord,
  decodeIds,
  encodeKeyedCalls,
  idempotencyRecordOf,
  type IdempotentRequest,
  isReplay,
  type KeyedCall,
  keyReused,
} from './idempotency-records.js';
import type { EngineObserver } from '../core/observer.js';
import type { EventWriter } from '../events/writer.js';
import { isQuotaCode, type NamespaceQuotas, queueError, type QuotaRefusal } from '../core/quotas.js';

/** Codes of lua/commands/simple/publish.lua. */
const STORED = 0;
const TAKEN = 1;
/** Taken, perhaps by an attempt of the same call whose reply was lost. */
const TAKEN_OR_OURS = -1;
const STORED_BEFORE = 5;
const OTHER_REQUEST = 6;
const CALL_AGAIN = 9;
/** Status of the script if the job to be replaced is an extended one: nothing has changed. */
export const REPLACES_EXTENDED = 3;
/** Status if all went well, and the first job has replaced another one. */
const REPLACED = 4;
/** Approximate size of a job in a batch without its body, in bytes. */
const ITEM_OVERHEAD = 100;
/**
 * Batch weight of each character of a job's tags: a short tag, three commands of Redis, weighs 500 bytes. So the tags of
 * a batch take about a millisecond and a half of Redis at most.
 */
export const TAGS_WEIGHT = 128;
const NOTHING = Buffer.alloc(0);
/** Expiry has 48 bits in the header; a longer ttl is practically unlimited. In milliseconds. */
const LONGEST_TTL_MS = 2 ** 46;
/** Latest due time, Unix ms: it has 48 bits in the list of a far slot. */
const LATEST_MS = 2 ** 48 - 1;

/**
 * The result of an item: its code; of the first item of a call that was stored before with its idempotency key, what
 * the record says, or of one that a quota refused, how much there was.
 */
type Result = number | Buffer | QuotaRefusal;

/** Replaces a job of the queue by one whose id is given. */
export type ReplaceExtended = (
  namespace: string,
  queue: string,
  oldId: string,
  job: NewJob,
  durability: Durability,
) => Promise<unknown>;

/** What all publishers of an engine share. */
export interface PublishSettings {
  readonly quotas: NamespaceQuotas;
  /** How long an idempotency key is kept, in milliseconds. */
  readonly idempotencyTtlMs: number;
  readonly clock: (() => number) | undefined;
  /** Replaces an extended job on the extended path. */
  readonly replaceExtended: ReplaceExtended;
  /** Is called with queues that have an extended job now. */
  readonly rememberExtended: (namespace: string, queues: readonly string[]) => void;
  /** Receives events of stored jobs. */
  readonly events: EventWriter;
  /** Empty if no request of this process waits for a job. */
  readonly waiters: ReadonlyMap<string, unknown>;
  /** Is called when the publish of a job that is ready at once is about to be sent, on the connection of the leases. */
  readonly expectJob: (namespace: string, queue: string) => void;
}

/** What a call adds to a batch. */
interface PublishCall {
  readonly queue: string;
  readonly jobs: readonly NewJob[];
  readonly items: readonly Item[];
  /** See `Batcher.add`. */
  readonly weight: number;
}

/** Stores jobs: one script call per turn of the event loop and namespace. */
export class Publisher {
  private readonly batcher: Batcher<Item, Result, KeyedCall>;
  private readonly options = new OptionsText();

  constructor(
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly scheduleWakeup: (namespace: string, dueMs: number) => void,
    private readonly minter: UlidMinter,
    private readonly settings: PublishSettings,
    /** Unless it is `memory`, errors contain the ids of the jobs, so that the publish can be repeated with them. */
    private readonly durability: Durability,
  ) {
    this.batcher = new Batcher((namespace, items, calls) =>
      this.send(namespace, items, calls).then(({ results }) => results),
    );
  }

  /**
   * Stores one job.
   *
   * @param retryOf see `PublishOptions`
   * @returns its id
   * @throws {QueueError} `invalid_argument`, `job_exists` (for an id that the caller gave), or an error of the store
   */
  publish(namespace: string, queue: string, job: NewJob, retryOf?: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      checkNames(namespace, queue);
      checkJobs([job]);
      const named = /* guard: refused-id-counts-as-stored */ retryOf ? retried(job, retryOf) : job;
      const id = named.id ?? this.minter.mint(this.runner.now());
      const items = [this.itemOf(queue, named, this.bytesOf(named))];
      this.enqueue(
        namespace,
        { queue, jobs: [job], items, weight: weightOf(job) },
        {
          done: (results, first) => {
            const refusal = this.refusalOf(namespace, results[first], job.id);
            if (refusal) reject(refusal);
            else {
              this.report(namespace, queue, [job], [id]);
              resolve(id);
            }
          },
          failed: this.durability !== 'memory' ? (error) => reject(withIds(error, [id])) : reject,
        },
      );
    });
  }

  /**
   * Stores jobs, all or none; mints their ids.
   *
   * @param retryOf see `PublishOptions`
   * @returns their ids in order
   * @throws {QueueError} `invalid_argument` or an error of the store
   */
  publishMany(
    namespace: string,
    queue: string,
    jobs: readonly NewJob[],
    retryOf?: readonly string[],
  ): Promise<string[]> {
    return new Promise((resolve, reject) => {
      checkNames(namespace, queue);
      checkJobs(jobs);
      if (jobs.length === 1 && jobs[0]) {
        this.publish(namespace, queue, jobs[0], retryOf).then((id) => resolve([id]), reject);
        return;
      }
      if (retryOf) checkRetry(retryOf, jobs.length);
      const { ids, items, weight } = this.itemsOf(queue, jobs, retryOf);
      const done = (results: readonly Result[], first: number): void => {
        const refusal = this.refusedBy(namespace, results[first]);
        if (refusal) reject(refusal);
        else {
          this.report(namespace, queue, jobs, ids);
          resolve(ids);
        }
      };
      const failed =
        this.durability !== 'memory' ? (error: unknown): void => reject(withIds(error, ids)) : reject;
      this.enqueue(namespace, { queue, jobs, items, weight }, { done, failed });
    });
  }

  /** Stores a job in place of another one of the queue, which need not exist. @returns its id. @throws as `publish` */
  async republish(
    namespace: string,
    queue: string,
    oldId: string,
    job: NewJob,
    retryOf?: readonly string[],
  ): Promise<string> {
    checkNames(namespace, queue);
    checkJobs([job]);
    const named = retryOf ? retried(job, retryOf) : job;
    const id = named.id ?? this.minter.mint(this.runner.now());
    const item = this.itemOf(queue, named, this.bytesOf(named));
    const { replaceExtended } = this.settings;
    const items = [item];
    const sent = this.send(namespace, items, [{ items, detail: undefined }], encodeId(oldId) ?? NOTHING);
    const { results, status } = await (this.durability !== 'memory'
      ? sent.catch((error: unknown) => Promise.reject(withIds(error, [id])))
      : sent);
    if (status === REPLACES_EXTENDED) {
      await replaceExtended(namespace, queue, oldId, { ...named, id }, this.durability);
      return id;
    }
    const refusal = this.refusalOf(namespace, results[0], job.id);
    if (refusal) throw refusal;
    this.report(namespace, queue, [job], [id], status === REPLACED ? oldId : undefined);
    return id;
  }

  /**
   * Builds the items of one call, with the ids of its jobs, given or minted here, and its approximate size in bytes.
   */
  private itemsOf(
    queue: string,
    jobs: readonly NewJob[],
    retryOf?: readonly string[],
  ): { readonly ids: string[]; readonly items: Item[]; readonly weight: number } {
    const nowMs = this.runner.now();
    const ids: string[] = [];
    const items: Item[] = [];
    let weight = 0;
    for (const job of jobs) {
      const retried = retryOf?.[ids.length];
      const named = retried === undefined ? job : { ...job, id: retried };
      ids.push(named.id ?? this.minter.mint(nowMs));
      items.push(this.itemOf(queue, named, this.bytesOf(named)));
      weight += weightOf(job);
    }
    return { ids, items, weight };
  }

  private async send(
    namespace: string,
    items: readonly Item[],
    calls: readonly BatchCall<Item, KeyedCall>[],
    replaces: Buffer = NOTHING,
  ): Promise<{ readonly results: readonly Result[]; readonly status: number }> {
    const isKeyed = calls.some(({ detail }) => detail !== undefined);
    const args = {
      replaces,
      quotas: this.settings.quotas.textOf(namespace, () => sizesOf(calls)),
      keyed: isKeyed ? encodeKeyedCalls(calls) : NOTHING,
      // guard: publish-sends-call-sizes
      sizes: calls.length === items.length ? '' : sizesOf(calls),
    };
    const { codes, texts, status, isOfRepeat } = await this.runner.run(publishScript, namespace, args, items);
    const results = texts.length > 0 ? withRecords(codes, calls, texts) : codes;
    // guard: lost-publish-is-not-refused
    if (isOfRepeat) return { results: results.map((one) => (one === TAKEN ? TAKEN_OR_OURS : one)), status };
    return { results, status };
  }

  /** The error for the result of a job; undefined = the job is stored. */
  private refusalOf(
    namespace: string,
    result: Result | undefined,
    id: string | undefined,
  ): Error | undefined {
    if (result === STORED) return undefined;
    if (result !== TAKEN && result !== TAKEN_OR_OURS) return this.refusedBy(namespace, result);
    // A minted id that is in use is from a call whose reply was lost, or that was refused: the job is stored.
    if (/* guard: repeated-publish-finds-its-id */ id === undefined) return undefined;
    return result === TAKEN ? taken() : replyLost();
  }

  private refusedBy(namespace: string, result: Result | undefined): Error | undefined {
    if (isRefusal(result)) return this.settings.quotas.errorOf(namespace, result);
    return queueError(Buffer.isBuffer(result) ? STORED_BEFORE : result);
  }

  /** Encodes the job's own id, or the one that was minted last. */
  private bytesOf({ id }: NewJob): Buffer {
    const bytes = id === undefined ? this.minter.lastBytes() : encodeId(id);
    if (!bytes) throw new QueueError('invalid_argument', `a job id ${JOB_ID_RULE}`);
    return bytes;
  }

  private itemOf(queue: string, job: NewJob, id: Buffer): Item {
    return [this.options.of(job.whole?.queue ?? queue, job), id, job.body];
  }

  /**
   * Stores the jobs, all or none, with a record of them; or returns what the same request with this key stored before.
   *
   * @param key an idempotency key, or the record of a native call that has one
   * @returns their ids in order
   * @throws {QueueError} `idempotency_key_reused`: another request has used the key, nothing has changed; or as
   *   `publish`
   */
  async publishOnce(
    namespace: string,
    key: string | IdempotencyRecord,
    request: IdempotentRequest,
    { idempotencyTtlMs: ttlMs = this.settings.idempotencyTtlMs, onReplay }: PublishOptions = {},
  ): Promise<string[]> {
    const { queue, jobs, replaces } = request;
    checkNames(namespace, queue);
    checkJobs(jobs);
    const record = typeof key === 'string' ? idempotencyRecordOf(key, request) : key;
    if (jobs.length === 0) return [];
    const { ids, items, weight } = this.itemsOf(queue, jobs);
    const detail = { record, ttlMs };
    let result: Result | undefined;
    let replaced: string | undefined;
    if (replaces === undefined) {
      do result = await this.sendKeyed(namespace, { queue, jobs, items, weight }, detail);
      while (result === CALL_AGAIN);
    } else {
      const sent = await this.send(namespace, items, [{ items, detail }], encodeId(replaces) ?? NOTHING);
      if (sent.status === REPLACES_EXTENDED) throw replacesExtended();
      [result] = sent.results;
      if (sent.status === REPLACED) replaced = replaces;
    }
    if (Buffer.isBuffer(result)) {
      const stored = idsIn(result, record, jobs.length);
      if (isReplay(jobs, ids, stored)) onReplay?.();
      return stored;
    }
    if (result === OTHER_REQUEST) throw keyReused();
    const [first] = jobs;
    const refusal =
      result === TAKEN && !first?.extended ? taken() : this.refusalOf(namespace, result, first?.id);
    if (refusal) throw refusal;
    this.report(namespace, queue, jobs, ids, replaced);
    return ids;
  }

  private sendKeyed(namespace: string, call: PublishCall, detail: KeyedCall): Promise<Result | undefined> {
    return new Promise((resolve, reject) => {
      const done = (results: readonly Result[], first: number): void => resolve(results[first]);
      this.enqueue(namespace, call, { done, failed: reject }, detail);
    });
  }

  /** Adds a call to the batch of this turn, and announces its jobs. */
  private enqueue(
    namespace: string,
    { queue, jobs, items, weight }: PublishCall,
    callbacks: Callbacks<Result>,
    detail?: KeyedCall,
  ): void {
    this.batcher.add(namespace, items, weight, callbacks, detail);
    const { waiters, expectJob } = this.settings;
    // Durable publishes have a connection of their own: a lease could overtake them.
    if (waiters.size === 0 || this.durability !== 'memory') return;
    for (const job of jobs)
      if (
        /* guard: no-fetch-before-a-job-is-ready */ /* guard: single-waiter-fetches-at-once */ isReadyAtOnce(
          job,
        )
      )
        expectJob(namespace, job.whole?.queue ?? queue);
  }

  /** @param replaced the id of the job that the first one has replaced */
  private report(
    namespace: string,
    queue: string,
    jobs: readonly NewJob[],
    ids: readonly string[],
    replaced?: string,
  ): void {
    if (jobs[0]?.whole !== undefined) {
      jobs.forEach(({ whole, ...job }, i) => {
        this.report(namespace, whole?.queue ?? queue, [job], ids.slice(i, i + 1));
      });
      return;
    }
    const { events, rememberExtended } = this.settings;
    this.count(namespace, queue, jobs);
    if (events.isOn) events.published(namespace, queue, jobs, ids, replaced);
    if (jobs.some(({ extended }) => extended !== undefined)) rememberExtended(namespace, [queue]);
  }

  /** Counts stored jobs, and schedules a pump wake-up for delayed ones. */
  private count(namespace: string, queue: string, jobs: readonly NewJob[]): void {
    let scheduled = 0;
    let firstMs = Number.POSITIVE_INFINITY;
    let nowMs = 0;
    for (const job of jobs) {
      if (isReadyAtOnce(job)) continue;
      const { delayMs, dueMs } = job;
      nowMs ||= this.runner.now();
      if (dueMs !== undefined && dueMs <= nowMs) continue;
      scheduled++;
      firstMs = Math.min(firstMs, dueMs ?? nowMs + delayMs);
    }
    if (scheduled > 0) this.scheduleWakeup(namespace, firstMs);
    this.observer.published(namespace, queue, jobs.length, scheduled);
  }
}

/** Encodes the options of a job, without id and body, as lua/commands/simple/publish.lua reads them. */
class OptionsText {
  private last: { readonly queue: string; readonly job: NewJob; readonly text: Buffer } | undefined;

  /** Returns the same bytes for consecutive jobs with equal options. */
  of(queue: string, job: NewJob): Buffer {
    const { last } = this;
    if (last?.queue === queue && isEqual(last.job, job)) return last.text;
    const { delayMs, dueMs, ttlMs, tries, attributes, extended, id, native, whole } = job;
    const origin =
      (id === undefined ? 1 : 0) +
      (extended ? 4 : 0) +
      (native ? nativeOrigin(native) : 0) +
      (dueMs === undefined ? 0 : 64) +
      (whole ? 128 : 0);
    const wait = dueMs === undefined ? delayMs : Math.min(dueMs, LATEST_MS);
    const more = extended ?? attributes;
    const json = more ? JSON.stringify(more) : '';
    const text = Buffer.from(
      `${String(wait)},${String(Math.min(ttlMs, LONGEST_TTL_MS))},${String(tries)},${String(origin)},${queue},${json}`,
    );
    // Without its body, which may be large.
    this.last = { queue, job: { ...job, body: NOTHING }, text };
    return text;
  }
}

function isEqual(one: NewJob, other: NewJob): boolean {
  return (
    one.delayMs === other.delayMs &&
    one.dueMs === other.dueMs &&
    one.ttlMs === other.ttlMs &&
    one.tries === other.tries &&
    one.native === other.native && // publish-jobs.ts has one object for each combination.
    /* guard: attributes-are-read-for-each-job */ one.attributes === undefined &&
    /* guard: attributes-are-read-for-each-job */ other.attributes === undefined &&
    one.extended === undefined &&
    other.extended === undefined &&
    (one.id === undefined) === (other.id === undefined) &&
    (one.whole === undefined) === (other.whole === undefined)
  );
}

/** The part of a job's origin that says what the defaults of its queue apply to. */
function nativeOrigin({ ttl, tries, retention }: LeftOut): number {
  return 2 + (ttl ? 8 : 0) + (tries ? 16 : 0) + (retention ? 0 : 32);
}

function isReadyAtOnce({ delayMs, dueMs }: NewJob): boolean {
  return delayMs === 0 && dueMs === undefined;
}

function weightOf({ body, extended }: NewJob): number {
  return body.length + ITEM_OVERHEAD + (extended?.['tags'] ?? '').length * TAGS_WEIGHT;
}

function isRefusal(result: Result | undefined): result is QuotaRefusal {
  return typeof result === 'object' && !Buffer.isBuffer(result);
}

/**
 * The results of a batch. In the place of the first code of a call: the record of one that was stored before, and how much there was for
 * one that a quota refused. Texts have the records, then the numbers.
 */
function withRecords(
  codes: readonly number[],
  calls: readonly BatchCall<Item, KeyedCall>[],
  records: readonly Buffer[],
): Result[] {
  const results: Result[] = [...codes];
  const found = records.values();
  let first = 0;
  for (const { items } of calls) {
    if (codes[first] === STORED_BEFORE) results[first] = found.next().value ?? NOTHING;
    first += items.length;
  }
  first = 0;
  for (const { items } of calls) {
    const code = codes[first] ?? 0;
    if (isQuotaCode(code)) results[first] = { code, present: Number(found.next().value ?? 0) };
    first += items.length;
  }
  return results;
}

function idsIn(bytes: Buffer, { isNative }: IdempotencyRecord, count: number): string[] {
  return isNative ? decodeIdempotencyRecord(bytes).map(({ id }) => id) : decodeIds(bytes, count);
}

function replacesExtended(): QueueError {
  return new QueueError(
    'invalid_argument',
    'a job of the native API is not replaced under an idempotency key',
  );
}

/** Whose job it is, is not known: the caller may look, or repeat the call. */
export function replyLost(): QueueError {
  return new QueueError(
    'pool_unavailable',
    'the connection to Redis was lost during the call: it may have been done',
  );
}

export function taken(): QueueError {
  return jobExists();
}

function sizesOf(calls: readonly { readonly items: readonly Item[] }[]): string {
  return calls.map(({ items }) => items.length).join();
}

/** The job with the id of an earlier attempt that was refused. */
function retried(job: NewJob, retryOf: readonly string[]): NewJob {
  checkRetry(retryOf, 1);
  return { ...job, id: retryOf[0] ?? '' };
}

/** @throws {QueueError} `invalid_argument`: not one id per job, or an id that we did not mint */
export function checkRetry(ids: readonly string[], jobs: number): void {
  if (ids.length !== jobs || new Set(ids).size !== jobs || ids.some((id) => packUlid(id) === null)) {
    throw new QueueError(
      'invalid_argument',
      'retryOf has one id for each job, as the refused attempt gave them',
    );
  }
}

/** Adds the ids of the jobs to an error after which the jobs may be stored. */
export function withIds(error: unknown, ids: readonly string[]): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const isOpen =
    error instanceof QueueError && (error.code === 'not_replicated' || error.code === 'pool_unavailable');
  return isOpen ? new UnconfirmedError(error, ids, { cause: error }) : error;
}
