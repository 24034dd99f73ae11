import { performance } from 'node:perf_hooks';
import type { Cluster, Redis } from 'ioredis';
import type { Calls, RedisClock } from '../calls.js';
import type { LeaseFloor } from '../lease-floor.js';
import type { LossDetector } from '../loss-detector.js';
import { parseInfo } from '../parse-info.js';

/** The masters of a Cluster: each is probed separately, and one that does not answer only loses its own connection. */
export class ClusterNodes {
  /** Masters that did not answer the last probe, as `host:port`. */
  silent: readonly string[] = [];

  constructor(
    private readonly client: Cluster,
    private readonly calls: Calls,
    private readonly clock: RedisClock,
    private readonly floor: LeaseFloor,
    private readonly losses: LossDetector,
  ) {}

  /** True if some slots have no node that answers. */
  get hasSilent(): boolean {
    return this.silent.length > 0;
  }

  /** The masters that own slots, as `host:port`. */
  masters(): string[] {
    const found = new Set<string>();
    let last: readonly string[] | undefined;
    for (const nodes of this.client.slots as (readonly string[] | undefined)[]) {
      // The driver uses the same array for all slots of a range.
      if (nodes === last) continue;
      last = nodes;
      const [owner] = nodes ?? [];
      if (owner !== undefined) found.add(owner);
    }
    return [...found];
  }

  /** The driver's connection to a node, if it has one. */
  connectionTo(owner: string): Redis | undefined {
    return this.client
      .nodes('all')
      .find(({ options }) => `${options.host ?? ''}:${String(options.port)}` === owner);
  }

  /**
   * Asks each master for the time. A master that does not answer is disconnected: calls that wait for it fail, and the
   * next one opens a new connection, or finds its successor.
   *
   * @throws the last error: no master has answered
   */
  async probe(): Promise<void> {
    const masters = this.masters();
    const silent: string[] = [];
    let last: unknown = new Error('the Cluster has no slots');
    await Promise.all(
      masters.map(async (owner) => {
        try {
          await this.probeOne(owner);
        } catch (error) {
          last = error;
          silent.push(owner);
        }
      }),
    );
    this.silent = silent;
    if (silent.length > 0) this.client.refreshSlotsCache();
    if (silent.length === masters.length) throw last;
  }

  private async probeOne(owner: string): Promise<void> {
    const node = this.connectionTo(owner);
    if (!node) throw new Error(`there is no connection to ${owner}`);
    const sentMs = performance.now();
    try {
      const time = await this.calls.attempt(() => node.call('TIME'));
      const [seconds = Number.NaN, micros = Number.NaN] = Array.isArray(time) ? time.map(Number) : [];
      const nowMs = seconds * 1_000 + Math.floor(micros / 1_000);
      this.clock.sample(sentMs, performance.now(), nowMs);
      const facts = parseInfo(String(await this.calls.attempt(() => node.call('INFO', 'replication'))));
      if (!this.floor.knows(facts)) throw new Error(`the data of ${owner} has another history`);
      await this.floor.renew(this.calls.over(node), nowMs, true);
      await this.losses.probe(this.calls.over(node), owner);
    } catch (error) {
      /* guard: silent-node-is-disconnected-alone */ /* guard: silent-node-is-disconnected */ node.disconnect();
      throw error;
    }
  }
}
