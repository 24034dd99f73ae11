import { applyDecorators, RequestMapping, RequestMethod } from '@nestjs/common';
import { Access, type AccessRules } from '../auth/access.js';

/** Method and path of a call on the fast path. */
export interface FastPattern {
  readonly method: string;
  /** Common start of the paths of an API: `api/:namespace/:queue` or `v1/:namespace`. */
  readonly base: string;
  /** What follows the base: nothing, words, or words and `:id` or `:job_id`, perhaps with a word behind it. */
  readonly path: string;
}

/** A call of the fast path: its method, its path, and the access rules for a token. */
export interface FastRoute extends FastPattern {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly access: AccessRules;
}

/** Prefix of the paths of a queue in lmstfy's API. */
export const LMSTFY_QUEUE = 'api/:namespace/:queue';
/** Prefix of the paths of a namespace in the native API. */
export const V1_NAMESPACE = 'v1/:namespace';

/** Lease operations free resources or keep a lease alive: they are served when other requests are rejected for overload. */
const LEASE_OPERATION = { queues: 'body', verb: 'consume', goesFirst: true } as const;

/**
 * The calls of the fast path. Its matcher is built from this table, and so are the routes of the controllers, which
 * serve the same calls in any other spelling. `FastCalls` has a handler for each.
 */
export const FAST_ROUTES = {
  publish: {
    method: 'PUT',
    base: LMSTFY_QUEUE,
    path: '',
    access: { queues: 'one', verb: 'publish', throttle: 'write' },
  },
  publishBulk: {
    method: 'PUT',
    base: LMSTFY_QUEUE,
    path: 'bulk',
    access: { queues: 'one', verb: 'publish', throttle: 'write' },
  },
  consume: {
    method: 'GET',
    base: LMSTFY_QUEUE,
    path: '',
    access: { queues: 'list', verb: 'consume', throttle: 'read' },
  },
  ack: {
    method: 'DELETE',
    base: LMSTFY_QUEUE,
    path: 'job/:job_id',
    access: { queues: 'one', verb: 'consume', goesFirst: true },
  },
  v1Publish: {
    method: 'POST',
    base: V1_NAMESPACE,
    path: 'jobs',
    access: { queues: 'body', verb: 'publish', throttle: 'write' },
  },
  v1Lease: {
    method: 'POST',
    base: V1_NAMESPACE,
    path: 'leases',
    access: { queues: 'body', verb: 'consume', throttle: 'read' },
  },
  v1Acks: {
    method: 'POST',
    base: V1_NAMESPACE,
    path: 'acks',
    access: LEASE_OPERATION,
  },
  v1Ack: { method: 'POST', base: V1_NAMESPACE, path: 'jobs/:id/ack', access: LEASE_OPERATION },
  v1Heartbeat: { method: 'POST', base: V1_NAMESPACE, path: 'jobs/:id/heartbeat', access: LEASE_OPERATION },
  v1Release: { method: 'POST', base: V1_NAMESPACE, path: 'jobs/:id/release', access: LEASE_OPERATION },
  v1Retry: { method: 'POST', base: V1_NAMESPACE, path: 'jobs/:id/retry', access: LEASE_OPERATION },
  v1Fail: { method: 'POST', base: V1_NAMESPACE, path: 'jobs/:id/fail', access: LEASE_OPERATION },
} as const satisfies Record<string, FastRoute>;

export type FastRouteName = keyof typeof FAST_ROUTES;

/** What a token may do that gets jobs, or their ends, after a wait: the queues stood in the body, and are checked as a list. */
export const CONFIRM_ACCESS = { ...FAST_ROUTES.v1Lease.access, queues: 'list' } as const;

/** The template of a route as the router spells it, so that metrics do not distinguish the two paths. */
export function templateOf({ base, path }: FastPattern): string {
  return path === '' ? `/${base}` : `/${base}/${path}`;
}

/** Decorates a controller's handler with the route of a fast-path call. The controller's path is the base of the route. */
export function Route({ method, path, access }: FastRoute): MethodDecorator {
  return applyDecorators(RequestMapping({ method: RequestMethod[method], path }), Access(access));
}
