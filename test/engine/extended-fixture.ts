import type { LeasedJob } from '../../src/domain/job/job.js';
import type { EngineFixture, ExtendedJob } from './fixture.js';

/** Shortcuts for the extended path of a fixture's engine. */
export class ExtendedFixture {
  constructor(readonly f: EngineFixture) {}

  get components() {
    return this.f.engine.components;
  }

  put(queue: string, job: ExtendedJob = {}): Promise<string> {
    return this.f.put(queue, { type: 't', ...job });
  }

  lease(queue: string, count = 1, worker = '', ttrMs = 10_000): Promise<LeasedJob[]> {
    return this.f.engine.lease(this.f.ns, { queues: [queue], count, ttrMs, waitMs: 0, worker });
  }

  /** Leases and fails up to `count` jobs of the queue. @returns how many */
  async fail(queue: string, group: string, message = 'boom', count = 1): Promise<number> {
    const jobs = await this.lease(queue, count);
    for (const { id, lease } of jobs) {
      await this.components.leaseOperations.fail(this.f.ns, { id, lease, group, message });
    }
    return jobs.length;
  }

  /** Each name and its number of jobs. */
  async tags(): Promise<Record<string, number>> {
    return countsOf((await this.components.tags.tags(this.f.ns, { limit: 100 })).items);
  }

  async groups(): Promise<Record<string, number>> {
    return countsOf((await this.components.tags.groups(this.f.ns, { limit: 100 })).items);
  }
}

function countsOf(
  items: readonly { readonly name: string; readonly jobs: number }[],
): Record<string, number> {
  return Object.fromEntries(items.map(({ name, jobs }) => [name, jobs]));
}
