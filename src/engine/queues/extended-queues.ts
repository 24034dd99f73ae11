/** Maximum number of remembered queue names. */
const MOST = 10_000;

/**
 * Remembers queues that are known to be extended, to call the extended path at once. Only a hint: the extended path
 * also serves queues that have been forgotten since, and for unknown ones the simple script reports that they are
 * extended.
 */
export class ExtendedQueues {
  private readonly known = new Set<string>();

  add(namespace: string, queues: readonly string[]): void {
    // Queues come and go: forgetting one costs one extra script call.
    if (this.known.size + queues.length > MOST) this.known.clear();
    for (const queue of queues) this.known.add(`${namespace} ${queue}`);
  }

  /** True if one of them is known to be extended. */
  hasAny(namespace: string, queues: readonly string[]): boolean {
    if (this.known.size === 0) return false;
    return queues.some((queue) => this.known.has(`${namespace} ${queue}`));
  }

  delete(namespace: string, queues: readonly string[]): void {
    for (const queue of queues) this.known.delete(`${namespace} ${queue}`);
  }
}
