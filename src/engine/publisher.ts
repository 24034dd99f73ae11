import type { Durability } from '../domain/durability.js';
import { QueueError, UnconfirmedError } from '../domain/errors.js';
import type { NewJob } from '../domain/job.js';
import { packUlid, UlidMinter } from '../domain/ulid.js';
import type { Item } from '../redis/scripts/script.js';
import { publish as publishScript } from '../redis/scripts/plain.js';
import { Batcher } from './batcher.js';
import { checkJobs, checkNames } from './checks.js';
import type { EventTeller } from './events/teller.js';
import { encodeId } from './ids.js';
import type { OnceRequest } from './notes.js';
import type { EngineObserver } from './observer.js';
import { NO_QUOTAS, quotaError } from './quotas.js';
import type { ScriptRunner } from './script-runner.js';

const STORED = 0;
const TAKEN = 1;
/** The script's status when the job to be replaced is a rich one: nothing has changed. */
export const REPLACES_RICH = 3;
/** What a job weighs in a batch beside its body, in bytes. */
const ITEM_OVERHEAD = 100;
const NOTHING = Buffer.alloc(0);
/** Expiry has 48 bits in the header; a ttl that would not fit is for as good as ever. In milliseconds. */
const LONGEST_TTL_MS = 2 ** 46;

/** Stands for the codes of a script that said so. */
const ALL_RICH: readonly number[] = [];

/** Puts a job of the queue, whose id is given, in the place of another one. */
export type ReplaceRich = (
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
    private readonly arm: (namespace: string, dueMs: number) => void,
    private readonly minter: UlidMinter,
    /** As `quotasText` gives them. */
    private readonly quotas: string,
    /** Has the full lane put a job in the place of a rich one. */
    private readonly replaceRich: ReplaceRich,
    /** If its jobs must be safe before they are answered, who is refused is told their ids, to send them again. */
    private readonly durability: Durability,
    private readonly events: EventTeller,
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
   * @throws {QueueError} `invalid_argument`, `job_exists` (for an id that the caller chose), or the store's own
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
   * Stores jobs, all or none; their ids are minted here.
   *
   * @param retryOf see `PublishOptions`
   * @returns their ids in order
   * @throws {QueueError} `invalid_argument` or the store's own
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

  /** Stores a job in the place of another one of the queue, which need not exist. @returns its id. @throws as `publish` */
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
    if (codes === ALL_RICH) {
      await this.replaceRich(namespace, queue, oldId, { ...named, id }, this.durability);
      return id;
    }
    const refusal = refusalOf(codes[0], job);
    if (refusal) throw refusal;
    this.report(namespace, queue, [job]);
    if (this.events.isOn) this.events.replaced(namespace, queue, id, oldId);
    return id;
  }

  /** The items of one call, the ids of its jobs, given or minted here, and about what it weighs in bytes. */
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
    return status === REPLACES_RICH ? ALL_RICH : codes;
  }

  /** The bytes of the job's own id, or of the one that was minted last. */
  private bytesOf({ id }: NewJob): Buffer {
    const bytes = id === undefined ? this.minter.lastBytes() : encodeId(id);
    if (!bytes) throw new QueueError('invalid_argument', 'a job id has 1 to 64 letters, digits, - and _');
    return bytes;
  }

  private itemOf(queue: string, job: NewJob, id: Buffer): Item {
    return [this.options.of(queue, job), id, job.body];
  }

  /** Tells of jobs that were stored under an idempotency key. */
  reportOnce(namespace: string, request: OnceRequest, ids: readonly string[]): void {
    const { queue, jobs, replaces } = request;
    this.report(namespace, queue, jobs);
    if (!this.events.isOn) return;
    if (replaces === undefined) this.events.published(namespace, queue, jobs, ids);
    else this.events.replaced(namespace, queue, ids[0] ?? '', replaces);
  }

  /** Tells of jobs that were stored, and has the pump come for those that are scheduled. */
  private report(namespace: string, queue: string, jobs: readonly NewJob[]): void {
    let scheduled = 0;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const { delayMs } of jobs) {
      if (delayMs === 0) continue;
      scheduled++;
      firstMs = Math.min(firstMs, delayMs);
    }
    if (scheduled > 0) this.arm(namespace, this.runner.now() + firstMs);
    this.observer.published(namespace, queue, jobs.length, scheduled);
  }
}

/** What a job is published with beside its id and body, as lua/scripts/publish.lua reads it. */
class OptionsText {
  private last: { readonly queue: string; readonly job: NewJob; readonly text: Buffer } | undefined;

  /** The same bytes again for a job like the last one. */
  of(queue: string, job: NewJob): Buffer {
    const { last } = this;
    if (last?.queue === queue && isAlike(last.job, job)) return last.text;
    const { delayMs, ttlMs, tries, attributes, id, isNative } = job;
    const minted = (id === undefined ? 1 : 0) + (isNative ? 2 : 0);
    const json = attributes ? JSON.stringify(attributes) : '';
    const text = Buffer.from(
      `${String(delayMs)},${String(Math.min(ttlMs, LONGEST_TTL_MS))},${String(tries)},${String(minted)},${queue},${json}`,
    );
    // Without its body, which may be long.
    this.last = { queue, job: { ...job, body: NOTHING }, text };
    return text;
  }
}

function isAlike(one: NewJob, other: NewJob): boolean {
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

/** What a code of the script means for a job: undefined = it is stored. */
function refusalOf(code: number | undefined, { id }: NewJob): Error | undefined {
  if (code === STORED) return undefined;
  // An id of our minting that is taken is from a call whose answer was lost, or that was refused: it is stored.
  if (code === TAKEN) return id === undefined ? undefined : taken();
  return quotaError(code);
}

export function taken(): QueueError {
  return new QueueError('job_exists', 'a job with this id exists');
}

function sizesOf(calls: readonly { readonly items: readonly Item[] }[]): string {
  return calls.map(({ items }) => items.length).join();
}

/** The job under the id that an earlier attempt was refused with. */
function retried(job: NewJob, retryOf: readonly string[]): NewJob {
  checkRetry(retryOf, 1);
  return { ...job, id: retryOf[0] ?? '' };
}

/** @throws {QueueError} `invalid_argument`: there are not as many ids as jobs, or one that is none of ours */
export function checkRetry(ids: readonly string[], jobs: number): void {
  if (ids.length !== jobs || new Set(ids).size !== jobs || ids.some((id) => packUlid(id) === null)) {
    throw new QueueError(
      'invalid_argument',
      'retryOf has one id for each job, as the refused attempt gave them',
    );
  }
}

/** A refusal that leaves open whether the jobs are stored, with their ids. */
export function withIds(error: unknown, ids: readonly string[]): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const isOpen =
    error instanceof QueueError && (error.code === 'not_replicated' || error.code === 'pool_unavailable');
  return isOpen ? new UnconfirmedError(error, ids, { cause: error }) : error;
}
