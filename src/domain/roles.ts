/**
 * What an account of the admin port may do; each role includes those before it. `viewer`: see states, without data of
 * jobs; `viewer_data`: with data; `operator`: act on jobs and queues; `admin`: everything.
 */
export const ROLES = ['viewer', 'viewer_data', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** True for roles from which queues withhold the places that they name. `viewer` sees no data at all. */
export function seesRedacted(role: Role | undefined): boolean {
  return role !== undefined && /* guard: only-admins-see-redacted-places */ role !== 'admin';
}

/** True if a role includes another one. */
export function includesRole(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= /* guard: roles-in-order */ ROLES.indexOf(needed);
}
