/** A busier stream ends: Redis, server and browser have better things to do. */
export const MOST_PER_S = 1_000;

/** Counts events by the second in which they happened: how fast they arrive depends on the network. */
export class EventRate {
  private second = '';
  private events = 0;

  /** @returns true if more than `MOST_PER_S` have happened in one second */
  add({ at = '' }: { readonly at?: string }): boolean {
    const second = at.slice(0, '2030-01-31T12:00:00'.length);
    if (second !== this.second) {
      this.second = second;
      this.events = 0;
    }
    this.events++;
    return this.events > MOST_PER_S;
  }
}
