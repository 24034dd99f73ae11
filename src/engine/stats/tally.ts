import { Moments } from './moments.js';

/** Statistics of one queue and one day, or of a part of it. */
export class Tally {
  constructor(
    /** Time from publish to lease, including delays and earlier leases. */
    readonly waits = new Moments(),
    /** Time from lease to acknowledgement. */
    readonly runs = new Moments(),
    /** Jobs that went to the dead-letter queue. */
    public failures = 0,
    /** Number of times that a job went back to be tried again: its lease expired, or its worker returned it. */
    public retries = 0,
  ) {}

  merge(other: Tally): void {
    this.waits.merge(other.waits);
    this.runs.merge(other.runs);
    this.failures += other.failures;
    this.retries += other.retries;
  }

  /** `waits;runs;failures;retries`, the format of lua/modules/queues/statistics.lua. */
  toText(): string {
    return `${this.waits.toText()};${this.runs.toText()};${String(this.failures)};${String(this.retries)}`;
  }

  static ofText(text: string): Tally {
    const [waits = '', runs = '', failures = '0', retries = '0'] = text.split(';');
    return new Tally(Moments.ofText(waits), Moments.ofText(runs), Number(failures), Number(retries));
  }
}
