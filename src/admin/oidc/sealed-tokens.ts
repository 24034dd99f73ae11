import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const [CIPHER, KEY_BYTES, IV_BYTES, TAG_BYTES] = ['aes-256-gcm', 32, 12, 16] as const;
const PURPOSE = 'pumphouse tokens of OpenID Connect';

/** Tokens of the provider, for one session. */
export interface ProviderTokens {
  readonly access: string;
  /** Empty: the provider gave none. */
  readonly refresh: string;
}

/**
 * Encrypts tokens for Redis. The key comes from the secret of the session, which only the browser has: a copy of Redis
 * does not show the tokens.
 */
export function sealTokens(tokens: ProviderTokens, secret: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(secret), iv);
  const sealed = Buffer.concat([cipher.update(JSON.stringify(tokens), 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
}

/** @throws {Error} they were sealed with another secret, or were changed */
export function openTokens(text: string, secret: string): ProviderTokens {
  const bytes = Buffer.from(text, 'base64');
  const decipher = createDecipheriv(CIPHER, keyOf(secret), bytes.subarray(0, IV_BYTES));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  return JSON.parse(opened.toString('utf8')) as ProviderTokens;
}

function keyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', PURPOSE, KEY_BYTES));
}
