import type { IncomingMessage, ServerResponse } from 'node:http';
import { NotFoundException } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback } from '../config/addresses.js';
import { ADMIN_CALLS, checkAdminCall } from '../auth/roles.js';
import type { Config } from '../config/config.js';
import { type Actor, WITHOUT_ACCOUNT } from '../domain/actor.js';
import { QueueError } from '../domain/errors.js';
import type { Log } from '../domain/log.js';
import { type Query, sentToken } from '../http/request/head.js';
import { markAccount } from '../http/request/account-client.js';
import { REQUEST_ID_HEADER } from '../http/request/request-context.js';
import type { Audit } from './audit/audit.js';
import { BrowserRules } from './browser-rules.js';
import { factsOf, type AuditTrail } from './audit/audit-trail.js';
import type { AuditedCall } from './audit/audited-call.js';
import { type Fields, fieldsReadBy, FORM_TYPE, isForm, objectIn } from './forms.js';
import { endWith, NativeClient } from './native-client.js';
import type { PasswordVerdict } from './password-checks.js';
import type { Sessions } from './sessions/sessions.js';
import type { SignIn } from './sessions/sign-in.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The client of an admin request; missing for calls that are open to all. */
    actor?: Actor;
    /** When the session of the request ends, Unix ms; missing if it has none, or sent its password. */
    sessionEndsMs?: number;
    /** The entry of the call in the audit log; missing if it changes nothing. */
    audited?: AuditedCall;
  }
}

/** Paths of the native API. */
const NATIVE = '/v1/';

/** The calls of the native API. */
export interface NativeCalls {
  /** Answers a request of an account. @throws {Error} it cannot */
  serve(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
}

/** Dependencies of the hooks. */
export interface AdminHttpParts {
  readonly config: Config;
  readonly log: Log;
  readonly audit: Audit;
  readonly trail: AuditTrail;
  readonly signIn: SignIn;
  readonly calls: NativeCalls;
}

type Done = (error?: Error) => void;

/** A page sends it with every request; a page of another site cannot, without a preflight that is refused. */
const CONSOLE_HEADER = 'x-pumphouse-console';
const CONSOLE_NEEDED = `a request with the cookie of a session needs the header ${CONSOLE_HEADER}: 1`;
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Largest body on the admin port, in bytes: forms and limits are short. */
const MAX_BODY_BYTES = 65_536;

/**
 * Sets up the admin port's Fastify: the rules for browsers, basic auth, and bodies as plain text whatever their content
 * type is. lmstfy parses a limit's JSON without checking the content type, and `curl -d` sends it as a form. These are
 * Fastify hooks, because Nest's guards run only after the body was read, and not at all for an unknown path.
 */
export class AdminHttp {
  private readonly browsers: BrowserRules;
  /** Set before the port listens. */
  private sessions!: Pick<Sessions, 'find'>;

  constructor(private readonly parts: AdminHttpParts) {
    const { host: ownName, hosts } = parts.config.admin;
    this.browsers = new BrowserRules([ownName, ...hosts]);
  }

  /** Finds sessions in a store that is open by now. */
  useSessions(sessions: Pick<Sessions, 'find'>): void {
    this.sessions = sessions;
  }

  /** @throws {Error} the port is reachable from other machines but has no accounts */
  setUp(fastify: FastifyInstance): void {
    const { config, signIn, audit } = this.parts;
    const { host } = config.admin;
    if (!signIn.isNeeded && !isLoopback(host)) {
      throw new Error(
        `admin.host is ${host}: set admin.accounts or admin.oidc, or keep the admin port on a loopback address`,
      );
    }
    fastify.removeAllContentTypeParsers();
    fastify.addContentTypeParser(
      '*',
      { parseAs: 'string', bodyLimit: MAX_BODY_BYTES },
      (_request, body, done) => done(null, body),
    );
    fastify.addHook('onRequest', (request, reply, done) => {
      ignoreType(request);
      const refusal = this.browsers.refusalOf(request);
      // guard: admin-refuses-browsers
      if (refusal !== undefined) {
        audit.recordRefused(request, refusal.rule);
        void reply.code(403).send({ error: refusal.error });
      } else this.authenticate(request, reply, done);
    });
    fastify.addHook('preHandler', (request, reply, done) => {
      const begun = this.beginAudit(request, reply);
      if (begun === undefined) done();
      else begun.then(() => done(), done);
    });
    fastify.addHook('onSend', (request, _reply, payload, done) => {
      request.audited?.recordAnswer(objectIn(payload));
      done();
    });
  }

  /** Records a call that may change something, before its handler runs. The body has been read. */
  private beginAudit(request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    const { actor, query, body, headers } = request;
    const action = callOf(request);
    const { trail } = this.parts;
    if (actor === undefined || request.is404 || !trail.isActing(request.method, action)) return undefined;
    const fields = fieldsReadBy(action, {
      ...{ query: query as Fields, contentType: headers['content-type'], body },
    });
    return trail.begin(factsOf(request, action, actor.account, fields), fields).then((call) => {
      request.audited = call;
      endWith(call, reply);
    });
  }

