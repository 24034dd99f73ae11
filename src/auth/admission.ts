import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import type { Caller } from '../domain/caller.js';
import { QueueError } from '../domain/errors.js';
import { type AccountClient, accountOf } from '../http/request/account-client.js';
import { sentToken } from '../http/request/head.js';
import type { RequestContext } from '../http/request/request-context.js';
import { PoolRegistry } from '../redis/redis.module.js';
import type { AccessRules } from './access.js';
import { DEFAULT_POOL, parseToken, tokenDigest, tokenHint } from './credentials.js';
import { refundUnlessServed } from './refund.js';
import { checkRights } from './rights.js';
import { rightsOfAccount } from './roles.js';
import { checkListedNames, checkNames } from '../domain/ids.js';
import { allowedBy, Throttle } from './throttle.js';
import { type KnownToken, TokenCache } from './token-cache.js';
import type { Socket } from 'node:net';

const NO_TOKEN =
  'the request has no token: send one in the header X-Token, or as Authorization: Bearer TOKEN (pumphouse token create NAMESPACE -d TEXT makes one)';
const BAD_TOKEN =
  'there is no such token for the namespace in the path, or it has expired: use a token of this namespace';
const NO_POOL =
  'the server has no pool with the name before the colon of the token: check the token, and pools in the configuration of the server';
const NO_SUCH_POOL =
  'the server has no pool with the name in X-Pool: check the header, and pools in the configuration of the server';

/**
 * Admits a request to its queue. Checks in this order: there is capacity for it (503), its names are legal (400), its
 * pool exists (404), its token is one of its namespace (401), permits the call there (403), and has not used up its
 * limit (429). Sets `context.admitted`.
 *
 * A request with a cached token and no limit is admitted without waiting. An account of the admin port needs no token: its role permits the
 * call (403), in its namespaces (404).
 */
@Injectable()
export class Admission {
  constructor(
    private readonly config: Config,
    private readonly pools: PoolRegistry,
    private readonly tokens: TokenCache,
    private readonly throttle: Throttle,
  ) {}

  /**
   * @returns undefined if the request is admitted at once, else a promise, which rejects with the same errors
   * @throws {QueueError} `invalid_argument`, `pool_not_found`, `token_missing`, `token_invalid`, `rate_limited`, with
   *   lmstfy's messages; `verb_missing`, `queue_not_allowed`; `role_missing`, `namespace_not_found`; `overloaded`,
   *   `pool_unavailable`
   */
  admit(context: RequestContext, rules: AccessRules): Promise<void> | undefined {
    const { namespace, queue } = context;
    context.acquire(rules.goesFirst === true);
    if (rules.queues === 'list') checkListedNames(namespace, queue);
    else checkNames(namespace, rules.queues === 'one' ? queue : undefined);

    const client = accountOf(context.request);
    if (client !== undefined) return this.admitAccount(context, client);
    const text = sentToken(context.request, context.query, context.route);
    const proof = provenOn(context.request.socket, namespace, text);
    if (proof === undefined || rules.isSize === true) return this.admitUnknown(context, rules, text);
    const known = this.tokens.get(proof.caller.tokenId);
    // guard: proof-is-of-one-record
    if (known !== proof.known) return this.check(context, rules, text, proof.caller.tokenId, known);
    return this.admitKnown(context, rules, text, proof.caller);
  }

  /**
   * Checks again that an admitted request is still allowed, for an answer that took long. Does not count against a
   * limit.
   *
   * @throws {QueueError} `token_invalid`, `verb_missing`, `queue_not_allowed`; `pool_unavailable`
   */
  async confirm(
    { caller, queue, request }: Pick<RequestContext, 'caller' | 'queue' | 'request'>,
    rules: AccessRules,
  ): Promise<void> {
    const client = accountOf(request);
    if (client !== undefined) {
      // guard: stream-ends-with-its-session
      if (!(await client.isSignedIn())) throw invalidToken();
      return;
    }
    // Digest lookup suffices: the secret was compared when the connection authenticated.
    const known = await this.tokens.get(caller.tokenId);
    if (known === null) throw invalidToken();
    const { rights } = known.record;
    if (rights !== null) checkRights(rights, rules, queue);
  }

  /** Admits an account of the admin port, as its role says. What it may change is in the audit log before it runs. */
  private admitAccount(context: RequestContext, client: AccountClient): Promise<void> | undefined {
    const { actor } = client;
    const { request, route, namespace } = context;
    const action = `${request.method ?? ''} ${route}`;
    const rights = rightsOfAccount(actor, action, namespace);
    const sent = request.headers['x-pool'];
    const pool = typeof sent === 'string' && sent !== '' ? sent : DEFAULT_POOL;
    if (!this.pools.get(pool))
      throw new QueueError('pool_not_found', 'pool not found', { detail: NO_SUCH_POOL });
    const tokenId = `account:${actor.account ?? ''}`;
    const label = actor.account ?? '';
    context.admitted = { pool, namespace, tokenId, tokenHint: '', label, limits: null, rights, actor };
    return client.admitted({ action, pool, namespace, names: namesIn(route, request.url ?? '') });
  }

