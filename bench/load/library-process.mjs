/**
 * A process that uses a queue library, without HTTP: the engine, or BullMQ. It has `AT_ONCE` calls under way, as the servers of the other rows have
 * requests.
 */
import { pathToFileURL } from 'node:url';
import { answerParent } from './child-process.mjs';

const AT_ONCE = 64;
const QUEUE = 'mail';
/** Of both libraries' jobs: 100 bytes as JSON, a name or type, up to five tries at growing intervals. */
const DATA = 'x'.repeat(98);
const [NAME, TRIES, DELAY_MS] = ['mail', 5, 1_000];
const TTR_MS = 3_600_000;
const RESULT = { sent: true };

/** @param {number} total @param {(n: number) => Promise<unknown>} call */
async function together(total, call) {
  let begun = 0;
  const loop = async () => {
    while (begun < total) await call(begun++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, loop));
}

/** @type {Record<string, (options: { url: string, engine: string }) => Promise<Record<string, (jobs: number) => Promise<void>>>>} */
const LIBRARIES = {
  async pumphouse({ url, engine: file }) {
    const { PoolEngine, RedisPool } = await import(pathToFileURL(file).href);
    const quiet = () => undefined;
    const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
    const options = { url, allowUnsafe: true, keyPrefix: '', commandTimeoutMs: 10_000 };
    const engine = new PoolEngine(await RedisPool.connect('bench', options, log));
    engine.start();
    const job = {
      ...{ queue: QUEUE, body: Buffer.from(JSON.stringify(DATA)), type: NAME, tags: ['welcome'] },
      ...{ tries: TRIES, retry: { kind: 'exponential', delayMs: DELAY_MS } },
    };
    const request = { queues: [QUEUE], count: 1, ttrMs: TTR_MS, waitMs: 0, worker: 'bench' };
    const result = { body: Buffer.from(JSON.stringify(RESULT)), contentType: 'application/json' };
    /** @type {{ id: string, lease: number }[]} */
    let leased = [];
    return {
      publish: (jobs) => together(jobs, () => engine.jobs.publish('bench', [job])),
      async lease(jobs) {
        leased = [];
        await together(jobs, async () => leased.push(...(await engine.lease('bench', request))));
        if (leased.length !== jobs) throw new Error(`${leased.length} of ${jobs} jobs were leased`);
      },
      ack: (jobs) =>
        together(jobs, async (n) => {
          const { id, lease } = /** @type {{ id: string, lease: number }} */ (leased[n]);
          const [outcome] = await engine.settle.complete('bench', [{ id, lease, result }]);
          if (outcome !== 'done') throw new Error(`an ack: ${outcome}`);
        }),
    };
  },

  async bullmq({ url }) {
    const { Queue, Worker } = await import('bullmq');
    const connection = { url, maxRetriesPerRequest: null };
    const queue = new Queue(QUEUE, { connection });
    const options = {
      ...{ removeOnComplete: true, attempts: TRIES },
      backoff: { type: 'exponential', delay: DELAY_MS },
    };
    return {
      publish: (jobs) => together(jobs, () => queue.add(NAME, DATA, options)),
      /** Takes each job, and reports that it is done. */
      async work(jobs) {
        const worker = new Worker(QUEUE, () => Promise.resolve(RESULT), {
          connection,
          autorun: false,
          concurrency: AT_ONCE,
        });
        await worker.waitUntilReady();
        await new Promise((resolve, reject) => {
          let left = jobs;
          worker.on('completed', () => --left === 0 && resolve(undefined));
          worker.on('failed', (_job, error) => reject(error));
          worker.on('error', reject);
          worker.run().catch(reject);
        });
        await worker.close();
      },
    };
  },
};

/** @type {Record<string, (jobs: number) => Promise<void>>} */
let steps = {};

answerParent({
  async open({ library, ...options }) {
    steps = (await LIBRARIES[library]?.(options)) ?? {};
  },
  run: ({ step, jobs }) => steps[step]?.(jobs),
});
