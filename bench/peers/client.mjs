/**
 * The load of all queues: a process that publishes and works by the client library of one of them. It gets a command as a message, and
 * answers with what it measured. Latencies are in ms, CPU in us.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { quantiles } from '../measure/quantiles.mjs';

/**
 * What a module in `queues` gives. A publish resolves when the queue has confirmed it.
 *
 * @typedef {object} Client
 * @property {(text: string, caller: number) => Promise<unknown>} publish
 * @property {(texts: string[]) => Promise<unknown>} [publishMany]
 * @property {(text: string, delayMs: number) => Promise<unknown>} [publishLater]
 * @property {(count: number, handle: (text: string) => void) => Promise<() => Promise<unknown>>} work so many at once; acknowledges what
 *   was handled; returns what ends it
 * @property {() => Promise<unknown>} close
 */

const BODY_BYTES = 100;
const GAP_MS = 25;
const IDLE_MS = 3_000;
/** Publishes that were confirmed while the store was about to be killed. @type {Set<string>} */
const confirmed = new Set();
/** @type {Client} */
let client;
let made = 0;

/** A text of 98 characters: 100 bytes in JSON. */
const nextText = () => `${(made += 1)} `.padEnd(BODY_BYTES - 2, 'x');

/** @type {Record<string, (options: any) => Promise<any>>} */
const COMMANDS = {
  async open({ queue, address, callers }) {
    const { open } = await import(`./queues/${queue}.mjs`);
    client = await open(address, callers);
    return { has: Object.keys(client) };
  },

  close: () => client.close(),

  /** So many callers, each one publish after the other. */
  publish: ({ callers, seconds }) =>
    byCallers(callers, seconds, async (caller) => {
      await client.publish(nextText(), caller);
      return 1;
    }),

  bulk: ({ callers, seconds, size }) =>
    byCallers(callers, seconds, async () => {
      await client.publishMany?.(Array.from({ length: size }, nextText));
      return size;
    }),

  /** Works on what is there, at most for so long. */
  async consume({ callers, total, seconds }) {
    let [count, last] = [0, performance.now()];
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    const end = await client.work(callers, () => {
      count += 1;
      last = performance.now();
    });
    while (count < total && performance.now() - began < seconds * 1_000) await sleep(1);
    const result = { count, ms: last - began, cpu: cpuSince(cpu) };
    await end();
    return result;
  },

  /** Ends what is left. */
  async empty() {
    let last = performance.now();
    const end = await client.work(64, () => (last = performance.now()));
    while (performance.now() - last < IDLE_MS) await sleep(50);
    await end();
  },

  /** So many callers, each of which publishes a job and waits until a worker has it. */
  cycle: ({ callers, seconds }) =>
    whileWorking(callers, (waitFor) =>
      byCallers(callers, seconds, async (caller) => {
        const text = nextText();
        const handled = waitFor(text);
        await client.publish(text, caller);
        await handled;
        return 1;
      }),
    ),

  /** From before a publish until an idle worker has the job. */
  wake: ({ count }) =>
    whileWorking(1, async (waitFor) => {
      const times = [];
      for (let i = 0; i < count; i++) {
        await sleep(GAP_MS);
        const text = nextText();
        const handled = waitFor(text);
        const began = performance.now();
        await client.publish(text, 0);
        times.push((await handled) - began);
      }
      return { count, latency: quantiles(times) };
    }),

  /** How late a worker gets a job with a delay. */
  late: ({ count, delayMs }) =>
    whileWorking(8, async (waitFor) => {
      const pending = [];
      for (let i = 0; i < count; i++) {
        const text = nextText();
        const [handled, due] = [waitFor(text), performance.now() + delayMs];
        pending.push(handled.then((at) => at - due));
        await client.publishLater?.(text, delayMs);
        await sleep(5);
      }
      return { count, latency: quantiles(await Promise.all(pending)) };
    }),

  /** Publishes until the store is gone, and keeps what it confirmed. */
  async publishUntilGone({ callers, most }) {
    confirmed.clear();
    let isGone = false;
    const caller = async (/** @type {number} */ n) => {
      while (!isGone && confirmed.size < most) {
        const text = nextText();
        try {
          await Promise.race([
            client.publish(text, n),
            sleep(5_000).then(() => Promise.reject(new Error('late'))),
          ]);
          confirmed.add(text);
        } catch {
          isGone = true;
        }
      }
    };
    await Promise.all(Array.from({ length: callers }, (_none, n) => caller(n)));
    return { count: confirmed.size };
  },

  /** How many of them workers do not find. */
  async countLost() {
    const missing = new Set(confirmed);
    let last = performance.now();
    const end = await client.work(8, (text) => {
      missing.delete(text);
      last = performance.now();
    });
    while (performance.now() - last < IDLE_MS) await sleep(50);
    await end();
    return { lost: missing.size };
  },
};

/** @param {number} callers @param {number} seconds @param {(caller: number) => Promise<number>} act returns how many jobs it was */
async function byCallers(callers, seconds, act) {
  const times = /** @type {number[]} */ ([]);
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  let count = 0;
  const caller = async (/** @type {number} */ n) => {
    while (performance.now() - began < seconds * 1_000) {
      const at = performance.now();
      const jobs = await act(n);
      count += jobs;
      times.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: callers }, (_none, n) => caller(n)));
  return { count, ms: performance.now() - began, latency: quantiles(times), cpu: cpuSince(cpu) };
}

/** @template T @param {number} callers @param {(waitFor: (text: string) => Promise<number>) => Promise<T>} act @returns {Promise<T>} */
async function whileWorking(callers, act) {
  /** @type {Map<string, (at: number) => void>} */
  const waiting = new Map();
  const end = await client.work(callers, (text) => waiting.get(text)?.(performance.now()));
  const result = await act((text) =>
    new Promise((resolve) => waiting.set(text, resolve)).finally(() => waiting.delete(text)),
  );
  await end();
  return result;
}

/** @param {NodeJS.CpuUsage} before */
function cpuSince(before) {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

process.on('message', async ({ command, ...options }) => {
  try {
    process.send?.({ result: await COMMANDS[command]?.(options) });
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.stack : String(error) });
  }
});
// Clients of a store that was killed report it in their own ways.
for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, () => undefined);
