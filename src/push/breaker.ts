import type { TargetEvent, Targets } from '../engine/queues/targets.js';
import { breakerName, type BreakerSettings, type OpenBreaker, readBreaker, readTarget } from './target.js';

/** Requests of the last minute are counted. */
const BUCKET_MS = 10_000;
const BUCKETS = 6;

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
  count(isHealthy: boolean, connected: boolean, nowMs: number, settings: BreakerSettings): boolean {
    const index = Math.floor(nowMs / BUCKET_MS);
    this.buckets = this.buckets.filter((one) => one.index > index - BUCKETS);
    let bucket = this.buckets.at(-1);
    if (bucket?.index !== index) this.buckets.push((bucket = { index, good: 0, bad: 0 }));
    if (isHealthy) bucket.good += 1;
    else bucket.bad += 1;
    this.inARow = connected ? 0 : this.inARow + 1;
    const bad = this.buckets.reduce((sum, one) => sum + one.bad, 0);
    const all = this.buckets.reduce((sum, one) => sum + one.good, bad);
    const { failures, failurePercent, minRequests } = settings;
    return (
      !isHealthy && (this.inARow >= failures || (all >= minRequests && bad * 100 >= all * failurePercent))
    );
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
    return this.change((known, settings) => (known === null ? opened(0, nowMs, settings) : known));
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
    return this.change((known, settings) => {
      if (isHealthy || known === null) return null;
      return opened(known.openings, nowMs, settings);
    });
  }

  /** @param decide is not asked for a target that has no breaker, or is gone */
  private async change(
    decide: (known: OpenBreaker | null, settings: BreakerSettings) => OpenBreaker | null,
  ): Promise<void> {
    const { target, origin } = this;
    const name = breakerName(target, origin);
    await this.store.change(this.namespace, ({ targets, breakers }) => {
      const known = readBreaker(breakers.get(name));
      const text = targets.get(target);
      const settings = text === undefined ? null : readTarget(text).target.breakerSettings;
      const next = settings && decide(known, settings);
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

function opened(before: number, nowMs: number, { openMs, maxOpenMs }: BreakerSettings): OpenBreaker {
  const forMs = Math.min(openMs * 2 ** Math.min(before, 20), maxOpenMs);
  return { openUntilMs: nowMs + forMs, openings: before + 1, probeUntilMs: 0 };
}
