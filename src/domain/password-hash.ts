import { randomBytes, scrypt, type ScryptOptions, timingSafeEqual } from 'node:crypto';

/** 32 MiB and about 0.2 s for a check: the parameters that OWASP lists for this amount of memory. */
const COST = { log2N: 15, r: 8, p: 3 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const FORM = /^scrypt:(\d\d):(\d{1,2}):(\d{1,2}):([-_A-Za-z0-9]{22,86}):([-_A-Za-z0-9]{43})$/;
/** Less is guessed quickly, and more takes this server's memory. */
const [MIN_LOG2_N, MAX_LOG2_BYTES, MAX_P] = [14, 28, 16];
/** `scrypt` needs 128 bytes for each of N times r, and some more. */
const BLOCK_BYTES = 128;

/** The rule for a stored hash, for people. */
export const PASSWORD_HASH_RULE = 'must be what `pumphouse account hash` prints: "scrypt:…"';

/** A stored password hash. */
export interface PasswordHash {
  readonly options: ScryptOptions;
  readonly salt: Buffer;
  readonly digest: Buffer;
}

/** Hashes a password with a new salt, as text for the configuration. */
export async function hashPassword(password: string): Promise<string> {
  const { log2N, r, p } = COST;
  const salt = randomBytes(SALT_BYTES);
  const digest = await derive(password, { options: optionsOf(log2N, r, p), salt });
  return `scrypt:${[log2N, r, p].join(':')}:${salt.toString('base64url')}:${digest.toString('base64url')}`;
}

/** Reads a stored hash; null if it is none, too weak, or too expensive to check. */
export function parsePasswordHash(text: string): PasswordHash | null {
  const [, log2N, r, p, salt = '', digest = ''] = FORM.exec(text) ?? [];
  const [cost, blocks, passes] = [Number(log2N), Number(r), Number(p)];
  const isPossible = cost >= MIN_LOG2_N && blocks >= 1 && passes >= 1 && passes <= MAX_P;
  if (!isPossible || BLOCK_BYTES * 2 ** cost * blocks > 2 ** MAX_LOG2_BYTES) return null;
  return {
    options: optionsOf(cost, blocks, passes),
    salt: Buffer.from(salt, 'base64url'),
    digest: Buffer.from(digest, 'base64url'),
  };
}

/** A hash that no password has, with the cost of another one. */
export function decoyOf({ options }: PasswordHash): PasswordHash {
  return { options, salt: randomBytes(SALT_BYTES), digest: randomBytes(HASH_BYTES) };
}

/** True if a password has a hash. The time depends on the cost of the hash only. */
export async function hasHash(password: string | Buffer, hash: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await derive(password, hash), hash.digest);
}

function optionsOf(log2N: number, r: number, p: number): ScryptOptions {
  const N = 2 ** log2N;
  return { N, r, p, maxmem: 2 * BLOCK_BYTES * N * r };
}

function derive(
  password: string | Buffer,
  { options, salt }: Pick<PasswordHash, 'options' | 'salt'>,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
