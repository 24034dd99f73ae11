import { performance } from 'node:perf_hooks';
import type { TokenRecord } from './token-store.js';

/** How long an answer of the token store is good, in milliseconds: a revoked token dies everywhere within it. */
export const VALID_MS = 1_000;
/** From this age on, a use of the token asks the store again beside it, so that a busy token never waits. */
export const REFRESH_MS = 500;
/** Most tokens remembered. More in use than that cost a look-up each. */
const MAX_ENTRIES = 20_000;

/** A token that the store knew a moment ago. */
export interface KnownToken {
  readonly record: TokenRecord;
  /** The token's bytes, to compare with what a client sends. */
  readonly secret: Buffer;
  /** When the store was asked, in ms: not when it answered, for the answer may be older than its arrival. */
  readonly askedAtMs: number;
}

/**
 * What one process remembers of the token store, for at most a second. Only tokens that exist are remembered: one made a moment
 * ago works at once, and a flood of invented ones takes no memory.
 */
export class TokenCache {
  private readonly known = new Map<string, KnownToken>();
  private readonly pending = new Map<string, Promise<KnownToken | null>>();
  /** Answers of look-ups that began before the cache was last cleared are not remembered. */
  private generation = 0;

  /**
   * @param find asks the store for a digest
   * @param now milliseconds that never go back; tests set them
   * @param found hears of each look-up that finds a token: of one in use, once or twice a second
   */
  constructor(
    private readonly find: (digest: string) => Promise<TokenRecord | null>,
    private readonly now: () => number = () => performance.now(),
    private readonly found: (digest: string) => void = () => undefined,
  ) {}

  /**
   * The token of this digest. At once if it is remembered, else after one round trip.
   *
   * @throws {QueueError} `pool_unavailable`: not remembered, and the store gives no answer
   */
  get(digest: string): KnownToken | Promise<KnownToken | null> {
    const known = this.known.get(digest);
    if (known) {
      const ageMs = this.now() - known.askedAtMs;
      if (ageMs < VALID_MS) {
        if (ageMs >= REFRESH_MS) this.refresh(digest);
        return known;
      }
    }
    const pending = this.pending.get(digest);
    return pending ? this.join(pending, digest) : this.look(digest);
  }

  /** Forgets all: something was changed, and who asks next must see it. */
  clear(): void {
    this.generation += 1;
    this.known.clear();
    this.pending.clear();
  }

  /** How many tokens are remembered. */
  get size(): number {
    return this.known.size;
  }

  /**
   * Shares a look-up that began before this request. It may have missed a token made since, and a slow one may bring what is no
   * longer true: then look once more.
   */
  private async join(pending: Promise<KnownToken | null>, digest: string): Promise<KnownToken | null> {
    const known = await pending;
    if (known && this.now() - known.askedAtMs < VALID_MS) return known;
    return this.pending.get(digest) ?? this.look(digest);
  }

  private refresh(digest: string): void {
    if (this.pending.has(digest)) return;
    // What is remembered serves its second; who comes after that is told that the store is away.
    this.look(digest).catch(() => undefined);
  }

  private look(digest: string): Promise<KnownToken | null> {
    const pending = this.ask(digest).finally(() => {
      if (this.pending.get(digest) === pending) this.pending.delete(digest);
    });
    this.pending.set(digest, pending);
    return pending;
  }

  private async ask(digest: string): Promise<KnownToken | null> {
    const { generation } = this;
    const askedAtMs = this.now();
    const record = await this.find(digest);
    if (generation === this.generation) this.known.delete(digest);
    if (!record) return null;
    this.found(digest);
    const known = { record, secret: Buffer.from(record.token), askedAtMs };
    if (generation !== this.generation) return known;
    this.known.set(digest, known);
    if (this.known.size > MAX_ENTRIES) this.dropOldest();
    return known;
  }

  /** The map is in order of look-up: its first entry is the one that is out of date first. */
  private dropOldest(): void {
    const oldest = this.known.keys().next();
    if (oldest.done !== true) this.known.delete(oldest.value);
  }
}
