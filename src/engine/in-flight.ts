/** Counts what is under way, so that an orderly end can wait for it. Two additions each: no promise is made until somebody waits. */
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

  /** Resolves when nothing is under way, nor follows from what has just ended. */
  async idle(): Promise<void> {
    while (this.count > 0) {
      await new Promise<void>((resolve) => this.onIdle.push(resolve));
      // What an answer brought to nobody is given back before we look again.
      await new Promise(setImmediate);
    }
  }
}
