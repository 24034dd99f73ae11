import { Inject, Injectable } from '@nestjs/common';
import type { Limit } from '../../domain/caller.js';
import { DEFAULT_POOL, parseToken, spellToken } from '../../auth/credentials.js';
import { type TokenId, type TokenRecord, TokenStore } from '../../auth/token-store.js';
import { QueueError } from '../../domain/errors.js';
import { MAX_NAME_LENGTH, MIN_TOKEN_LENGTH } from '../../domain/limits.js';
import { hasLegalCharacters } from '../../domain/ids.js';
import { PROCESS_COMMANDS, type ProcessCommands } from '../../domain/process-commands.js';
import { PoolRegistry } from '../../redis/redis.module.js';
import { Audit } from '../audit/audit.js';
import { readExpiry, readRights } from './grants.js';

/** A token to create. */
export interface NewToken {
  readonly namespace: string;
  readonly description: string;
  /** The default pool if empty or left out. The prefix of `chosen` takes precedence. */
  readonly pool?: string | undefined;
  /** `[pool:]token`; generated if empty or left out. */
  readonly chosen?: string | undefined;
  /** Permissions, separated by commas; all if left out. */
  readonly verbs?: string | undefined;
  /** Queue patterns, separated by commas; all queues if left out. */
  readonly queues?: string | undefined;
  /** A duration from now, or a date; never if left out. */
  readonly expires?: string | undefined;
}

/** Longest token that an admin may choose, in characters. It is sent in a header with every request. */
const MAX_TOKEN_LENGTH = 512;
/** Visible ASCII only: a header value cannot begin or end with other characters. */
const TOKEN = /^[\x21-\x7e]+$/;
/** Longest window, in seconds. In milliseconds it must be an expiry that Redis accepts. */
const MAX_INTERVAL_S = 1_000_000_000;

/** Changes tokens and their limits by lmstfy's rules, and writes each change to the audit log. */
@Injectable()
export class TokenAdmin {
  constructor(
    private readonly tokens: TokenStore,
    private readonly pools: PoolRegistry,
    private readonly audit: Audit,
    @Inject(PROCESS_COMMANDS) private readonly processes: ProcessCommands,
  ) {}

  /**
   * Creates a token.
   *
   * @returns the text that clients send
   * @throws {QueueError} `invalid_argument`, `pool_not_found`; checked in lmstfy's order
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
    this.audit.record(account, 'token.create', { pool: own, namespace, token }, { rights });
    return spellToken({ pool: own, token });
  }

  /**
   * Deletes a token and its limit. Does nothing if the token does not exist.
   *
   * @throws {QueueError} `pool_not_found`
   */
  async delete(account: string | undefined, namespace: string, text: string): Promise<void> {
    const id = idOf(this.pools, namespace, text);
    const existed = await this.tokens.delete(id);
    this.processes.forgetTokens();
    this.audit.record(account, 'token.delete', id, { existed });
  }

  /** Returns a token's limit; null if it has none or does not exist. */
  async limit(namespace: string, text: string): Promise<Limit | null> {
    return this.tokens.limit({ namespace, ...parseToken(text) });
  }

  /** Returns all tokens that have a limit. */
  async limits(): Promise<TokenRecord[]> {
    return this.tokens.limits();
  }

  /**
   * Sets the limit of a token.
   *
   * @param onlyNew do not replace an existing limit
   * @returns false if `onlyNew` is set and the token has a limit
   * @throws {QueueError} `pool_not_found`; `token_missing`; `invalid_argument`: the limit is invalid
   */
  async setLimit(
    account: string | undefined,
    { namespace, text, onlyNew }: { namespace: string; text: string; onlyNew: boolean },
    limit: Limit,
  ): Promise<boolean> {
    checkLimit(limit);
    const id = idOf(this.pools, namespace, text);
    const outcome = await this.tokens.setLimit(id, limit, onlyNew);
    this.processes.forgetTokens();
    if (outcome === 'no_token') throw new QueueError('token_missing', 'token not found');
    if (outcome === 'has_one') return false;
    this.audit.record(account, 'limit.set', id, { limit });
    return true;
  }

  /** Removes the limit of a token. Does nothing if it has none. */
  async deleteLimit(account: string | undefined, namespace: string, text: string): Promise<void> {
    const id = { namespace, ...parseToken(text) };
    const existed = await this.tokens.deleteLimit(id);
    this.processes.forgetTokens();
    this.audit.record(account, 'limit.delete', id, { existed });
  }
}

/** The pool of an admin call. */
export function poolOr(pool: string | undefined): string {
  return pool === undefined || pool === '' ? DEFAULT_POOL : pool;
}

/** @throws {QueueError} `invalid_argument`: not a valid token */
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
  // A negative number would be no limit at all, which is written as 0.
  // guard: limit-is-not-negative
  if (read < 0 || write < 0) throw invalid('the read and write of limiter should be >= 0; 0 = no limit');
}

function invalid(message: string): QueueError {
  return new QueueError('invalid_argument', message);
}

/** The id of the token in a call. @throws {QueueError} `pool_not_found` */
export function idOf(pools: PoolRegistry, namespace: string, text: string): TokenId {
  const { pool, token } = parseToken(text);
  checkPool(pools, pool);
  return { pool, namespace, token };
}

/** @throws {QueueError} `pool_not_found` */
export function checkPool(pools: PoolRegistry, pool: string): void {
  if (!pools.get(pool)) throw new QueueError('pool_not_found', 'the pool was not exists');
}
