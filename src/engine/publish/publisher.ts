import type { Durability } from '../../domain/durability.js';
import { QueueError, UnconfirmedError } from '../../domain/errors.js';
import type { NewJob } from '../../domain/job.js';
import { JOB_ID_RULE, packUlid, UlidMinter } from '../../domain/ids.js';
import type { Item } from '../../redis/scripts/script.js';
import { publish as publishScript } from '../../redis/scripts/simple.js';
import { Batcher, type ScriptRunner } from '../core/scripts.js';
import { checkJobs, checkNames } from '../core/checks.js';
import type { EventWriter } from '../events/writer.js';
import { encodeId } from '../core/ids.js';
import type { IdempotentRequest } from './idempotency-records.js';
import type { EngineObserver } from '../core/observer.js';
import { NO_QUOTAS, quotaError } from './quotas.js';

const STORED = 0;
const TAKEN = 1;
/** Status of the script if the job to be replaced is an extended one: nothing has changed. */
export const REPLACES_EXTENDED = 3;
/** Approximate size of a job in a batch without its body, in bytes. */
const ITEM_OVERHEAD = 100;
const NOTHING = Buffer.alloc(0);
/** Expiry has 48 bits in the header; a longer ttl is practically unlimited. In milliseconds. */
const LONGEST_TTL_MS = 2 ** 46;

/** Replaces the codes of a script that returned `REPLACES_RICH`. */
const ALL_EXTENDED: readonly number[] = [];

/** Replaces a job of the queue by one whose id is given. */
export type ReplaceExtended = (
  namespace: string,
  queue: string,
  oldId: string,
  job: NewJob,
  durability: Durability,
) => Promise<unknown>;

/** Stores jobs: one script call per turn of the event loop and namespace. */
export class Publisher {
  private readonly batcher: Batcher<Item, number>;
  private readonly options = new OptionsText();

  constructor(
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly scheduleWakeup: (namespace: string, dueMs: number) => void,
    private readonly minter: UlidMinter,
    /** As `quotasText` returns them. */
    private readonly quotas: string,
    /** Replaces an extended job on the extended path. */
    private readonly replaceExtended: ReplaceExtended,
    /** Unless it is `memory`, errors contain the ids of the jobs, so that the publish can be repeated with them. */
    private readonly durability: Durability,
    private readonly events: EventWriter,
  ) {
    this.batcher = new Batcher((namespace, items, calls) =>
      this.send(namespace, items, this.quotas === NO_QUOTAS ? NO_QUOTAS : this.quotas + sizesOf(calls)),
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
      const named = retryOf ? retried(job, retryOf) : job;
      const id = named.id ?? this.minter.mint(this.runner.now());
      const item = this.itemOf(queue, named, this.bytesOf(named));
      this.batcher.add(namespace, [item], job.body.length + ITEM_OVERHEAD, {
        done: (codes, first) => {
          const refusal = refusalOf(codes[first], job);
          if (refusal) reject(refusal);
          else {
            this.report(namespace, queue, [job]);
            if (this.events.isOn) this.events.published(namespace, queue, [job], [id]);
            resolve(id);
          }
        },
        failed: this.durability !== 'memory' ? (error) => reject(withIds(error, [id])) : reject,
      });
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
      const done = (codes: readonly number[], first: number): void => {
        const refusal = quotaError(codes[first]);
        if (refusal) reject(refusal);
        else {
          this.report(namespace, queue, jobs);
          if (this.events.isOn) this.events.published(namespace, queue, jobs, ids);
          resolve(ids);
        }
      };
      const failed =
        this.durability !== 'memory' ? (error: unknown): void => reject(withIds(error, ids)) : reject;
      this.batcher.add(namespace, items, weight, { done, failed });
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
    const quotas = this.quotas === NO_QUOTAS ? NO_QUOTAS : `${this.quotas}1`;
    const sent = this.send(namespace, [item], quotas, encodeId(oldId) ?? NOTHING);
    const codes = await (this.durability !== 'memory'
      ? sent.catch((error: unknown) => Promise.reject(withIds(error, [id])))
      : sent);
    if (codes === ALL_EXTENDED) {
      await this.replaceExtended(namespace, queue, oldId, { ...named, id }, this.durability);
      return id;
    }
    const refusal = refusalOf(codes[0], job);
    if (refusal) throw refusal;
    this.report(namespace, queue, [job]);
    if (this.events.isOn) this.events.replaced(namespace, queue, id, oldId);
    return id;
  }

  /**
   * Builds the items of one call, with the ids of its jobs, given or minted here, and its approximate size in bytes.
   */
  itemsOf(
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
      weight += job.body.length + ITEM_OVERHEAD;
    }
    return { ids, items, weight };
  }

