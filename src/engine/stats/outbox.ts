import type { Item } from '../../redis/scripts/script.js';
import type { Tally } from './tally.js';

/** What travels in one script call. */
export interface Batch {
  readonly day: number;
  /** Above those of all batches of this server before it. */
  readonly sequence: number;
  readonly items: readonly Item[];
}

/** Tallies in one call, and characters of them: a millisecond of Redis, however full their histograms are. */
const BATCH = 32;
const BATCH_CHARACTERS = 3_000;
/** Batches that wait at most while the store is away; the oldest are given up first. */
const MOST_BATCHES = 1_000;

/** Tallies on their way to the store: those of a namespace one after the other, in order. */
export class Outbox {
  private readonly lines = new Map<string, Batch[]>();
  private sequence = 0;
  private size = 0;

  /** Puts tallies of one day in line. */
  add(namespace: string, day: number, tallies: ReadonlyMap<string, Tally>): void {
    const items = [...tallies].map(([queue, tally]): Item => [queue, tally.toText()]);
    for (const part of partsOf(items)) {
      const batch = { day, sequence: ++this.sequence, items: part };
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

  /** A namespace's first one is done with; nothing happens if it has been given up meanwhile. */
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

/** Items in lists that one call bears. */
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
