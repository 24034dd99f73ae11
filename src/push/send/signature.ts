import { createHmac, randomBytes } from 'node:crypto';

/** Secrets and signatures by Standard Webhooks 1.0, symmetric (`v1`). */

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;
/** As the specification recommends: 24 to 64 bytes. */
const SECRET = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const MIN_BYTES = 24;
const MAX_BYTES = 64;

export const SECRET_RULE = `must be whsec_ and ${MIN_BYTES} to ${MAX_BYTES} bytes in base64`;

export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

export function isSecret(text: string): boolean {
  const { length } = keyOf(text);
  return SECRET.test(text) && length >= MIN_BYTES && length <= MAX_BYTES;
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
