import { type Bin, BINS, binOf } from './bins.js';

/** Durations seen so far: their count, mean and spread by Welford's method, and a histogram. */
export class Moments {
  count = 0;
  meanMs = 0;
  /** Sum of squared distances from the mean, ms². */
  squares = 0;
  /** Count of each bin, up to the last one that is not empty: most waits are short. */
  readonly bins: number[] = [];

  /** Adds a duration; a negative one, from a clock that went back, counts as 0. */
  add(ms: number): void {
    const value = ms > 0 ? ms : 0;
    const distance = value - this.meanMs;
    this.count += 1;
    this.meanMs += distance / this.count;
    this.squares += distance * (value - this.meanMs);
    this.fill(binOf(value), 1);
  }

  /** Merges another one by Chan's method; lua/modules/queues/statistics.lua does the same. */
  merge(other: Moments): void {
    if (other.count === 0) return;
    const count = this.count + other.count;
    const distance = other.meanMs - this.meanMs;
    this.meanMs += (distance * other.count) / count;
    this.squares += other.squares + (distance * distance * this.count * other.count) / count;
    this.count = count;
    other.bins.forEach((more, bin) => this.fill(bin, more));
  }

  /** Standard deviation of the sample, in milliseconds; 0 for fewer than two. */
  get stdMs(): number {
    return this.count < 2 ? 0 : Math.sqrt(this.squares / (this.count - 1));
  }

  /** The bins that are not empty, with the number of durations in each. */
  get histogram(): (Bin & { readonly count: number })[] {
    return BINS.flatMap((bin, i) => {
      const count = this.bins[i] ?? 0;
      return count > 0 ? [{ ...bin, count }] : [];
    });
  }

  /** `count,mean,squares,bin:count,…`: the format in script calls and in the store. Empty bins are omitted. */
  toText(): string {
    if (this.count === 0) return '';
    const filled = this.bins.flatMap((many, bin) => (many > 0 ? [`,${String(bin)}:${String(many)}`] : []));
    return `${String(this.count)},${String(this.meanMs)},${String(this.squares)}${filled.join('')}`;
  }

  static ofText(text: string): Moments {
    const moments = new Moments();
    if (text === '') return moments;
    const [count, mean, squares, ...bins] = text.split(',');
    moments.count = Number(count);
    moments.meanMs = Number(mean);
    moments.squares = Number(squares);
    for (const pair of bins) {
      const [bin, many] = pair.split(':');
      moments.fill(Number(bin), Number(many));
    }
    return moments;
  }

  private fill(bin: number, many: number): void {
    while (this.bins.length <= bin) this.bins.push(0);
    this.bins[bin] = (this.bins[bin] ?? 0) + many;
  }
}
