import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback } from '../config/addresses.js';
import type { Config } from '../config/config.js';
import { Accounts } from './accounts.js';
import type { Audit } from './audit.js';
import { BrowserRules } from './browser-rules.js';
import { FORM_TYPE, isForm } from './forms.js';
import { PasswordChecks, type PasswordVerdict } from './password-checks.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The account of an admin request; missing if no accounts are configured. */
    account?: string;
  }
}

/** Largest body on the admin port, in bytes: forms and limits are short. */
const MAX_BODY_BYTES = 65_536;
/** Probes need no account. */
const PROBES = ['GET /healthz', 'HEAD /healthz', 'GET /readyz', 'HEAD /readyz', 'OPTIONS /'];

/**
 * Sets up the admin port's Fastify: the rules for browsers, basic auth, and bodies as plain text whatever their content
 * type is. lmstfy parses a limit's JSON without checking the content type, and `curl -d` sends it as a form. These are
 * Fastify hooks, because Nest's guards run only after the body was read, and not at all for an unknown path.
 */
export class AdminHttp {
  private readonly accounts: Accounts;
  private readonly browsers: BrowserRules;
  private readonly passwords: PasswordChecks;

  constructor(
    private readonly config: Config,
    private readonly audit: Audit,
  ) {
    const { accounts, host: ownName, hosts } = config.admin;
    this.accounts = new Accounts(accounts);
    this.passwords = new PasswordChecks(this.accounts);
    this.browsers = new BrowserRules([ownName, ...hosts]);
  }

  /** @throws {Error} the port is reachable from other machines but has no accounts */
  setUp(fastify: FastifyInstance): void {
    const { host } = this.config.admin;
    if (!this.accounts.areNeeded && !isLoopback(host)) {
      throw new Error(
        `admin.host is ${host}: set admin.accounts, or keep the admin port on a loopback address`,
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
        this.audit.recordRefused(request, refusal.rule);
        void reply.code(403).send({ error: refusal.error });
      } else this.authenticate(request, reply, done);
    });
  }

  /** Answers at once if no password was sent: browsers ask for a password only after this answer. */
  private authenticate(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    const { authorization } = request.headers;
    if (!this.accounts.areNeeded || this.isOpen(request)) done();
    else if (authorization === undefined) challenge(reply);
    else {
      void this.passwords.check(request.ip, authorization).then((verdict) => {
        if (typeof verdict === 'object' && 'account' in verdict) {
          request.account = verdict.account;
          done();
        } else this.refuse(request, reply, verdict);
      });
    }
  }

  private refuse(
    request: FastifyRequest,
    reply: FastifyReply,
    verdict: Exclude<PasswordVerdict, { readonly account: string }>,
  ): void {
    if (verdict === 'flood') request.raw.socket.destroy();
    else if (verdict === 'busy') {
      const error = 'too many wrong passwords from this address';
      void reply.code(429).header('Retry-After', '5').send({ error });
    } else {
      this.audit.recordFailedPassword(request, verdict.failures);
      challenge(reply);
    }
  }

  private isOpen({ method, url }: FastifyRequest): boolean {
    const call = `${method} ${url.split('?', 1)[0] ?? ''}`;
    return PROBES.includes(call) || (call === 'GET /metrics' && this.config.metrics.public);
  }
}

/** Fastify rejects invalid media types, such as the empty one of Go's `http.Post(url, "", nil)`; lmstfy does not check. */
function ignoreType({ raw: { headers } }: FastifyRequest): void {
  if (isForm(headers['content-type'])) headers['content-type'] = FORM_TYPE;
  else /* guard: admin-ignores-content-types */ delete headers['content-type'];
}

function challenge(reply: FastifyReply): void {
  void reply
    .code(401)
    .header('WWW-Authenticate', 'Basic realm="pumphouse", charset="UTF-8"')
    .send({ error: 'unauthorized' });
}
