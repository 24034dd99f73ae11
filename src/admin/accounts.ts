import { createHash, timingSafeEqual } from 'node:crypto';

interface Account {
  readonly name: string;
  /**
   * Hash of `user:password`. All hashes have the same length, so the time of a comparison tells nothing about the
   * password.
   */
  readonly digest: Buffer;
}

/** Basic auth for the admin port, with the accounts of the configuration. */
export class Accounts {
  private readonly accounts: readonly Account[];

  /** @param accounts passwords by user name */
  constructor(accounts: Readonly<Record<string, string>>) {
    this.accounts = Object.entries(accounts).map(([name, password]) => ({
      name,
      digest: digestOf(`${name}:${password}`),
    }));
  }

  /** False if no accounts are configured: the admin port is open. */
  get areNeeded(): boolean {
    return this.accounts.length > 0;
  }

  /**
   * Returns the account of an `Authorization` header, null if it matches none. Takes the same time for wrong and right
   * passwords.
   */
  whose(authorization: string | undefined): string | null {
    const encoded = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(authorization ?? '')?.[1] ?? '';
    const sent = digestOf(Buffer.from(encoded, 'base64'));
    let found: string | null = null;
    for (const { name, digest } of this.accounts) {
      if (/* guard: passwords-in-constant-time */ timingSafeEqual(digest, sent)) found = name;
    }
    return found;
  }
}

function digestOf(credentials: string | Buffer): Buffer {
  return createHash('sha256').update(credentials).digest();
}
