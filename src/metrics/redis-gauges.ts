import type { Cell } from './families.js';
import type { Metrics } from './metrics.js';

/** What the gauges ask of a pool. */
export interface StoreSource {
  readonly name: string;
  readonly status: { readonly up: boolean; readonly degraded: readonly string[] };
  /** Redis's INFO as text. */
  info(): Promise<string>;
}

/** The state of one pool as this process sees it. It costs nothing, so every process shows it. */
export class StatusGauges {
  private readonly up: Cell;
  private readonly reasons = new Map<string, Cell>();

  constructor(
    private readonly metrics: Metrics,
    private readonly store: StoreSource,
  ) {
    this.up = metrics.redisUp.cell({ pool: store.name });
  }

  refresh(): void {
    const { up, degraded } = this.store.status;
    this.up.value = up ? 1 : 0;
    for (const reason of degraded) {
      if (this.reasons.has(reason)) continue;
      this.reasons.set(reason, this.metrics.degraded.cell({ pool: this.store.name, reason }));
    }
    // A reason that is gone stays as 0: an alert sees the end of it.
    for (const [reason, cell] of this.reasons) cell.value = degraded.includes(reason) ? 1 : 0;
  }
}

/** The figures of one pool's Redis, from INFO. In a Cluster they are those of the node that answers. */
export class InfoGauges {
  private readonly cells;

  constructor(
    metrics: Metrics,
    private readonly store: StoreSource,
  ) {
    const labels = { pool: store.name };
    this.cells = {
      maxmemory: metrics.maxMemory.cell(labels),
      used_memory: metrics.usedMemory.cell(labels),
      connected_clients: metrics.connections.cell(labels),
      blocked_clients: metrics.blockingConnections.cell(labels),
      keys: metrics.totalKeys.cell(labels),
      expires: metrics.totalTtlKeys.cell(labels),
    };
  }

  /** @throws {QueueError} the pool does not answer; the figures stay as they were */
  async refresh(): Promise<void> {
    const facts = factsOf(await this.store.info());
    for (const [name, cell] of Object.entries(this.cells)) cell.value = facts.get(name) ?? 0;
  }
}

const FACT = /^(\w+):(\d+)\r?$/gm;
const KEYSPACE = /^db\d+:keys=(\d+),expires=(\d+)/gm;

/** The whole numbers of INFO by name, with the keys of all databases summed up as `keys` and `expires`. */
function factsOf(info: string): Map<string, number> {
  const facts = new Map<string, number>();
  for (const [, name = '', value] of info.matchAll(FACT)) facts.set(name, Number(value));
  let [keys, expires] = [0, 0];
  for (const match of info.matchAll(KEYSPACE)) {
    keys += Number(match[1]);
    expires += Number(match[2]);
  }
  return facts.set('keys', keys).set('expires', expires);
}
