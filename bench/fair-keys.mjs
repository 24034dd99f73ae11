#!/usr/bin/env node
/**
 * Fair queues with many keys: Redis's memory of a key with one job and of an idle one, the CPU of a lease, and the longest command of
 * Redis while a queue with many ready jobs becomes fair, and is fair no more, and its jobs are leased. Redis is alone on its CPU.
 *
 *     runFairKeys({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/fair-keys.mjs [--quick]`. AOF is off.
 */
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { pause } from './load/child-process.mjs';
import { cpuSeconds, pinApart, stop, until } from './measure/processes.mjs';
import { quantiles } from './measure/quantiles.mjs';
import { runStandalone } from './scenarios/standalone.mjs';
import { startRedis } from './servers/redis.mjs';
import { callsOn, NAMESPACE, requestToken, spawnServer } from './servers/test-server.mjs';

const SIZES = {
  full: { jobs: 1_000_000, leases: 5_000 },
  quick: { jobs: 20_000, leases: 500 },
};
const BATCH = 64;
const AT_ONCE = 8;
/** Jobs of a request that empties a queue, and answers of acks. */
const MANY = 100;
/** Keys of the queue that becomes fair. */
const KEYS_OF_SWITCH = 1_000;
const MOST = { bytes: 300, idleBytes: 1, ratio: 1.3, commandMs: 5 };
/** Commands of Redis that take less are left out, in ms. */
const LOGGED_MS = 0.1;
/** The scripts that move jobs, and leases meanwhile. */
const IN_MOVE = /_order_fairly_|_extended_lease_/;
/** Servers look at each queue once a minute. */
const TIDY_MS = 150_000;

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runFairKeys({ program, redis, workers, quick, log }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const store = await startRedis(redis, 'off');
  const client = new Redis(store.port, '127.0.0.1', { protocol: 2 });
  const unpin = pinApart(store.pid, log);
  const { server, port, adminPort } = await spawnServer({ program, store, workers });
  try {
    const token = await until(server, () => requestToken(`http://127.0.0.1:${adminPort}`, NAMESPACE));
    const call = callsOn(port, token);
    await until(server, () => call('POST', 'leases', { queues: ['none'] }));
    const bench = { call, store, server, client, size, log };

    const plain = await filledBytes(bench, 'plain', () => ({}));
    await call('PATCH', 'queues/fair', { fair: true });
    const fair = await filledBytes(bench, 'fair', (n) => ({ fair_key: `tenant-${n}` }));
    const costs = {
      plain: await leaseCost(bench, 'plain'),
      fair: await leaseCost(bench, 'fair'),
      plainAgain: await leaseCost(bench, 'plain'),
    };
    const largest = await timeOf(() => call('GET', 'queues/fair/keys'));
    const idleBytes = await idleKeys(bench, 'fair');
    await empty(bench, 'plain');

    await fill(bench, 'switch', (n) => ({ fair_key: `tenant-${n % KEYS_OF_SWITCH}` }));
    const on = await switchFair(bench, true);
    const off = await switchFair(bench, false);
    const [plainUs, keyBytes] = [Math.min(costs.plain, costs.plainAgain), fair - plain];
    return {
      rows: [
        {
          ...{ key: 'fair-key-memory', name: `a fair key with one job, of ${size.jobs} keys` },
          ...{ values: { bytes: keyBytes }, unit: 'B' },
          ...{ target: `≤ ${MOST.bytes}`, met: keyBytes <= MOST.bytes },
        },
        {
          ...{ key: 'fair-key-idle', name: 'a fair key whose job has ended' },
          ...{ values: { bytes: idleBytes }, unit: 'B' },
          ...{ target: `≤ ${MOST.idleBytes}`, met: idleBytes <= MOST.idleBytes },
        },
        {
          ...{ key: 'fair-keys-lease', name: `lease of one job in a queue with ${size.jobs} fair keys` },
          ...{
            values: { us: costs.fair, plain: plainUs, ratio: costs.fair / plainUs },
            unit: 'µs, server and Redis',
          },
          ...{ target: `≤ ${MOST.ratio} ×`, met: costs.fair <= MOST.ratio * plainUs },
        },
        {
          ...{ key: 'fair-keys-list', name: `the largest of ${size.jobs} fair keys` },
          ...{ values: { ms: largest }, unit: 'ms', target: '', met: null },
        },
        switchRow('fair-on', `a queue with ${size.jobs} ready jobs becomes fair`, on),
        switchRow('fair-off', 'the same is fair no more', off),
      ],
    };
  } finally {
    unpin();
    client.disconnect();
    await stop(server);
    await store.stop();
  }
}

