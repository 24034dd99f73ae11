import type { OidcConfig } from '../config/config.js';
import { Actor } from '../domain/actor.js';
import { ROLES, type Role } from '../domain/roles.js';

/** Begins the names of accounts of OpenID Connect. A name of the configuration has no colon. */
const PREFIX = 'oidc:';

/** How long the groups of an account count after the provider has confirmed them, in milliseconds. */
export const MAX_CHECK_AGE_MS = 3_600_000;

/** The name of an account, by the value of the claim that names it. */
export function oidcAccount(name: string): string {
  return PREFIX + name;
}

/** True for the name of an account of OpenID Connect. */
export function isOidcAccount(account: string): boolean {
  return account.startsWith(PREFIX);
}

/** What a group of the configuration gives. */
interface Grant {
  readonly group: string;
  readonly role: Role;
  /** Null: all. */
  readonly namespaces: readonly string[] | null;
}

/** The groups of the configuration that have a role. */
function grantsOf({ groups }: OidcConfig): Grant[] {
  return Object.entries(groups).flatMap(([group, given]) => {
    const { role: named, namespaces = null } = typeof given === 'string' ? { role: given } : given;
    const role = ROLES.find((one) => one === named);
    return role === undefined ? [] : [{ group, role, namespaces }];
  });
}

/** Those groups of a user that the configuration names. */
export function knownGroups(config: OidcConfig, groups: readonly string[]): string[] {
  return grantsOf(config).flatMap(({ group }) => (groups.includes(group) ? [group] : []));
}

/**
 * What members of some groups may do: the highest role of these groups, in the namespaces of those groups that give it.
 *
 * @returns undefined if none of the groups has a role
 */
export function actorOfGroups(
  account: string,
  config: OidcConfig,
  groups: readonly string[],
): Actor | undefined {
  const grants = grantsOf(config).filter(({ group }) => groups.includes(group));
  const role = ROLES.findLast((one) => grants.some((grant) => grant.role === one));
  if (role === undefined) return undefined;
  // guard: oidc-role-in-its-namespaces
  const given = grants.filter((grant) => grant.role === role);
  const isForAll = given.some(({ namespaces }) => namespaces === null);
  return new Actor(account, role, isForAll ? null : given.flatMap(({ namespaces }) => namespaces ?? []));
}
