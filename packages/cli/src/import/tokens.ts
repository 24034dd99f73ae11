import { tokenDigest } from '#src/auth/credentials';
import type { TokenStore } from '#src/auth/token-store';
import type { Limit } from '#src/domain/caller';
import { hasLegalCharacters } from '#src/domain/ids';
import type { Tally } from './counts.js';
import { LIMITERS } from './layout.js';
import type { LmstfySource } from './source.js';

/** Which tokens to import, and into which pool. */
export interface TokenPlan {
  readonly fromPool: string;
  readonly pool: string;
  readonly namespaces: ReadonlySet<string> | null;
}

/**
 * Imports tokens with their descriptions and limits, so that clients keep their tokens. Existing tokens are not changed, and what has been brought
 * before is not brought again: it may have been deleted since.
 *
 * @param store null: all tokens are only counted
 * @param brought what this run has brought; it is added to
 */
export async function importTokens(
  source: LmstfySource,
  store: TokenStore | null,
  plan: TokenPlan,
  tally: Tally,
  brought: Set<string>,
): Promise<void> {
  for await (const { namespace, token, description, limit } of tokensOf(source, plan)) {
    const id = { pool: plan.pool, namespace, token };
    const digest = tokenDigest(id.pool, namespace, token);
    const known = (await store?.find(digest)) ?? null;
    // guard: import-brings-no-token-again
    if (known === null && brought.has(digest)) continue;
    const isNew = known === null;
    const isLimitNew = limit !== null && (known?.limit ?? null) === null && !brought.has(`${digest} limit`);
    brought.add(digest);
    if (limit !== null) brought.add(`${digest} limit`);
    if (isNew) tally.add(namespace, 'tokens');
    if (isLimitNew) tally.add(namespace, 'limits');
    if (store === null) continue;
    if (isNew) await store.create(namespace, id.pool, description, token);
    if (limit && isLimitNew) await store.setLimit(id, limit, true);
  }
}

/** A token of the lmstfy server. */
interface FoundToken {
  readonly namespace: string;
  readonly token: string;
  readonly description: string;
  readonly limit: Limit | null;
}

async function* tokensOf(
  source: LmstfySource,
  { fromPool, namespaces }: TokenPlan,
): AsyncGenerator<FoundToken> {
  const limits = await source.redis.hgetall(LIMITERS);
  const prefix = `tk/${fromPool}/`;
  for await (const key of source.scan(`${prefix}*`)) {
    const namespace = key.slice(prefix.length);
    if (!hasLegalCharacters(namespace) || !(namespaces?.has(namespace) ?? true)) continue;
    for (const [token, description] of Object.entries(await source.redis.hgetall(key))) {
      const limit = readLimit(limits[`${fromPool}/${namespace}/${token}`]);
      yield { namespace, token, description, limit };
    }
  }
}

/** Reads a limiter as lmstfy stores it; null if the text sets no valid limit. */
function readLimit(text: string | undefined): Limit | null {
  if (text === undefined) return null;
  try {
    const { read = 0, write = 0, interval = 0 } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const numbers = [read, write, interval].map(Number);
    if (!numbers.every(Number.isSafeInteger)) return null;
    const [reads = 0, writes = 0, intervalS = 0] = numbers;
    return intervalS > 0 && (reads > 0 || writes > 0) ? { read: reads, write: writes, intervalS } : null;
  } catch {
    return null;
  }
}
