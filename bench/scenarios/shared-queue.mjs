/** Many waiters on one queue: how much work one job causes. */
import { pause } from '../load/child-process.mjs';
import { scrape, scriptCalls } from '../measure/server-probe.mjs';
import { quantiles } from '../measure/quantiles.mjs';
import { NAMESPACE } from '../servers/test-server.mjs';

/** Longer than any run. */
const WAIT_S = 1_800;

/**
 * Many waiters on one queue and one job: counts the scripts from before the publish until all is quiet again. Sometimes
 * a re-check of the ready list falls into that time, so the run is repeated, and the maximum and the median are shown.
 * The client that got the job comes back after the count, since its new request runs a lease script too.
 */
export async function wakeOneOfMany({ testServer, load, probe, count, rounds }) {
  const { port, token } = testServer;
  const root = `/api/${NAMESPACE}/shared-`;
  const path = `${root}0`;
  const poll = { port, token, path: root, count, queues: 1, waitS: WAIT_S };
  await load.call('open', poll);
  await pause(1_500);
  const leases = [];
  const evals = [];
  const latencies = [];
  for (let round = 0; round < rounds; round++) {
    await pause(100 + Math.random() * 400);
    const before = { scripts: scriptCalls(await scrape(testServer)), evals: await scriptCommands(probe) };
    const { poll: served, latencyMs } = await load.call('wakeOne', { port, token, path });
    await pause(60);
    const after = { scripts: scriptCalls(await scrape(testServer)), evals: await scriptCommands(probe) };
    leases.push((after.scripts.simple_lease ?? 0) - (before.scripts.simple_lease ?? 0));
    evals.push(after.evals - before.evals);
    latencies.push(latencyMs);
    await load.call('resume', { poll: served });
  }
  await load.call('close');
  return { leases: quantiles(leases), evals: quantiles(evals), latency: quantiles(latencies) };
}

/** Scripts that Redis has run so far, whatever their names. */
async function scriptCommands({ redis }) {
  const stats = await redis.info('commandstats');
  let calls = 0;
  for (const [, count] of stats.matchAll(/^cmdstat_(?:eval(?:sha)?|fcall)(?:_ro)?:calls=(\d+)/gm))
    calls += Number(count);
  return calls;
}
