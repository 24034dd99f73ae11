/**
 * Counts operations in progress, so that an orderly shutdown can wait for them. Costs two additions each: a promise is
 * created only to wait.
 */
export class InFlight {
  private count = 0;
  private readonly onIdle: (() => void)[] = [];

  begin(): void {
    this.count++;
  }

  end(): void {
    this.count--;
    if (this.count === 0) for (const idle of this.onIdle.splice(0)) idle();
  }

  /** Resolves when no operation is in progress, including those started by one that has just ended. */
  async idle(): Promise<void> {
    // guard: stop-waits-for-leases
    while (this.count > 0) {
      await new Promise<void>((resolve) => this.onIdle.push(resolve));
      // An operation that has just ended may start another, such as the undo of undelivered leases: let it begin first.
      await new Promise(setImmediate);
    }
  }
}
