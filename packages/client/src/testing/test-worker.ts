import { Producer } from '../producer/producer.js';
import { Worker, type WorkerOptions } from '../worker/worker.js';
import { ANY } from '../worker/handlers.js';
import { MemoryDriver, type MemoryJob } from './memory-driver.js';

/** Short, so that a handler hears soon that its job is cancelled. */
const TTR_MS = 3_000;

/**
 * A worker over queues in memory. `setUp` adds the handlers as the program does; every queue is served.
 *
 * @example
 * const test = testWorker((worker) => worker.handle(sendMail, sendMailHandler));
 * await test.publish(sendMail, { to: 'ada' });
 * await test.drain();
 * expect(test.jobs).toMatchObject([{ state: 'done' }]);
 */
export function testWorker(setUp: (worker: Worker) => unknown, options: WorkerOptions = {}): TestWorker {
  return new TestWorker(new MemoryDriver(), setUp, options);
}

export class TestWorker extends Producer {
  private readonly worker: Worker;
  private readonly running: Promise<void>;

  constructor(
    private readonly driver: MemoryDriver,
    setUp: (worker: Worker) => unknown,
    options: WorkerOptions,
  ) {
    super(driver);
    this.worker = new Worker(driver, { queues: [ANY], ttrMs: TTR_MS, shutdownGraceMs: 0, ...options });
    setUp(this.worker);
    this.running = this.worker.run();
  }

  /** All jobs that were published, in order, with their state, result and failure. */
  get jobs(): readonly MemoryJob[] {
    return this.driver.jobs;
  }

  /** The time of the queues, Unix ms. */
  get nowMs(): number {
    return this.driver.nowMs;
  }

  job(id: string): MemoryJob | undefined {
    return this.jobs.find((job) => job.id === id);
  }

  /** Resolves when everything that is due has run, with what that has published. */
  async drain(): Promise<void> {
    while (this.driver.hasWork || this.worker.heldCount > 0) {
      // The worker learns of an answer a moment after the driver.
      await Promise.race([this.driver.change(), new Promise((resolve) => setTimeout(resolve, 1))]);
    }
  }

  /** Moves the time of the queues on; all that gets due on the way runs when it is due. */
  async advance(ms: number): Promise<void> {
    const endMs = this.driver.nowMs + ms;
    await this.drain();
    for (
      let dueMs = this.driver.nextDueMs;
      dueMs !== undefined && dueMs <= endMs;
      dueMs = this.driver.nextDueMs
    ) {
      this.driver.moveTo(dueMs);
      await this.drain();
    }
    this.driver.moveTo(endMs);
  }

  /** Cancels a job; the handler of a running one is told by its signal within a second or two. */
  cancel(id: string): void {
    this.driver.cancel(id);
  }

  /** Ends the worker. What still runs is aborted. */
  async stop(): Promise<void> {
    await this.worker.stop();
    await this.running;
  }
}
