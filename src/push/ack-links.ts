import { timingSafeEqual } from 'node:crypto';
import type { Config } from '../config/config.js';
import { QueueError } from '../domain/errors.js';
import { hasLegalCharacters, isJobId } from '../domain/ids.js';
import { MAX_UINT32 } from '../domain/limits.js';
import type { Seal } from './seal.js';

/** What a link acknowledges: one job under one lease. */
export interface AckRef {
  readonly pool: string;
  readonly namespace: string;
  readonly queue: string;
  readonly id: string;
  readonly lease: number;
}

const MALFORMED = 'this URL is signed, but names no lease of a job: use it as it was sent';

/** The path of the call; `token` has the reference and its signature. A query with a token is in no log. */
export const ACK_PATH = 'push/ack';

/**
 * Signed URLs that acknowledge a job without a token. They end with the lease. Every server with the same `push.key_file`
 * accepts them.
 */
export class AckLinks {
  private constructor(
    private readonly seal: Seal,
    private readonly base: string,
  ) {}

  /** @returns null without `server.public_url` and `push.key_file` */
  static of({ server, push }: Pick<Config, 'server' | 'push'>, seal: Seal): AckLinks | null {
    if (server.public_url === undefined || push.key_file === undefined) return null;
    return new AckLinks(seal, server.public_url.replace(/\/+$/, ''));
  }

  urlOf({ pool, namespace, queue, id, lease }: AckRef): string {
    const text = Buffer.from(JSON.stringify([pool, namespace, queue, id, lease])).toString('base64url');
    return `${this.base}/${ACK_PATH}?token=${text}.${this.signed(text).toString('base64url')}`;
  }

  /**
   * @returns null if this server, or another one with its key, has not signed it
   * @throws {QueueError} `invalid_argument`: it is signed, and names no lease
   */
  read(token: string): AckRef | null {
    const [text = '', signature = '', ...more] = token.split('.');
    if (more.length > 0) return null;
    const [given, expected] = [Buffer.from(signature, 'base64url'), this.signed(text)];
    if (given.length !== expected.length || /* guard: ack-link-signed */ !timingSafeEqual(given, expected))
      return null;
    const ref = refIn(Buffer.from(text, 'base64url').toString());
    if (ref === null) throw new QueueError('invalid_argument', MALFORMED);
    return ref;
  }

  private signed(text: string): Buffer {
    return this.seal.sign(`ack ${text}`);
  }
}

/** @returns null if it is not what `urlOf` writes */
function refIn(text: string): AckRef | null {
  let parts: unknown;
  try {
    parts = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(parts) || parts.length !== 5) return null;
  const [pool, namespace, queue, id, lease] = parts as unknown[];
  if (typeof pool !== 'string' || typeof namespace !== 'string') return null;
  if (typeof queue !== 'string' || typeof id !== 'string') return null;
  const isNamed = [pool, namespace, queue].every(hasLegalCharacters) && isJobId(id);
  const isLease = Number.isInteger(lease) && Number(lease) >= 1 && Number(lease) <= MAX_UINT32;
  return isNamed && /* guard: ack-link-names-a-lease */ isLease
    ? { pool, namespace, queue, id, lease: Number(lease) }
    : null;
}
