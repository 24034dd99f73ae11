import type { Actor } from '../domain/actor.js';
import { QueueError } from '../domain/errors.js';
import type { Rights } from '../domain/rights.js';
import { includesRole, type Role } from '../domain/roles.js';

const ALL_NEEDED = 'the account is for some namespaces, and this call is for all of them';
/** Equal whether the namespace exists or not. */
const NO_NAMESPACE = 'namespace not found: the account is not for it, or the name is wrong';

/** The role that a call needs; `open`: no account; null: no account may make it, it belongs to a worker with a token. */
export type NeededRole = Role | 'open' | null;

/**
 * The role that each call of the admin port needs. A call that is not here is refused to all accounts.
 *
 * Calls that show tokens in clear need `admin`, also those that change nothing.
 */
export const ADMIN_CALLS: Readonly<Record<string, NeededRole>> = {
  'GET /healthz': 'open',
  'HEAD /healthz': 'open',
  'GET /readyz': 'open',
  'HEAD /readyz': 'open',
  'OPTIONS /': 'open',
  'GET /': 'open',
  'GET /ui': 'open',
  'GET /ui/*': 'open',
  'POST /session': 'open',
  'DELETE /session': 'open',
  'GET /session': 'viewer',
  'GET /sign-in': 'open',
  'GET /sign-in/oidc': 'open',
  'GET /sign-in/oidc/callback': 'open',
  'GET /audit': 'admin',
  'GET /accounts': 'viewer',
  'DELETE /accounts/:name/sessions': 'viewer',
  'GET /version': 'viewer',
  'GET /pools': 'viewer',
  'GET /pools/*': 'viewer',
  'GET /info': 'viewer',
  'GET /namespaces': 'viewer',
  'GET /metrics': 'viewer',
  'GET /redis': 'viewer',
  'GET /formats': 'viewer',
  'POST /formats/:pool': 'admin',
  'GET /overview': 'viewer',
  'GET /namespaces/:namespace/queues/:queue/history': 'viewer',
  'GET /openapi.json': 'viewer',
  'GET /loops': 'viewer',
  'GET /accesslog': 'viewer',
  'POST /accesslog': 'admin',
  'GET /token/:namespace': 'admin',
  'POST /token/:namespace': 'admin',
  'GET /token/:namespace/:token': 'admin',
  'DELETE /token/:namespace/:token': 'admin',
  'POST /token/:namespace/:token/rotate': 'admin',
  'GET /token/:namespace/:token/limit': 'admin',
  'POST /token/:namespace/:token/limit': 'admin',
  'PUT /token/:namespace/:token/limit': 'admin',
  'DELETE /token/:namespace/:token/limit': 'admin',
  'GET /limits': 'admin',
  'GET /namespaces/:namespace/quotas': 'viewer',
  'PUT /namespaces/:namespace/quotas': 'admin',
  'DELETE /namespaces/:namespace': 'admin',
};

/** Calls that show or change all namespaces of the server: an account for some of them may not make them. */
export const SERVER_CALLS: ReadonlySet<string> = new Set([
  'GET /metrics',
  'POST /accesslog',
  'POST /formats/:pool',
]);

/** Calls that change nothing although their method says otherwise: the audit log does not have them. */
export const READS: ReadonlySet<string> = new Set(['POST /v1/:namespace/recurring/preview']);

