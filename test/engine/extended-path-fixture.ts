import type { LeasedJob, QueueCounts } from '../../src/domain/job/job.js';
import type { JobDetails, NewExtendedJob } from '../../src/contract/job/extended-job.js';
import { AT_ONCE, EngineFixture } from './fixture.js';

/** Jobs with ids of their own, in queue `q` unless it is said otherwise, under a clock that stands still. */
export class ExtendedPathFixture {
  private constructor(readonly fixture: EngineFixture) {}

  static async open(): Promise<ExtendedPathFixture> {
    return new ExtendedPathFixture(await EngineFixture.withClock());
  }

  get ns(): string {
    return this.fixture.ns;
  }

  get nowMs(): number {
    return this.fixture.nowMs;
  }

  get components(): EngineFixture['engine']['components'] {
    return this.fixture.engine.components;
  }

  close(): Promise<void> {
    return this.fixture.close();
  }

  /** @returns its state */
  async put(id: string, job: Partial<NewExtendedJob> = {}): Promise<string> {
    const [published] = await this.components.extendedPublisher.publish(this.ns, [
      { queue: 'q', body: Buffer.from(id), id, retry: AT_ONCE, ...job },
    ]);
    return published?.state ?? '';
  }

  find(id: string): Promise<JobDetails | null> {
    return this.fixture.find(id);
  }

  counts(queue?: string): Promise<QueueCounts | undefined> {
    return this.fixture.counts(queue);
  }

  lease(queue = 'q', count = 100): Promise<LeasedJob[]> {
    return this.fixture.engine.lease(this.ns, { queues: [queue], count, ttrMs: 10_000, waitMs: 0 });
  }

  async pump(): Promise<void> {
    await this.fixture.engine.pumpNow(this.ns);
  }

  /** Lets time pass. */
  pass(ms: number): Promise<void> {
    return this.fixture.pass(ms);
  }

  /** Leases all that is ready and acknowledges it. @returns the ids, in order */
  async work(queue = 'q'): Promise<string[]> {
    const jobs = await this.lease(queue);
    for (const { id, lease } of jobs) await this.fixture.engine.ack(this.ns, queue, id, lease);
    await this.pump();
    return jobs.map(({ id }) => id);
  }

  /** Leases a ready job and fails it for good. */
  async fail(id: string, queue = 'q'): Promise<void> {
    const jobs = await this.lease(queue);
    const lease = jobs.find((job) => job.id === id)?.lease ?? 0;
    await this.components.leaseOperations.fail(this.ns, { id, lease, group: 'g', message: 'm' });
    await this.fixture.engine.undo(
      this.ns,
      jobs.filter((job) => job.id !== id),
    );
    await this.pump();
  }

  /** Brings dead jobs back, with their tries as they were at first. */
  async revive(...ids: string[]): Promise<void> {
    await this.components.deadJobs.respawnIds(this.ns, ids, { tries: 'reset', ttlMs: 0 });
    await this.pump();
  }

  /** Keys that are left when all jobs are gone and every timer has rung. */
  async leftovers(): Promise<string[]> {
    await this.pass(3_600_000);
    await this.fixture.engine.tidyNow(this.ns);
    return (await this.fixture.keys()).filter((key) => !key.endsWith(':meta'));
  }
}
