import type { Worker } from 'node:cluster';
import type { ProcessLoop } from '../../domain/loop.js';
import type { WorkerCommands } from '../../domain/worker-commands.js';
import type { MetricsService, MetricsSnapshot } from '../../metrics/metrics.service.js';
import { Collector } from './collector.js';
import type { ToPrimary, ToWorker } from './worker-messages.js';

/** Sends the admin port's commands to all workers of a cluster. */
export class ClusterCommands implements WorkerCommands {
  /** Workers that start later get this value. */
  accessLogOn = false;
  /** The primary's own metrics. */
  own: MetricsService | undefined;
  private readonly snapshots = new Collector<MetricsSnapshot>((id) => this.send({ type: 'metrics', id }));
  private readonly loopLists = new Collector<readonly ProcessLoop[]>((id) =>
    this.send({ type: 'loops', id }),
  );

  constructor(private readonly workers: () => Worker[]) {}

  setAccessLog(on: boolean): void {
    this.accessLogOn = on;
    this.send({ type: 'access_log', on });
  }

  accessLog(): boolean {
    return this.accessLogOn;
  }

  forgetTokens(): void {
    this.send({ type: 'forget_tokens' });
  }

  async metrics(): Promise<string> {
    const { MetricsService: service } = await import('../../metrics/metrics.service.js');
    const own = this.own === undefined ? [] : [await this.own.snapshot()];
    return service.merge([...own, ...(await this.snapshots.collect())]);
  }

  async loops(): Promise<ProcessLoop[]> {
    return (await this.loopLists.collect()).flat();
  }

  /** Handles a message from a worker. */
  onMessage(message: ToPrimary): void {
    if (message.type === 'metrics') this.snapshots.take(message.id, message.snapshot);
    else if (message.type === 'loops') this.loopLists.take(message.id, message.loops);
  }

  /** @returns the number of workers */
  private send(message: ToWorker): number {
    const workers = this.workers();
    for (const worker of workers) {
      if (worker.isConnected()) worker.send(message, undefined, () => undefined);
    }
    return workers.length;
  }
}
