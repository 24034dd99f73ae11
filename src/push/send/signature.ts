import { createHmac, randomBytes } from 'node:crypto';
import { MAX_SECRET_BYTES, MIN_SECRET_BYTES } from '../../contract/targets.js';

/** Secrets and signatures by Standard Webhooks 1.0, symmetric (`v1`). */

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;
const SECRET = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

export function isSecret(text: string): boolean {
  const { length } = keyOf(text);
  return SECRET.test(text) && length >= MIN_SECRET_BYTES && length <= MAX_SECRET_BYTES;
}

/**
 * The value of `webhook-signature`: one signature for each secret, so that a receiver with either of them can verify.
 *
 * @param timestampS Unix seconds
 */
export function signatureOf(
  secrets: readonly string[],
  id: string,
  timestampS: number,
  body: Buffer,
): string {
  const head = `${id}.${String(timestampS)}.`;
  return secrets
    .map((secret) => `v1,${createHmac('sha256', keyOf(secret)).update(head).update(body).digest('base64')}`)
    .join(' ');
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), 'base64');
}
