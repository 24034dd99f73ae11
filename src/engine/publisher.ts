import { QueueError } from '../domain/errors.js';
import type { NewJob } from '../domain/job.js';
import { publish as publishScript } from '../redis/scripts.js';
import { Batcher } from './batcher.js';
import { checkJobs, checkNames } from './checks.js';
import { encodeId, idMinter } from './ids.js';
import type { EngineObserver } from './observer.js';
import type { ScriptRunner } from './script-runner.js';

const STORED = 0;
/** What a job weighs in a batch beside its body, in bytes. */
const ITEM_OVERHEAD = 100;
const NOTHING = Buffer.alloc(0);
/** Expiry has 48 bits in the header; a ttl that would not fit is for as good as ever. In milliseconds. */
const LONGEST_TTL_MS = 2 ** 46;

type Item = Readonly<
  Record<
    'queue' | 'id' | 'replaces' | 'delay_ms' | 'ttl_ms' | 'tries' | 'attributes' | 'body',
    string | number | Buffer
  >
>;

/** Stores jobs: one script call per turn of the event loop and namespace. */
export class Publisher {
  private readonly mint: () => string;
  private readonly batcher: Batcher<Item, number>;

  constructor(
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly arm: (namespace: string, dueMs: number) => void,
  ) {
    this.mint = idMinter(() => runner.now());
    this.batcher = new Batcher(async (namespace, items) => {
      const { codes } = await runner.run(publishScript, namespace, {}, items);
      return codes;
    });
  }

  /**
   * Stores jobs, all or none; the first takes the place of `replaces`, if that is given.
   *
   * @throws {QueueError} `invalid_argument`, `job_exists` (for an id that the caller chose), or the store's own
   */
  async publish(
    namespace: string,
    queue: string,
    jobs: readonly NewJob[],
    replaces?: string,
  ): Promise<string[]> {
    checkNames(namespace, [queue]);
    checkJobs(jobs);
    const ids = jobs.map((job) => job.id ?? this.mint());
    const old = (replaces !== undefined && encodeId(replaces)) || NOTHING;
    const items = jobs.map((job, i) => toItem(queue, ids[i] ?? '', i === 0 ? old : NOTHING, job));
    const bytes = jobs.reduce((sum, job) => sum + job.body.length + ITEM_OVERHEAD, 0);
    const codes = await this.batcher.add(namespace, items, bytes);
    // A minted id that is taken is our own, from a call whose answer was lost: it is stored.
    if (codes.some((code, i) => code !== STORED && jobs[i]?.id !== undefined)) {
      throw new QueueError('job_exists', 'a job with this id exists');
    }
    this.report(namespace, queue, jobs);
    return ids;
  }

  private report(namespace: string, queue: string, jobs: readonly NewJob[]): void {
    let scheduled = 0;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const { delayMs } of jobs) {
      if (delayMs === 0) continue;
      scheduled++;
      firstMs = Math.min(firstMs, delayMs);
    }
    if (scheduled > 0) this.arm(namespace, this.runner.now() + firstMs);
    this.observer.published(namespace, queue, jobs.length, scheduled);
  }
}

function toItem(queue: string, id: string, replaces: Buffer, job: NewJob): Item {
  const encoded = encodeId(id);
  if (!encoded) throw new QueueError('invalid_argument', 'a job id has 1 to 64 letters, digits, - and _');
  return {
    queue,
    id: encoded,
    replaces,
    delay_ms: job.delayMs,
    ttl_ms: Math.min(job.ttlMs, LONGEST_TTL_MS),
    tries: job.tries,
    attributes: job.attributes ? JSON.stringify(job.attributes) : NOTHING,
    body: job.body,
  };
}
