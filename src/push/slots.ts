/** A target that waits for slots. */
interface Waiter {
  readonly wanted: number;
  readonly grant: (slots: number) => void;
}

/**
 * Slots for requests under way, shared fairly by target. While others have or want slots, a target holds at most its share: the
 * total by about the number of those targets and one, so that a slow target leaves room for the next one.
 */
export class Slots {
  private used = 0;
  private readonly held = new Map<string, number>();
  /** By target, in the order in which they came. */
  private readonly waiting = new Map<string, Waiter>();

  constructor(private readonly total: number) {}

  /** Slots in use now. */
  get inUse(): number {
    return this.used;
  }

  /** Takes up to `wanted` slots, at least one; 0 if none is free for this target now. */
  tryTake(key: string, wanted: number): number {
    const active = Math.max(this.held.size + (this.held.has(key) ? 0 : 1), this.waiting.size);
    const share = Math.max(Math.floor(this.total / (active + 1)), 1);
    const own = this.held.get(key) ?? 0;
    const taken = Math.max(Math.min(wanted, share - own, this.total - this.used), 0);
    if (taken > 0) {
      this.used += taken;
      this.held.set(key, own + taken);
    }
    return taken;
  }

  /** Waits for slots; each target waits once at a time. @returns 0 if `signal` is aborted */
  take(key: string, wanted: number, signal: AbortSignal): Promise<number> {
    const taken = signal.aborted ? 0 : this.tryTake(key, wanted);
    if (taken > 0 || signal.aborted) return Promise.resolve(taken);
    return new Promise((resolve) => {
      const leave = (): void => {
        this.waiting.delete(key);
        resolve(0);
      };
      const waiter: Waiter = {
        wanted,
        grant: (slots) => {
          signal.removeEventListener('abort', leave);
          resolve(slots);
        },
      };
      this.waiting.set(key, waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Gives slots back. */
  free(key: string, slots: number): void {
    if (slots === 0) return;
    this.used -= slots;
    const left = (this.held.get(key) ?? 0) - slots;
    if (left > 0) this.held.set(key, left);
    else this.held.delete(key);
    this.serve();
  }

  private serve(): void {
    for (const [key, waiter] of this.waiting) {
      if (this.used >= this.total) return;
      const taken = this.tryTake(key, waiter.wanted);
      if (taken === 0) continue;
      this.waiting.delete(key);
      waiter.grant(taken);
    }
  }
}
