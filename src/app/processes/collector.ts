/** An API process that has not answered within this time is left out, in milliseconds. */
const PATIENCE_MS = 2_000;

interface Collection<T> {
  readonly answers: T[];
  readonly wanted: number;
  readonly done: () => void;
}

/** Collects one answer from each API process of a cluster. */
export class Collector<T> {
  private readonly collections = new Map<number, Collection<T>>();
  private lastId = 0;

  /** @param request sends every API process a request with this id. @returns the number of API processes */
  constructor(private readonly request: (id: number) => number) {}

  async collect(): Promise<T[]> {
    const id = ++this.lastId;
    const answers: T[] = [];
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      // Answers arrive in a later turn of the event loop.
      const wanted = this.request(id);
      this.collections.set(id, { answers, wanted, done });
      if (wanted === 0) done();
    });
    this.collections.delete(id);
    return answers;
  }

  /** Adds the answer of one API process; drops it if it is too late. */
  take(id: number, answer: T): void {
    const collection = this.collections.get(id);
    if (collection === undefined) return;
    collection.answers.push(answer);
    if (collection.answers.length === collection.wanted) collection.done();
  }
}
