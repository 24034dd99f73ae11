/** Most items, and about the most bytes, that travel in one script call: it must stay short. */
const MAX_ITEMS = 64;
const MAX_BYTES = 262_144;

/** Hears how a call ended. Plain functions: with a promise for each item, settling them cost a tenth of a publish. */
export interface Ending<R> {
  /** `results` are those of the whole batch; this call's own begin at `first`. If it throws, `failed` is called with that. */
  readonly done: (results: readonly R[], first: number) => void;
  readonly failed: (error: unknown) => void;
}

interface Call<I, R> extends Ending<R> {
  readonly items: readonly I[];
  readonly weight: number;
}

/**
 * Group commit: calls of one turn of the event loop for the same namespace travel as one script call, each item with a result of its
 * own. Alone, a call goes just as soon. The items of one call are never parted.
 */
export class Batcher<I, R> {
  private readonly waiting = new Map<string, Call<I, R>[]>();

  /**
   * @param send makes the script call of a batch; `calls` says whose items follow each other
   * @param maxItems most items in it
   */
  constructor(
    private readonly send: (
      namespace: string,
      items: readonly I[],
      calls: readonly { readonly items: readonly I[] }[],
    ) => Promise<readonly R[]>,
    private readonly maxItems = MAX_ITEMS,
  ) {}

  /** Adds items to the batch of this turn; `weight` is about what they weigh in bytes. */
  add(namespace: string, items: readonly I[], weight: number, { done, failed }: Ending<R>): void {
    const call = { items, weight, done, failed };
    const calls = this.waiting.get(namespace);
    if (calls) {
      calls.push(call);
      return;
    }
    this.waiting.set(namespace, [call]);
    // After the poll phase: every request that this turn read from its sockets is in by then.
    setImmediate(() => this.flush(namespace));
  }

  private flush(namespace: string): void {
    const calls = this.waiting.get(namespace) ?? [];
    this.waiting.delete(namespace);
    let batch: Call<I, R>[] = [];
    let items: I[] = [];
    let weight = 0;
    for (const call of calls) {
      const full = items.length + call.items.length > this.maxItems || weight + call.weight > MAX_BYTES;
      if (full && batch.length > 0) {
        this.dispatch(namespace, batch, items);
        batch = [];
        items = [];
        weight = 0;
      }
      batch.push(call);
      for (const item of call.items) items.push(item);
      weight += call.weight;
    }
    if (batch.length > 0) this.dispatch(namespace, batch, items);
  }

  private dispatch(namespace: string, calls: readonly Call<I, R>[], items: readonly I[]): void {
    this.send(namespace, items, calls).then(
      (results) => {
        let first = 0;
        for (const call of calls) {
          try {
            call.done(results, first);
          } catch (error) {
            // A throwing observer, say: it is this call's trouble, and the others' answers are at hand.
            call.failed(error);
          }
          first += call.items.length;
        }
      },
      (error: unknown) => {
        for (const call of calls) call.failed(error);
      },
    );
  }
}
