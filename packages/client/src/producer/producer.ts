import { type AnyJobDefinition, type GivesResult, type TakesInput, validate } from '../define-job.js';
import type { EndedJob, PublishCall, PublishDriver, PublishedJob } from '../driver.js';
import { definedOf } from '../optional.js';
import { randomHex } from '../random-hex.js';
import { givenOptions } from '../wire.js';
import { type JobOptions, type NewJob, newJobJson } from './new-job.js';

export interface PublishOptions {
  /**
   * A name for what is to happen once. It counts for the namespace, for as long as the server keeps it (a day). Left out:
   * the library makes one that outlasts the call, so that its own retries store nothing twice.
   */
  readonly idempotencyKey?: string | undefined;
  /** How long that key counts, 1,000 (a second) to 2,592,000,000 (30 days). */
  readonly idempotencyTtlMs?: number | undefined;
  /** How safe the jobs must be before the call resolves: `memory`, `aof` or `replicated:N`. */
  readonly durability?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WaitOptions {
  /** How long to wait for the end of the job, a day at most; 30,000. */
  readonly waitMs?: number | undefined;
}

/** What can be published: a definition, whose input is the next argument, or a job. */
export type Publishable<T> = T extends AnyJobDefinition ? T : NewJob;

/** What a producer gives for a definition. */
export type InputOf<T> = T extends TakesInput<infer In> ? In : never;

/** What `publishAndWait` gives for a definition; unknown for a job. */
export type ResultOf<T> = T extends GivesResult<infer Parsed> ? Parsed : unknown;

/**
 * The arguments behind the first one. One signature for both kinds of calls: for a call that fits none of two overloads
 * the compiler names the last one, or both, and not the mistake.
 */
export type PublishArgs<T, Options = PublishOptions> = T extends AnyJobDefinition
  ? [undefined] extends [InputOf<T>]
    ? [input?: InputOf<T>, options?: JobOptions & Options]
    : [input: InputOf<T>, options?: JobOptions & Options]
  : [options?: Options];

/** Longer than all retries of one call; the driver over HTTP counts them exactly. */
const OWN_KEY_TTL_MS = 120_000;
/** Jobs of one call of the API. */
const MAX_JOBS = 64;
/** Longest idempotency key, in characters. */
const MAX_KEY = 255;
const WAIT_MS = 30_000;
const KEY_BYTES = 12;

/** Publishes jobs, over whatever driver. */
export class Producer {
  /** Makes keys that no other process makes. */
  private readonly keyPrefix = randomHex(KEY_BYTES);
  private keyCount = 0;

  constructor(private readonly publishing: PublishDriver) {}

  /**
   * Publishes a job: `publish(definition, input, options?)`, with options that come before those of the definition, or
   * `publish({ queue, data, … }, options?)`.
   */
  async publish<T extends object>(job: Publishable<T>, ...args: PublishArgs<T>): Promise<PublishedJob> {
    const made = await jobOf(job, args);
    const [published] = await this.publishing.publish([made.job], this.callOf(made.options));
    return published as PublishedJob;
  }

  /**
   * Publishes jobs, in order. Up to 64 are stored all or none; more go in several calls, one after the other. With a key
   * of yours the whole call can be repeated: what was stored stays as it is.
   */
  async publishMany(jobs: readonly NewJob[], options: PublishOptions = {}): Promise<PublishedJob[]> {
    const { idempotencyKey } = options;
    const published: PublishedJob[] = [];
    const keyOf = (at: number): string | undefined =>
      idempotencyKey !== undefined && at > 0 ? `${idempotencyKey}.${String(at)}` : idempotencyKey;
    const lastAt = Math.max(0, Math.floor((jobs.length - 1) / MAX_JOBS) * MAX_JOBS);
    // Else some calls would be stored, and the rest never.
    const excess = (keyOf(lastAt) ?? '').length - MAX_KEY;
    if (lastAt > 0 && /* guard: key-of-many-jobs-is-short-enough */ excess > 0)
      throw new TypeError(`idempotencyKey: must be shorter by ${String(excess)} characters for so many jobs`);
    // guard: many-jobs-are-checked-first
    if (lastAt > 0) jobs.forEach((job, i) => newJobJson(job, `jobs[${String(i)}]`));
    for (let at = 0; at < jobs.length; at += MAX_JOBS) {
      const part = jobs.slice(at, at + MAX_JOBS);
      const key = keyOf(at);
      const call = this.callOf({ ...options, idempotencyKey: key });
      published.push(...(await this.publishing.publish(part, call)));
    }
    return published;
  }

