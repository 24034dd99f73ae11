import { QueueError } from '../../domain/errors.js';
import type { IdempotencyRecord } from '../../domain/job.js';
import { readIdempotencyRecord, publishIdempotent, REPLACES_EXTENDED } from '../../redis/scripts/simple.js';
import { checkJobs, checkNames } from '../core/checks.js';
import { encodeId } from '../core/ids.js';
import {
  decodeIds,
  decodeIdempotencyRecord,
  keyReused,
  idempotencyRecordOf,
  type IdempotentRequest,
} from './idempotency-records.js';
import { taken, type Publisher } from './publisher.js';
import { NO_QUOTAS, quotaError } from './quotas.js';
import type { ScriptRunner } from '../core/scripts.js';

/** Codes of lua/commands/simple/publish_idempotent.lua. */
const TAKEN = 1;
const STORED_BEFORE = 5;
const OTHER_REQUEST = 6;
/** Codes of lua/commands/simple/read_idempotency_record.lua. */
const NO_RECORD = 0;
const RECORD_OF_ANOTHER_REQUEST = 2;
const NOTHING = Buffer.alloc(0);

/**
 * Publishes with an idempotency key: each call is a script call of its own, which stores jobs and record atomically.
 */
export class IdempotentPublisher {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly publisher: Publisher,
    /** How long a key is kept, in milliseconds. */
    private readonly ttlMs: number,
    /** As `quotasText` returns them. */
    private readonly quotas: string,
  ) {}

  /**
   * Stores the jobs, all or none; or returns what the same request with this key stored before.
   *
   * @param key an idempotency key, or the record of a native call that has one
   * @returns their ids in order
   * @throws {QueueError} `invalid_argument`; `idempotency_key_reused`: another request has used the key, nothing has
   *   changed; or as `Publisher.publish`
   */
  async publish(
    namespace: string,
    key: string | IdempotencyRecord,
    request: IdempotentRequest,
  ): Promise<string[]> {
    const { queue, jobs, replaces } = request;
    checkNames(namespace, queue);
    checkJobs(jobs);
    const { digest, fingerprint, isNative } =
      typeof key === 'string' ? idempotencyRecordOf(key, request) : key;
    if (jobs.length === 0) return [];
    const { ids, items } = this.publisher.itemsOf(queue, jobs);
    const args = {
      replaces: replaces === undefined ? NOTHING : (encodeId(replaces) ?? NOTHING),
      quotas: this.quotas === NO_QUOTAS ? NO_QUOTAS : this.quotas + String(jobs.length),
      digest,
      fingerprint,
      ttl_ms: this.ttlMs,
      form: isNative ? 'jobs' : 'ids',
    };
    const reply = await this.runner.run(publishIdempotent, namespace, args, items);
    if (reply.verdict === STORED_BEFORE) {
      return isNative
        ? decodeIdempotencyRecord(reply.readIdempotencyRecord).map(({ id }) => id)
        : decodeIds(reply.readIdempotencyRecord, jobs.length);
    }
    const refusal = refusalOf(reply.verdict);
    if (refusal) throw refusal;
    this.publisher.reportIdempotent(namespace, request, ids);
    return ids;
  }
}

/**
 * Finds the record that a call stored under its key.
 *
 * @returns the record (`decodeIdempotencyRecord`, `decodeIds`); null if there is none
 * @throws {QueueError} `idempotency_key_reused`: it belongs to another request; or an error of the store
 */
export async function findIdempotencyRecord(
  runner: ScriptRunner,
  namespace: string,
  { digest, fingerprint }: IdempotencyRecord,
): Promise<Buffer | null> {
  checkNames(namespace);
  const reply = await runner.run(readIdempotencyRecord, namespace, { digest, fingerprint });
  if (reply.found === RECORD_OF_ANOTHER_REQUEST) throw keyReused();
  return reply.found === NO_RECORD ? null : reply.readIdempotencyRecord;
}

function refusalOf(verdict: number): Error | undefined {
  if (verdict === TAKEN) return taken();
  if (verdict === REPLACES_EXTENDED) {
    return new QueueError(
      'invalid_argument',
      'a job of the native API is not replaced under an idempotency key',
    );
  }
  return verdict === OTHER_REQUEST ? keyReused() : quotaError(verdict);
}
