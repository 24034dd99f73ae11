/** A crowd on one queue: how much work one job makes when many wait for it. */
import { pause } from './child.mjs';
import { scrape, scriptCalls } from './inside.mjs';
import { quantiles } from './quantiles.mjs';
import { NAMESPACE } from './stage.mjs';

/** Longer than any run. */
const WAIT_S = 1_800;

/**
 * Many waiters on one queue and one job: counts the scripts from before the publish until all is quiet again. Sometimes
 * a re-check of the ready list falls into that time, so the run is repeated, and the maximum and the median are shown.
 * The client that got the job comes back after the count, since its new request runs a lease script too.
 */
export async function crowdOnOneQueue({ stage, load, inside, count, rounds }) {
  const { port, token } = stage;
  const root = `/api/${NAMESPACE}/crowd-`;
  const path = `${root}0`;
  const poll = { port, token, path: root, count, queues: 1, waitS: WAIT_S };
  await load.call('open', poll);
  await pause(1_500);
  const leases = [];
  const evals = [];
  const latencies = [];
  for (let round = 0; round < rounds; round++) {
    await pause(100 + Math.random() * 400);
    const before = { scripts: scriptCalls(await scrape(stage)), evals: await scriptCommands(inside) };
    const { poll: served, latencyMs } = await load.call('wakeOne', { port, token, path });
    await pause(60);
    const after = { scripts: scriptCalls(await scrape(stage)), evals: await scriptCommands(inside) };
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