  /** Publishes jobs of one kind, as `publishMany` does. */
  async publishAll<In>(
    definition: TakesInput<In>,
    inputs: readonly NoInfer<In>[],
    options: JobOptions & PublishOptions = {},
  ): Promise<PublishedJob[]> {
    const made = await Promise.all(inputs.map((input) => jobOf(definition, [input, options])));
    return this.publishMany(
      made.map(({ job }) => job),
      options,
    );
  }

  /**
   * Publishes a job as `publish` does, and waits for its end. When `state` of the answer is no final one, the job has not
   * ended in time; it goes on. The token needs the permission `consume`, too.
   *
   * @throws {PumphouseError} `invalid_output`: the output schema refuses the result
   */
  async publishAndWait<T extends object>(
    job: Publishable<T>,
    ...args: PublishArgs<T, PublishOptions & WaitOptions>
  ): Promise<EndedJob<ResultOf<T>>> {
    const made = await jobOf(job, args);
    const { waitMs = WAIT_MS } = made.options;
    const ended = await this.publishing.publishAndWait(made.job, { ...this.callOf(made.options), waitMs });
    const output = made.definition?.output;
    const result =
      output === undefined || ended.state !== 'done'
        ? ended.result
        : await validate(output, ended.result, 'invalid_output');
    return { ...ended, result: result as ResultOf<T> | undefined };
  }

  private callOf({ idempotencyKey, idempotencyTtlMs, durability, signal }: PublishOptions): PublishCall {
    if (idempotencyKey !== undefined)
      return { ...givenOptions({ idempotencyKey, idempotencyTtlMs, durability }), signal };
    if (idempotencyTtlMs !== undefined)
      throw new TypeError('idempotencyTtlMs says how long an idempotencyKey is kept: give both or neither');
    const own = `${this.keyPrefix}-${String(++this.keyCount)}`;
    return { idempotencyKey: own, idempotencyTtlMs: OWN_KEY_TTL_MS, isOwnKey: true, durability, signal };
  }
}

interface MadeJob {
  readonly job: NewJob;
  readonly options: PublishOptions & WaitOptions;
  readonly definition?: AnyJobDefinition;
}

/** @param args as in `PublishArgs` */
async function jobOf(target: AnyJobDefinition | NewJob, args: readonly unknown[]): Promise<MadeJob> {
  if (typeof target !== 'object')
    throw new TypeError(
      'publish takes a job, as { queue, data }, or a definition of defineJob and its input',
    );
  if (!isDefinition(target)) return { job: target, options: args[0] ?? {} };
  const [input, given] = args as PublishArgs<AnyJobDefinition, PublishOptions & WaitOptions>;
  // What is sent is what was given: the worker's schema is to parse it, too.
  if (target.input) await validate(target.input, input, 'invalid_input');
  const { idempotencyKey, idempotencyTtlMs, durability, signal, waitMs, ...options } = given ?? {};
  const { queue, type, options: defaults } = target;
  const job = { ...defaults, ...definedOf(options), queue, type, data: input };
  const ofCall = { idempotencyKey, idempotencyTtlMs, durability, signal, waitMs };
  return { job, options: ofCall, definition: target };
}

function isDefinition(target: AnyJobDefinition | NewJob): target is AnyJobDefinition {
  return 'options' in target;
}
