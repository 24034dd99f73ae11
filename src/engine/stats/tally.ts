import { Moments } from './moments.js';

/** What is known of one queue's jobs of one day, or of a part of it. */
export class Tally {
  constructor(
    /** From publish to lease: delays and former leases are in it. */
    readonly waits = new Moments(),
    /** From lease to acknowledgement. */
    readonly runs = new Moments(),
    /** Jobs that went to the dead letter. */
    public failures = 0,
    /** Times that a job went back to be tried again: its lease ran out, or its worker gave it up. */
    public retries = 0,
  ) {}

  merge(other: Tally): void {
    this.waits.merge(other.waits);
    this.runs.merge(other.runs);
    this.failures += other.failures;
    this.retries += other.retries;
  }

  /** `waits;runs;failures;retries`, as lua/lib/tally.lua reads and writes it. */
  toText(): string {
    return `${this.waits.toText()};${this.runs.toText()};${String(this.failures)};${String(this.retries)}`;
  }

  static ofText(text: string): Tally {
    const [waits = '', runs = '', failures = '0', retries = '0'] = text.split(';');
    return new Tally(Moments.ofText(waits), Moments.ofText(runs), Number(failures), Number(retries));
  }
}
