import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { Admission } from '../auth/admission.js';
import {
  type ApiErrors,
  nextFastRequestId,
  RequestContext,
  type ServerContext,
} from '../http/request/request-context.js';
import { hasForeignCoding, hasTooManyHeaders, hasTwoHosts, parseQuery } from '../http/request/head.js';
import { SERVER_CONTEXT } from '../http/server-context.js';
import {
  FAST_ROUTES,
  type FastPattern,
  type FastRoute,
  type FastRouteName,
  templateOf,
} from './fast-routes.js';
import { V1FastCalls } from './v1/fast-calls.v1.js';
import { LmstfyFastCalls } from './lmstfy/fast-calls.lmstfy.js';
import { V1LeaseOperations } from './v1/lease-operations.v1.js';
import { V1Leasing } from './v1/leasing.v1.js';
import { V1Publishing } from './v1/publishing.v1.js';

/** Handles an admitted request context and makes sure that it is answered, now or later. */
type Handler = (context: RequestContext) => void;

/** The handlers of the calls of the fast path. */
@Injectable()
export class FastCalls {
  readonly handlers: Readonly<Record<FastRouteName, Handler>>;

  constructor(
    lmstfy: LmstfyFastCalls,
    v1: V1FastCalls,
    publishing: V1Publishing,
    leasing: V1Leasing,
    operations: V1LeaseOperations,
  ) {
    this.handlers = {
      publish: (context) => lmstfy.publish(context),
      publishBulk: (context) => lmstfy.publishBulk(context),
      consume: (context) => lmstfy.consume(context),
      ack: (context) => lmstfy.ack(context),
      v1Publish: (context) => publishing.publish(context),
      v1Lease: (context) => leasing.lease(context),
      v1Acks: (context) => v1.acks(context),
      v1Ack: (context) => operations.ack(context),
      v1Heartbeat: (context) => operations.heartbeat(context),
      v1Release: (context) => operations.release(context),
      v1Retry: (context) => operations.retry(context),
      v1Fail: (context) => operations.fail(context),
    };
  }
}

/** A route with everything that is needed to serve it. */
interface FastCall extends FastRoute {
  readonly template: string;
  readonly errors: ApiErrors;
  readonly run: Handler;
}

/**
 * Serves the most frequent calls without Fastify and Nest, which cost more than the calls themselves. Admission,
 * handlers, errors, metrics and log are the same as for routed requests. A path in an unusual spelling is left to the
 * router.
 */
@Injectable()
export class FastPath {
  private readonly matcher: FastMatcher<FastCall>;

  constructor(
    @Inject(SERVER_CONTEXT) private readonly server: ServerContext,
    { handlers }: FastCalls,
    private readonly admission: Admission,
  ) {
    const names = Object.keys(FAST_ROUTES) as FastRouteName[];
    this.matcher = new FastMatcher(
      names.map((name) => {
        const template = templateOf(FAST_ROUTES[name]);
        return { ...FAST_ROUTES[name], template, errors: server.errorsOf(template), run: handlers[name] };
      }),
    );
  }

  /** @returns false if it leaves the request to the router, unchanged */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    // The router rejects a request without Host, with two of them, with too many headers or with a coding that it cannot decode. A request
    // for another protocol (`Upgrade`) also goes to the router, as the last one of its connection.
    const { host, upgrade } = request.headers;
    if (host === undefined || upgrade !== undefined || hasTooManyHeaders(request)) return false;
    if (/* guard: fast-path-leaves-foreign-codings */ hasForeignCoding(request)) return false;
    if (hasTwoHosts(request)) return false;
    const { url = '', method } = request;
    if (url.length > this.server.maxUrlBytes) return false;
    const match = this.matcher.match(method, url);
    if (match === null) return false;
    const { call, namespace, queue, id, queryText } = match;
    const target = {
      errors: call.errors,
      route: call.template,
      namespace,
      queue,
      jobId: id,
      query: parseQuery(queryText),
    };
    this.serve(new RequestContext(this.server, request, response, nextFastRequestId(), target), call);
    return true;
  }

  private serve(context: RequestContext, { access, run }: FastCall): void {
    try {
      const admitted = this.admission.admit(context, access);
      if (admitted === undefined) run(context);
      else context.after(admitted, () => run(context));
    } catch (error) {
      context.fail(error);
    }
  }
}

/** Passes every request of a server to the fast path first; the previous listeners get those that it declines. */
export function installFastPath(server: Server, fastPath: FastPath): void {
  const routers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (fastPath.take(request, response)) return;
    for (const route of routers) route(request, response);
  });
}

