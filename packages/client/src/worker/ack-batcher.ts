import type { Ack, AckStatus, WorkerDriver } from '../driver.js';
import { isPumphouseError } from '../errors.js';

const MAX_BATCH = 100;
/** Milliseconds that an ack may wait for others. */
const MAX_WAIT_MS = 5;

interface Waiting {
  readonly ack: Ack;
  readonly resolve: (status: AckStatus) => void;
  readonly reject: (error: unknown) => void;
}

/** Sends acks together: up to 100, or those of 5 ms, or those there are when no handler runs that could add one. */
export class AckBatcher {
  private batch: Waiting[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly driver: WorkerDriver,
    private readonly isIdle: () => boolean,
  ) {}

  /** @returns what became of it. @throws {PumphouseError} this ack was refused, or the server did not answer */
  add(ack: Ack): Promise<AckStatus> {
    return new Promise((resolve, reject) => {
      this.batch.push({ ack, resolve, reject });
      if (this.batch.length >= MAX_BATCH || this.isIdle()) this.flush();
      else this.timer ??= setTimeout(() => this.flush(), MAX_WAIT_MS);
    });
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { batch } = this;
    this.batch = [];
    if (batch.length > 0) void this.send(batch);
  }

  private async send(batch: readonly Waiting[]): Promise<void> {
    try {
      const statuses = await this.driver.ack(batch.map(({ ack }) => ack));
      batch.forEach(({ resolve }, i) => resolve(statuses[i] ?? 'not_found'));
    } catch (error) {
      // A refused ack refuses all that are with it: each is sent by itself to find it.
      if (batch.length > 1 && isPumphouseError(error) && !error.retryable) {
        for (const waiting of batch) void this.send([waiting]);
        return;
      }
      for (const { reject } of batch) reject(error);
    }
  }
}