const switchRow = (key, name, { ms, commands, leases, p99 }) => ({
  ...{ key, name, unit: 'ms' },
  values: {
    ...{ ms, leases, 'p99 of a lease': p99 },
    ...{ 'a command p50': commands.p50, p99: commands.p99, max: commands.max },
  },
  ...{ target: `p99 of commands ≤ ${MOST.commandMs}`, met: commands.p99 <= MOST.commandMs },
});

/** Publishes the jobs of a queue. */
async function fill({ call, size }, queue, fieldsOf) {
  let next = 0;
  const publisher = async () => {
    while (next < size.jobs) {
      const from = next;
      next = Math.min(next + BATCH, size.jobs);
      const jobs = Array.from({ length: next - from }, (_, i) => ({
        ...{ queue, data: 'x'.repeat(98), type: 'mail' },
        ...fieldsOf(from + i),
      }));
      await call('POST', 'jobs', { jobs });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, publisher));
}

/** Bytes of Redis for each job. */
async function filledBytes(bench, queue, fieldsOf) {
  const before = await bench.store.usedMemory();
  await fill(bench, queue, fieldsOf);
  await pause(2_000);
  const bytes = ((await bench.store.usedMemory()) - before) / bench.size.jobs;
  bench.log(`${queue}: ${bench.size.jobs} jobs, ${bytes.toFixed(0)} B each`);
  return bytes;
}

/** Microseconds of CPU of a lease of one job, which stays leased. */
async function leaseCost({ call, store, server, size, log }, queue) {
  const used = () => store.cpu() + cpuSeconds(server.pid);
  const before = used();
  let left = size.leases;
  const worker = async () => {
    while (left-- > 0) {
      const { jobs } = await call('POST', 'leases', { queues: [queue], ttr_ms: 3_600_000 });
      if (jobs.length !== 1) throw new Error(`${queue} gave ${jobs.length} jobs`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const us = ((used() - before) / size.leases) * 1e6;
  log(`${queue}: a lease costs ${us.toFixed(0)} µs`);
  return us;
}

/** Ends all jobs that are ready. */
async function empty({ call }, queue) {
  const worker = async () => {
    for (;;) {
      const { jobs } = await call('POST', 'leases', { queues: [queue], count: MANY, ttr_ms: 3_600_000 });
      if (jobs.length === 0) return;
      await call('POST', 'acks', { acks: jobs.map(({ id, lease }) => ({ queue, id, lease })) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Bytes of a key whose job has ended: of the queue's keys in Redis, without the jobs that are still leased. */
async function idleKeys(bench, queue) {
  await empty(bench, queue);
  const { keys } = await bench.call('GET', `queues/${queue}/keys`);
  if (keys.length > 0) throw new Error(`${keys.length} keys are left`);
  const endMs = performance.now() + TIDY_MS;
  for (;;) {
    const bytes = await bytesOfKeys(bench);
    if (bytes / bench.size.jobs <= MOST.idleBytes || performance.now() > endMs)
      return bytes / bench.size.jobs;
    await pause(1_000);
  }
}

async function bytesOfKeys(bench) {
  let bytes = 0;
  for await (const names of bench.client.scanStream({ match: `{${NAMESPACE}}:[QqA]*`, count: 10_000 }))
    for (const name of names) bytes += Number(await bench.client.memory('USAGE', name, 'SAMPLES', 0));
  return bytes;
}

/** Makes a queue fair or not, and leases its jobs until the move has ended. */
async function switchFair({ call, client, log }, fair) {
  // Not all: commands within scripts are logged, too, and that would cost more than they do.
  const logged = String(LOGGED_MS * 1_000);
  await client.config('SET', 'slowlog-log-slower-than', logged, 'slowlog-max-len', '1000000');
  await client.slowlog('RESET');
  const times = [];
  const beganMs = performance.now();
  await call('PATCH', 'queues/switch', { fair });
  do {
    times.push(await timeOf(() => call('POST', 'leases', { queues: ['switch'], ttr_ms: 3_600_000 })));
  } while (await isMoving(client));
  const ms = performance.now() - beganMs;
  const all = /** @type {[number, number, number, string[]][]} */ (await client.slowlog('GET', 1_000_000));
  await client.config('SET', 'slowlog-log-slower-than', '-1');
  const commands = quantiles(
    all.filter(([, , , args]) => IN_MOVE.test(args.join(' '))).map(([, , us]) => us / 1_000),
  );
  log(`fair ${fair}: ${(ms / 1_000).toFixed(1)} s`);
  return { ms, commands, leases: times.length, p99: quantiles(times).p99 };
}

/** Whether jobs of a queue are still to be moved to or from the lists of their keys. */
async function isMoving(client) {
  const number = Math.abs(Number(await client.hget(`{${NAMESPACE}}:queues`, 'switch')));
  return (await client.hexists(`{${NAMESPACE}}:i${number}`, 'fair_order')) === 1;
}

async function timeOf(act) {
  const beganMs = performance.now();
  await act();
  return performance.now() - beganMs;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runFairKeys);