  /** Admits a token that this connection has not sent before. */
  private admitUnknown(context: RequestContext, rules: AccessRules, text: string): Promise<void> | undefined {
    const { namespace } = context;
    const { pool, token } = parseToken(text);
    if (!this.pools.get(pool)) throw new QueueError('pool_not_found', 'pool not found', { detail: NO_POOL });
    if (rules.isSize === true && this.config.lmstfy.public_sizes) {
      const noToken = { tokenId: '', tokenHint: '', label: '' };
      context.admitted = { pool, namespace, ...noToken, limits: null, rights: null };
      return undefined;
    }
    if (token === '') throw new QueueError('token_missing', 'token not found', { detail: NO_TOKEN });
    const digest = tokenDigest(pool, namespace, token);
    return this.check(context, rules, text, digest, this.tokens.get(digest));
  }

  private check(
    context: RequestContext,
    rules: AccessRules,
    text: string,
    digest: string,
    known: KnownToken | null | Promise<KnownToken | null>,
  ): Promise<void> | undefined {
    if (known instanceof Promise)
      return known.then((found) => this.check(context, rules, text, digest, found));
    const { namespace } = context;
    const { pool, token } = parseToken(text);
    if (!known || !isSame(known.secret, token)) throw invalidToken();
    const { limit: limits, rights, description } = known.record;
    const caller: Caller = {
      ...{ pool, namespace, limits, rights },
      ...{ tokenId: digest, tokenHint: tokenHint(token), label: description },
    };
    rememberProof(context.request.socket, { text, known, caller });
    return this.admitKnown(context, rules, text, caller);
  }

  private admitKnown(
    context: RequestContext,
    rules: AccessRules,
    text: string,
    caller: Caller,
  ): Promise<void> | undefined {
    context.admitted = caller;
    const { limits, rights, pool, namespace, tokenId } = caller;
    // guard: rights-on-every-admission
    if (rights !== null) checkRights(rights, rules, context.queue);
    const kind = rules.throttle;
    if (limits === null || kind === undefined || allowedBy(limits, kind) === 0) return undefined;
    const token = { digest: tokenId, text: parseToken(text).token, pool, namespace };
    return this.throttle.count(token, kind, limits).then((counted) => {
      if (counted) refundUnlessServed(context, kind, () => void this.throttle.refund(counted));
    });
  }
}

/** The names in a path besides the namespace, as they were sent. */
function namesIn(route: string, url: string): Record<string, string> {
  const parts = (url.split('?', 1)[0] ?? '').split('/');
  const named = route
    .split('/')
    .flatMap((part, i) => (part.startsWith(':') ? [[part.slice(1), parts[i] ?? '']] : []));
  const { namespace: _namespace, ...names } = Object.fromEntries(named) as Record<string, string>;
  return names;
}

function invalidToken(): QueueError {
  return new QueueError('token_invalid', 'invalid token', { detail: BAD_TOKEN });
}

function isSame(secret: Buffer, sent: string): boolean {
  const bytes = Buffer.from(sent);
  return (
    bytes.length === secret.length && /* guard: tokens-in-constant-time */ timingSafeEqual(bytes, secret)
  );
}

/** Records that a text was verified completely as a token of a namespace. */
interface Proof {
  /** As sent, with the prefix of its pool. */
  readonly text: string;
  /** What it was compared with. If the token cache has another entry by now, the text is compared again. */
  readonly known: KnownToken;
  readonly caller: Caller;
}

const PROOF = Symbol('proof');

interface ProvenSocket extends Socket {
  [PROOF]?: Proof;
}

/**
 * The last proof of this connection, if the client sends the same text again: saves a digest and a comparison per
 * request. Comparing a client's text with what the same client sent before reveals nothing, so it need not take
 * constant time. (A proxy that shares one connection among clients lets them compare with each other's text: there it
 * is one comparison of two strings in memory, behind the proxy's own delays.) The token cache must be checked all the
 * same, because tokens are revoked.
 */
function provenOn(socket: ProvenSocket, namespace: string, text: string): Proof | undefined {
  const proof = socket[PROOF];
  return proof !== undefined && proof.text === text && proof.caller.namespace === namespace
    ? proof
    : undefined;
}

function rememberProof(socket: ProvenSocket, proof: Proof): void {
  socket[PROOF] = proof;
}
