/** Most items, and about the most bytes, that travel in one script call: it must stay short. */
const MAX_ITEMS = 64;
const MAX_BYTES = 262_144;

interface Waiting<I, R> {
  readonly items: readonly I[];
  readonly bytes: number;
  readonly resolve: (results: R[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: calls of one turn of the event loop for the same namespace travel as one script call, each item with a result of its
 * own. Alone, a call goes just as soon. The items of one call are never parted.
 */
export class Batcher<I, R> {
  private readonly waiting = new Map<string, Waiting<I, R>[]>();

  constructor(private readonly send: (namespace: string, items: readonly I[]) => Promise<readonly R[]>) {}

  /** Adds items to the batch of this turn; `bytes` is about what they weigh. */
  add(namespace: string, items: readonly I[], bytes: number): Promise<R[]> {
    return new Promise((resolve, reject) => {
      const call = { items, bytes, resolve, reject };
      const calls = this.waiting.get(namespace);
      if (calls) {
        calls.push(call);
        return;
      }
      this.waiting.set(namespace, [call]);
      // After the poll phase: every request that this turn read from its sockets is in by then.
      setImmediate(() => this.flush(namespace));
    });
  }

  private flush(namespace: string): void {
    const calls = this.waiting.get(namespace) ?? [];
    this.waiting.delete(namespace);
    let batch: Waiting<I, R>[] = [];
    let count = 0;
    let bytes = 0;
    for (const call of calls) {
      const full = count + call.items.length > MAX_ITEMS || bytes + call.bytes > MAX_BYTES;
      if (full && batch.length > 0) {
        void this.dispatch(namespace, batch);
        batch = [];
        count = bytes = 0;
      }
      batch.push(call);
      count += call.items.length;
      bytes += call.bytes;
    }
    if (batch.length > 0) void this.dispatch(namespace, batch);
  }

  private async dispatch(namespace: string, calls: readonly Waiting<I, R>[]): Promise<void> {
    try {
      const results = await this.send(
        namespace,
        calls.flatMap((call) => call.items),
      );
      let at = 0;
      for (const call of calls) call.resolve(results.slice(at, (at += call.items.length)));
    } catch (error) {
      for (const call of calls) call.reject(error);
    }
  }
}
