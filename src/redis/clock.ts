import { performance } from 'node:perf_hooks';

/** How long a sample of Redis's clock is trusted before a slower one may replace it, in milliseconds. */
const SAMPLE_LIFE_MS = 10_000;
/** Two samples may differ by this beyond their round trips: Redis's times are whole milliseconds, and clocks drift. */
const SLACK_MS = 2;

/**
 * An estimate of Redis's clock, from the times in its replies: this machine's clock may be wrong by hours. The sample with the
 * shortest round trip of the last ten seconds is the one that counts, for its error is at most half of that. One that cannot be true
 * together with it counts at once: Redis's clock was stepped, or another Redis has taken over.
 */
export class RedisClock {
  private offsetMs = Date.now() - performance.now();
  private roundTripMs = Number.POSITIVE_INFINITY;
  private takenAtMs = 0;

  /** Notes a reply: when its request was sent and received (`performance.now()`), and the Unix ms in it. */
  sample(sentMs: number, receivedMs: number, redisMs: number): void {
    const roundTripMs = receivedMs - sentMs;
    const offsetMs = redisMs + 0.5 - (sentMs + receivedMs) / 2;
    const isWorse = roundTripMs > this.roundTripMs && receivedMs - this.takenAtMs < SAMPLE_LIFE_MS;
    const agrees = Math.abs(offsetMs - this.offsetMs) <= (roundTripMs + this.roundTripMs) / 2 + SLACK_MS;
    if (isWorse && agrees) return;
    this.roundTripMs = roundTripMs;
    this.takenAtMs = receivedMs;
    this.offsetMs = offsetMs;
  }

  /** Redis's time now, Unix ms. */
  now(): number {
    return Math.floor(performance.now() + this.offsetMs);
  }
}
