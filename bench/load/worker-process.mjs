/** A process with a worker of `@pumphouse/client`, of `pumphouse/worker` or of BullMQ, whose handler does nothing. */
import { pathToFileURL } from 'node:url';
import { answerParent, pause } from './child-process.mjs';
import { quantiles } from '../measure/quantiles.mjs';

const AT_ONCE = 64;
/** Jobs that a worker of ours leases ahead: it holds up to three leases of 100. */
const AHEAD = 300 - AT_ONCE;
/** Jobs of one publish call. */
const PER_CALL = 64;
const QUEUE = 'mail';
/** 100 bytes as JSON. */
const DATA = 'x'.repeat(98);
/** Between two jobs of an idle queue, in ms. */
const IDLE_MS = 10;

/**
 * @typedef {object} Library
 * @property {(count: number) => Promise<unknown>} publish
 * @property {(handler: () => void) => Promise<{ stop: () => Promise<unknown> }>} start a worker; `stop` waits for its acks
 */

/** @type {Record<string, (options: { redis: string, url: string, token: string, namespace: string, dist: string, client: string }) => Promise<Library>>} */
const LIBRARIES = {
  async redis({ redis, dist }) {
    const { connect } = await import(new URL('worker/index.js', pathToFileURL(dist)).href);
    return ours(await connect({ redis, namespace: 'in-process', allowUnsafe: true }));
  },

  async http({ url, token, namespace, client }) {
    const { Pumphouse } = await import(pathToFileURL(client).href);
    return ours(new Pumphouse({ url, namespace, token }));
  },

  async bullmq({ redis }) {
    const { Queue, Worker } = await import('bullmq');
    const connection = { url: redis, maxRetriesPerRequest: null };
    const queue = new Queue(QUEUE, { connection });
    const job = { name: QUEUE, data: DATA, opts: { removeOnComplete: true } };
    return {
      publish: (count) => queue.addBulk(Array.from({ length: count }, () => job)),
      async start(handler) {
        const options = { connection, concurrency: AT_ONCE };
        const worker = new Worker(QUEUE, () => Promise.resolve(handler()), options);
        await worker.waitUntilReady();
        return { stop: () => worker.close() };
      },
    };
  },
};

/** @returns {Library} */
function ours(pumphouse) {
  return {
    publish: (count) =>
      pumphouse.publishMany(Array.from({ length: count }, () => ({ queue: QUEUE, data: DATA }))),
    start(handler) {
      const worker = pumphouse.worker({ queues: [QUEUE], concurrency: AT_ONCE, prefetch: AHEAD });
      worker.handle('*', handler);
      void worker.run();
      return Promise.resolve(worker);
    },
  };
}

/** @type {Library} */
let library;

answerParent({
  async open({ name, ...options }) {
    library = await /** @type {(options: any) => Promise<Library>} */ (LIBRARIES[name])(options);
  },

  async fill({ jobs }) {
    for (let left = jobs; left > 0; left -= PER_CALL) await library.publish(Math.min(PER_CALL, left));
  },

  /** Takes each job of a full queue, and acknowledges it. */
  async work({ jobs }) {
    let left = jobs;
    /** @type {() => void} */
    let done = () => undefined;
    const all = new Promise((resolve) => (done = () => resolve(undefined)));
    const worker = await library.start(() => {
      if (--left === 0) done();
    });
    await all;
    await worker.stop();
  },

  /** From the publish call of one job to its handler, in ms; the worker has nothing else to do. */
  async wait({ jobs }) {
    /** @type {(atMs: number) => void} */
    let begun = () => undefined;
    const worker = await library.start(() => begun(performance.now()));
    await pause(200);
    const times = [];
    for (let n = 0; n < jobs; n++) {
      const handled = new Promise((resolve) => (begun = resolve));
      const sentMs = performance.now();
      await library.publish(1);
      times.push((await handled) - sentMs);
      await pause(IDLE_MS);
    }
    await worker.stop();
    const { p50, p99 } = quantiles(times);
    return { p50, p99 };
  },
});
