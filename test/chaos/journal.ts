import { writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

/** What a client did or saw, `atMs` on this process's monotonic clock. */
export type Entry = { readonly atMs: number } & (
  | { readonly op: 'publish'; readonly body: string }
  /** Answered with 201: from here on the server answers for the job. */
  | { readonly op: 'accepted'; readonly body: string; readonly id: string }
  /** `askedMs`: when it was asked for; its lease cannot have begun before. */
  | {
      readonly op: 'delivered';
      readonly body: string;
      readonly id: string;
      readonly askedMs: number;
      readonly triesLeft: number;
    }
  /** Answered with 204. */
  | { readonly op: 'acked'; readonly id: string }
  | { readonly op: 'failed'; readonly what: string }
  | { readonly op: 'fault'; readonly what: string }
);

type Without<T> = T extends Entry ? Omit<T, 'atMs'> : never;

/** The operations of a run, in the order in which this process saw them. */
export class Journal {
  readonly entries: Entry[] = [];

  note(entry: Without<Entry>): void {
    this.entries.push({ atMs: performance.now(), ...entry });
  }

  count(op: Entry['op']): number {
    return this.entries.reduce((sum, entry) => sum + (entry.op === op ? 1 : 0), 0);
  }

  /** One JSON object a line, to be looked into when a run has failed. */
  save(path: string): void {
    writeFileSync(path, this.entries.map((entry) => JSON.stringify(entry)).join('\n'));
  }
}

/** What a run must not show. All empty = it is sound. */
export interface Verdict {
  /** Accepted, but neither completed nor dead with a record of it. */
  readonly lost: readonly string[];
  /** Delivered, but never sent by a producer. */
  readonly unexpected: readonly string[];
  /** Delivered again before the lease of the last delivery can have run out. */
  readonly doubled: readonly string[];
  /** Asked for after its acknowledgement was answered, and delivered all the same. */
  readonly undead: readonly string[];
  /** Delivered more often than it had tries, and than deaths of servers excuse. */
  readonly overrun: readonly string[];
  /** More jobs of one body than the producer had to send it. */
  readonly multiplied: readonly string[];
}

/** The rules of a run. */
export interface Rules {
  readonly ttrMs: number;
  readonly tries: number;
  /** Deliveries beyond its tries that a job may have, because its server died before it was known that the answer had left. */
  readonly spared?: number;
  /** Ids that are in the dead letter when all is over. */
  readonly dead: ReadonlySet<string>;
  /**
   * A publish may have been sent to Redis twice, its first reply being lost; if its job was done in between, the second makes it again
   * under its id, with all its tries.
   */
  readonly mayRepeat?: boolean;
}

type Delivery = Extract<Entry, { op: 'delivered' }>;

/** Judges a finished run by its journal alone. */
export function judge(
  { entries }: Journal,
  { ttrMs, tries, spared = 0, dead, mayRepeat = false }: Rules,
): Verdict {
  const sent = new Map<string, number>();
  const accepted = new Set<string>();
  const deliveries = new Map<string, Delivery[]>();
  const idsOf = new Map<string, Set<string>>();
  const ackedMs = new Map<string, number>();
  for (const entry of entries) {
    if (entry.op === 'publish') sent.set(entry.body, (sent.get(entry.body) ?? 0) + 1);
    if (entry.op === 'accepted') accepted.add(entry.id);
    if (entry.op === 'acked') ackedMs.set(entry.id, ackedMs.get(entry.id) ?? entry.atMs);
    if (entry.op !== 'delivered') continue;
    deliveries.set(entry.id, [...(deliveries.get(entry.id) ?? []), entry]);
    idsOf.set(entry.body, (idsOf.get(entry.body) ?? new Set()).add(entry.id));
  }
  const all = [...deliveries.values()];
  const isRepeat = (delivery: Delivery): boolean => mayRepeat && delivery.triesLeft === tries - 1;
  return {
    lost: [...accepted].filter((id) => !ackedMs.has(id) && !dead.has(id)),
    unexpected: all.flat().flatMap(({ body }) => (sent.has(body) ? [] : [body])),
    doubled: all.flatMap((list) =>
      list.filter((one, i) => i > 0 && isEarly(list[i - 1]!, one, ttrMs) && !isRepeat(one)).map(show),
    ),
    undead: all
      .flat()
      .filter((one) => one.askedMs > (ackedMs.get(one.id) ?? Infinity) && !isRepeat(one))
      .map(show),
    overrun: all.filter((list) => list.length > tries + spared).map((list) => show(list[0]!)),
    multiplied: [...idsOf].filter(([body, ids]) => ids.size > (sent.get(body) ?? 0)).map(([body]) => body),
  };
}

/** Redis ends a lease by its own clock, to the millisecond; the two clocks may differ by a little in speed. */
function isEarly(before: Delivery, after: Delivery, ttrMs: number): boolean {
  return after.atMs < before.askedMs + ttrMs - 2;
}

function show({ id, body, atMs }: Delivery): string {
  return `${id} (${body}) at ${atMs.toFixed(0)} ms`;
}
