import { performance } from 'node:perf_hooks';
import type { TokenRecord } from './token-store.js';

/** How long an entry is valid, in milliseconds: a revoked token stops working everywhere within this time. */
export const VALID_MS = 1_000;
/** From this age, using the token also reloads it in the background, so that requests with a busy token never wait. */
export const REFRESH_MS = 500;
/** Maximum number of cached tokens. If more are in use, each use of the others costs a lookup. */
const MAX_ENTRIES = 20_000;

/** A token that was recently in the store. */
export interface KnownToken {
  readonly record: TokenRecord;
  /** The token's bytes, to compare with what a client sends. */
  readonly secret: Buffer;
  /** When the store was asked, in ms: not when it answered, because the answer may be older than its arrival. */
  readonly loadedAtMs: number;
}

/**
 * Token cache of one process; entries are valid for at most a second. Only existing tokens are cached: a new one works
 * at once, and a flood of invalid ones takes no memory.
 */
export class TokenCache {
  private readonly known = new Map<string, KnownToken>();
  private readonly pending = new Map<string, Promise<KnownToken | null>>();
  /** Results of lookups that started before the last `clear` are not cached. */
  private generation = 0;

  /**
   * @param find asks the store for a digest
   * @param now monotonic milliseconds; set by tests
   * @param found is called for each lookup that finds a token: for one in use, once or twice a second
   */
  constructor(
    private readonly find: (digest: string) => Promise<TokenRecord | null>,
    private readonly now: () => number = () => performance.now(),
    private readonly found: (digest: string) => void = () => undefined,
  ) {}

  /**
   * The token of this digest. At once if it is cached, else after one round trip.
   *
   * @throws {QueueError} `pool_unavailable`: not cached, and the store does not answer
   */
  get(digest: string): KnownToken | Promise<KnownToken | null> {
    const known = this.known.get(digest);
    if (known) {
      const ageMs = this.now() - known.loadedAtMs;
      // guard: cached-token-is-good-for-a-second
      if (ageMs < VALID_MS) {
        if (ageMs >= REFRESH_MS) this.refresh(digest);
        return known;
      }
    }
    const pending = this.pending.get(digest);
    return pending ? this.join(pending, digest) : this.lookUp(digest);
  }

  /** Clears the cache after a change, so that the next request sees it. */
  clear(): void {
    this.generation += 1;
    this.known.clear();
    this.pending.clear();
  }

  /** Number of cached tokens. */
  get size(): number {
    return this.known.size;
  }

  /**
   * Shares a lookup that started before this request. It may have missed a token created since, and the result of a
   * slow one may be outdated: then looks up again.
   */
  private async join(pending: Promise<KnownToken | null>, digest: string): Promise<KnownToken | null> {
    const known = await pending;
    if (known && this.now() - known.loadedAtMs < VALID_MS) return known;
    return this.pending.get(digest) ?? this.lookUp(digest);
  }

  private refresh(digest: string): void {
    if (this.pending.has(digest)) return;
    // The cached entry stays valid for its second; later requests get the error of the store.
    this.lookUp(digest).catch(() => undefined);
  }

  private lookUp(digest: string): Promise<KnownToken | null> {
    const pending = this.load(digest).finally(() => {
      if (this.pending.get(digest) === pending) this.pending.delete(digest);
    });
    this.pending.set(digest, pending);
    return pending;
  }

  private async load(digest: string): Promise<KnownToken | null> {
    const { generation } = this;
    const loadedAtMs = this.now();
    const record = await this.find(digest);
    if (generation === this.generation) this.known.delete(digest);
    if (!record) return null;
    this.found(digest);
    const known = { record, secret: Buffer.from(record.token), loadedAtMs };
    if (generation !== this.generation) return known;
    this.known.set(digest, known);
    // guard: token-cache-bounded
    if (this.known.size > MAX_ENTRIES) this.dropOldest();
    return known;
  }

  /** The map is in order of lookup: its first entry expires first. */
  private dropOldest(): void {
    const oldest = this.known.keys().next();
    if (oldest.done !== true) this.known.delete(oldest.value);
  }
}
