import { Inject, Injectable } from '@nestjs/common';
import { spellToken } from '../auth/credentials.js';
import { TokenInventory } from '../auth/token-inventory.js';
import type { TokenDetails } from '../auth/token-record.js';
import { EXPIRED } from '../auth/token-store.js';
import { QueueError } from '../domain/errors.js';
import { WORKER_COMMANDS, type WorkerCommands } from '../domain/worker-commands.js';
import { PoolRegistry } from '../redis/redis.module.js';
import { Audit } from './audit.js';
import { readExpiry, readGraceMs } from './grants.js';
import { checkChosen, checkPool, idOf, poolOr } from './token-admin.service.js';

/** How a token is to be replaced, as it was asked for. */
export interface AskedRotation {
  readonly namespace: string;
  /** The old token, `[pool:]token`. */
  readonly text: string;
  /** The new one, in the old one's pool; made up if empty or left out. */
  readonly chosen?: string | undefined;
  readonly grace?: string | undefined;
  readonly expires?: string | undefined;
}

/** How the tokens of a namespace stand, and their replacement: calls that lmstfy does not have. */
@Injectable()
export class TokenLifecycle {
  constructor(
    @Inject(TokenInventory) private readonly inventory: TokenInventory,
    @Inject(PoolRegistry) private readonly pools: PoolRegistry,
    @Inject(Audit) private readonly audit: Audit,
    @Inject(WORKER_COMMANDS) private readonly workers: WorkerCommands,
  ) {}

  /**
   * A token with all that is known of it.
   *
   * @throws {QueueError} `pool_not_found`; `token_missing`
   */
  async describe(namespace: string, text: string): Promise<TokenDetails> {
    const details = await this.inventory.describe(idOf(this.pools, namespace, text));
    if (details === null) throw notFound();
    return details;
  }

  /**
   * All tokens of a namespace.
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
  async rotate(account: string | undefined, asked: AskedRotation): Promise<string> {
    const id = idOf(this.pools, asked.namespace, asked.text);
    const chosen = asked.chosen === '' ? undefined : asked.chosen;
    if (chosen !== undefined) checkChosen(chosen);
    const graceMs = readGraceMs(asked.grace);
    const expiry = readExpiry(asked.expires);
    const outcome = await this.inventory.rotate(id, { chosen, graceMs, expiry });
    this.workers.forgetTokens();
    if (outcome === 'no_token') throw notFound();
    if (outcome === 'exists') throw new QueueError('invalid_argument', 'the token has already existed');
    if (outcome === 'expired') throw new QueueError('invalid_argument', EXPIRED);
    this.audit.note(account, 'token.rotate', id, { grace_ms: graceMs });
    this.audit.note(account, 'token.create', { ...id, token: outcome.token });
    return spellToken({ pool: id.pool, token: outcome.token });
  }
}

function notFound(): QueueError {
  return new QueueError('token_missing', 'token not found');
}
