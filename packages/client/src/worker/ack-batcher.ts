import type { Ack, AckStatus, WorkerDriver } from '../driver.js';
import { isPumphouseError, PumphouseError } from '../errors.js';
import type { HeldJob } from './held-job.js';
import type { LeaseKeeper } from './lease-keeper.js';

const MAX_BATCH = 100;
/** Milliseconds that an ack may wait for others. */
const MAX_WAIT_MS = 5;

interface Waiting {
  readonly held: HeldJob;
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
    private readonly leases: Pick<LeaseKeeper, 'isDoubtful' | 'confirm'>,
    private readonly isIdle: () => boolean,
  ) {}

  /** @returns what became of it. @throws {PumphouseError} this ack was refused, or the server did not answer */
  add(held: HeldJob, ack: Ack): Promise<AckStatus> {
    return new Promise((resolve, reject) => {
      this.batch.push({ held, ack, resolve, reject });
      if (this.batch.length >= MAX_BATCH || this.isIdle()) this.flush();
      else this.timer ??= setTimeout(() => this.flush(), MAX_WAIT_MS);
    });
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { batch } = this;
    this.batch = [];
    const safe = batch.filter((waiting) => this.maySend(waiting));
    if (safe.length > 0) void this.send(safe);
    if (safe.length === batch.length) return;
    for (const waiting of batch) if (!safe.includes(waiting)) void this.confirm(waiting);
  }

  /** An ack that was sent before may have counted: then its lease is over, and a heartbeat would say nothing. */
  private maySend({ held }: Waiting): boolean {
    return held.state === 'settling' || !(held.isLost || this.leases.isDoubtful(held));
  }

  /** The process may have stood still while the ack waited: a heartbeat finds out whether the lease is there. */
  private async confirm(waiting: Waiting): Promise<void> {
    const { held, resolve, reject } = waiting;
    const isConfirmed = !held.isLost && (await this.leases.confirm(held));
    if (isConfirmed) await this.send([waiting]);
    else if (held.isLost) resolve('lease_lost');
    else reject(new PumphouseError('network', 'no heartbeat was answered', { retryable: true }));
  }

  private async send(batch: readonly Waiting[]): Promise<void> {
    const wereSent = batch.map(({ held }) => held.state === 'settling');
    for (const { held } of batch) held.state = 'settling';
    try {
      const statuses = await this.driver.ack(batch.map(({ ack }) => ack));
      batch.forEach(({ resolve }, i) => {
        const status = statuses[i] ?? 'not_found';
        // The answer to an earlier attempt was lost.
        resolve(status === 'not_found' && wereSent[i] === true ? 'acked' : status);
      });
    } catch (error) {
      // An ack that is refused, or cannot be written, stops all that are with it: each is sent by itself to find it.
      // guard: refused-ack-is-alone
      if (batch.length > 1 && !(isPumphouseError(error) && error.retryable)) {
        for (const waiting of batch) void this.send([waiting]);
        return;
      }
      for (const { reject } of batch) reject(error);
    }
  }
}
