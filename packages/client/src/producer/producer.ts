import { type AnyJobDefinition, type GivesResult, type TakesInput, validate } from '../define-job.js';
import type { EndedJob, PublishCall, PublishDriver, PublishedJob } from '../driver.js';
import { randomHex } from '../random-hex.js';
import type { JobOptions, NewJob } from './new-job.js';

export interface PublishOptions {
  /**
   * A name for what is to happen once. It counts for the namespace, for as long as the server keeps it (a day). Left out:
   * the library makes one that counts for two minutes, so that its own retries store nothing twice.
   */
  readonly idempotencyKey?: string;
  /** How safe the jobs must be before the call resolves: `memory`, `aof` or `replicated:N`. */
  readonly durability?: string;
  readonly signal?: AbortSignal;
}

export interface WaitOptions {
  /** How long to wait for the end of the job, a day at most; 30,000. */
  readonly waitMs?: number;
}

/** Longer than all retries of one call. */
const OWN_KEY_TTL_MS = 120_000;
/** Jobs of one call of the API. */
const MAX_JOBS = 64;
const WAIT_MS = 30_000;
const KEY_BYTES = 12;

/** Publishes jobs, over whatever driver. */
export class Producer {
  /** Makes keys that no other process makes. */
  private readonly keyPrefix = randomHex(KEY_BYTES);
  private keyCount = 0;

  constructor(private readonly publishing: PublishDriver) {}

  /** Publishes a job of a kind; `options` come before those of its definition. */
  publish<In>(
    definition: TakesInput<In>,
    input: NoInfer<In>,
    options?: JobOptions & PublishOptions,
  ): Promise<PublishedJob>;
  /** Publishes a job. */
  publish(job: NewJob, options?: PublishOptions): Promise<PublishedJob>;
  async publish(...args: PublishArgs): Promise<PublishedJob> {
    const { job, options } = await jobOf(args);
    const [published] = await this.publishing.publish([job], this.callOf(options));
    return published as PublishedJob;
  }

  /**
   * Publishes jobs, in order. Up to 64 are stored all or none; more go in several calls, one after the other. With a key
   * of yours the whole call can be repeated: what was stored stays as it is.
   */
  async publishMany(jobs: readonly NewJob[], options: PublishOptions = {}): Promise<PublishedJob[]> {
    const { idempotencyKey } = options;
    const published: PublishedJob[] = [];
    for (let at = 0; at < jobs.length; at += MAX_JOBS) {
      const part = jobs.slice(at, at + MAX_JOBS);
      const key = idempotencyKey !== undefined && at > 0 ? `${idempotencyKey}.${String(at)}` : idempotencyKey;
      const call = this.callOf(key === undefined ? options : { ...options, idempotencyKey: key });
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
    const made = await Promise.all(inputs.map((input) => jobOf([definition, input, options])));
    return this.publishMany(
      made.map(({ job }) => job),
      publishOptionsOf(options),
    );
  }

  /**
   * Publishes a job and waits for its end. When `state` of the answer is no final one, the job has not ended in time; it
   * goes on. The token needs the permission `consume`, too.
   *
   * @throws {PumphouseError} `invalid_output`: the output schema refuses the result
   */
  publishAndWait<In, Parsed>(
    definition: TakesInput<In> & GivesResult<Parsed>,
    input: NoInfer<In>,
    options?: JobOptions & PublishOptions & WaitOptions,
  ): Promise<EndedJob<Parsed>>;
  publishAndWait(job: NewJob, options?: PublishOptions & WaitOptions): Promise<EndedJob>;
  async publishAndWait(...args: PublishArgs): Promise<EndedJob> {
    const { job, options, definition } = await jobOf(args);
    const waitMs = options.waitMs ?? WAIT_MS;
    const ended = await this.publishing.publishAndWait(job, { ...this.callOf(options), waitMs });
    if (!definition?.output || ended.state !== 'done') return ended;
    return { ...ended, result: await validate(definition.output, ended.result, 'invalid_output') };
  }

  private callOf({ idempotencyKey, durability, signal }: PublishOptions): PublishCall {
    const key =
      idempotencyKey === undefined
        ? { idempotencyKey: `${this.keyPrefix}-${String(++this.keyCount)}`, idempotencyTtlMs: OWN_KEY_TTL_MS }
        : { idempotencyKey };
    return { ...key, durability, signal };
  }
}

type PublishArgs =
  | [
      definition: AnyJobDefinition,
      input: unknown,
      options?: (JobOptions & PublishOptions & WaitOptions) | undefined,
    ]
  | [job: NewJob, options?: (PublishOptions & WaitOptions) | undefined];

interface MadeJob {
  readonly job: NewJob;
  readonly options: PublishOptions & WaitOptions;
  readonly definition?: AnyJobDefinition;
}

async function jobOf(args: PublishArgs): Promise<MadeJob> {
  if (!isTyped(args)) return { job: args[0], options: args[1] ?? {} };
  const [definition, input, given = {}] = args;
  // What is sent is what was given: the worker's schema is to parse it, too.
  if (definition.input) await validate(definition.input, input, 'invalid_input');
  const { idempotencyKey, durability, signal, waitMs, ...options } = given;
  const { queue, type, options: defaults } = definition;
  const job = { ...defaults, ...options, queue, ...(type === undefined ? {} : { type }), data: input };
  return { job, options: definedOf({ idempotencyKey, durability, signal, waitMs }), definition };
}

function isTyped(args: PublishArgs): args is Extract<PublishArgs, [AnyJobDefinition, unknown, ...unknown[]]> {
  return 'options' in args[0];
}

function publishOptionsOf({ idempotencyKey, durability, signal }: PublishOptions): PublishOptions {
  return definedOf({ idempotencyKey, durability, signal });
}

function definedOf(fields: { [K in keyof (PublishOptions & WaitOptions)]: unknown }): PublishOptions &
  WaitOptions {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
