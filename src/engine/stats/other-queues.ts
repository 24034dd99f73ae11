/** Names that are remembered at most, over all namespaces. */
const MOST_NAMES = 20_000;

/**
 * Queues that have no numbers of their own on a day, as far as the store has said so. To add up thousands of them one by one, only for
 * the store to throw them together, was a twentieth of what a lease costs.
 */
export class OtherQueues {
  private readonly names = new Map<string, Set<string>>();
  private day = 0;
  private size = 0;

  /** @param day counted from 1970-01-01, UTC */
  has(namespace: string, queue: string, day: number): boolean {
    return day === this.day && this.names.get(namespace)?.has(queue) === true;
  }

  /** What is known of another day is forgotten; so is all of it when it is too much. */
  add(namespace: string, queue: string, day: number): void {
    if (day !== this.day || this.size === MOST_NAMES) this.clear();
    this.day = day;
    let names = this.names.get(namespace);
    if (!names) this.names.set(namespace, (names = new Set()));
    if (names.has(queue)) return;
    names.add(queue);
    this.size += 1;
  }

  /** From time to time: a history may have been purged, and who is met first then has numbers of its own. */
  clear(): void {
    this.names.clear();
    this.size = 0;
  }
}