  private async send(
    namespace: string,
    items: readonly Item[],
    quotas: string,
    replaces: Buffer = NOTHING,
  ): Promise<readonly number[]> {
    const { codes, status } = await this.runner.run(publishScript, namespace, { replaces, quotas }, items);
    return status === REPLACES_EXTENDED ? ALL_EXTENDED : codes;
  }

  /** Encodes the job's own id, or the one that was minted last. */
  private bytesOf({ id }: NewJob): Buffer {
    const bytes = id === undefined ? this.minter.lastBytes() : encodeId(id);
    if (!bytes) throw new QueueError('invalid_argument', `a job id ${JOB_ID_RULE}`);
    return bytes;
  }

  private itemOf(queue: string, job: NewJob, id: Buffer): Item {
    return [this.options.of(queue, job), id, job.body];
  }

  /** Reports jobs that were stored with an idempotency key. */
  reportIdempotent(namespace: string, request: IdempotentRequest, ids: readonly string[]): void {
    const { queue, jobs, replaces } = request;
    this.report(namespace, queue, jobs);
    if (!this.events.isOn) return;
    if (replaces === undefined) this.events.published(namespace, queue, jobs, ids);
    else this.events.replaced(namespace, queue, ids[0] ?? '', replaces);
  }

  /** Reports stored jobs, and schedules a pump wake-up for delayed ones. */
  private report(namespace: string, queue: string, jobs: readonly NewJob[]): void {
    let scheduled = 0;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const { delayMs } of jobs) {
      if (delayMs === 0) continue;
      scheduled++;
      firstMs = Math.min(firstMs, delayMs);
    }
    if (scheduled > 0) this.scheduleWakeup(namespace, this.runner.now() + firstMs);
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
    const { delayMs, ttlMs, tries, attributes, id, isNative } = job;
    const minted = (id === undefined ? 1 : 0) + (isNative ? 2 : 0);
    const json = attributes ? JSON.stringify(attributes) : '';
    const text = Buffer.from(
      `${String(delayMs)},${String(Math.min(ttlMs, LONGEST_TTL_MS))},${String(tries)},${String(minted)},${queue},${json}`,
    );
    // Without its body, which may be large.
    this.last = { queue, job: { ...job, body: NOTHING }, text };
    return text;
  }
}

function isEqual(one: NewJob, other: NewJob): boolean {
  return (
    one.delayMs === other.delayMs &&
    one.ttlMs === other.ttlMs &&
    one.tries === other.tries &&
    one.isNative === other.isNative &&
    one.attributes === undefined &&
    other.attributes === undefined &&
    (one.id === undefined) === (other.id === undefined)
  );
}

/** The error for a code of the script; undefined = the job is stored. */
function refusalOf(code: number | undefined, { id }: NewJob): Error | undefined {
  if (code === STORED) return undefined;
  // A minted id that is in use is from a call whose reply was lost, or that was refused: the job is stored.
  if (code === TAKEN) return id === undefined ? undefined : taken();
  return quotaError(code);
}

export function taken(): QueueError {
  return new QueueError('job_exists', 'a job with this id exists');
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
