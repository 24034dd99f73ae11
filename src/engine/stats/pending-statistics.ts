import type { Item } from '../../redis/scripts/script.js';
import type { Tally } from './tally.js';

/** Content of one script call. */
export interface Batch {
  readonly day: number;
  /** Greater than those of all earlier batches of this server. */
  readonly sequence: number;
  /** Nothing in it was done before this time, Unix ms. */
  readonly sinceMs: number;
  readonly items: readonly Item[];
}

/**
 * Maximum number of tallies in one call, and of their characters: a millisecond of Redis, however full their histograms
 * are.
 */
const BATCH = 32;
const BATCH_CHARACTERS = 3_000;
/** Maximum number of batches that wait while the store is unavailable; the oldest are dropped first. */
const MOST_BATCHES = 1_000;

/** Tallies that wait to be written: those of a namespace in order, one batch at a time. */
export class PendingStatistics {
  private readonly lines = new Map<string, Batch[]>();
  private sequence = 0;
  private size = 0;

  /** Adds tallies of one day. */
  add(namespace: string, day: number, sinceMs: number, tallies: ReadonlyMap<string, Tally>): void {
    const items = [...tallies].map(([queue, tally]): Item => [queue, tally.toText()]);
    for (const part of partsOf(items)) {
      const batch = { day, sequence: ++this.sequence, sinceMs, items: part };
      const line = this.lines.get(namespace);
      if (line) line.push(batch);
      else this.lines.set(namespace, [batch]);
      this.size += 1;
    }
    while (this.size > MOST_BATCHES) this.dropOldest();
  }

  namespaces(): string[] {
    return [...this.lines.keys()];
  }

  first(namespace: string): Batch | undefined {
    return this.lines.get(namespace)?.[0];
  }

  /** Removes the first batch of a namespace; does nothing if it has been dropped meanwhile. */
  done(namespace: string, batch: Batch): void {
    const line = this.lines.get(namespace);
    if (line?.[0] !== batch) return;
    line.shift();
    this.size -= 1;
    if (line.length === 0) this.lines.delete(namespace);
  }

  private dropOldest(): void {
    for (const [namespace, [oldest]] of this.lines) {
      if (oldest) this.done(namespace, oldest);
      return;
    }
  }
}

/** Splits items into lists of a size that one call may have. */
function partsOf(items: readonly Item[]): Item[][] {
  const parts: Item[][] = [];
  let characters = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const length = String(item[1]).length;
    characters += length;
    const last = parts.at(-1);
    if (last && last.length < BATCH && characters <= BATCH_CHARACTERS) last.push(item);
    else {
      parts.push([item]);
      characters = length;
    }
  }
  return parts;
}
