/** Names of queues that are remembered, at most. */
const MOST = 10_000;

/**
 * Queues that are known to be full ones, so that the full lane is asked at once. A hint: a queue that has been forgotten since is served
 * by the full lane just as well, and one that is not remembered tells so itself.
 */
export class FullQueues {
  private readonly known = new Set<string>();

  add(namespace: string, queues: readonly string[]): void {
    // Queues come and go: what is forgotten costs one question.
    if (this.known.size + queues.length > MOST) this.known.clear();
    for (const queue of queues) this.known.add(`${namespace} ${queue}`);
  }

  /** True if one of them is known to be full. */
  hasAny(namespace: string, queues: readonly string[]): boolean {
    if (this.known.size === 0) return false;
    return queues.some((queue) => this.known.has(`${namespace} ${queue}`));
  }

  delete(namespace: string, queues: readonly string[]): void {
    for (const queue of queues) this.known.delete(`${namespace} ${queue}`);
  }
}
