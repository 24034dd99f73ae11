import { matchesPattern } from './rights.js';
import type { Role } from './roles.js';

/** The client of a request to the admin port: an account with what it may do. */
export class Actor {
  /**
   * @param account null: the server has no accounts
   * @param namespaces patterns of the namespaces that it may see, `*` matches any characters; null = all
   */
  constructor(
    readonly account: string | null,
    readonly role: Role,
    readonly namespaces: readonly string[] | null,
  ) {}

  /** True if the account may see a namespace. */
  allows(namespace: string): boolean {
    return this.namespaces?.some((pattern) => matchesPattern(pattern, namespace)) ?? true;
  }

  /** True if another one may do the same. */
  isLike({ role, namespaces }: Actor): boolean {
    return role === this.role && namespaces?.join() === this.namespaces?.join();
  }

  /** Those of some namespaces that the account may see, by name. */
  own(namespaces: readonly string[]): string[] {
    return namespaces.filter((one) => /* guard: lists-show-own-namespaces */ this.allows(one)).sort();
  }
}

/** The client of an admin port without accounts, which only this machine reaches. */
export const WITHOUT_ACCOUNT = new Actor(null, 'admin', null);
