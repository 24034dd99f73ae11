import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

/** What a client did or saw, `atMs` on this process's monotonic clock. */
export type Entry = { readonly atMs: number } &
  /** Sent; what became of it is not known yet. `delayMs` if the job is not to come before that time has passed. */
  (
    | { readonly op: 'publish'; readonly body: string; readonly delayMs?: number }
    /** Answered with 201: from here on the server answers for the job. */
    | { readonly op: 'accepted'; readonly body: string; readonly id: string }
    /** `askedMs`: when it was asked for; its lease cannot have begun before. `lease`: its number, where the client is told. */
    | {
        readonly op: 'delivered';
        readonly body: string;
        readonly id: string;
        readonly sentMs: number;
        readonly triesLeft: number;
        readonly lease?: number;
      }
    /** Answered with success. `lease`: the one that was named; `sentMs`: when it was sent. */
    | { readonly op: 'acked'; readonly id: string; readonly lease?: number; readonly sentMs?: number }
    | { readonly op: 'failed'; readonly what: string }
    | { readonly op: 'fault'; readonly what: string }
  );

/** What a run promised: with it, its history can be checked without anything else. */
export interface Rules {
  readonly seed: number;
  readonly ttrMs: number;
  readonly tries: number;
  /** Leases of one job that may run out uncharged, because a server died before it was known that its answer had left. */
  readonly freeRetries?: number;
  /** Ids that are in the dead letter when all is over. */
  readonly dead: readonly string[];
  /**
   * A publish may have been sent to Redis twice, its first reply being lost; if its job was done in between, the second makes it again
   * under its id, with all its tries.
   */
  readonly mayRepeat: boolean;
}

/** A finished run: its rules, and its operations in the order in which the test's process saw them. */
export interface History {
  readonly rules: Rules;
  readonly entries: readonly Entry[];
}

type Without<T> = T extends Entry ? Omit<T, 'atMs'> : never;

/** The operations of a run, recorded while it goes on. */
export class Journal {
  readonly entries: Entry[] = [];

  add(entry: Without<Entry>): void {
    this.entries.push({ atMs: performance.now(), ...entry });
  }

  count(op: Entry['op']): number {
    return this.entries.reduce((sum, entry) => sum + (entry.op === op ? 1 : 0), 0);
  }

  /** True if an operation of this kind was recorded after a time. Searches from the end. */
  hasSince(op: Entry['op'], sinceMs: number): boolean {
    for (let i = this.entries.length - 1; i >= 0; i--) {
      const entry = this.entries[i]!;
      if (entry.atMs <= sinceMs) return false;
      if (entry.op === op) return true;
    }
    return false;
  }

  /** One JSON object a line, the rules first. */
  save(path: string, rules: Rules): void {
    writeFileSync(path, [rules, ...this.entries].map((line) => JSON.stringify(line)).join('\n'));
  }
}

/** Reads what `save` wrote. */
export function readHistory(path: string): History {
  const [rules, ...entries] = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
  return { rules: rules as Rules, entries: entries as Entry[] };
}
