import { timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import type { Caller } from '../domain/caller.js';
import { QueueError } from '../domain/errors.js';
import type { Exchange } from '../http/exchange.js';
import { PoolRegistry } from '../redis/redis.module.js';
import type { AccessRules } from './access.js';
import { parseToken, tokenDigest } from './credentials.js';
import { provenOn, rememberProof } from './proof.js';
import { refundUnlessServed } from './refund.js';
import { checkRights } from './rights.js';
import { checkListedNames, checkNames } from './route-names.js';
import { allowedBy, Throttle } from './throttle.js';
import { type KnownToken, TokenCache } from './token-cache.js';

/**
 * Lets a request through to its queue: there is room for it (503), its names are legal (400), its pool exists (404), its token is one
 * of its namespace (401), is allowed to do this there (403) and has not used up its limit (429), in this order. It sets
 * `exchange.admitted`.
 *
 * A request with a remembered token and no limit is let through without waiting for anything.
 */
@Injectable()
export class Admission {
  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(PoolRegistry) private readonly pools: PoolRegistry,
    @Inject(TokenCache) private readonly tokens: TokenCache,
    @Inject(Throttle) private readonly throttle: Throttle,
  ) {}

  /**
   * @returns undefined if the request is in at once, else a promise of it, which fails with the same errors
   * @throws {QueueError} `invalid_argument`, `pool_not_found`, `token_missing`, `token_invalid`, `rate_limited`; their messages
   * are lmstfy's; `verb_missing`, `queue_not_allowed`; `overloaded`, `pool_unavailable`
   */
  admit(exchange: Exchange, rules: AccessRules): Promise<void> | undefined {
    const { namespace, queue } = exchange;
    exchange.context.gate?.enter(exchange, rules.goesFirst === true);
    if (rules.queues === 'list') checkListedNames(namespace, queue);
    else checkNames(namespace, rules.queues === 'one' ? queue : undefined);

    const text = sentToken(exchange);
    const proof = provenOn(exchange.request.socket, namespace, text);
    if (proof === undefined || rules.isSize === true) return this.admitUnknown(exchange, rules, text);
    const known = this.tokens.get(proof.caller.tokenId);
    if (known !== proof.known) return this.check(exchange, rules, text, proof.caller.tokenId, known);
    return this.enter(exchange, rules, text, proof.caller);
  }

  /**
   * Makes sure that what let a request in still holds: for an answer that was long in coming. No limit counts it again.
   *
   * @throws {QueueError} `token_invalid`, `verb_missing`, `queue_not_allowed`; `pool_unavailable`
   */
  async confirm({ caller, queue }: Pick<Exchange, 'caller' | 'queue'>, rules: AccessRules): Promise<void> {
    // Under the digest of a secret that was proved stands the same secret, or none.
    const known = await this.tokens.get(caller.tokenId);
    if (known === null) throw invalidToken();
    const { rights } = known.record;
    if (rights !== null) checkRights(rights, rules, queue);
  }

  /** What this connection has not sent before. */
  private admitUnknown(exchange: Exchange, rules: AccessRules, text: string): Promise<void> | undefined {
    const { namespace } = exchange;
    const { pool, token } = parseToken(text);
    if (!this.pools.get(pool)) throw new QueueError('pool_not_found', 'pool not found');
    if (rules.isSize === true && this.config.lmstfy.public_sizes) {
      exchange.admitted = { pool, namespace, tokenId: '', limits: null, rights: null };
      return undefined;
    }
    if (token === '') throw new QueueError('token_missing', 'token not found');
    const digest = tokenDigest(pool, namespace, token);
    return this.check(exchange, rules, text, digest, this.tokens.get(digest));
  }

  private check(
    exchange: Exchange,
    rules: AccessRules,
    text: string,
    digest: string,
    known: KnownToken | null | Promise<KnownToken | null>,
  ): Promise<void> | undefined {
    if (known instanceof Promise)
      return known.then((found) => this.check(exchange, rules, text, digest, found));
    const { namespace } = exchange;
    const { pool, token } = parseToken(text);
    if (!known || !isSame(known.secret, token)) throw invalidToken();
    const { limit: limits, rights } = known.record;
    const caller: Caller = { pool, namespace, tokenId: digest, limits, rights };
    rememberProof(exchange.request.socket, { text, known, caller });
    return this.enter(exchange, rules, text, caller);
  }

  private enter(
    exchange: Exchange,
    rules: AccessRules,
    text: string,
    caller: Caller,
  ): Promise<void> | undefined {
    exchange.admitted = caller;
    const { limits, rights, pool, namespace, tokenId } = caller;
    if (rights !== null) checkRights(rights, rules, exchange.queue);
    const kind = rules.throttle;
    if (limits === null || kind === undefined || allowedBy(limits, kind) === 0) return undefined;
    const token = { digest: tokenId, text: parseToken(text).token, pool, namespace };
    return this.throttle.count(token, kind, limits).then((counted) => {
      if (counted) refundUnlessServed(exchange, () => void this.throttle.refund(counted));
    });
  }
}

/** The header's token, else that of the query; the first of equal parameters counts. Empty if there is none. */
function sentToken({ request, query }: Exchange): string {
  const header = request.headers['x-token'];
  if (typeof header === 'string' && header !== '') return header;
  return query.token ?? '';
}

function invalidToken(): QueueError {
  return new QueueError('token_invalid', 'invalid token');
}

function isSame(secret: Buffer, sent: string): boolean {
  const bytes = Buffer.from(sent);
  return bytes.length === secret.length && timingSafeEqual(bytes, secret);
}
