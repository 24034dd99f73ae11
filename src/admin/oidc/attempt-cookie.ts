import { createHmac, timingSafeEqual } from 'node:crypto';
import { cookieValues } from '../sessions/session-cookie.js';

/** With this prefix a page of a sibling domain cannot set the cookie. */
const SECURE_NAME = '__Host-pumphouse_sign_in';
const PLAIN_NAME = 'pumphouse_sign_in';

/** How long a sign-in at the provider may take, in milliseconds. */
export const ATTEMPT_MS = 600_000;

/** A sign-in that a browser has begun. */
export interface Attempt {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
  /** Page of the console to show afterwards: what stands behind its `#`. */
  readonly route: string;
  /** When it was begun, Unix ms. */
  readonly atMs: number;
}

/**
 * The cookie that binds a sign-in to the browser that has begun it. `SameSite=Lax`: the provider sends the browser back
 * from another site. It is in no store, so that strangers who begin sign-ins fill none. The signature keeps its time.
 */
export class AttemptCookie {
  private readonly name: string;
  private readonly attributes: string;

  /** @param isSecure browsers reach the admin port by TLS @param key of the signature */
  constructor(
    isSecure: boolean,
    private readonly key: Buffer,
  ) {
    this.name = isSecure ? SECURE_NAME : PLAIN_NAME;
    this.attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  /** The header that gives it to a browser. */
  set(attempt: Attempt): string {
    const text = Buffer.from(JSON.stringify(attempt)).toString('base64url');
    const value = `${text}.${this.sign(text).toString('base64url')}`;
    return `${this.name}=${value}; Max-Age=${String(ATTEMPT_MS / 1_000)}; ${this.attributes}`;
  }

  /** The header that takes it away. */
  clear(): string {
    return `${this.name}=; Max-Age=0; ${this.attributes}`;
  }

  /** The sign-in that a browser has begun; null if there is none, or it was begun too long ago. Two of them are none. */
  read(header: string | undefined): Attempt | null {
    const [value = '', ...more] = cookieValues(header, this.name);
    const [text = '', signature = ''] = value.split('.');
    const [sent, own] = [Buffer.from(signature, 'base64url'), this.sign(text)];
    if (more.length > 0 || sent.length !== own.length) return null;
    if (!(/* guard: sign-in-cookie-is-signed */ timingSafeEqual(sent, own))) return null;
    const attempt = JSON.parse(Buffer.from(text, 'base64url').toString()) as Attempt;
    // Clocks of servers differ: the time may be ahead of the own one.
    const isInTime = /* guard: sign-in-in-time */ Math.abs(Date.now() - attempt.atMs) <= ATTEMPT_MS;
    return isInTime ? attempt : null;
  }

  private sign(text: string): Buffer {
    return createHmac('sha256', this.key).update(text).digest();
  }
}
