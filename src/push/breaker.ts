import type { TargetEvent, Targets } from '../engine/queues/targets.js';
import { breakerName, type OpenBreaker, readBreaker } from './target.js';

/** Failures in a row to connect that open the breaker. */
const MOST_IN_A_ROW = 5;
/** Or this share of failures, of at least so many requests, in the last minute. */
const SHARE = 0.5;
const FEWEST = 10;
const BUCKET_MS = 10_000;
const BUCKETS = 6;
/** How long it is open, doubled with each opening in a row. */
const FIRST_OPEN_MS = 30_000;
const LAST_OPEN_MS = 300_000;

interface Bucket {
  readonly index: number;
  good: number;
  bad: number;
}

/** Counts the requests of this process to one target, and decides when its breaker opens. */
export class FailureCounter {
  private inARow = 0;
  private buckets: Bucket[] = [];

  /** @param connected false if there was no answer at all. @returns true if the breaker is to open */
  count(isHealthy: boolean, connected: boolean, nowMs: number): boolean {
    const index = Math.floor(nowMs / BUCKET_MS);
    this.buckets = this.buckets.filter((one) => one.index > index - BUCKETS);
    let bucket = this.buckets.at(-1);
    if (bucket?.index !== index) this.buckets.push((bucket = { index, good: 0, bad: 0 }));
    if (isHealthy) bucket.good += 1;
    else bucket.bad += 1;
    this.inARow = connected ? 0 : this.inARow + 1;
    const bad = this.buckets.reduce((sum, one) => sum + one.bad, 0);
    const all = this.buckets.reduce((sum, one) => sum + one.good, bad);
    return !isHealthy && (this.inARow >= MOST_IN_A_ROW || (all >= FEWEST && bad >= all * SHARE));
  }

  forget(): void {
    this.inARow = 0;
    this.buckets = [];
  }
}

/** The breaker of one target, or of one of its origins, as all servers share it. Times are those of the servers' clocks. */
export class SharedBreaker {
  constructor(
    private readonly store: Targets,
    private readonly namespace: string,
    private readonly target: string,
    private readonly origin: string,
  ) {}

  /** Opens a closed one; one that is open stays as it is. @throws {QueueError} an error of the store */
  open(nowMs: number): Promise<void> {
    return this.change((known) => (known === null ? opened(0, nowMs) : known));
  }

  /**
   * Takes the right to try the target with one job. @param untilMs when another server may, if this one dies
   *
   * @returns false if another server has it, or the breaker is not waiting for it
   */
  async claimProbe(nowMs: number, untilMs: number): Promise<boolean> {
    let isClaimed = false;
    await this.change((known) => {
      isClaimed = known !== null && known.openUntilMs <= nowMs && known.probeUntilMs <= nowMs;
      return known !== null && isClaimed ? { ...known, probeUntilMs: untilMs } : known;
    });
    return isClaimed;
  }

  /** The probe has ended. */
  endProbe(isHealthy: boolean, nowMs: number): Promise<void> {
    return this.change((known) => {
      if (isHealthy || known === null) return null;
      return opened(known.openings, nowMs);
    });
  }

  private async change(decide: (known: OpenBreaker | null) => OpenBreaker | null): Promise<void> {
    const { target, origin } = this;
    const name = breakerName(target, origin);
    await this.store.change(this.namespace, ({ targets, breakers }) => {
      const known = readBreaker(breakers.get(name));
      const next = targets.has(target) ? decide(known) : null;
      if (next === known) return null;
      const event = breakerEvent(target, origin, known, next);
      return { part: 'breakers', name, value: next && JSON.stringify(next), ...(event ? { event } : {}) };
    });
  }
}

/** A claim of the probe is no event. */
function breakerEvent(
  target: string,
  origin: string,
  known: OpenBreaker | null,
  next: OpenBreaker | null,
): TargetEvent | null {
  const facts = origin === '' ? { target } : { target, origin };
  if (next === null) return { name: 'breaker_closed', facts };
  if (next.openings === known?.openings) return null;
  return {
    name: 'breaker_opened',
    facts: { ...facts, open_until: new Date(next.openUntilMs).toISOString() },
  };
}

function opened(before: number, nowMs: number): OpenBreaker {
  const openMs = Math.min(FIRST_OPEN_MS * 2 ** Math.min(before, 10), LAST_OPEN_MS);
  return { openUntilMs: nowMs + openMs, openings: before + 1, probeUntilMs: 0 };
}
