#!/usr/bin/env node
/**
 * What the history of queues and open overviews cost Redis: many queues with dead and ready jobs, traffic in some of them, and clients that
 * poll as the console does. Redis is alone on its CPU. Each figure is the share of a Redis core above that of the same traffic without history and clients.
 *
 *     runConsole({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/console.mjs [--quick] [--workers N]`. AOF is off.
 */
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { runStandalone } from './scenarios/standalone.mjs';
import { pause } from './load/child-process.mjs';
import { startRedis } from './servers/redis.mjs';
import { NAMESPACE, requestToken, spawnServer } from './servers/test-server.mjs';
import { cpuSeconds, pinApart, startModule, stop, until } from './measure/processes.mjs';
import { join } from 'node:path';

const SIZES = {
  full: { queues: 10_000, dead: 1_000_000, live: 100_000, busy: 1_000, perSecond: 100, spanMs: 120_000 },
  quick: { queues: 1_000, dead: 20_000, live: 5_000, busy: 200, perSecond: 50, spanMs: 30_000 },
};
const CLIENTS = 3;
const POLL_MS = 2_000;
/** What the console may cost: a share of a Redis core, and milliseconds of one command. */
const MOST = { share: 0.01, commandMs: 5 };
/** Commands that take longer are recorded, in microseconds. */
const SLOW_US = 1_000;
/** Commands of the traffic itself: they are as long without history and console. */
const TRAFFIC = /^FUNCTION LOAD|_simple_(?:publish|lease|ack)_/;
/** Loops of a server begin within this time. */
const SETTLE_MS = 15_000;

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runConsole({ program, redis, workers, quick, log }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const store = await startRedis(redis, 'off');
  const client = new Redis(store.port, '127.0.0.1', { protocol: 2 });
  const unpin = pinApart(store.pid, log);
  try {
    await fill(store.port, size);
    log(`${size.queues} queues, ${size.dead} dead and ${size.live} ready jobs`);
    /** @param {string} name @param {{ history: boolean, clients: number }} how */
    const measure = async (name, { history, clients }) => {
      const settings = history ? '' : '\n[history]\nenabled = false\n';
      const figures = await measureServer({ program, store, client, workers, size, settings, clients });
      log(`${name}: ${(figures.share * 100).toFixed(2)} % of a Redis core`);
      for (const { ms, command } of figures.longest) log(`${ms.toFixed(1)} ms: ${command}`);
      return figures;
    };
    const before = await measure('without history', { history: false, clients: 0 });
    const closed = await measure('history', { history: true, clients: 0 });
    const open = await measure(`history and ${CLIENTS} clients`, { history: true, clients: CLIENTS });
    // The work that follows the fill gets less with time: what is compared with is the lower of a measurement before and one after.
    const after = await measure('without history, again', { history: false, clients: 0 });
    const without = after.share < before.share ? after : before;
    const bytes = await historyBytes(client);
    return {
      rows: [
        rowOf('console-closed', 'history, no console open', closed, without, bytes),
        rowOf('console-open', `history and ${CLIENTS} overviews that poll`, open, without, bytes),
      ],
    };
  } finally {
    unpin();
    client.disconnect();
    await store.stop();
  }
}

/** Stores the jobs by the engine's import, which takes dead ones too. */
async function fill(port, size) {
  const filler = startModule(join(import.meta.dirname, 'load', 'console-fill-process.mjs'), [
    ...[String(port), NAMESPACE, String(size.queues), String(size.dead), String(size.live)],
  ]);
  await new Promise((resolve, reject) => {
    filler.child.once('exit', (code) =>
      code === 0 ? resolve(undefined) : reject(new Error(`filling ended with ${code}`)),
    );
  });
}

