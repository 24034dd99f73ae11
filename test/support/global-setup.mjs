import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * One store for all specs of a run; specs keep apart by random namespaces. PUMPHOUSE_TEST_TOPOLOGY says which: standalone, sentinel or
 * cluster. Plain JavaScript with a loader, because jest's global set-up runs before TypeScript can be read.
 */
export default async function globalSetup() {
  register('./typescript-hooks.mjs', import.meta.url);
  const { startTopology, TOPOLOGIES } = await import('./topology.ts');
  const name = process.env.PUMPHOUSE_TEST_TOPOLOGY ?? TOPOLOGIES[0];
  if (!TOPOLOGIES.includes(name))
    throw new Error(`PUMPHOUSE_TEST_TOPOLOGY is one of ${TOPOLOGIES.join(', ')}`);
  const topology = await startTopology(name);
  process.env.PUMPHOUSE_TEST_REDIS = topology.urls.join(' ');
  process.env.PUMPHOUSE_TEST_TARGET = JSON.stringify(topology.target);
  // What `pumphouse login` keeps for the user of this machine is no part of the tests.
  process.env.XDG_CONFIG_HOME = join(tmpdir(), `pumphouse-no-login-${String(process.pid)}`);
  globalThis.pumphouseTestTopology = topology;
}
