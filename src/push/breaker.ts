import type { BreakerChange, Targets } from '../engine/queues/targets.js';
import { type BreakerSettings, type OpenBreaker, readBreaker } from '../engine/queues/stored-targets.js';

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

  /**
   * @param connected false if there was no answer at all
   * @param nowMs of any clock that is never set back
   *
   * @returns true if the breaker is to open
   */
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

/** What is tried: a URL by the rules of its target. */
export interface Trial {
  readonly url: string;
  readonly settings: BreakerSettings;
  /** How long it may take. */
  readonly tryMs: number;
  /** What its last request was answered; left out: there was none. */
  readonly answered?: string;
}

/** A breaker after a change. `isDone`: the call has changed it. */
export interface ChangedBreaker {
  readonly isDone: boolean;
  readonly breaker: OpenBreaker | null;
}

/**
 * The breaker of one target, or of one of its origins, as all servers share it. Redis decides, by its own clock. Nothing
 * changes for a target that is gone, or has another URL or no breaker by now.
 */
export class SharedBreaker {
  constructor(
    private readonly store: Targets,
    private readonly namespace: string,
    private readonly target: string,
    private readonly origin: string,
  ) {}

  /** @throws {QueueError} an error of the store */
  async change(action: BreakerChange['action'], { settings, ...trial }: Trial): Promise<ChangedBreaker> {
    const { target, origin } = this;
    const { openMs, maxOpenMs } = settings;
    const change = { target, origin, action, openMs, maxOpenMs, ...trial };
    const { isDone, breaker } = await this.store.changeBreaker(this.namespace, change);
    return { isDone, breaker: readBreaker(breaker) };
  }
}
