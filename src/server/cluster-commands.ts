import type { Worker } from 'node:cluster';
import type { WorkerCommands } from '../domain/worker-commands.js';
import type { MetricsService, MetricsSnapshot } from '../metrics/metrics.service.js';
import type { ToPrimary, ToWorker } from './worker-messages.js';

/** A worker that has not told its metrics by then is left out of a scrape, in milliseconds. */
const SCRAPE_MS = 2_000;

interface Scrape {
  readonly snapshots: MetricsSnapshot[];
  readonly wanted: number;
  readonly done: () => void;
}

/** The admin port's commands to all workers of a cluster. */
export class ClusterCommands implements WorkerCommands {
  /** What a worker that starts later is told. */
  accessLogOn = false;
  /** The primary's own metrics. */
  own: MetricsService | undefined;
  private readonly scrapes = new Map<number, Scrape>();
  private lastId = 0;

  constructor(private readonly workers: () => Worker[]) {}

  setAccessLog(on: boolean): void {
    this.accessLogOn = on;
    this.tell({ type: 'access_log', on });
  }

  accessLog(): boolean {
    return this.accessLogOn;
  }

  forgetTokens(): void {
    this.tell({ type: 'forget_tokens' });
  }

  async metrics(): Promise<string> {
    const { MetricsService: service } = await import('../metrics/metrics.service.js');
    const own = this.own === undefined ? [] : [await this.own.snapshot()];
    return service.merge([...own, ...(await this.collect())]);
  }

  /** One worker's answer to a scrape. */
  collected({ id, snapshot }: Extract<ToPrimary, { type: 'metrics' }>): void {
    const scrape = this.scrapes.get(id);
    if (scrape === undefined) return;
    scrape.snapshots.push(snapshot);
    if (scrape.snapshots.length === scrape.wanted) scrape.done();
  }

  private async collect(): Promise<MetricsSnapshot[]> {
    const id = ++this.lastId;
    const wanted = this.workers().length;
    if (wanted === 0) return [];
    const snapshots: MetricsSnapshot[] = [];
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, SCRAPE_MS);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.scrapes.set(id, { snapshots, wanted, done });
      this.tell({ type: 'metrics', id });
    });
    this.scrapes.delete(id);
    return snapshots;
  }

  private tell(message: ToWorker): void {
    for (const worker of this.workers()) {
      if (worker.isConnected()) worker.send(message, undefined, () => undefined);
    }
  }
}
