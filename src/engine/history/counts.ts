import { LogBins } from './log-bins.js';

/** Names of what is counted of a queue, in the order of the store. */
export const COUNTED = ['published', 'leased', 'acked', 'failed', 'died'] as const;

/** How many jobs were published, leased and acknowledged, how many attempts failed, and how many jobs died with one. */
export type Counted = Record<(typeof COUNTED)[number], number>;

export const NOTHING: Readonly<Counted> = { published: 0, leased: 0, acked: 0, failed: 0, died: 0 };

/** What happened to the jobs of a queue. */
export class QueueActivity {
  constructor(
    readonly counts: Counted = { ...NOTHING },
    /** Time from publish to lease. */
    readonly waits = new LogBins(),
    /** Time from lease to acknowledgement. */
    readonly runs = new LogBins(),
  ) {}

  /** Counts a lease. @param waitMs since its publish */
  addLease(waitMs: number): void {
    this.counts.leased += 1;
    this.waits.add(waitMs);
  }

  /** Counts jobs that died with a failed attempt. */
  addDeaths(jobs: number): void {
    this.counts.failed += jobs;
    this.counts.died += jobs;
  }

  /** `counts;waits;runs`, as lua/commands/maintenance/add_activity.lua stores it. */
  static ofText(text: string): QueueActivity {
    const [counts = '', waits = '', runs = ''] = text.split(';');
    return new QueueActivity(countedOf(counts.split(',')), LogBins.ofText(waits), LogBins.ofText(runs));
  }
}

/** Counts from their texts, in the order of the store. */
export function countedOf(texts: readonly string[]): Counted {
  const [published, leased, acked, failed, died] = texts.map(Number);
  return {
    published: published ?? 0,
    leased: leased ?? 0,
    acked: acked ?? 0,
    failed: failed ?? 0,
    died: died ?? 0,
  };
}

/** Counts as text, in the order of the store. */
export function countedText(counts: Counted): string {
  return COUNTED.map((name) => String(counts[name])).join(',');
}

/** What was counted since earlier counts; none of it is negative. */
export function countedSince(counts: Counted, earlier: Counted): Counted {
  const more = { ...NOTHING };
  for (const name of COUNTED) more[name] = Math.max(counts[name] - earlier[name], 0);
  return more;
}

/** True if nothing was counted. */
export function isNothing(counts: Counted): boolean {
  return COUNTED.every((name) => counts[name] === 0);
}
