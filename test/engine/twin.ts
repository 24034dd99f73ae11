import type { Redis } from 'ioredis';
import type { LeasedJob, NewJob } from '../../src/domain/job/job.js';
import { randomNamespace } from '../support/redis.js';
import { Audit } from './audit.js';
import type { EngineFixture } from './fixture.js';
import { QueueModel, type LeaseCall, type ModelLease } from './model.js';

export const QUEUES = ['a', 'b', 'c'];

/** A publish, as an operation chooses it. */
export interface Publish {
  readonly queue: string;
  /** Null: the engine mints one. */
  readonly id: string | null;
  readonly job: Omit<NewJob, 'id'>;
}
export type Lease = Pick<LeasedJob, 'id' | 'lease'>;

/** A namespace on the engine and the model of it, side by side. Every operation runs on both, and must answer the same. */
export class Twin {
  readonly ns = randomNamespace('prop');
  readonly model: QueueModel;
  /** Ids and leases seen so far, for operations to choose from. */
  readonly ids: string[] = ['never-seen'];
  readonly leases: (Lease & { queue: string })[] = [];
  /** Body of a life → tries that it was published with, and leases it got. */
  private readonly lives = new Map<string, { tries: number; delivered: number }>();
  private count = 0;

  constructor(
    private readonly f: EngineFixture,
    private readonly redis: Redis,
  ) {
    this.model = new QueueModel(f.nowMs);
  }

  advance(ms: number): void {
    this.f.nowMs += ms;
    this.model.nowMs = this.f.nowMs;
  }

  /** Several publishes in one turn: they travel in one script call. */
  async publish(batch: readonly Publish[]): Promise<void> {
    const jobs = batch.map(({ queue, id, job }) => {
      const body = Buffer.concat([Buffer.from(`${this.count++}:`), job.body]);
      this.lives.set(body.toString('latin1'), { tries: job.tries, delivered: 0 });
      return { queue, job: { ...job, body, ...(id === null ? {} : { id }) } };
    });
    const results = await Promise.all(
      jobs.map(({ queue, job }) => outcome(this.f.engine.publish(this.ns, queue, job))),
    );
    jobs.forEach(({ queue, job }, i) => this.expectStored(queue, job, results[i]));
  }

  async republish(queue: string, oldId: string, { id, job }: Publish): Promise<void> {
    const body = Buffer.concat([Buffer.from(`${this.count++}:`), job.body]);
    this.lives.set(body.toString('latin1'), { tries: job.tries, delivered: 0 });
    const fresh = { ...job, body, ...(id === null ? {} : { id }) };
    const result = await outcome(this.f.engine.republish(this.ns, queue, oldId, fresh));
    this.expectStored(queue, fresh, result, oldId);
  }

  async lease(batch: readonly LeaseCall[]): Promise<void> {
    const all = await Promise.all(
      batch.map((request) => this.f.engine.lease(this.ns, { ...request, waitMs: 0 })),
    );
    all.forEach((jobs, i) => {
      const seen = jobs.map(visible);
      expect(seen).toEqual(this.model.lease(batch[i]!));
      for (const { id, lease, queue, body } of seen) {
        this.leases.push({ id, lease, queue });
        const life = this.lives.get(body)!;
        expect(++life.delivered).toBeLessThanOrEqual(life.tries);
      }
    });
  }

  async ack(queue: string, id: string, lease: number): Promise<void> {
    const result = await outcome(this.f.engine.ack(this.ns, queue, id, lease));
    expect(result).toBe(this.model.ack(queue, id, lease));
  }

  /** A try that is given back may be spent again. */
  async undo(leases: readonly Lease[]): Promise<void> {
    for (const { id } of leases) {
      const job = this.model.all().find((one) => one.id === id);
      if (job) this.refund(job.body, 1);
    }
    await this.f.engine.undo(this.ns, leases);
    this.model.undo(leases);
  }

  async respawn(queue: string, limit: number, ttlMs: number): Promise<void> {
    for (const job of this.model.all()) if (job.state === 'dead') this.refund(job.body, 1);
    expect(await this.f.engine.deadLetter.respawn(this.ns, queue, limit, ttlMs)).toBe(
      this.model.respawn(queue, limit, ttlMs),
    );
  }

  async deleteDead(queue: string, limit: number): Promise<void> {
    expect(await this.f.engine.deadLetter.delete(this.ns, queue, limit)).toBe(
      this.model.deleteDead(queue, limit),
    );
  }

  async destroy(queue: string): Promise<void> {
    expect(await this.f.engine.queues.destroy(this.ns, queue)).toBe(this.model.destroy(queue));
  }

  async pump(): Promise<void> {
    await this.f.engine.pumpNow(this.ns);
    this.model.pump();
  }

  async tidy(): Promise<void> {
    await this.f.engine.tidyNow(this.ns);
    this.model.tidy();
  }

  /** Everything that can be asked about, against the model. */
  async compare(): Promise<void> {
    const { engine } = this.f;
    const counts = await engine.queues.counts(this.ns, QUEUES);
    expect(counts).toMatchObject(QUEUES.map((queue) => this.model.counts(queue)));
    for (const queue of QUEUES) {
      expect(await engine.deadLetter.head(this.ns, queue)).toEqual(this.model.deadHead(queue));
      expect((await engine.queues.peek(this.ns, queue))?.id ?? null).toBe(
        this.model.peekQueue(queue)?.id ?? null,
      );
    }
    for (const { id } of this.model.all().slice(-5)) {
      const seen = await Promise.all(QUEUES.map((queue) => engine.jobs.peekJob(this.ns, queue, id)));
      expect(seen.map((job) => job && [job.state, job.triesLeft, job.attempts])).toEqual(
        QUEUES.map((queue) => this.model.peekJob(queue, id)).map(
          (job) => job && [job.state, job.tries, job.attempts],
        ),
      );
    }
    expect(await Audit.of(this.redis, this.ns)).toEqual([]);
  }

  async clear(): Promise<void> {
    const keys = await this.redis.keysBuffer(`{${this.ns}}*`);
    if (keys.length > 0) await this.redis.del(...keys);
    // By the pool: in a Cluster this key may be on another node.
    await this.f.pool.read('SREM', this.f.pool.keys.namespaces, this.ns);
  }

  private expectStored(queue: string, job: NewJob, result: unknown, replaces?: string): void {
    const id = job.id ?? String(result);
    const stored = this.model.publish(queue, id, job, replaces);
    expect(result).toBe(stored ? id : 'job_exists');
    if (stored && !this.ids.includes(id)) this.ids.push(id);
  }

  private refund(body: string, tries: number): void {
    const life = this.lives.get(body);
    if (life) life.tries += tries;
  }
}

/** A lease without its age, which the model does not keep. */
function visible(job: LeasedJob): ModelLease {
  const { id, queue, attributes, triesLeft, attempts, lease, ttlLeftMs, leaseEndsAtMs } = job;
  const body = job.body.toString('latin1');
  return { id, queue, body, attributes, triesLeft, attempts, lease, ttlLeftMs, leaseEndsAtMs };
}

/** The result, or the code of the error. */
async function outcome<T>(work: Promise<T>): Promise<unknown> {
  return work.catch((error: unknown) => {
    if (error instanceof Error && 'code' in error) return error.code;
    throw error;
  });
}
