import { createHash, timingSafeEqual } from 'node:crypto';

interface Account {
  readonly name: string;
  /** Of `user:password`: all are as long, so comparing one tells nothing about it. */
  readonly digest: Buffer;
}

/** The people who may use the admin port: basic auth by the accounts of the configuration. */
export class Accounts {
  private readonly accounts: readonly Account[];

  /** @param accounts passwords by user name */
  constructor(accounts: Readonly<Record<string, string>>) {
    this.accounts = Object.entries(accounts).map(([name, password]) => ({
      name,
      digest: digestOf(`${name}:${password}`),
    }));
  }

  /** False if nobody need say who they are. */
  get areNeeded(): boolean {
    return this.accounts.length > 0;
  }

  /** Whose `Authorization` header this is, null if nobody's. It takes as long for a wrong one as for a right one. */
  whose(authorization: string | undefined): string | null {
    const encoded = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(authorization ?? '')?.[1] ?? '';
    const sent = digestOf(Buffer.from(encoded, 'base64'));
    let found: string | null = null;
    for (const { name, digest } of this.accounts) {
      if (timingSafeEqual(digest, sent)) found = name;
    }
    return found;
  }
}

function digestOf(credentials: string | Buffer): Buffer {
  return createHash('sha256').update(credentials).digest();
}
