import type { IncomingMessage } from 'node:http';
import { QueueError } from '../domain/errors.js';
import type { PublishOptions } from '../domain/job.js';
import { isIdempotencyKey } from '../domain/names.js';

/**
 * What a publish says in its headers about how it is to be treated; undefined if it says nothing. A header that is sent twice has a
 * blank in it, as Node puts the two together, and is refused.
 *
 * @throws {QueueError} `invalid_argument`: not 1 to 255 visible ASCII characters
 */
export function publishOptionsOf({ headers }: IncomingMessage): PublishOptions | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !isIdempotencyKey(key)) {
    throw new QueueError(
      'invalid_argument',
      'invalid Idempotency-Key: it has 1 to 255 visible ASCII characters',
    );
  }
  return { idempotencyKey: key };
}
