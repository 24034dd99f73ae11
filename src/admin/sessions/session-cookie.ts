import { createHmac, randomBytes } from 'node:crypto';
import { SESSION_MS } from '../../auth/session-store.js';

const SECRET_BYTES = 32;
/** With this prefix a browser takes the cookie only from this host, over TLS: a page of a sibling domain cannot set it. */
const SECURE_NAME = '__Host-pumphouse_session';
const PLAIN_NAME = 'pumphouse_session';
/** The account in base64url, and the secret. */
const VALUE = /^([-_A-Za-z0-9]{1,400})\.([-_A-Za-z0-9]{43})$/;

/** What the cookie of a session has. */
export interface SessionSecret {
  readonly account: string;
  readonly secret: string;
}

/** The cookie that has a session. Scripts of a page cannot read it, and other sites cannot send it. */
export class SessionCookie {
  private readonly name: string;
  private readonly attributes: string;

  /** @param isSecure browsers reach the admin port by TLS */
  constructor(isSecure: boolean) {
    this.name = isSecure ? SECURE_NAME : PLAIN_NAME;
    this.attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  }

  /** The header that gives a browser its session. */
  set({ account, secret }: SessionSecret): string {
    const value = `${Buffer.from(account).toString('base64url')}.${secret}`;
    return `${this.name}=${value}; Max-Age=${String(SESSION_MS / 1_000)}; ${this.attributes}`;
  }

  /** The header that takes it away. */
  clear(): string {
    return `${this.name}=; Max-Age=0; ${this.attributes}`;
  }

  /** True if a request has such a cookie, whatever is in it. */
  isIn(header: string | undefined): boolean {
    return cookieValues(header, this.name).length > 0;
  }

  /** The session of a request; null if it has none. Two of them are none: one may be of another site. */
  read(header: string | undefined): SessionSecret | null {
    const [value = '', ...more] = cookieValues(header, this.name);
    const [, account = '', secret = ''] = VALUE.exec(value) ?? [];
    // guard: two-session-cookies-are-none
    if (secret === '' || more.length > 0) return null;
    return { account: Buffer.from(account, 'base64url').toString(), secret };
  }
}

/** The values of all cookies with a name. @param header `Cookie` of a request */
export function cookieValues(header: string | undefined, name: string): string[] {
  return (header ?? '').split(';').flatMap((part) => {
    const equals = part.indexOf('=');
    return part.slice(0, Math.max(equals, 0)).trim() === name ? [part.slice(equals + 1).trim()] : [];
  });
}

/** Makes the secret of a session: 256 random bits. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/**
 * What Redis stores of a secret. It depends on the password of the account: a new password ends its sessions.
 *
 * @param key of the account's password
 */
export function digestOfSecret(secret: string, key: Buffer): string {
  return createHmac('sha256', key).update(secret).digest('base64url');
}
