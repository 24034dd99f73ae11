import { createHash } from 'node:crypto';
import { QueueError } from '../domain/errors.js';
import { isIdempotencyKey } from '../domain/names.js';
import { publishOnce, REPLACES_RICH } from '../redis/scripts/plain.js';
import { checkJobs, checkNames } from './checks.js';
import { decodeId, encodeId } from './ids.js';
import { type OnceRequest, taken, type Publisher } from './publisher.js';
import { NO_QUOTAS, quotaError } from './quotas.js';
import type { ScriptRunner } from './script-runner.js';

/** Verdicts of lua/scripts/publish_once.lua. */
const TAKEN = 1;
const STORED_BEFORE = 5;
const OTHER_REQUEST = 6;
/** A digest is cut to so many bytes: enough that nobody meets two alike by chance. */
const DIGEST_BYTES = 16;
const NOTHING = Buffer.alloc(0);

/** Publishes under an idempotency key: each call is a script call of its own, so that the note is written in the step that stores. */
export class OncePublisher {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly publisher: Publisher,
    /** How long a key is remembered, in milliseconds. */
    private readonly ttlMs: number,
    /** As `quotasText` gives them. */
    private readonly quotas: string,
  ) {}

  /**
   * Stores the jobs, all or none; or answers what the same request with this key stored before.
   *
   * @returns their ids in order
   * @throws {QueueError} `invalid_argument`; `idempotency_key_reused`: the key came with another request, nothing has changed; or as
   * `Publisher.publish`
   */
  async publish(namespace: string, key: string, request: OnceRequest): Promise<string[]> {
    const { queue, jobs, replaces } = request;
    checkNames(namespace, queue);
    checkJobs(jobs);
    if (!isIdempotencyKey(key)) {
      throw new QueueError('invalid_argument', 'idempotencyKey has 1 to 255 visible ASCII characters');
    }
    if (jobs.length === 0) return [];
    const { ids, items } = this.publisher.itemsOf(queue, jobs);
    const args = {
      replaces: replaces === undefined ? NOTHING : (encodeId(replaces) ?? NOTHING),
      quotas: this.quotas === NO_QUOTAS ? NO_QUOTAS : this.quotas + String(jobs.length),
      digest: digestOf(queue, key),
      fingerprint: fingerprintOf(request),
      ttl_ms: this.ttlMs,
    };
    const reply = await this.runner.run(publishOnce, namespace, args, items);
    if (reply.verdict === STORED_BEFORE) return decodeIds(reply.ids, jobs.length);
    const refusal = refusalOf(reply.verdict);
    if (refusal) throw refusal;
    this.publisher.reportOnce(namespace, request, ids);
    return ids;
  }
}

function refusalOf(verdict: number): Error | undefined {
  if (verdict === TAKEN) return taken();
  if (verdict === REPLACES_RICH) {
    return new QueueError(
      'invalid_argument',
      'a job of the native API is not replaced under an idempotency key',
    );
  }
  if (verdict === OTHER_REQUEST) {
    return new QueueError('idempotency_key_reused', 'the idempotency key was used for another request');
  }
  return quotaError(verdict);
}

/** Names the note of a key: a key counts for one queue. */
export function digestOf(queue: string, key: string): Buffer {
  return cut(createHash('sha256').update(`${queue}\0${key}`));
}

/** What must be the same when a key comes again. No version of a script's arguments is in it: servers of two versions agree. */
function fingerprintOf({ kind, queue, jobs, replaces }: OnceRequest): Buffer {
  const hash = createHash('sha256');
  const options = jobs.map(({ id, body, delayMs, ttlMs, tries, attributes }) => [
    id ?? null,
    body.length,
    delayMs,
    ttlMs,
    tries,
    attributes ? Object.entries(attributes) : null,
  ]);
  hash.update(`${JSON.stringify([kind, queue, replaces ?? null, options])}\n`);
  for (const { body } of jobs) hash.update(body);
  return cut(hash);
}

function cut(hash: ReturnType<typeof createHash>): Buffer {
  return hash.digest().subarray(0, DIGEST_BYTES);
}

/** Several ids were minted, and are as long as each other; one alone may be of any length. */
function decodeIds(bytes: Buffer, count: number): string[] {
  const size = bytes.length / count;
  return Array.from({ length: count }, (_, i) => decodeId(bytes.subarray(i * size, (i + 1) * size)));
}
