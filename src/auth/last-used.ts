import { performance } from 'node:perf_hooks';

/** How old a note must be to be written anew, in milliseconds. */
export const USE_PAUSE_MS = 60_000;
/** How long notes are collected, in milliseconds: many tokens in use make few calls. */
const COLLECT_MS = 5_000;
/** Most tokens in one call. */
const MAX_BATCH = 64;

/**
 * Has it written down when tokens were last in use: coarsely, many with one call, never on the way of a request. What cannot be
 * written is left out.
 */
export class LastUsed {
  private readonly pending = new Set<string>();
  /** When the use of a token was last handed to the store. */
  private readonly notedAtMs = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param write hands digests to the store
   * @param now milliseconds that never go back; tests set them
   */
  constructor(
    private readonly write: (digests: readonly string[]) => Promise<void>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** A token is in use. */
  note(digest: string): void {
    const notedAtMs = this.notedAtMs.get(digest);
    if (notedAtMs !== undefined && this.now() - notedAtMs < USE_PAUSE_MS) return;
    this.pending.add(digest);
    this.timer ??= setTimeout(() => void this.flush(), COLLECT_MS).unref();
  }

  /** Writes what was collected. It never fails. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const digests = [...this.pending];
    this.pending.clear();
    const nowMs = this.now();
    for (const [digest, atMs] of this.notedAtMs)
      if (nowMs - atMs >= USE_PAUSE_MS) this.notedAtMs.delete(digest);
    for (const digest of digests) this.notedAtMs.set(digest, nowMs);
    for (let i = 0; i < digests.length; i += MAX_BATCH) {
      const isWritten = await this.write(digests.slice(i, i + MAX_BATCH)).then(
        () => true,
        () => false,
      );
      // Each call may take its whole time-out: the end of a server must not wait for many.
      if (!isWritten) return;
    }
  }
}
