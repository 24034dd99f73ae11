import { performance } from 'node:perf_hooks';

/** How long a sample of Redis's clock is trusted before a slower one may replace it, in milliseconds. */
const SAMPLE_LIFE_MS = 10_000;

/**
 * An estimate of Redis's clock, from the times in its replies: this machine's clock may be wrong by hours. The sample with the
 * shortest round trip of the last ten seconds is the one that counts, for its error is at most half of that.
 */
export class RedisClock {
  private offsetMs = Date.now() - performance.now();
  private roundTripMs = Number.POSITIVE_INFINITY;
  private takenAtMs = 0;

  /** Notes a reply: when its request was sent and received (`performance.now()`), and the Unix ms in it. */
  sample(sentMs: number, receivedMs: number, redisMs: number): void {
    const roundTripMs = receivedMs - sentMs;
    if (roundTripMs > this.roundTripMs && receivedMs - this.takenAtMs < SAMPLE_LIFE_MS) return;
    this.roundTripMs = roundTripMs;
    this.takenAtMs = receivedMs;
    this.offsetMs = redisMs + 0.5 - (sentMs + receivedMs) / 2;
  }

  /** Redis's time now, Unix ms. */
  now(): number {
    return Math.floor(performance.now() + this.offsetMs);
  }
}
