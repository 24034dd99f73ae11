/** Names that are remembered at most, over all namespaces. */
const MOST_NAMES = 20_000;

/**
 * Queues that have no numbers of their own on a day, as far as the store has said so: to add each of thousands up by itself, only for the
 * store to throw them together, costs a tenth of a lease.
 */
export class OtherQueues {
  private readonly names = new Map<string, Set<string>>();
  private day = 0;
  private size = 0;

  has(namespace: string, queue: string, day: number): boolean {
    return day === this.day && this.names.get(namespace)?.has(queue) === true;
  }

  add(namespace: string, day: number, queues: readonly string[]): void {
    if (day !== this.day || this.size + queues.length > MOST_NAMES) this.clear();
    this.day = day;
    const names = this.names.get(namespace) ?? new Set();
    this.names.set(namespace, names);
    const before = names.size;
    for (const queue of queues) names.add(queue);
    this.size += names.size - before;
  }

  /** The namespace's day has room again: it was purged, or its bound was raised. */
  forget(namespace: string): void {
    this.size -= this.names.get(namespace)?.size ?? 0;
    this.names.delete(namespace);
  }

  private clear(): void {
    this.names.clear();
    this.size = 0;
  }
}
