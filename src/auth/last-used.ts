import { performance } from 'node:perf_hooks';

/** Minimum age of a recorded use before it is written again, in milliseconds. */
export const USE_PAUSE_MS = 60_000;
/** How long uses are collected, in milliseconds: many tokens need few calls. */
const COLLECT_MS = 5_000;
/** Maximum number of tokens per call. */
const MAX_BATCH = 64;

/**
 * Records when tokens were last used: with low precision, many in one call, never within a request. Uses that cannot be
 * written are dropped.
 */
export class LastUsed {
  private readonly pending = new Set<string>();
  /** When the use of a token was last passed to the store. */
  private readonly recordedAtMs = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param write passes digests to the store
   * @param now monotonic milliseconds; set by tests
   */
  constructor(
    private readonly write: (digests: readonly string[]) => Promise<void>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Records the use of a token. */
  record(digest: string): void {
    const recordedAtMs = this.recordedAtMs.get(digest);
    if (recordedAtMs !== undefined && this.now() - recordedAtMs < USE_PAUSE_MS) return;
    this.pending.add(digest);
    this.timer ??= setTimeout(() => void this.flush(), COLLECT_MS).unref();
  }

  /** Writes the collected uses. Never fails. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const digests = [...this.pending];
    this.pending.clear();
    const nowMs = this.now();
    for (const [digest, atMs] of this.recordedAtMs)
      if (nowMs - atMs >= USE_PAUSE_MS) this.recordedAtMs.delete(digest);
    for (const digest of digests) this.recordedAtMs.set(digest, nowMs);
    for (let i = 0; i < digests.length; i += MAX_BATCH) {
      const isWritten = await this.write(digests.slice(i, i + MAX_BATCH)).then(
        () => true,
        () => false,
      );
      // Each call may take its whole timeout: a server that stops must not wait for many.
      if (!isWritten) return;
    }
  }
}