/** A matched call, and the names in the path of its request. Names that its pattern does not have are empty. */
export interface Match<T> {
  readonly call: T;
  readonly namespace: string;
  /** A queue, or a list of queues as it was sent. */
  readonly queue: string;
  readonly id: string;
  /** Without the question mark. */
  readonly queryText: string;
}

/** The calls with the same method and base. */
interface Group<T> {
  readonly method: string;
  /** The base up to its first name, such as `/api/`. */
  readonly prefix: string;
  readonly hasQueue: boolean;
  readonly suffixes: Suffix<T>[];
}

/** What follows the base in the path of a call. */
interface Suffix<T> {
  /** What is before the id. */
  readonly text: string;
  readonly hasId: boolean;
  /** What is behind the id, with its slash; or nothing. */
  readonly tail: string;
  readonly call: T;
}

const BASE = /^(\w+\/):namespace(\/:queue)?$/;
const PATH = /^([a-z/]*)(?:(:id|:job_id)(\/[a-z]+)?)?$/;

/**
 * Finds the call of a request by comparing its method and path with a few constants, without regular expressions, and
 * allocating nothing but the names. It matches only the plain spelling; the router handles all others.
 */
export class FastMatcher<T extends FastPattern> {
  private readonly groups: Group<T>[] = [];

  /** @throws {Error} a pattern has a form that `FastPattern` does not allow */
  constructor(calls: readonly T[]) {
    for (const call of calls) this.add(call);
  }

  /**
   * @returns null if the request does not exactly have the form of a call: another method, escapes, a `#`, an empty
   *   name, a trailing slash
   */
  match(method: string | undefined, url: string): Match<T> | null {
    for (const group of this.groups) {
      if (group.method === method && url.startsWith(group.prefix)) {
        const match = matchIn(group, url);
        if (match !== null) return match;
      }
    }
    return null;
  }

  private add(call: T): void {
    const [, prefix, queue] = BASE.exec(call.base) ?? [];
    const [, text, id, tail = ''] = PATH.exec(call.path) ?? [];
    if (prefix === undefined || text === undefined)
      throw new Error(`the fast path cannot match ${call.base}/${call.path}`);
    const found = { method: call.method, prefix: `/${prefix}`, hasQueue: queue !== undefined };
    let group = this.groups.find((one) => isSame(one, found));
    if (group === undefined) this.groups.push((group = { ...found, suffixes: [] }));
    group.suffixes.push({ text, hasId: id !== undefined, tail, call });
  }
}

type GroupKey = Pick<Group<unknown>, 'method' | 'prefix' | 'hasQueue'>;

function isSame(one: GroupKey, other: GroupKey): boolean {
  return one.method === other.method && one.prefix === other.prefix && one.hasQueue === other.hasQueue;
}

function matchIn<T>({ prefix, hasQueue, suffixes }: Group<T>, url: string): Match<T> | null {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  if (path.includes('%') || path.includes('#') || path.endsWith('/')) return null;
  const first = path.indexOf('/', prefix.length);
  if (first <= prefix.length) return null;
  let queue = '';
  let at = first + 1;
  if (hasQueue) {
    const next = path.indexOf('/', at);
    if (next === at) return null;
    const end = next === -1 ? path.length : next;
    queue = path.slice(at, end);
    at = end + 1;
  }
  const rest = path.slice(at);
  const suffix = suffixOf(suffixes, rest);
  if (suffix === undefined) return null;
  return {
    call: suffix.call,
    namespace: path.slice(prefix.length, first),
    queue,
    id: suffix.hasId ? rest.slice(suffix.text.length, rest.length - suffix.tail.length) : '',
    queryText: mark === -1 ? '' : url.slice(mark + 1),
  };
}

function suffixOf<T>(suffixes: readonly Suffix<T>[], rest: string): Suffix<T> | undefined {
  for (const suffix of suffixes) {
    if (suffix.hasId ? isIdBetween(suffix, rest) : rest === suffix.text) return suffix;
  }
  return undefined;
}

/** True if there is an id, without a slash, between the text and the tail. */
function isIdBetween({ text, tail }: Suffix<unknown>, rest: string): boolean {
  const end = rest.length - tail.length;
  if (end <= text.length || !rest.startsWith(text) || !rest.endsWith(tail)) return false;
  const slash = rest.indexOf('/', text.length);
  return slash === -1 || slash === end;
}
