import { mkdtempSync } from 'node:fs';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedis } from '../../scripts/setup/redis.mjs';

/**
 * Starts the stores of the specs. Specs that share one keep apart by random namespaces. PUMPHOUSE_TEST_TOPOLOGY is standalone, sentinel,
 * cluster or scripts. Plain JavaScript with a loader, because jest's global set-up runs before TypeScript can be read.
 */
export default async function globalSetup({ maxWorkers }) {
  // One that `npm start` or `npm test` has unpacked; without any the first start of one says so.
  findRedis();
  register('./typescript-hooks.mjs', import.meta.url);
  const { startTopology, TOPOLOGIES } = await import('./topology.ts');
  const name = process.env.PUMPHOUSE_TEST_TOPOLOGY ?? TOPOLOGIES[0];
  if (!TOPOLOGIES.includes(name))
    throw new Error(`PUMPHOUSE_TEST_TOPOLOGY is one of ${TOPOLOGIES.join(', ')}`);
  const topology = await startTopology(name, maxWorkers);
  process.env.PUMPHOUSE_TEST_STORES = JSON.stringify(topology.stores);
  // What `pumphouse login` keeps for the user of this machine is no part of the tests.
  process.env.XDG_CONFIG_HOME = join(tmpdir(), `pumphouse-no-login-${String(process.pid)}`);
  process.env.PUMPHOUSE_TEST_TARBALLS = mkdtempSync(join(tmpdir(), 'pumphouse-tarballs-'));
  globalThis.pumphouseTestTopology = topology;
}
