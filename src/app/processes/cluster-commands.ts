import type { Worker } from 'node:cluster';
import type { ProcessLoop } from '../../domain/loop.js';
import type { ProcessCommands } from '../../domain/process-commands.js';
import type { ClusterTotals } from '../../metrics/cluster-totals.js';
import type { MetricsService } from '../../metrics/metrics.service.js';
import type { OwnNativeCalls } from '../native-calls.js';
import { Collector } from './collector.js';
import type { ToPrimary, ToApiProcess } from './process-messages.js';

/** Number of the primary among the processes of a cluster; those of API processes begin at 1. */
const PRIMARY = 0;
/** Number of the calls that the admin port makes in the primary. */
const CALLS = -1;

/** Sends the admin port's commands to all API processes of a cluster. */
export class ClusterCommands implements ProcessCommands {
  /** API processes that start later get this value. */
  accessLogOn = false;
  /** The primary's own metrics. */
  own: MetricsService | undefined;
  /** Serves the native API on the admin port. */
  calls: OwnNativeCalls | undefined;
  private totals: ClusterTotals | undefined;
  private scrapes = 0;
  /** Waits for the snapshots of all API processes; `totals` takes them, also those that are late. */
  private readonly snapshots = new Collector<true>((id) => this.send({ type: 'metrics', id }));
  private readonly loopLists = new Collector<readonly ProcessLoop[]>((id) =>
    this.send({ type: 'loops', id }),
  );

  /** @param maxQueues queues with their own series */
  constructor(
    private readonly processes: () => Worker[],
    private readonly maxQueues: number,
  ) {}

  setAccessLog(on: boolean): void {
    this.accessLogOn = on;
    if (this.calls?.api) this.calls.api.accessLog.on = on;
    this.send({ type: 'access_log', on });
  }

  accessLog(): boolean {
    return this.accessLogOn;
  }

  forgetTokens(): void {
    this.send({ type: 'forget_tokens' });
  }

  async metrics(): Promise<string> {
    const { ClusterTotals: Totals } = await import('../../metrics/cluster-totals.js');
    const totals = (this.totals ??= new Totals(this.maxQueues));
    const scrape = ++this.scrapes;
    if (this.own) totals.add(PRIMARY, scrape, await this.own.snapshot());
    if (this.calls?.api) totals.add(CALLS, scrape, await this.calls.api.metrics.snapshot());
    await this.snapshots.collect();
    return totals.text();
  }

  async loops(): Promise<ProcessLoop[]> {
    return [...(this.calls?.api?.loops() ?? []), ...(await this.loopLists.collect()).flat()];
  }

  /** Handles a message from an API process. */
  onMessage(child: Worker, message: ToPrimary): void {
    if (message.type === 'metrics') {
      this.totals?.add(child.id, message.id, message.snapshot);
      this.snapshots.take(message.id, true);
    } else if (message.type === 'loops') this.loopLists.take(message.id, message.loops);
  }

  /** An API process has ended. */
  onExit(child: Worker): void {
    this.totals?.end(child.id);
  }

  /** @returns the number of API processes */
  private send(message: ToApiProcess): number {
    const processes = this.processes();
    for (const child of processes) {
      if (child.isConnected()) child.send(message, undefined, () => undefined);
    }
    return processes.length;
  }
}
