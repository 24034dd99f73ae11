import { timingSafeEqual } from 'node:crypto';
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../config/config.js';
import { QueueError } from '../domain/errors.js';
import { watchConnection } from '../http/connection.js';
import { PoolRegistry } from '../redis/redis.module.js';
import { ACCESS_RULES, type AccessRules, DEFAULT_ACCESS } from './access.js';
import type { Caller } from './caller.js';
import { type Credentials, parseToken, tokenDigest } from './credentials.js';
import { checkListedNames, checkNames } from './route-names.js';
import { allowedBy, type CountedRequest, Throttle } from './throttle.js';
import { type KnownToken, TokenCache } from './token-cache.js';

interface TokenRoute {
  Params: { namespace: string; queue?: string };
  Querystring: Partial<Record<string, string | string[]>>;
}
type TokenRequest = FastifyRequest<TokenRoute>;

/**
 * Lets a request through to its queue: its names are legal (400), its pool exists (404), its token is one of its namespace (401)
 * and has not used up its limit (429), in this order. It sets `request.caller`.
 *
 * A request with a remembered token and no limit is let through without waiting for anything.
 */
@Injectable()
export class TokenGuard implements CanActivate {
  private readonly rules = new Map<unknown, AccessRules>();

  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(PoolRegistry) private readonly pools: PoolRegistry,
    @Inject(TokenCache) private readonly tokens: TokenCache,
    @Inject(Throttle) private readonly throttle: Throttle,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {}

  /**
   * @throws {QueueError} `invalid_argument`, `pool_not_found`, `token_missing`, `token_invalid`, `rate_limited`; their messages
   * are lmstfy's; `pool_unavailable`
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<TokenRequest>();
    const rules = this.rulesOf(context);
    const { namespace, queue } = request.params;
    if (rules.queues === 'list') checkListedNames(namespace, queue ?? '');
    else checkNames(namespace, queue);

    const credentials = parseToken(sentToken(request));
    if (!this.pools.get(credentials.pool)) throw new QueueError('pool_not_found', 'pool not found');
    if (rules.isSize === true && this.config.lmstfy.public_sizes) {
      request.caller = { pool: credentials.pool, namespace, tokenId: '', limits: null };
      return true;
    }
    if (credentials.token === '') throw new QueueError('token_missing', 'token not found');
    const visit = { request, reply: http.getResponse<FastifyReply>(), rules, namespace, credentials };
    const digest = tokenDigest(credentials.pool, namespace, credentials.token);
    const known = this.tokens.get(digest);
    return known instanceof Promise
      ? known.then((found) => this.admit(visit, digest, found))
      : this.admit(visit, digest, known);
  }

  private rulesOf(context: ExecutionContext): AccessRules {
    const handler = context.getHandler();
    let rules = this.rules.get(handler);
    if (!rules) {
      rules = this.reflector.get<AccessRules | undefined>(ACCESS_RULES, handler) ?? DEFAULT_ACCESS;
      this.rules.set(handler, rules);
    }
    return rules;
  }

  private admit(visit: Visit, digest: string, known: KnownToken | null): boolean | Promise<boolean> {
    const { request, rules, namespace, credentials } = visit;
    if (!known || !isSame(known.secret, credentials.token))
      throw new QueueError('token_invalid', 'invalid token');
    const { limit } = known.record;
    const caller: Caller = { pool: credentials.pool, namespace, tokenId: digest, limits: limit };
    request.caller = caller;
    if (limit === null || rules.throttle === undefined || allowedBy(limit, rules.throttle) === 0) return true;
    const token = { digest, text: credentials.token, pool: credentials.pool, namespace };
    return this.throttle.count(token, rules.throttle, limit).then((counted) => {
      if (counted) this.refundUnlessServed(visit.reply, counted);
      return true;
    });
  }

  /** Only an answer of 200 or 201 that went out has cost the caller a request. */
  private refundUnlessServed({ raw }: FastifyReply, counted: CountedRequest): void {
    let isSettled = false;
    const settle = (isServed: boolean): void => {
      if (!isSettled && !isServed) void this.throttle.refund(counted);
      isSettled = true;
    };
    const { socket } = raw.req;
    const unwatch = watchConnection(socket, () => settle(false));
    raw.once('finish', () => {
      unwatch();
      // Node says so too of an answer whose connection was destroyed under it.
      settle(!socket.destroyed && (raw.statusCode === 200 || raw.statusCode === 201));
    });
  }
}

interface Visit {
  readonly request: TokenRequest;
  readonly reply: FastifyReply;
  readonly rules: AccessRules;
  readonly namespace: string;
  readonly credentials: Credentials;
}

/** The header's token, else that of the query; the first of equal parameters counts. Empty if there is none. */
function sentToken(request: TokenRequest): string {
  const header = request.headers['x-token'];
  if (typeof header === 'string' && header !== '') return header;
  const { token } = request.query;
  return (Array.isArray(token) ? token[0] : token) ?? '';
}

function isSame(secret: Buffer, sent: string): boolean {
  const bytes = Buffer.from(sent);
  return bytes.length === secret.length && timingSafeEqual(bytes, secret);
}
