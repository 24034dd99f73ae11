/**
 * Preloaded into a server's processes: records which files of CommonJS packages each process has loaded. It writes them
 * to its own file in the folder that PUMPHOUSE_TEST_LOADED names: at its end, and a primary when it forks for the first
 * time.
 */
import cluster from 'node:cluster';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const loaded = createRequire(import.meta.url).cache;

/** @param {string} moment */
function note(moment) {
  const name = `${moment}-${process.pid}.json`;
  writeFileSync(join(process.env.PUMPHOUSE_TEST_LOADED ?? '.', name), JSON.stringify(Object.keys(loaded)));
}

// Not at the event `fork`: Node 24 loads what is imported next before it.
const { fork } = cluster;
cluster.fork = (env) => {
  cluster.fork = fork;
  note('fork');
  return fork(env);
};
process.on('exit', () => note(cluster.isWorker ? 'worker' : 'primary'));
