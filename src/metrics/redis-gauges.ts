import { Injectable } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import { Gauge } from 'prom-client';
import { GAUGES, type PoolLabel } from './gauges.js';

/** Pool data that the gauges need. */
export interface StoreSource {
  readonly name: string;
  readonly status: { readonly up: boolean; readonly degraded: readonly string[] };
  /** Redis's INFO as text. */
  info(): Promise<string>;
}

/** The state of pools as this process sees them. It costs nothing, so every process shows it. */
@Injectable()
export class StatusGauges {
  /** Every reason for which a pool has been degraded, by pool. */
  private readonly reasons = new Map<string, Set<string>>();

  constructor(
    @InjectMetric(GAUGES.redisUp.name) private readonly up: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.degraded.name) private readonly degraded: Gauge<PoolLabel | 'reason'>,
  ) {}

  refresh({ name: pool, status: { up, degraded } }: StoreSource): void {
    this.up.set({ pool }, up ? 1 : 0);
    // A reason that has ended stays as 0, so that an alert sees its end.
    const reasons = new Set([...(this.reasons.get(pool) ?? []), ...degraded]);
    this.reasons.set(pool, reasons);
    for (const reason of reasons) this.degraded.set({ pool, reason }, degraded.includes(reason) ? 1 : 0);
  }
}

/** The figures of a pool's Redis, from INFO. In a Cluster they are those of the node that answers. */
@Injectable()
export class InfoGauges {
  /** Each gauge with its name in INFO; `keys` and `expires` are sums over the databases. */
  private readonly gauges: readonly (readonly [fact: string, gauge: Gauge<PoolLabel>])[];

  constructor(
    @InjectMetric(GAUGES.redisUsedMemory.name) usedMemory: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.redisMaxMemory.name) maxMemory: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.redisClients.name) clients: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.redisKeys.name) keys: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.usedMemory.name) lmstfyUsedMemory: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.maxMemory.name) lmstfyMaxMemory: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.connections.name) lmstfyConnections: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.blockingConnections.name) lmstfyBlocking: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.totalKeys.name) lmstfyKeys: Gauge<PoolLabel>,
    @InjectMetric(GAUGES.totalTtlKeys.name) lmstfyTtlKeys: Gauge<PoolLabel>,
  ) {
    this.gauges = [
      ['used_memory', usedMemory],
      ['used_memory', lmstfyUsedMemory],
      ['maxmemory', maxMemory],
      ['maxmemory', lmstfyMaxMemory],
      ['connected_clients', clients],
      ['connected_clients', lmstfyConnections],
      ['blocked_clients', lmstfyBlocking],
      ['keys', keys],
      ['keys', lmstfyKeys],
      ['expires', lmstfyTtlKeys],
    ];
  }

  /** A pool that has not answered yet shows zeros. */
  begin({ name }: StoreSource): void {
    this.show(name, new Map());
  }

  /** @throws {QueueError} the pool does not answer; the figures stay unchanged */
  async refresh(store: StoreSource): Promise<void> {
    this.show(store.name, factsOf(await store.info()));
  }

  private show(pool: string, facts: ReadonlyMap<string, number>): void {
    for (const [fact, gauge] of this.gauges) gauge.set({ pool }, facts.get(fact) ?? 0);
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
