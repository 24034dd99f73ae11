import { Controller, Get, HttpStatus, Inject, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { QueueError } from '../../domain/errors.js';
import { LOG, type Log } from '../../domain/log.js';
import { AdminException } from '../admin-error.filter.js';
import { AuditTrail, factsOf } from '../audit/audit-trail.js';
import { Sessions } from '../sessions/sessions.js';
import { Oidc, SignInRefused } from './oidc.js';
import { PAGE_HEADERS, pageOf, type ProblemKind, problemOf, SIGN_IN_HEADERS } from './pages.js';
import { ProviderError } from './provider.js';

const CALLBACK = 'GET /sign-in/oidc/callback';
/** Codes of the provider for a user who may not sign in there, or does not want to. */
const DENIED: ReadonlySet<string> = new Set(['access_denied', 'login_required', 'interaction_required']);

/** Ways to sign in, besides a password. */
interface SignInWays {
  /** Null: there is no OpenID Connect. */
  readonly oidc: { readonly name: string } | null;
}

/** Sign-in by OpenID Connect: authorization code flow with PKCE. A browser makes these calls, and they need no account. */
@Controller('sign-in')
export class OidcController {
  constructor(
    private readonly oidc: Oidc,
    private readonly sessions: Sessions,
    private readonly trail: AuditTrail,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** What the sign-in page of the console shows. */
  @Get()
  ways(): SignInWays {
    return { oidc: this.oidc.sessions === null ? null : { name: this.oidc.config.name } };
  }

  /** Sends the browser to the provider. @param route page of the console to show afterwards */
  @Get('oidc')
  async begin(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query('route') route: unknown,
  ): Promise<void> {
    try {
      const begun = await this.oidc.begin(typeof route === 'string' ? route : '/');
      if (begun === null) throw notConfigured();
      void reply.headers(SIGN_IN_HEADERS).header('Set-Cookie', begun.header);
      void reply.code(HttpStatus.SEE_OTHER).header('Location', begun.location).send();
    } catch (error) {
      this.refuse(request, reply, error);
    }
  }

  /** Signs the user in whom the provider has sent back. */
  @Get('oidc/callback')
  async finish(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    try {
      const cookies = request.headers.cookie;
      const user = await this.oidc.finish(queryOf(request), cookies);
      if (user === null) throw notConfigured();
      await this.sessions.end(cookies);
      const { header } = await this.sessions.beginOidc(user.account, user);
      await this.trail.record(factsOf(request, CALLBACK, user.account), HttpStatus.SEE_OTHER);
      void reply.headers(SIGN_IN_HEADERS).header('Set-Cookie', [header, this.oidc.clear() ?? '']);
      void reply.code(HttpStatus.SEE_OTHER).header('Location', this.oidc.pageOf(user.route)).send();
    } catch (error) {
      this.refuse(request, reply, error);
    }
  }

  /** Answers with a page that says what to do. @throws an error of another kind */
  private refuse(request: FastifyRequest, reply: FastifyReply, error: unknown): void {
    const kind = kindOf(error);
    if (kind === undefined) throw error;
    const account = error instanceof SignInRefused ? error.account : null;
    const reason = error instanceof ProviderError ? error.reason : kind;
    this.log.warn(
      { audit: 'oidc.refused', account, reason, remote: request.ip, request_id: request.id },
      'audit',
    );
    const { name: provider, groups } = this.oidc.config;
    const problem = problemOf(kind, { provider, account, groups: Object.keys(groups) });
    const cleared = this.oidc.clear();
    void reply.code(problem.status).headers(PAGE_HEADERS);
    if (cleared !== null) void reply.header('Set-Cookie', cleared);
    if (problem.status === HttpStatus.SERVICE_UNAVAILABLE) void reply.header('Retry-After', '60');
    void reply.send(pageOf(problem, this.oidc.pageOf('/')));
  }
}

function notConfigured(): AdminException {
  return new AdminException(HttpStatus.NOT_FOUND, { error: 'there is no OpenID Connect: set admin.oidc' });
}

/** Undefined: an error that is no answer to a user. */
function kindOf(error: unknown): ProblemKind | undefined {
  if (error instanceof SignInRefused) return error.why;
  if (error instanceof QueueError) return error.code === 'pool_unavailable' ? 'store_away' : undefined;
  if (!(error instanceof ProviderError)) return undefined;
  if (error.isAway) return 'away';
  return DENIED.has(error.reason) ? 'denied' : 'untrusted';
}

/** With its `?`; empty if there is none. */
function queryOf({ raw: { url = '' } }: FastifyRequest): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark);
}
