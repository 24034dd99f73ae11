import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { QueueError } from '../domain/errors.js';
import { LOG, type Log } from '../domain/log.js';
import type { QuotaName, Quotas } from '../domain/job/quotas.js';
import type { PoolEngine } from '../engine/pool-engine.js';
import { Engines } from '../engine/engines.js';
import { QuotaStore, type Tenant } from './quota-store.js';

/** How often a server looks for changes, in milliseconds. */
const REFRESH_MS = 500;
/** All servers know a change after this time, in milliseconds. */
const KNOWN_MS = 1_000;

/** Gives the engines of this process the quotas of their namespaces, about half a second after a change. */
@Injectable()
export class NamespaceQuotas implements OnApplicationBootstrap, OnModuleDestroy {
  private version: number | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  constructor(
    private readonly store: QuotaStore,
    private readonly engines: Engines,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** The first requests find the quotas, if the store answers. */
  async onApplicationBootstrap(): Promise<void> {
    await this.refreshAndPlan();
  }

  onModuleDestroy(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /** The quotas in effect for a namespace, and those of all. */
  async of(tenant: Tenant): Promise<{ readonly own: Quotas; readonly defaults: Quotas }> {
    await this.refresh();
    const { quotas } = this.engineOf(tenant);
    return { own: quotas.of(tenant.namespace), defaults: quotas.defaults };
  }

  /** Takes effect on every server within a second. @param values null: the default again @throws {QueueError} an error of the store */
  async set(tenant: Tenant, values: Readonly<Partial<Record<QuotaName, number | null>>>): Promise<void> {
    const { quotas } = this.engineOf(tenant);
    const counted = quotas.of(tenant.namespace).bytes > 0;
    await this.store.set(tenant, values);
    await this.refresh();
    if (counted || quotas.of(tenant.namespace).bytes === 0) return;
    // What a server stores before it knows the quota is counted by the pass, so that the pass begins later.
    await sleep(KNOWN_MS);
    // guard: quotas-count-stored-bytes
    for (const pool of this.engines.chainOf(tenant.pool)) {
      const { namespace } = tenant;
      await this.engineOf({ pool, namespace }).recountBytes();
    }
    await this.store.set(tenant, {});
  }

  private engineOf({ pool }: Tenant): PoolEngine {
    const found = this.engines.entries().find(([name]) => name === pool)?.[1];
    if (!found) throw new QueueError('pool_not_found', 'pool not found');
    return found;
  }

  private async refreshAndPlan(): Promise<void> {
    try {
      await this.refresh();
    } catch (error) {
      this.log.debug({ err: error }, 'the quotas of namespaces could not be read');
    }
    if (this.isStopped) return;
    this.timer = setTimeout(() => void this.refreshAndPlan(), REFRESH_MS).unref();
  }

  private async refresh(): Promise<void> {
    const version = await this.store.version();
    if (version === this.version) return;
    const chosen = await this.store.all();
    const names = this.engines.entries().map(([name]) => name);
    for (const [pool, engine] of this.engines.entries()) {
      // While a pool moves, the jobs of its namespaces are stored in the other one.
      const pools = [
        pool,
        ...names.filter((name) => name !== pool && this.engines.chainOf(name).includes(pool)),
      ];
      engine.useQuotas(new Map(pools.flatMap((name) => [...(chosen.get(name) ?? [])])));
    }
    this.version = version;
  }
}
