#!/usr/bin/env node
/**
 * How capacity grows with masters: the CPU of Redis for a job from publish to acknowledgement, in 64 namespaces over a Cluster of four
 * masters, and over one of one. The capacity of a Cluster is that of its masters together, if each takes an equal part; else the master
 * that has the most to do limits it. Both run in turns.
 *
 *     runCluster({ program, redis, workers, quick, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/cluster.mjs [--quick]`. AOF is off. All masters share the cores of this machine: so CPU per job is compared,
 * and not the rate.
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
    for (let round = 0; round <= size.rounds; round++) {
      for (const cluster of round % 2 === 0 ? clusters : clusters.toReversed()) {
        const used = await playOn(load, cluster, size);
        // The first round is to warm up.
        if (round > 0) cluster.rounds.push(used);
      }
      log(`round ${round} of ${size.rounds}`);
    }
    const [one, many] = clusters.map(({ rounds }) => ({
      all: median(rounds.map(({ perMaster }) => perMaster.reduce((sum, us) => sum + us, 0))),
      busiest: median(rounds.map(({ perMaster }) => Math.max(...perMaster))),
      server: median(rounds.map(({ server }) => server)),
    }));
    const even = (MASTERS * one.all) / many.all;
    return {
      rows: [
        {
          ...{ key: 'cluster-capacity', name: `capacity of ${MASTERS} masters, as a multiple of one` },
          values: {
            ...{ 'with equal parts': even, 'by the busiest': one.busiest / many.busiest },
            ...{
              'Redis, one': one.all,
              'Redis, four': many.all,
              'server, one': one.server,
              'server, four': many.server,
            },
          },
          ...{ unit: 'µs per job', target: `≥ ${LEAST} ×`, met: even >= LEAST },
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
  return { server, nodes, testServer, targets, rounds: [] };
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

/** Publishes, consumes and acknowledges. @returns microseconds per job: of each master, and of the server */
async function playOn(load, { testServer, targets, nodes }, { jobs }) {
  // The usual number for each master: with less load the batches are smaller, and a job costs more.
  await load.connect({ ...testServer, connections: CONNECTIONS * nodes.length });
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
