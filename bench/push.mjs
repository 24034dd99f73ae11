/**
 * `node bench/push.mjs`: HTTP push from one process to a receiver on this machine. What a push costs, how many a second there are, how
 * soon a job that is published while nothing else happens is sent, and what targets that hang or fail cost the others.
 */
import { fileURLToPath } from 'node:url';
import { freePort } from '../scripts/setup/free-port.mjs';
import { runStandalone } from './scenarios/standalone.mjs';
import { pause, startLoad } from './load/child-process.mjs';
import { startGenerator } from './load/generator.mjs';
import { failingRow, measureFailing } from './scenarios/failing-targets.mjs';
import { measureBare } from './scenarios/throughput.mjs';
import { withServer, NAMESPACE } from './servers/test-server.mjs';

/** A namespace has at most 1,000 targets. */
const SIZES = {
  quick: {
    warmUp: 1_000,
    jobs: 5_000,
    bare: 20_000,
    single: 50,
    targets: 50,
    each: 20,
    failing: 1_000,
    seconds: 5,
  },
  full: {
    warmUp: 10_000,
    jobs: 30_000,
    bare: 100_000,
    single: 300,
    targets: 990,
    each: 20,
    failing: 1_000,
    seconds: 20,
  },
};
const BULK = 64;
/** Servers know a change of a target within a second. */
const KNOWN_MS = 1_500;
const SETTINGS = `
[push]
enabled = true
allow = ["127.0.0.1"]
allow_http = true
ports = ["1024-65535"]
`;
const GOALS = { rate: 5_000, cost: 8, idleMs: 5, share: 0.2 };
/** Of many targets. */
const HANGING = 0.1;
/** Another namespace, which pushes beside them. */
const SECOND = 'second';

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runPush({ program, redis, workers, quick, log }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const receiver = startLoad('push-receiver.mjs');
  try {
    const { port } = await receiver.call('listen');
    return await withServer(
      { program, redis, aof: 'off', workers, settings: SETTINGS },
      async (testServer) => {
        const [second] = await testServer.tokens([SECOND]);
        const bench = new Bench(testServer, receiver, `http://127.0.0.1:${port}`, second);
        await bench.throughput('warm-up', size.warmUp);
        const full = await bench.throughput('full', size.jobs);
        const e = await bareCost(size);
        log(`${Math.round(full.rate)} pushes a second`);
        const idle = await bench.idle(size.single);
        log(`idle: p50 ${idle.p50.toFixed(2)} ms`);
        const all = await bench.isolation(size, '/');
        const some = await bench.isolation(size, '/hang');
        log('targets that hang');
        const failing = await measureFailing(testServer, `http://127.0.0.1:${await freePort()}/`, size);
        log('targets that fail');
        return { rows: [...workloadsOf({ e, full, idle, all, some }), failingRow(failing)] };
      },
    );
  } finally {
    await receiver.stop();
  }
}

/** E: the CPU of a bare node:http PUT echo, in us. @param {{ bare: number }} size */
async function bareCost(size) {
  const load = startGenerator();
  try {
    return (await measureBare(load, size)).server;
  } finally {
    await load.stop();
  }
}

class Bench {
  /** @param {import('./servers/test-server.mjs').TestServer} testServer @param {ReturnType<typeof startLoad>} receiver @param {string} url @param {string} second token of the namespace `second` */
  constructor(testServer, receiver, url, second) {
    this.testServer = testServer;
    this.receiver = receiver;
    this.url = url;
    this.second = second;
  }

  /** All jobs are there before the target is resumed. @param {string} name @param {number} jobs */
  async throughput(name, jobs) {
    await this.target(name, name, '/');
    await this.call('POST', 'v1', `targets/${name}/pause`);
    await pause(KNOWN_MS);
    for (let i = 0; i < jobs; i += BULK) {
      const bodies = Array(Math.min(BULK, jobs - i)).fill(0);
      await this.call('PUT', 'api', `${name}/bulk`, bodies);
    }
    const before = this.testServer.cpu();
    const all = this.until(jobs);
    await this.call('POST', 'v1', `targets/${name}/resume`);
    const seconds = await all;
    const after = this.testServer.cpu();
    const us = (/** @type {'server' | 'redis'} */ of) => ((after[of] - before[of]) / jobs) * 1e6;
    await this.receiver.call('late');
    return { rate: jobs / seconds, server: us('server'), redis: us('redis') };
  }

  /** One job at a time, each a while after the one before. @param {number} jobs */
  async idle(jobs) {
    await this.target('idle', 'idle', '/');
    await pause(KNOWN_MS);
    const all = this.until(jobs);
    for (let i = 0; i < jobs; i++) {
      await this.call('PUT', 'api', 'idle', now());
      await pause(20);
    }
    await all;
    return quantilesOf(await this.receiver.call('late'));
  }

