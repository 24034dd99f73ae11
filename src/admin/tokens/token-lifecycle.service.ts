import { Inject, Injectable } from '@nestjs/common';
import { spellToken } from '../../auth/credentials.js';
import { TokenInventory } from '../../auth/token-inventory.js';
import type { TokenDetails } from '../../auth/token-record.js';
import { EXPIRED } from '../../auth/token-store.js';
import { QueueError } from '../../domain/errors.js';
import { PROCESS_COMMANDS, type ProcessCommands } from '../../domain/process-commands.js';
import { PoolRegistry } from '../../redis/redis.module.js';
import { Audit } from '../audit/audit.js';
import { readExpiry, readGraceMs } from './grants.js';
import { checkChosen, checkPool, idOf, poolOr } from './token-admin.service.js';

/** A request to replace a token. */
export interface RotationRequest {
  readonly namespace: string;
  /** The old token, `[pool:]token`. */
  readonly text: string;
  /** The new token, in the pool of the old one; generated if empty or left out. */
  readonly chosen?: string | undefined;
  readonly grace?: string | undefined;
  readonly expires?: string | undefined;
}

/** Details of the tokens of a namespace, and rotation. lmstfy has no such calls. */
@Injectable()
export class TokenLifecycle {
  constructor(
    private readonly inventory: TokenInventory,
    private readonly pools: PoolRegistry,
    private readonly audit: Audit,
    @Inject(PROCESS_COMMANDS) private readonly processes: ProcessCommands,
  ) {}

  /**
   * Returns a token with all of its facts.
   *
   * @throws {QueueError} `pool_not_found`; `token_missing`
   */
  async describe(namespace: string, text: string): Promise<TokenDetails> {
    const details = await this.inventory.describe(idOf(this.pools, namespace, text));
    if (details === null) throw notFound();
    return details;
  }

  /**
   * Returns all tokens of a namespace.
   *
   * @throws {QueueError} `pool_not_found`
   */
  async describeAll(namespace: string, pool: string | undefined): Promise<TokenDetails[]> {
    const own = poolOr(pool);
    checkPool(this.pools, own);
    return this.inventory.describeAll(namespace, own);
  }

  /**
   * Replaces a token by a new one with the same description, rights and limit.
   *
   * @returns the text that clients send from now on
   * @throws {QueueError} `invalid_argument`; `pool_not_found`; `token_missing`
   */
  async rotate(account: string | undefined, request: RotationRequest): Promise<string> {
    const id = idOf(this.pools, request.namespace, request.text);
    const chosen = request.chosen === '' ? undefined : request.chosen;
    if (chosen !== undefined) checkChosen(chosen);
    const graceMs = readGraceMs(request.grace);
    const expiry = readExpiry(request.expires);
    const outcome = await this.inventory.rotate(id, { chosen, graceMs, expiry });
    this.processes.forgetTokens();
    if (outcome === 'no_token') throw notFound();
    if (outcome === 'exists') throw new QueueError('invalid_argument', 'the token has already existed');
    if (outcome === 'expired') throw new QueueError('invalid_argument', EXPIRED);
    this.audit.record(account, 'token.rotate', id, { grace_ms: graceMs });
    this.audit.record(account, 'token.create', { ...id, token: outcome.token });
    return spellToken({ pool: id.pool, token: outcome.token });
  }
}

function notFound(): QueueError {
  return new QueueError('token_missing', 'token not found');
}
