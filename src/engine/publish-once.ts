import { QueueError } from '../domain/errors.js';
import type { OnceNote } from '../domain/job.js';
import { noted, publishOnce, REPLACES_RICH } from '../redis/scripts/plain.js';
import { checkJobs, checkNames } from './checks.js';
import { encodeId } from './ids.js';
import { decodeIds, decodeNote, keyReused, noteOf, type OnceRequest } from './notes.js';
import { taken, type Publisher } from './publisher.js';
import { NO_QUOTAS, quotaError } from './quotas.js';
import type { ScriptRunner } from './script-runner.js';

/** Verdicts of lua/scripts/publish_once.lua. */
const TAKEN = 1;
const STORED_BEFORE = 5;
const OTHER_REQUEST = 6;
/** What lua/scripts/noted.lua found. */
const NO_NOTE = 0;
const NOTE_OF_ANOTHER = 2;
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
   * @param key an idempotency key, or the note of a native call that came with one
   * @returns their ids in order
   * @throws {QueueError} `invalid_argument`; `idempotency_key_reused`: the key came with another request, nothing has changed; or as
   * `Publisher.publish`
   */
  async publish(namespace: string, key: string | OnceNote, request: OnceRequest): Promise<string[]> {
    const { queue, jobs, replaces } = request;
    checkNames(namespace, queue);
    checkJobs(jobs);
    const { digest, fingerprint, isNative } = typeof key === 'string' ? noteOf(key, request) : key;
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
    const reply = await this.runner.run(publishOnce, namespace, args, items);
    if (reply.verdict === STORED_BEFORE) {
      return isNative ? decodeNote(reply.noted).map(({ id }) => id) : decodeIds(reply.noted, jobs.length);
    }
    const refusal = refusalOf(reply.verdict);
    if (refusal) throw refusal;
    this.publisher.reportOnce(namespace, request, ids);
    return ids;
  }
}

/**
 * Looks for what a call stored under its key.
 *
 * @returns the note (`decodeNote`, `decodeIds`); null if there is none
 * @throws {QueueError} `idempotency_key_reused`: it is another request's; or the store's own
 */
export async function findNote(
  runner: ScriptRunner,
  namespace: string,
  { digest, fingerprint }: OnceNote,
): Promise<Buffer | null> {
  checkNames(namespace);
  const reply = await runner.run(noted, namespace, { digest, fingerprint });
  if (reply.found === NOTE_OF_ANOTHER) throw keyReused();
  return reply.found === NO_NOTE ? null : reply.noted;
}

function refusalOf(verdict: number): Error | undefined {
  if (verdict === TAKEN) return taken();
  if (verdict === REPLACES_RICH) {
    return new QueueError(
      'invalid_argument',
      'a job of the native API is not replaced under an idempotency key',
    );
  }
  return verdict === OTHER_REQUEST ? keyReused() : quotaError(verdict);
}
