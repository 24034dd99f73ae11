#!/usr/bin/env node
/**
 * How capacity grows with masters: the CPU of Redis for a job from publish to acknowledgement, in 64 namespaces over a Cluster of four
 * masters, and over one of one. All run in turns.
 *
 *     runCluster({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/cluster.mjs [--quick]`. AOF is off. This machine cannot load four masters at once, so each of them gets its
 * full load, 64 connections for its namespaces, while the others are idle: the capacity of the Cluster is the sum of theirs. A second
 * row has all masters at once under 256 connections: there one server process is the limit, and Redis, mostly idle, wakes up for less
 * work each time.
 */
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { CONNECTIONS, startGenerator } from './load/generator.mjs';
import { ack, consume, publish } from './load/workloads.mjs';
import { median } from './measure/quantiles.mjs';
import { cpuSeconds, stop, until } from './measure/processes.mjs';
import { runStandalone } from './scenarios/standalone.mjs';
import { namespaceTargets } from './scenarios/fill.mjs';
import { startClusterNode } from './servers/redis.mjs';
import { makeTokens, NAMESPACE, spawnServer } from './servers/test-server.mjs';

const SIZES = { full: { jobs: 40_000, rounds: 5 }, quick: { jobs: 6_400, rounds: 1 } };
const NAMESPACES = 64;
const MASTERS = 4;
const LEAST = 3.2;
const SLOTS = 16_384;

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runCluster({ program, redis, workers, quick, log }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const load = startGenerator();
  const clusters = [];
  try {
    for (const count of [1, MASTERS]) clusters.push(await startOn(program, redis, workers, count));
    const [one, many] = clusters;
    /** Each adds the CPU of a job in µs, of each master and of the server, to a list. */
    const plays = [
      async () => one.rounds.push(await playAlone(load, one, size)),
      async () => many.rounds.push(await playAlone(load, many, size)),
      async () =>
        many.together.push(await playOn(load, many, many.targets, CONNECTIONS * MASTERS, size.jobs)),
    ];
    for (let round = 0; round <= size.rounds; round++) {
      for (const play of round % 2 === 0 ? plays : plays.toReversed()) await play();
      // The first round is to warm up.
      if (round === 0) for (const cluster of clusters) Object.assign(cluster, { rounds: [], together: [] });
      log(`round ${round} of ${size.rounds}`);
    }
    const capacity = (of) => median(of.rounds.map(({ perMaster }) => sum(perMaster.map((us) => 1 / us))));
    const growth = capacity(many) / capacity(one);
    const redisOf = (rounds) => median(rounds.map(({ perMaster }) => sum(perMaster)));
    const serverOf = (rounds) => median(rounds.map(({ server }) => server));
    const alone = redisOf(one.rounds);
    return {
      rows: [
        {
          ...{ key: 'cluster-capacity', name: `capacity of ${MASTERS} masters, as a multiple of one` },
          values: {
            ...{ 'times one': growth, 'Redis, one': alone, 'Redis, each of four': MASTERS / capacity(many) },
            ...{ 'server, one': serverOf(one.rounds), 'server, four': serverOf(many.rounds) },
          },
          ...{ unit: 'µs per job', target: `≥ ${LEAST} ×`, met: growth >= LEAST },
        },
        {
          ...{ key: 'cluster-together', name: `${MASTERS} masters at once, mostly idle` },
          values: {
            ...{ 'times one': (MASTERS * alone) / redisOf(many.together) },
            ...{ 'Redis, all four': redisOf(many.together), 'server, four': serverOf(many.together) },
          },
          ...{ unit: 'µs per job', target: '', met: null },
        },
      ],
    };
  } finally {
    await load.stop();
    for (const { server, nodes } of clusters) {
      await stop(server);
      await Promise.all(nodes.map((node) => node.stop()));
    }
  }
}

async function startOn(program, redis, workers, count) {
  const nodes = [];
  for (let i = 0; i < count; i++) nodes.push(await startClusterNode(redis));
  await join(nodes);
  const store = { ...nodes[0], cluster: nodes.map(({ port }) => port) };
  const { server, port, adminPort } = await spawnServer({ program, store, workers });
  const tokens = (names) => makeTokens(adminPort, names);
  const [token] = await until(server, () => tokens([NAMESPACE]));
  const testServer = {
    ...{ port, token, tokens, adminPort },
    cpu: () => ({ server: cpuSeconds(server.pid), redis: nodes.reduce((sum, node) => sum + node.cpu(), 0) }),
    calls: () => Promise.resolve({ commands: 0, scripts: 0 }),
  };
  const targets = await namespaceTargets(testServer, NAMESPACES, NAMESPACES);
  const parts = await partsOf(nodes, targets);
  return { server, nodes, testServer, targets, parts, rounds: [], together: [] };
}

/** The targets of each master. */
async function partsOf(nodes, targets) {
  const parts = nodes.map(() => []);
  const client = new Redis(nodes[0].port, '127.0.0.1');
  for (const target of targets) {
    const slot = Number(await client.cluster('KEYSLOT', target.path.split('/')[2]));
    parts[Math.floor((slot * nodes.length) / SLOTS)].push(target);
  }
  client.disconnect();
  return parts;
}

/** Gives each node an equal part of the slots, and waits until all know it. */
async function join(nodes) {
  const clients = nodes.map(({ port }) => new Redis(port, '127.0.0.1'));
  for (const [i, client] of clients.entries()) {
    const [from, to] = [i, i + 1].map((n) => Math.floor((n * SLOTS) / nodes.length));
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to - 1);
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
    if (i > 0) await client.call('CLUSTER', 'MEET', '127.0.0.1', nodes[0].port, nodes[0].busPort);
  }
  for (const client of clients) {
    const isWhole = async () => {
      const info = await client.cluster('INFO');
      const isKnown = info.includes(`cluster_known_nodes:${nodes.length}`);
      if (!isKnown || !info.includes('cluster_state:ok')) throw new Error('the Cluster is not whole');
    };
    await until(nodes[0].started, isWhole);
    client.disconnect();
  }
}

const sum = (values) => values.reduce((all, one) => all + one, 0);

/** One master after the other. @returns microseconds per job: of each master, and of the server on average */
async function playAlone(load, cluster, { jobs }) {
  const played = [];
  for (const part of cluster.parts)
    played.push(await playOn(load, cluster, part, CONNECTIONS, Math.ceil(jobs / cluster.parts.length)));
  return {
    perMaster: played.map(({ perMaster }, i) => perMaster[i]),
    server: sum(played.map(({ server }) => server)) / played.length,
  };
}

/** Publishes, consumes and acknowledges. @returns microseconds per job: of each master, and of the server */
async function playOn(load, { testServer, nodes }, targets, connections, jobs) {
  await load.connect({ ...testServer, connections });
  await load.spread('namespaces', targets);
  const before = { server: testServer.cpu().server, nodes: nodes.map((node) => node.cpu()) };
  for (const row of [publish('', jobs), consume('', jobs)])
    await load.measure(testServer, { ...row, spread: 'namespaces' });
  await load.measure(testServer, ack(jobs));
  const perJob = (seconds) => (seconds / jobs) * 1e6;
  return {
    server: perJob(testServer.cpu().server - before.server),
    perMaster: nodes.map((node, i) => perJob(node.cpu() - before.nodes[i])),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runCluster);
