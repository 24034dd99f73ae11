/** Longest duration that has a bin of its own, in milliseconds: 24 days. */
const MOST_MS = 2_147_483_647;
const HIGHEST_BIT = 31;

/**
 * The bin of a duration (ms, from 0): 0 below a millisecond, then four bins for each power of two. The middle of a bin
 * differs by an eighth from what is in it, at most.
 */
export function logBinOf(ms: number): number {
  if (!(ms >= 1)) return 0;
  const whole = Math.min(Math.trunc(ms), MOST_MS);
  const power = HIGHEST_BIT - Math.clz32(whole);
  const quarter = Math.trunc((whole / 2 ** power - 1) * 4);
  return 1 + power * 4 + quarter;
}

/** The middle of a bin, in milliseconds. */
export function middleOf(bin: number): number {
  if (bin === 0) return 0;
  const power = Math.trunc((bin - 1) / 4);
  const quarter = (bin - 1) % 4;
  return Math.round(2 ** power * (1 + (quarter + 0.5) / 4));
}

/** How many durations are in each bin. */
export class LogBins {
  private readonly counts: number[] = [];

  add(ms: number): void {
    this.addMany(logBinOf(ms), 1);
  }

  addMany(bin: number, many: number): void {
    while (this.counts.length <= bin) this.counts.push(0);
    this.counts[bin] = (this.counts[bin] ?? 0) + many;
  }

  /** The bin of a quantile, 0 to 1; null if there is nothing. */
  quantile(share: number): number | null {
    const total = this.counts.reduce((sum, count) => sum + count, 0);
    if (total === 0) return null;
    let left = Math.max(Math.ceil(total * share), 1);
    for (const [bin, count] of this.counts.entries()) {
      left -= count;
      if (left <= 0) return bin;
    }
    return null;
  }

  /** What these have more than others, which were counted earlier. */
  since(earlier: LogBins): LogBins {
    const more = new LogBins();
    for (const [bin, count] of this.counts.entries())
      more.addMany(bin, Math.max(count - (earlier.counts[bin] ?? 0), 0));
    return more;
  }

  /** `,bin:count` for each bin that is not empty: the format in script calls and in the store. */
  toText(): string {
    return this.counts.flatMap((many, bin) => (many > 0 ? [`,${String(bin)}:${String(many)}`] : [])).join('');
  }

  static ofText(text: string): LogBins {
    const bins = new LogBins();
    for (const [, bin = '0', many = '0'] of text.matchAll(/,(\d+):(\d+)/g))
      bins.addMany(Number(bin), Number(many));
    return bins;
  }
}
