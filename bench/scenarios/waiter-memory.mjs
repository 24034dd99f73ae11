/** What a waiter takes of the server's memory, and of a bare server's. */
import { join } from 'node:path';
import { pause, startLoad } from '../load/child-process.mjs';
import { residentBytes } from '../measure/server-probe.mjs';
import { startModule, stop } from '../measure/processes.mjs';
import { median } from '../measure/quantiles.mjs';
import { NAMESPACE } from '../servers/test-server.mjs';

export const FEW = 1_000;
export const MANY = 10_000;
/** Queues that they wait on, evenly. */
export const QUEUES = 1_000;
const PATH = `/api/${NAMESPACE}`;
/** Longer than any run: no poll ends by itself while something is measured. */
const WAIT_S = 1_800;
/** A busy machine takes its time to let all of them in: so often the server is asked whether they are, ten times a second. */
const ARRIVAL_LOOKS = 150;

/** Bytes per held response of a bare server. @param {number} restMs */
export async function bareSlope(restMs) {
  const server = startModule(join(import.meta.dirname, '..', 'servers', 'holding-server.mjs'));
  const load = startLoad('poll-process.mjs');
  try {
    const { port } = await new Promise((resolve) => server.child.once('message', resolve));
    const bytes = () => residentBytes(server.pid);
    const to = { port, token: 'none' };
    return await slopeOf({ load, to, bytes, isThere: () => true, restMs });
  } finally {
    await load.stop();
    await stop(server, 'SIGKILL');
  }
}

/**
 * Memory per waiter, from FEW to MANY of them: what the process itself needs is in neither. Leaves MANY waiters.
 *
 * @returns {Promise<number>} bytes
 */
export async function slopeOf({ load, to: { port, token }, bytes, isThere, restMs }) {
  const at = async (/** @type {number} */ count) => {
    const path = `${PATH}/held-`;
    await load.call('open', { port, token, path, count, queues: QUEUES, waitS: WAIT_S });
    for (let i = 0; i < ARRIVAL_LOOKS && !(await isThere(count)); i++) await pause(100);
    await pause(restMs);
    const readings = [];
    for (let i = 0; i < 10; i++) {
      readings.push(bytes());
      await pause(restMs / 20);
    }
    return median(readings);
  };
  const few = await at(FEW);
  return ((await at(MANY)) - few) / (MANY - FEW);
}
