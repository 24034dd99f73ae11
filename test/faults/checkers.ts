import type { Entry, History } from './journal.js';

/** What the checkers found. The first lists are empty if the run was sound; `recovered` is no fault. */
export interface Verdict {
  /** Accepted, but neither completed nor dead with a record of it. */
  readonly lost: readonly string[];
  /** Delivered, but never sent by a producer, or sooner than it may come. */
  readonly unexpected: readonly string[];
  /** Delivered once more than leases that ran out allow. */
  readonly duplicated: readonly string[];
  /** Acknowledgements or deliveries against the order of leases. */
  readonly leases: readonly string[];
}

type Delivery = Extract<Entry, { op: 'delivered' }>;
type Ack = Extract<Entry, { op: 'acked' }>;

/** The clocks of Redis and of the test may differ by a little in speed, and Redis ends leases to the millisecond, in ms. */
const CLOCK_MS = 2;

/** Judges a finished run by its history alone. */
export function check(history: History): Verdict {
  return {
    lost: lost(history),
    unexpected: unexpected(history),
    duplicated: duplicated(history),
    leases: leases(history),
  };
}

export function isSound(verdict: Verdict): boolean {
  return Object.values(verdict).every((list: readonly string[]) => list.length === 0);
}

/** Accepted − completed − dead. */
export function lost({ entries, rules }: History): string[] {
  const over = new Set(rules.dead);
  for (const entry of entries) if (entry.op === 'acked') over.add(entry.id);
  return entries.flatMap((entry) => (entry.op === 'accepted' && !over.has(entry.id) ? [entry.id] : []));
}

/** Delivered − attempted, and what came before its delay was over. */
export function unexpected({ entries }: History): string[] {
  const dueMs = new Map<string, number>();
  const found: string[] = [];
  for (const entry of entries) {
    if (entry.op === 'publish' && !dueMs.has(entry.body))
      dueMs.set(entry.body, entry.atMs + (entry.delayMs ?? 0));
    if (entry.op !== 'delivered') continue;
    const due = dueMs.get(entry.body);
    if (due === undefined) found.push(`${show(entry)}: no producer sent it`);
    else if (entry.atMs < due - CLOCK_MS)
      found.push(`${show(entry)}: ${(due - entry.atMs).toFixed(1)} ms early`);
  }
  return found;
}

/**
 * A job comes again only when its lease has expired: not sooner, not after its ack was answered, not more often than
 * its tries and free retries allow. One body has no more ids than it was sent with.
 */
export function duplicated({ entries, rules }: History): string[] {
  const found: string[] = [];
  const lives = new Map<string, { times: number; before?: Delivery; doneMs: number }>();
  const lifeOf = (id: string, isNew = false) => {
    const life = (isNew ? undefined : lives.get(id)) ?? { times: 0, doneMs: Infinity };
    lives.set(id, life);
    return life;
  };
  for (const entry of entries) {
    if (entry.op === 'acked') lifeOf(entry.id).doneMs = Math.min(lifeOf(entry.id).doneMs, entry.atMs);
    // Answered after it was done: the publish may have run once more.
    if (entry.op === 'accepted' && rules.mayRepeat && lifeOf(entry.id).doneMs < entry.atMs)
      lifeOf(entry.id, true);
    if (entry.op !== 'delivered') continue;
    const life = lifeOf(entry.id, rules.mayRepeat && entry.triesLeft === rules.tries - 1);
    if (life.before && entry.atMs < life.before.sentMs + rules.ttrMs - CLOCK_MS)
      found.push(`${show(entry)}: again within its lease`);
    if (entry.sentMs > life.doneMs) found.push(`${show(entry)}: after it was done`);
    if (++life.times > rules.tries + (rules.freeRetries ?? 0))
      found.push(`${show(entry)}: time ${life.times}, ${rules.tries} tries`);
    life.before = entry;
  }
  return [...found, ...multiplied(entries)];
}

function multiplied(entries: readonly Entry[]): string[] {
  const sent = new Map<string, number>();
  const ids = new Map<string, Set<string>>();
  for (const entry of entries) {
    if (entry.op === 'publish') sent.set(entry.body, (sent.get(entry.body) ?? 0) + 1);
    if (entry.op === 'delivered') ids.set(entry.body, (ids.get(entry.body) ?? new Set()).add(entry.id));
  }
  return [...ids].flatMap(([body, { size }]) => {
    const times = sent.get(body) ?? 0;
    return times > 0 && size > times ? [`${body}: sent ${times} times, is ${size} jobs`] : [];
  });
}

/**
 * Of what names its lease: each delivery of a job has a higher number than the one before it, one acknowledgement at most is accepted,
 * and that has the number of the newest lease.
 */
export function leases({ entries, rules }: History): string[] {
  const found: string[] = [];
  const newest = new Map<string, Delivery>();
  const acks = new Map<string, Ack>();
  for (const entry of entries) {
    const isFirst = entry.op === 'delivered' && entry.triesLeft === rules.tries - 1;
    if (rules.mayRepeat && (isFirst || entry.op === 'accepted')) {
      newest.delete(entry.id);
      acks.delete(entry.id);
    }
    if (entry.op === 'delivered' && entry.lease !== undefined) {
      const before = newest.get(entry.id);
      // Two answers may cross on their way: then the later one was asked for before the earlier one had come.
      const areApart = before !== undefined && entry.sentMs > before.atMs;
      if (before && (entry.lease === before.lease || (areApart && entry.lease < (before.lease ?? 0))))
        found.push(`${show(entry)}: lease ${entry.lease} after ${String(before.lease)}`);
      if (entry.lease > (before?.lease ?? 0)) newest.set(entry.id, entry);
    }
    if (entry.op !== 'acked' || entry.lease === undefined) continue;
    if (acks.has(entry.id)) found.push(`${entry.id}: accepted twice, at ${entry.atMs.toFixed(0)} ms again`);
    acks.set(entry.id, entry);
    const now = newest.get(entry.id);
    if (now && (now.lease ?? 0) > entry.lease && now.atMs < (entry.sentMs ?? entry.atMs))
      found.push(`${entry.id}: lease ${entry.lease} accepted when ${String(now.lease)} was out`);
  }
  return found;
}

/** Sent, not answered, and delivered all the same: allowed, and worth counting. */
export function recovered({ entries }: History): string[] {
  const accepted = new Set<string>();
  const delivered = new Set<string>();
  for (const entry of entries) {
    if (entry.op === 'accepted') accepted.add(entry.id);
    if (entry.op === 'delivered') delivered.add(entry.id);
  }
  return [...delivered].filter((id) => !accepted.has(id));
}

function show({ id, body, atMs }: Delivery): string {
  return `${id} (${body}) at ${atMs.toFixed(0)} ms`;
}