  /** Answers at once if no password was sent: browsers ask for a password only after this answer. */
  private authenticate(request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const { isNeeded, cookie } = this.parts.signIn;
    const { authorization, cookie: cookies } = request.headers;
    if (!isNeeded) this.admit(request, reply, WITHOUT_ACCOUNT, done);
    else if (
      /* guard: session-needs-the-console-header */ cookie.isIn(cookies) &&
      !SAFE.has(request.method) &&
      request.headers[CONSOLE_HEADER] === undefined
    )
      done(new QueueError('role_missing', CONSOLE_NEEDED));
    else if (this.isOpen(request)) done();
    else if (authorization !== undefined) this.checkPassword(request, reply, authorization, done);
    else if (cookie.isIn(cookies)) this.checkSession(request, reply, done);
    else challenge(request, reply);
  }

  private checkPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    authorization: string,
    done: Done,
  ): void {
    this.parts.signIn.passwords.check(request.ip, authorization).then((verdict) => {
      if (typeof verdict === 'object' && 'actor' in verdict) this.admit(request, reply, verdict.actor, done);
      else this.refuse(request, reply, verdict);
    }, done);
  }

  private checkSession(request: FastifyRequest, reply: FastifyReply, done: Done): void {
    this.sessions.find(request.headers.cookie).then((session) => {
      if (session === null) challenge(request, reply);
      else {
        request.sessionEndsMs = session.endsMs;
        this.admit(request, reply, session.actor, done);
      }
    }, done);
  }

  /** Unknown paths are answered by the router. */
  private admit(request: FastifyRequest, reply: FastifyReply, actor: Actor, done: Done): void {
    request.actor = actor;
    if (request.raw.url?.startsWith(NATIVE) !== true)
      done(request.is404 ? undefined : refusalOf(request, actor));
    else if (/* guard: admin-takes-no-token */ sentToken(request.raw, request.query as Query, NATIVE) !== '')
      done(new NotFoundException());
    else this.handOver(request, reply, actor);
  }

  /** The native API checks the role and reads the body itself. */
  private handOver(request: FastifyRequest, reply: FastifyReply, actor: Actor): void {
    reply.hijack();
    reply.raw.removeHeader(REQUEST_ID_HEADER);
    const { sessions, parts } = this;
    markAccount(request.raw, new NativeClient(request, reply, { actor, trail: parts.trail, sessions }));
    Promise.resolve()
      .then(() => this.parts.calls.serve(request.raw, reply.raw))
      .catch((error: unknown) => this.fail(error, reply));
  }

  private fail(error: unknown, { raw }: FastifyReply): void {
    this.parts.log.error({ err: error }, 'the native API of the admin port failed');
    if (raw.headersSent) raw.destroy();
    else raw.writeHead(503, { 'Retry-After': '1' }).end();
  }

  private refuse(
    request: FastifyRequest,
    reply: FastifyReply,
    verdict: Exclude<PasswordVerdict, { readonly actor: Actor }>,
  ): void {
    if (verdict === 'flood') request.raw.socket.destroy();
    else if (verdict === 'busy') {
      const error = 'too many wrong passwords from this address';
      void reply.code(429).header('Retry-After', '5').send({ error });
    } else {
      this.parts.audit.recordFailedPassword(request, verdict.failures);
      challenge(request, reply);
    }
  }

  private isOpen(request: FastifyRequest): boolean {
    const call = callOf(request);
    return ADMIN_CALLS[call] === 'open' || (call === 'GET /metrics' && this.parts.config.metrics.public);
  }
}

/** The call of a request, as `ADMIN_CALLS` names it. */
function callOf({ method, routeOptions }: FastifyRequest): string {
  return `${method} ${routeOptions.url ?? ''}`;
}

/** The error of a call that the account may not make. */
function refusalOf(request: FastifyRequest, actor: Actor): Error | undefined {
  const { namespace } = (request.params ?? {}) as { readonly namespace?: string };
  try {
    checkAdminCall(actor, callOf(request), namespace);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Fastify rejects invalid media types, such as the empty one of Go's `http.Post(url, "", nil)`; lmstfy does not check. */
function ignoreType({ raw: { headers } }: FastifyRequest): void {
  if (isForm(headers['content-type'])) headers['content-type'] = FORM_TYPE;
  else /* guard: admin-ignores-content-types */ delete headers['content-type'];
}

/** A browser opens a dialog of its own for the header; a page has its own form. */
function challenge({ headers }: FastifyRequest, reply: FastifyReply): void {
  if (headers[CONSOLE_HEADER] === undefined)
    void reply.header('WWW-Authenticate', 'Basic realm="pumphouse", charset="UTF-8"');
  void reply.code(401).send({ error: 'unauthorized' });
}