/** The role that each call of the native API needs when an account makes it, on the admin port. */
export const V1_CALLS: Readonly<Record<string, NeededRole>> = {
  'GET /v1/openapi.json': 'open',
  'POST /v1/:namespace/acks': null,
  'POST /v1/:namespace/leases': null,
  'POST /v1/:namespace/jobs/:id/ack': null,
  'POST /v1/:namespace/jobs/:id/heartbeat': null,
  'POST /v1/:namespace/jobs/:id/release': null,
  'POST /v1/:namespace/jobs/:id/retry': null,
  'POST /v1/:namespace/jobs/:id/fail': null,
  'POST /v1/:namespace/jobs/:id/log': null,
  'DELETE /v1/:namespace/workers/:name/waits': null,
  'POST /v1/:namespace/workers/:name/heartbeat': null,
  'GET /v1/:namespace/events': 'viewer',
  'GET /v1/:namespace/stats': 'viewer',
  'GET /v1/:namespace/settings': 'viewer',
  'GET /v1/:namespace/settings/:key': 'viewer',
  'PUT /v1/:namespace/settings/:key': 'admin',
  'DELETE /v1/:namespace/settings/:key': 'admin',
  'GET /v1/:namespace/variables': 'viewer',
  'GET /v1/:namespace/variables/:name': 'viewer',
  'PUT /v1/:namespace/variables/:name': 'admin',
  'DELETE /v1/:namespace/variables/:name': 'admin',
  'POST /v1/:namespace/jobs': 'operator',
  'GET /v1/:namespace/jobs': 'viewer',
  'GET /v1/:namespace/jobs/:id': 'viewer',
  'PUT /v1/:namespace/jobs/:id': 'operator',
  'PATCH /v1/:namespace/jobs/:id': 'operator',
  'DELETE /v1/:namespace/jobs/:id': 'operator',
  'GET /v1/:namespace/jobs/:id/explain': 'viewer_data',
  'POST /v1/:namespace/jobs/:id/dependencies': 'operator',
  'DELETE /v1/:namespace/jobs/:id/dependencies': 'operator',
  'GET /v1/:namespace/jobs/:id/tags': 'viewer',
  'POST /v1/:namespace/jobs/:id/tags': 'operator',
  'DELETE /v1/:namespace/jobs/:id/tags': 'operator',
  'POST /v1/:namespace/jobs/:id/cancel': 'operator',
  'POST /v1/:namespace/jobs/cancel': 'operator',
  'POST /v1/:namespace/jobs/:id/revoke': 'operator',
  'GET /v1/:namespace/tags': 'viewer',
  'GET /v1/:namespace/failure-groups': 'viewer',
  'GET /v1/:namespace/tracked': 'viewer',
  'PUT /v1/:namespace/tracked/:id': 'operator',
  'DELETE /v1/:namespace/tracked/:id': 'operator',
  'GET /v1/:namespace/workers': 'viewer',
  'GET /v1/:namespace/workers/:name': 'viewer',
  'DELETE /v1/:namespace/workers/:name': 'operator',
  'POST /v1/:namespace/workers/:name/quiet': 'operator',
  'POST /v1/:namespace/workers/:name/stop': 'operator',
  'GET /v1/:namespace/targets': 'viewer',
  'GET /v1/:namespace/targets/:name': 'viewer',
  'PUT /v1/:namespace/targets/:name': 'admin',
  'PATCH /v1/:namespace/targets/:name': 'admin',
  'DELETE /v1/:namespace/targets/:name': 'admin',
  'POST /v1/:namespace/targets/:name/rotate': 'admin',
  'POST /v1/:namespace/targets/:name/pause': 'operator',
  'POST /v1/:namespace/targets/:name/resume': 'operator',
  'POST /v1/:namespace/targets/:name/test': 'operator',
  'GET /v1/:namespace/dead-letter': 'viewer',
  'POST /v1/:namespace/dead-letter/respawn': 'operator',
  'POST /v1/:namespace/dead-letter/move': 'operator',
  'POST /v1/:namespace/dead-letter/delete': 'operator',
  'POST /v1/:namespace/operations': 'operator',
  'GET /v1/:namespace/operations': 'viewer',
  'GET /v1/:namespace/operations/:id': 'viewer',
  'POST /v1/:namespace/operations/:id/stop': 'operator',
  'POST /v1/:namespace/operations/:id/undo': 'operator',
  'GET /v1/:namespace/queues': 'viewer',
  'GET /v1/:namespace/queues/:queue': 'viewer',
  'GET /v1/:namespace/queues/:queue/explain': 'viewer_data',
  'GET /v1/:namespace/queues/:queue/keys': 'viewer_data',
  'PATCH /v1/:namespace/queues/:queue': 'operator',
  'DELETE /v1/:namespace/queues/:queue': 'operator',
  'POST /v1/:namespace/queues/:queue/pause': 'operator',
  'POST /v1/:namespace/queues/:queue/resume': 'operator',
  'POST /v1/:namespace/queues/:queue/drain': 'operator',
  'POST /v1/:namespace/queues/:queue/purge': 'operator',
  'POST /v1/:namespace/recurring': 'operator',
  'GET /v1/:namespace/recurring': 'viewer',
  'GET /v1/:namespace/recurring/:id': 'viewer',
  'PUT /v1/:namespace/recurring/:id': 'operator',
  'PATCH /v1/:namespace/recurring/:id': 'operator',
  'DELETE /v1/:namespace/recurring/:id': 'operator',
  'POST /v1/:namespace/recurring/:id/pause': 'operator',
  'POST /v1/:namespace/recurring/:id/resume': 'operator',
  'POST /v1/:namespace/recurring/:id/run': 'operator',
  'GET /v1/:namespace/recurring/:id/next': 'viewer',
  'GET /v1/:namespace/recurring/:id/explain': 'viewer_data',
  'POST /v1/:namespace/recurring/preview': 'viewer',
};

/** Permissions beyond the call itself that a role has, such as `push` for a job with a URL. Null: all. */
const RIGHTS: Readonly<Record<Role, Rights | null>> = {
  viewer: { verbs: ['consume'], queues: null },
  viewer_data: { verbs: ['consume'], queues: null },
  operator: { verbs: ['publish', 'consume', 'admin'], queues: null },
  admin: null,
};

/**
 * Checks that an account may make a call of the admin port.
 *
 * @param call such as `GET /token/:namespace`
 * @param namespace undefined if the path has none
 * @throws {QueueError} `namespace_not_found`; `role_missing`: also for a call that is not in the table
 */
export function checkAdminCall(actor: Actor, call: string, namespace: string | undefined): void {
  if (namespace !== undefined) checkNamespace(actor, namespace);
  checkRole(actor, ADMIN_CALLS[call] ?? null);
  // guard: admin-call-for-all-namespaces
  if (SERVER_CALLS.has(call) && actor.namespaces !== null) throw new QueueError('role_missing', ALL_NEEDED);
}

/**
 * The permissions of an account for a call of the native API, as a token would have them.
 *
 * @param call such as `GET /v1/:namespace/queues`
 * @throws {QueueError} as `checkAdminCall`
 */
export function rightsOfAccount(actor: Actor, call: string, namespace: string): Rights | null {
  checkNamespace(actor, namespace);
  checkRole(actor, V1_CALLS[call] ?? null);
  return RIGHTS[actor.role];
}

function checkNamespace(actor: Actor, namespace: string): void {
  // guard: account-calls-in-its-namespaces
  if (!actor.allows(namespace)) throw new QueueError('namespace_not_found', NO_NAMESPACE);
}

function checkRole({ account, role }: Actor, needed: NeededRole): void {
  // guard: account-calls-need-a-role
  if (needed === 'open' || (needed !== null && includesRole(role, needed))) return;
  const own =
    account === null ? 'a client without an account' : `the account ${account} with the role ${role}`;
  const rule = needed === null ? 'it is for workers, and needs a token' : `it needs the role ${needed}`;
  throw new QueueError('role_missing', `${own} may not make this call: ${rule}`);
}
