import { Inject, Injectable } from '@nestjs/common';
import type { Limit } from '../domain/caller.js';
import { DEFAULT_POOL, parseToken, spellToken } from '../auth/credentials.js';
import { type TokenId, type TokenRecord, TokenStore } from '../auth/token-store.js';
import { QueueError } from '../domain/errors.js';
import { MAX_NAME_LENGTH, MIN_TOKEN_LENGTH } from '../domain/limits.js';
import { hasLegalCharacters } from '../domain/names.js';
import { WORKER_COMMANDS, type WorkerCommands } from '../domain/worker-commands.js';
import { PoolRegistry } from '../redis/redis.module.js';
import { Audit } from './audit.js';
import { readExpiry, readRights } from './grants.js';

/** What a new token shall be. */
export interface NewToken {
  readonly namespace: string;
  readonly description: string;
  /** The default pool if empty or left out. A prefix of `chosen` stands above it. */
  readonly pool?: string | undefined;
  /** `[pool:]token`; made up if empty or left out. */
  readonly chosen?: string | undefined;
  /** What it may do, separated by commas; everything if left out. */
  readonly verbs?: string | undefined;
  /** Patterns of the queues it is for, separated by commas; all if left out. */
  readonly queues?: string | undefined;
  /** A duration from now, or a date; never if left out. */
  readonly expires?: string | undefined;
}

/** Longest token that an admin may choose, in characters: it travels in a header with every request. */
const MAX_TOKEN_LENGTH = 512;
/** What a header can carry at both of its ends: visible ASCII. */
const TOKEN = /^[\x21-\x7e]+$/;
/** Longest window, in seconds: its milliseconds must be an expiry that Redis takes. */
const MAX_INTERVAL_S = 1_000_000_000;

/** Changes tokens and their limits by lmstfy's rules, and writes each change to the audit log. */
@Injectable()
export class TokenAdmin {
  constructor(
    @Inject(TokenStore) private readonly tokens: TokenStore,
    @Inject(PoolRegistry) private readonly pools: PoolRegistry,
    @Inject(Audit) private readonly audit: Audit,
    @Inject(WORKER_COMMANDS) private readonly workers: WorkerCommands,
  ) {}

  /**
   * Makes a token.
   *
   * @returns the text that clients send
   * @throws {QueueError} `invalid_argument`, `pool_not_found`; the checks and their order are lmstfy's
   */
  async create(
    account: string | undefined,
    { namespace, description, pool, chosen = '', verbs, queues, expires }: NewToken,
  ): Promise<string> {
    if (description === '') throw invalid('invalid description');
    const wanted = chosen === '' ? null : parseToken(chosen);
    if (wanted !== null) checkChosen(wanted.token);
    if (Buffer.byteLength(namespace) > MAX_NAME_LENGTH) throw invalid('the namespace name was too long');
    if (!hasLegalCharacters(namespace)) throw invalid('namespace name contains forbidden characters');
    const own = poolOr(chosen.includes(':') ? wanted?.pool : pool);
    checkPool(this.pools, own);
    const rights = readRights(verbs, queues);
    const expiry = readExpiry(expires);
    const grant = { namespace, pool: own, description, chosen: wanted?.token, rights, expiry };
    const token = await this.tokens.grant(grant);
    this.audit.note(account, 'token.create', { pool: own, namespace, token }, { rights });
    return spellToken({ pool: own, token });
  }

  /**
   * Takes a token away with its limit; nothing happens if there is none.
   *
   * @throws {QueueError} `pool_not_found`
   */
  async delete(account: string | undefined, namespace: string, text: string): Promise<void> {
    const id = idOf(this.pools, namespace, text);
    const existed = await this.tokens.delete(id);
    this.workers.forgetTokens();
    this.audit.note(account, 'token.delete', id, { existed });
  }

  /** A token's limit, null if it has none or does not exist. */
  async limit(namespace: string, text: string): Promise<Limit | null> {
    return this.tokens.limit({ namespace, ...parseToken(text) });
  }

  /** All tokens that have limits. */
  async limits(): Promise<TokenRecord[]> {
    return this.tokens.limits();
  }

  /**
   * Gives a token a limit.
   *
   * @param onlyNew leave one that it has
   * @returns false if it has one, and `onlyNew`
   * @throws {QueueError} `pool_not_found`; `token_missing`; `invalid_argument`: the limit makes no sense
   */
  async setLimit(
    account: string | undefined,
    { namespace, text, onlyNew }: { namespace: string; text: string; onlyNew: boolean },
    limit: Limit,
  ): Promise<boolean> {
    checkLimit(limit);
    const id = idOf(this.pools, namespace, text);
    const outcome = await this.tokens.setLimit(id, limit, onlyNew);
    this.workers.forgetTokens();
    if (outcome === 'no_token') throw new QueueError('token_missing', 'token not found');
    if (outcome === 'has_one') return false;
    this.audit.note(account, 'limit.set', id, { limit });
    return true;
  }

  /** Takes a token's limit away; nothing happens if it has none. */
  async deleteLimit(account: string | undefined, namespace: string, text: string): Promise<void> {
    const id = { namespace, ...parseToken(text) };
    const existed = await this.tokens.deleteLimit(id);
    this.workers.forgetTokens();
    this.audit.note(account, 'limit.delete', id, { existed });
  }
}

/** The pool that an admin call means. */
export function poolOr(pool: string | undefined): string {
  return pool === undefined || pool === '' ? DEFAULT_POOL : pool;
}

/** @throws {QueueError} `invalid_argument`: it cannot be a token */
export function checkChosen(token: string): void {
  if (token.length < MIN_TOKEN_LENGTH) throw invalid('the user token was too short');
  if (token.length > MAX_TOKEN_LENGTH) throw invalid('the user token was too long');
  if (!TOKEN.test(token)) throw invalid('the user token contains forbidden characters');
}

function checkLimit({ read, write, intervalS }: Limit): void {
  if (intervalS <= 0) throw invalid('limiter interval should be > 0');
  if (intervalS > MAX_INTERVAL_S) throw invalid(`limiter interval should be <= ${String(MAX_INTERVAL_S)}`);
  if (read <= 0 && write <= 0) {
    throw invalid("the read and write of limiter can't be <= 0 at the same time");
  }
}

function invalid(message: string): QueueError {
  return new QueueError('invalid_argument', message);
}

/** A token as it was named in a call. @throws {QueueError} `pool_not_found` */
export function idOf(pools: PoolRegistry, namespace: string, text: string): TokenId {
  const { pool, token } = parseToken(text);
  checkPool(pools, pool);
  return { pool, namespace, token };
}

/** @throws {QueueError} `pool_not_found` */
export function checkPool(pools: PoolRegistry, pool: string): void {
  if (!pools.get(pool)) throw new QueueError('pool_not_found', 'the pool was not exists');
}
