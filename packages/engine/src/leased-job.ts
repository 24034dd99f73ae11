import {
  type Dependency,
  JobWithPayload,
  PAYLOAD_FORMS,
  type LeasedJob,
  type LeasedPayload,
} from '@pumphouse/client';
import { isoTimeOrNull } from '#src/domain/iso-time';
import type { LeasedJob as EngineJob } from '#src/domain/job/job';
import { dependencyOf } from './answers.js';
import { readData, type ReadData } from './payload.js';

/** Read when it is first wanted. */
class EnginePayload implements LeasedPayload {
  readonly #body: Buffer;
  readonly #contentType: string | null;
  #read: ReadData | undefined;

  constructor(body: Buffer, contentType: string | null) {
    this.#body = body;
    this.#contentType = contentType;
  }

  get contentType(): string {
    return this.read.contentType;
  }

  get data(): unknown {
    return this.read.value;
  }

  get text(): string {
    return this.read.json ?? this.#body.toString();
  }

  get bytes(): Buffer {
    return this.#body;
  }

  private get read(): ReadData {
    return (this.#read ??= readData(this.#body, this.#contentType));
  }
}

/** A job that the engine has leased, as the worker runtime has it. */
export class EngineLeasedJob extends JobWithPayload implements LeasedJob {
  readonly id: string;
  readonly queue: string;
  readonly lease: number;
  readonly type: string | null;
  readonly tags: readonly string[];
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly priority: number;
  readonly tries: number;
  readonly triesLeft: number;
  readonly attempts: number;
  readonly crashes: number;
  readonly failures: number;
  readonly publishedAt: string | null;
  readonly expiresAt: string | null;
  readonly progress: unknown;
  declare readonly maxRunMs?: number;
  declare readonly dependencies?: readonly Dependency[];

  constructor(job: EngineJob) {
    super();
    const { extended } = job;
    const maxRunMs = extended?.maxRunMs ?? undefined;
    if (maxRunMs !== undefined) this.maxRunMs = maxRunMs;
    this.id = job.id;
    this.queue = job.queue;
    this.lease = job.lease;
    this.type = extended?.type ?? null;
    this.tags = extended?.tags ?? [];
    this.attributes = job.attributes;
    this.priority = extended?.priority ?? 0;
    this.tries = job.tries;
    this.triesLeft = job.triesLeft;
    this.attempts = job.attempts;
    this.crashes = extended?.crashes ?? 0;
    this.failures = extended?.failures ?? 0;
    this.publishedAt = isoTimeOrNull(job.publishedAtMs);
    this.expiresAt = isoTimeOrNull(job.expiresAtMs);
    const progress = extended?.progress ?? null;
    this.progress = progress === null ? null : (JSON.parse(progress) as unknown);
    if (extended?.dependencies) this.dependencies = extended.dependencies.map(dependencyOf);
    this.hold(new EnginePayload(job.body, extended?.contentType ?? null), PAYLOAD_FORMS);
  }
}
