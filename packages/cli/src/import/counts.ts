/** Counters of an import, for each namespace. */
export const COUNTED = [
  'ready',
  'delayed',
  'leased',
  'dead',
  /** Imported by an earlier run. */
  'known',
  /** Job without a value: acknowledged, or expired. */
  'gone',
  /** Entries that are not in lmstfy's format. */
  'unreadable',
  /** Leased by workers of the running lmstfy server; not imported. */
  'left',
  'tokens',
  'limits',
] as const;
export type Counted = (typeof COUNTED)[number];
export type Counts = Record<Counted, number>;

const NOT_HANDLED: ReadonlySet<Counted> = new Set(['left', 'tokens', 'limits']);

/** The counts of a run, by namespace. */
export class Tally {
  private readonly byNamespace = new Map<string, Counts>();
  /** Called after each change of the number of handled jobs. */
  onHandled: (handled: number) => void = () => undefined;
  /** Jobs of the source that were dealt with: stored now or earlier, gone, or unreadable. */
  handled = 0;

  add(namespace: string, what: Counted, by = 1): void {
    const counts = this.byNamespace.get(namespace) ?? zero();
    counts[what] += by;
    this.byNamespace.set(namespace, counts);
    if (NOT_HANDLED.has(what)) return;
    this.handled += by;
    this.onHandled(this.handled);
  }

  clear(what: Counted): void {
    for (const counts of this.byNamespace.values()) counts[what] = 0;
  }

  /** Number of jobs stored so far. */
  get stored(): number {
    let sum = 0;
    for (const { ready, delayed, leased, dead } of this.byNamespace.values())
      sum += ready + delayed + leased + dead;
    return sum;
  }

  entries(): [string, Counts][] {
    return [...this.byNamespace].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

function zero(): Counts {
  return Object.fromEntries(COUNTED.map((name) => [name, 0])) as Counts;
}
