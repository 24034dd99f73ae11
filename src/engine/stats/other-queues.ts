/** Maximum number of remembered names, over all namespaces. */
const MOST_NAMES = 20_000;

/**
 * Remembers queues that the store does not count separately on a day. Adding up thousands of them separately, only for
 * the store to combine them, cost a twentieth of a lease.
 */
export class OtherQueues {
  private readonly names = new Map<string, Set<string>>();
  private day = 0;
  private size = 0;

  /** @param day counted from 1970-01-01, UTC */
  has(namespace: string, queue: string, day: number): boolean {
    return (
      // guard: statistics-others-next-day
      day === this.day && this.names.get(namespace)?.has(queue) === true
    );
  }

  /** Forgets the names of other days; forgets all names at the maximum. */
  add(namespace: string, queue: string, day: number): void {
    if (day !== this.day || this.size === MOST_NAMES) this.clear();
    this.day = day;
    let names = this.names.get(namespace);
    if (!names) this.names.set(namespace, (names = new Set()));
    if (names.has(queue)) return;
    names.add(queue);
    this.size += 1;
  }

  /** Called from time to time: a history may have been purged, so that the store counts other queues separately. */
  clear(): void {
    this.names.clear();
    this.size = 0;
  }
}