  /**
   * A tenth of many targets is at `path`; how the others fare.
   *
   * @param {typeof SIZES.full} size @param {'/' | '/hang'} path
   */
  async isolation({ targets, each }, path) {
    const apart = Math.round(targets * HANGING);
    await this.target('second', 'second', '/second', SECOND);
    for (let i = 0; i < targets; i++) await this.target(`many${i}`, `many${i}`, i < apart ? path : '/');
    await pause(KNOWN_MS);
    const startedMs = performance.now();
    const all = this.until((path === '/hang' ? targets - apart : targets) * each);
    for (let round = 0; round < each; round++) {
      for (let i = 0; i < targets; i += 16) {
        const some = Array.from({ length: Math.min(16, targets - i) }, (_, at) => `many${i + at}`);
        await Promise.all([
          ...some.map((queue) => this.call('PUT', 'api', queue, now())),
          this.call('PUT', 'api', 'second', now(), SECOND),
        ]);
      }
    }
    await all;
    const seconds = (performance.now() - startedMs) / 1_000;
    const late = quantilesOf(await this.receiver.call('late'));
    const second = quantilesOf(await this.receiver.call('second'));
    return { rate: ((targets - apart) * each) / seconds, ...late, second };
  }

  async target(
    /** @type {string} */ name,
    /** @type {string} */ queue,
    /** @type {string} */ path,
    namespace = NAMESPACE,
  ) {
    await this.call('PUT', 'v1', `targets/${name}`, { url: this.url + path }, namespace);
    await this.call('PATCH', 'v1', `queues/${queue}`, { push: { target: name } }, namespace);
  }

  /** Until so many more have come. @param {number} count @returns {Promise<number>} seconds from the first */
  async until(count) {
    const before = await this.receiver.call('count');
    let startedMs = 0;
    for (;;) {
      const come = (await this.receiver.call('count')) - before;
      if (come > 0 && startedMs === 0) startedMs = performance.now();
      if (come >= count) return (performance.now() - startedMs) / 1_000;
      await pause(5);
    }
  }

  async call(
    /** @type {string} */ method,
    /** @type {'v1' | 'api'} */ api,
    /** @type {string} */ path,
    /** @type {unknown} */ body,
    namespace = NAMESPACE,
  ) {
    const { port, token } = this.testServer;
    const answer = await fetch(`http://127.0.0.1:${port}/${api}/${namespace}/${path}`, {
      ...{ method, headers: { 'x-token': namespace === SECOND ? this.second : token } },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  }
}

const now = () => performance.timeOrigin + performance.now();

/** @param {number[]} values */
function quantilesOf(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (/** @type {number} */ share) => sorted[Math.floor(sorted.length * share)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** @returns {import('./report/target-table.mjs').Row[]} */
function workloadsOf({ e, full, idle, all, some }) {
  const { rate, cost, idleMs, share } = GOALS;
  const sum = (full.server + full.redis) / e;
  return [
    {
      ...{ key: 'push', name: 'push', unit: 'per second; CPU in us for each' },
      values: { 'sum / E': sum, ...full },
      target: `rate ≥ ${rate}, sum ≤ ${cost} E`,
      met: full.rate >= rate && sum <= cost,
    },
    {
      ...{ key: 'push-idle', name: 'publish to request, idle', unit: 'ms', values: idle },
      target: `p50 ≤ ${idleMs}`,
      met: idle.p50 <= idleMs,
    },
    {
      ...{ key: 'push-all', name: 'nine tenths of many targets', unit: 'per second; ms' },
      ...{ values: figuresOf(all), target: '', met: null },
    },
    {
      ...{
        key: 'push-some',
        name: 'the same, while the last tenth hangs',
        unit: 'per second; ms',
        values: figuresOf(some),
      },
      target: `rate and p99 within ${100 * share} %`,
      met: some.rate >= all.rate * (1 - share) && some.p99 <= all.p99 * (1 + share),
    },
    {
      ...{ key: 'push-tenant', name: 'another namespace beside them', unit: 'ms' },
      values: { 'p99, none hangs': all.second.p99, p99: some.second.p99 },
      target: `p99 within ${100 * share} %`,
      met: some.second.p99 <= all.second.p99 * (1 + share),
    },
  ];
}

/** @param {{ rate: number, p50: number, p99: number }} run */
const figuresOf = ({ rate, p50, p99 }) => ({ rate, p50, p99 });

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runPush);
