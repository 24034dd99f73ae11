import type { IncomingMessage } from 'node:http';
import { type Durability, DURABILITY_RULE, isDurability } from '../domain/durability.js';
import { HeaderError } from '../contract/fields/problems.js';
import type { PublishOptions } from '../domain/job/job.js';
import { isIdempotencyKey, packUlid } from '../domain/ids.js';

const IDS_RULE = 'must be ids that this call was refused with before, one for each job, separated by commas';
const KEY = 'Idempotency-Key';
const TTL = 'Idempotency-TTL-Ms';
const JOB_IDS = 'X-Job-ID';
const KEY_RULE = '1 to 255 visible ASCII characters';
const TTL_RULE = 'must be a whole number of milliseconds from 1000 to 2592000000, which is 30 days';
const [MIN_TTL_MS, MAX_TTL_MS] = [1_000, 2_592_000_000];
const EITHER_RULE =
  'must not be set together with an Idempotency-Key: the key alone makes a repeated request safe';

/** Names and values of the headers of a replayed answer. */
const REPLAYED = ['Idempotency-Replayed', 'true'] as const;

/** Publish options of a request. */
export interface RequestOptions extends PublishOptions {
  /** Names and values of headers for its answer, with an idempotency key: none until a replay. */
  readonly answerHeaders?: readonly string[];
}

/**
 * Reads the publish options from headers that lmstfy does not have; undefined if there are none.
 *
 * @throws {HeaderError} `invalid_argument`, with the header and its rule
 */
export function publishOptionsOf({ headers }: IncomingMessage): RequestOptions | undefined {
  const durability = headers['x-durability'];
  const jobIds = headers['x-job-id'];
  const key = headers['idempotency-key'];
  const ttl = headers['idempotency-ttl-ms'];
  if (durability === undefined && jobIds === undefined && key === undefined && ttl === undefined)
    return undefined;
  if (jobIds !== undefined && key !== undefined) throw new HeaderError(JOB_IDS, EITHER_RULE);
  // guard: idempotency-ttl-needs-a-key
  if (ttl !== undefined && key === undefined)
    throw new HeaderError(TTL, 'says how long an Idempotency-Key is kept: send both or neither');
  return {
    ...(ttl === undefined
      ? {}
      : { idempotencyTtlMs: /* guard: idempotency-ttl-is-passed-on */ ttlMsOf(String(ttl)) }),
    ...(key === undefined ? {} : keyOptions(idempotencyKeyOf(key))),
    ...(durability === undefined ? {} : { durability: durabilityOf(String(durability)) }),
    ...(jobIds === undefined ? {} : { retryOf: idsOf(String(jobIds)) }),
  };
}

function keyOptions(idempotencyKey: string): RequestOptions {
  const answerHeaders: string[] = [];
  return { idempotencyKey, answerHeaders, onReplay: () => void answerHeaders.push(...REPLAYED) };
}

/** @throws {HeaderError} `invalid_argument`: the number of ids differs from the number of jobs */
export function checkIdCount(options: PublishOptions | undefined, jobs: number): void {
  if (options?.retryOf !== undefined && options.retryOf.length !== jobs) throw wrongIds();
}

/** Node joins a header that is sent twice with a comma and a space; the space makes the key invalid. */
function idempotencyKeyOf(key: string | string[]): string {
  if (typeof key === 'string' && isIdempotencyKey(key)) return key;
  throw new HeaderError(KEY, `must have ${KEY_RULE}`, `invalid ${KEY}: it has ${KEY_RULE}`);
}

function ttlMsOf(text: string): number {
  const ttlMs = /^\d{4,10}$/.test(text) ? Number(text) : 0;
  // guard: idempotency-ttl-has-a-range
  if (ttlMs < MIN_TTL_MS || ttlMs > MAX_TTL_MS) throw new HeaderError(TTL, TTL_RULE);
  return ttlMs;
}

function durabilityOf(text: string): Durability {
  if (isDurability(text)) return text;
  throw new HeaderError('X-Durability', DURABILITY_RULE);
}

function idsOf(text: string): string[] {
  const ids = text.split(',').map((id) => id.trim());
  if (ids.every((id) => packUlid(id) !== null) && new Set(ids).size === ids.length) return ids;
  throw wrongIds();
}

function wrongIds(): HeaderError {
  return new HeaderError(JOB_IDS, IDS_RULE);
}
