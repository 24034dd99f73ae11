import type { Action } from '../../contract/operations.js';

/** After a step of so many milliseconds the next one is smaller: it may hold Redis for 5 ms. */
const LONG_MS = 3;
/** After a shorter one the next is larger. */
const SHORT_MS = 2;
/** Jobs that a step of each action tries, at most. */
const MOST_JOBS: Readonly<Record<Action, number>> = {
  cancel: 32,
  delete: 24,
  respawn: 16,
  retry: 16,
  move: 16,
  patch: 16,
};
/** Entries that it looks at, at most. */
const MOST_ENTRIES = 128;
/** The smallest step, as a part of the largest: each has costs of its own, and a busy machine makes all of them long. */
const SMALLEST = 1 / 4;
const GROWTH = 1.25;

/**
 * How large the steps of an operation are. What a job costs depends on the machine and on the job: a step that took long, also
 * because Redis is busy, halves the next one.
 */
export class StepSize {
  private share = 1;

  constructor(private readonly action: Action) {}

  /** Jobs that the next step tries, at most. */
  get jobs(): number {
    return Math.ceil(MOST_JOBS[this.action] * this.share);
  }

  /** Entries of the index that it looks at, at most. */
  get entries(): number {
    return Math.ceil(MOST_ENTRIES * this.share);
  }

  /** Learns how long a step took, in milliseconds. */
  took(ms: number): void {
    if (ms > LONG_MS) this.share = Math.max(this.share / 2, SMALLEST);
    else if (ms < SHORT_MS) this.share = Math.min(this.share * GROWTH, 1);
  }
}
