import { createHash, timingSafeEqual } from 'node:crypto';
import type { AccountConfig } from '../config/config.js';
import { Actor } from '../domain/actor.js';
import { decoyOf, hasHash, type PasswordHash, parsePasswordHash } from '../domain/password-hash.js';

const BASIC = /^Basic +([A-Za-z0-9+/=_-]+) *$/i;

/** An account whose password is in the configuration as it is. */
interface PlainAccount {
  readonly actor: Actor;
  /**
   * Hash of `user:password`. All hashes have the same length, so the time of a comparison tells nothing about the
   * password.
   */
  readonly digest: Buffer;
}

/** An account with a hashed password. */
interface HashedAccount {
  readonly actor: Actor;
  readonly hash: PasswordHash;
}

/** The accounts of the configuration, and the check of their passwords. */
export class Accounts {
  private readonly plain: readonly PlainAccount[];
  private readonly hashed: ReadonlyMap<string, HashedAccount>;
  /** Compared when no hashed account has the name: a name that exists takes no longer than one that does not. */
  private readonly decoy: PasswordHash | undefined;
  /** One hash is computed at a time: each takes memory and most of a core. */
  private last: Promise<unknown> = Promise.resolve();

  /** @param accounts by name; a text is the password of an account with the role `admin` */
  constructor(accounts: Readonly<Record<string, string | AccountConfig>>) {
    const entries = Object.entries(accounts);
    this.plain = entries.flatMap(([name, account]) =>
      typeof account === 'string' ? [plainOf(name, account)] : [],
    );
    this.hashed = new Map(
      entries.flatMap(([name, account]) =>
        typeof account === 'string' ? [] : [[name, hashedOf(name, account)] as const],
      ),
    );
    const [first] = this.hashed.values();
    this.decoy = first && decoyOf(first.hash);
  }

  /** False if no accounts are configured: the admin port is open. */
  get areNeeded(): boolean {
    return this.plain.length + this.hashed.size > 0;
  }

  /** All accounts, by name. */
  all(): Actor[] {
    const actors = [...this.plain, ...this.hashed.values()].map(({ actor }) => actor);
    return actors.sort((a, b) => ((a.account ?? '') < (b.account ?? '') ? -1 : 1));
  }

  /** The account with a name. */
  named(name: string): Actor | undefined {
    return this.all().find(({ account }) => account === name);
  }

  /** Differs from account to account, and changes with the password. */
  keyOf(name: string): Buffer | undefined {
    const { hash } = this.hashed.get(name) ?? {};
    if (hash) return Buffer.concat([hash.salt, hash.digest]);
    return this.plain.find(({ actor }) => actor.account === name)?.digest;
  }

  /**
   * Returns the account of an `Authorization` header, null if it matches none. Takes the same time for a wrong password
   * and for an account that does not exist. At once unless there is an account with a hashed password.
   */
  whose(authorization: string | undefined): Actor | null | Promise<Actor | null> {
    const encoded = BASIC.exec(authorization ?? '')?.[1] ?? '';
    const sent = Buffer.from(encoded, 'base64');
    const found = this.plainOf(sent);
    return found !== null || this.decoy === undefined ? found : this.hashedOf(sent, this.decoy);
  }

  private plainOf(credentials: Buffer): Actor | null {
    const sent = digestOf(credentials);
    let found: Actor | null = null;
    for (const { actor, digest } of this.plain) {
      if (/* guard: passwords-in-constant-time */ timingSafeEqual(digest, sent)) found = actor;
    }
    return found;
  }

  private async hashedOf(credentials: Buffer, decoy: PasswordHash): Promise<Actor | null> {
    const colon = credentials.indexOf(':');
    const account = this.hashed.get(credentials.toString('utf8', 0, Math.max(colon, 0)));
    const password = credentials.subarray(colon + 1);
    const check = this.last.then(() => hasHash(password, account?.hash ?? decoy));
    this.last = check.catch(() => undefined);
    const isRight = await check;
    return isRight && account !== undefined ? account.actor : null;
  }
}

function plainOf(name: string, password: string): PlainAccount {
  return { actor: new Actor(name, 'admin', null), digest: digestOf(`${name}:${password}`) };
}

/** @throws {Error} a bug: the configuration was not checked */
function hashedOf(name: string, { password_hash, role, namespaces }: AccountConfig): HashedAccount {
  const hash = parsePasswordHash(password_hash);
  if (hash === null || role === '') throw new Error(`the account ${name} was not checked`);
  return { actor: new Actor(name, role, namespaces ?? null), hash };
}

function digestOf(credentials: string | Buffer): Buffer {
  return createHash('sha256').update(credentials).digest();
}
