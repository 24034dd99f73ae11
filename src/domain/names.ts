import { MAX_IDEMPOTENCY_KEY, MAX_JOB_ID_LENGTH } from './limits.js';

/** Names of pools, namespaces and queues: they are parts of Redis keys, so nothing else gets through. */
const NAME = /^[-_A-Za-z0-9]+$/;
const VISIBLE = /^[\x21-\x7e]+$/;
const JOB_ID = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;

/** True if every character of `name` may stand in a namespace or queue name. Length is checked apart. */
export function hasLegalCharacters(name: string): boolean {
  return NAME.test(name);
}

/** True if `id` could be the id of a stored job. Anything else cannot exist, so nobody need ask Redis. */
export function isJobId(id: string): boolean {
  return id.length <= MAX_JOB_ID_LENGTH && JOB_ID.test(id);
}

/** True if `key` may be an idempotency key. */
export function isIdempotencyKey(key: string): boolean {
  return key.length <= MAX_IDEMPOTENCY_KEY && VISIBLE.test(key);
}
