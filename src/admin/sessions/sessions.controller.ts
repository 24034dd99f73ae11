import { Body, Controller, Delete, Get, HttpCode, HttpStatus, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../config/config.js';
import { Actor } from '../../domain/actor.js';
import { QueueError } from '../../domain/errors.js';
import { AdminException } from '../admin-error.filter.js';
import { Audit } from '../audit/audit.js';
import { AuditTrail, factsOf } from '../audit/audit-trail.js';
import { Oidc } from '../oidc/oidc.js';
import { CurrentActor } from '../parameters.js';
import { Sessions } from './sessions.js';
import { SignIn } from './sign-in.js';

const NO_ACCOUNTS = 'the server has no accounts: nothing is to sign in to';
const FORM = 'the body must be a JSON object with account and password';

/** What an account is told about itself. */
interface Identity {
  readonly account: string | null;
  readonly role: string;
  /** Null: all. */
  readonly namespaces: readonly string[] | null;
  /** It has a session, and did not send its password. */
  readonly session: boolean;
  readonly expires_at: string | null;
  /** Of the API, as this client probably reaches it; null: its port is not known. */
  readonly api_url: string | null;
}

/** Sessions of web pages, and the accounts themselves; lmstfy has neither. */
@Controller()
export class SessionsController {
  constructor(
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly oidc: Oidc,
    private readonly audit: Audit,
    private readonly trail: AuditTrail,
    private readonly config: Config,
  ) {}

  /** Signs in with a password. A session that the request had ends: the new one has a new secret. */
  @Post('session')
  @HttpCode(HttpStatus.OK)
  async begin(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: unknown,
  ): Promise<Identity> {
    const { isNeeded, passwords } = this.signIn;
    if (!isNeeded) throw new AdminException(HttpStatus.NOT_FOUND, { error: NO_ACCOUNTS });
    const { account, password } = credentialsIn(body);
    const verdict = await passwords.check(request.ip, basicOf(account, password));
    if (typeof verdict === 'string') throw busy(reply);
    if (!('actor' in verdict)) {
      this.audit.recordFailedPassword(request, verdict.failures);
      throw new AdminException(HttpStatus.UNAUTHORIZED, { error: 'unauthorized' });
    }
    // guard: sign-in-ends-the-old-session
    await this.sessions.end(request.headers.cookie);
    const { actor } = verdict;
    const { endsMs, header } = await this.sessions.begin(actor);
    void reply.header('Set-Cookie', header);
    await this.trail.record(factsOf(request, 'POST /session', actor.account), HttpStatus.OK);
    return this.identityOf(request, actor, endsMs);
  }

  /** Which account the client is. */
  @Get('session')
  show(@Req() request: FastifyRequest, @CurrentActor() actor: Actor): Identity {
    return this.identityOf(request, actor, request.sessionEndsMs ?? null);
  }

  /** Signs out; does nothing without a session. */
  @Delete('session')
  @HttpCode(HttpStatus.NO_CONTENT)
  async end(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    const { account, header } = await this.sessions.end(request.headers.cookie);
    void reply.header('Set-Cookie', header);
    if (account !== null)
      await this.trail.record(factsOf(request, 'DELETE /session', account), HttpStatus.NO_CONTENT);
  }

  /** The accounts with their sessions: all for the role `admin`, else the own one. */
  @Get('accounts')
  async list(@CurrentActor() actor: Actor): Promise<object> {
    const all = [...this.signIn.accounts.all(), ...(await this.oidc.accounts())];
    const shown = all.filter(({ account }) => sees(actor, account));
    const accounts = shown.map(async ({ account, role, namespaces }) => ({
      ...{ name: account, role, namespaces },
      sessions: await this.sessions.count(account ?? ''),
    }));
    return { accounts: await Promise.all(accounts) };
  }

  /** Ends all sessions of an account: of the own one, or of another one with the role `admin`. */
  @Delete('accounts/:name/sessions')
  async endAll(
    @CurrentActor() actor: Actor,
    @Param('name') name: string,
  ): Promise<{ readonly ended: number }> {
    // guard: sessions-of-others-need-admin
    if (!sees(actor, name))
      throw new QueueError('role_missing', 'only the role admin may end sessions of another account');
    if (this.signIn.accounts.named(name) === undefined && !(await this.oidc.hasAccount(name)))
      throw new AdminException(HttpStatus.NOT_FOUND, { error: 'account not found' });
    return { ended: await this.sessions.endAll(name) };
  }

  private identityOf(
    { hostname }: FastifyRequest,
    { account, role, namespaces }: Actor,
    endsMs: number | null,
  ): Identity {
    const expires = endsMs === null ? null : new Date(endsMs).toISOString();
    const url = apiUrl(this.config.server, hostname);
    return { account, role, namespaces, session: endsMs !== null, expires_at: expires, api_url: url };
  }
}

/** @param host by which the client reaches the admin port: most servers have both ports on one */
function apiUrl({ public_url, tls_cert, port }: Config['server'], host: string): string | null {
  if (public_url !== undefined) return public_url.replace(/\/+$/, '');
  // With the port 0 the system chose one.
  return port === 0 ? null : `${tls_cert === undefined ? 'http' : 'https'}://${host}:${String(port)}`;
}

/** An admin of some namespaces is no admin of the accounts. */
function sees({ account, role, namespaces }: Actor, name: string | null): boolean {
  return account === name || (role === 'admin' && namespaces === null);
}

/** @throws {QueueError} `invalid_argument` */
function credentialsIn(body: unknown): { readonly account: string; readonly password: string } {
  try {
    const { account, password } = JSON.parse(String(body)) as Record<string, unknown>;
    if (typeof account === 'string' && typeof password === 'string') return { account, password };
  } catch {
    // As any other text that is no such object.
  }
  throw new QueueError('invalid_argument', FORM);
}

/** The header that a client without a session would send. */
function basicOf(account: string, password: string): string {
  return `Basic ${Buffer.from(`${account}:${password}`).toString('base64')}`;
}

function busy(reply: FastifyReply): AdminException {
  void reply.header('Retry-After', '5');
  return new AdminException(HttpStatus.TOO_MANY_REQUESTS, {
    error: 'too many wrong passwords from this address',
  });
}