async function measureServer({ program, store, client, workers, size, settings, clients }) {
  const { server, port, adminPort } = await spawnServer({ program, store, workers, settings });
  const admin = `http://127.0.0.1:${adminPort}`;
  const halt = new AbortController();
  try {
    const token = await until(server, () => requestToken(admin, NAMESPACE));
    const api = `http://127.0.0.1:${port}/api/${NAMESPACE}`;
    const running = [traffic(api, token, size, halt.signal)];
    for (let i = 0; i < clients; i++) running.push(poll(admin, i, halt.signal));
    await pause(SETTLE_MS);
    await client.config('SET', 'slowlog-log-slower-than', String(SLOW_US));
    await client.slowlog('RESET');
    const [beganMs, redisBefore, serverBefore] = [performance.now(), store.cpu(), cpuSeconds(server.pid)];
    await pause(size.spanMs);
    const seconds = (performance.now() - beganMs) / 1_000;
    const share = (store.cpu() - redisBefore) / seconds;
    const serverShare = (cpuSeconds(server.pid) - serverBefore) / seconds;
    const slow = /** @type {[number, number, number, string[]][]} */ (await client.slowlog('GET', 1_000));
    const longest = slow
      .filter(([, , , args]) => !TRAFFIC.test(args.join(' ')))
      .toSorted(([, , us], [, , otherUs]) => otherUs - us)
      .slice(0, 5)
      .map(([, , us, args]) => ({ ms: us / 1_000, command: args.slice(0, 2).join(' ') }));
    halt.abort();
    await Promise.all(running);
    return { share, serverShare, longest, longestMs: longest[0]?.ms ?? 0 };
  } finally {
    halt.abort();
    await stop(server);
  }
}

/** Publishes, leases and acknowledges a job at a steady rate, each time in another queue. */
async function traffic(api, token, { busy, perSecond }, signal) {
  const headers = { 'X-Token': token };
  for (let n = 0; !signal.aborted; n++) {
    const url = `${api}/busy-${n % busy}`;
    void cycle(url, headers).catch(() => undefined);
    await pause(1_000 / perSecond);
  }
}

async function cycle(url, headers) {
  await (await fetch(url, { method: 'PUT', headers, body: 'x' })).arrayBuffer();
  const leased = await (await fetch(url, { headers })).json();
  await (await fetch(`${url}/job/${leased.job_id}`, { method: 'DELETE', headers })).arrayBuffer();
}

/** A tab of the console: a page of the overview, sorted in its own way, and the history of a queue. */
async function poll(admin, tab, signal) {
  const sort = ['dead', 'published', 'name'][tab % 3];
  for (let n = 0; !signal.aborted; n++) {
    const begunMs = performance.now();
    await get(`${admin}/overview?sort=${sort}&limit=50`);
    if (n % 5 === 0) await get(`${admin}/namespaces/${NAMESPACE}/queues/busy-${tab}/history`);
    await pause(Math.max(POLL_MS - (performance.now() - begunMs), 0));
  }
}

async function get(url) {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

/** Bytes of Redis of the history, and of its keys by MEMORY USAGE. @param {Redis} client */
async function historyBytes(client) {
  let bytes = 0;
  for await (const keys of client.scanStream({ match: `{${NAMESPACE}}:*`, count: 1_000 }))
    for (const key of /** @type {string[]} */ (keys))
      if (/:(?:[aPH]\d+|changed|samples)$/.test(key))
        bytes += Number(await client.memory('USAGE', key, 'SAMPLES', 0));
  return bytes;
}

/** @returns {import('./report/target-table.mjs').Row} */
function rowOf(key, name, figures, without, bytes) {
  const share = figures.share - without.share;
  const values = {
    'Redis, % of a core': share * 100,
    'longest command, ms': figures.longestMs,
    'server, % of a core': (figures.serverShare - without.serverShare) * 100,
    'history, MB': bytes / 1e6,
  };
  const met = share <= MOST.share && figures.longestMs <= MOST.commandMs;
  return { key, name, values, unit: '', target: `≤ ${MOST.share * 100} %, ≤ ${MOST.commandMs} ms`, met };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) runStandalone(runConsole);
