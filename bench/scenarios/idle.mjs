/** What many namespaces cost while nothing happens: the loops that look for due and expired jobs, and all other timers. */
import { pause } from '../load/child-process.mjs';
import { IDLE_SHARE } from '../report/targets.mjs';

/**
 * Shares of a core, of a store that is full and of an empty one over the same seconds.
 *
 * @typedef {Record<'full' | 'empty', { server: number, redis: number, commandsPerSecond: number }>} Idle
 */

/**
 * @param {import('../run.mjs').Context} context
 * @param {Record<'full' | 'empty', import('../servers/test-server.mjs').TestServer>} servers
 * @returns {Promise<Idle>}
 */
export async function measureIdle({ size, log }, { full, empty }) {
  const { restMs, idleMs } = size.growth;
  await pause(restMs);
  const startedMs = performance.now();
  const before = [await usage(full), await usage(empty)];
  await pause(idleMs);
  const after = [await usage(full), await usage(empty)];
  const seconds = (performance.now() - startedMs) / 1_000;
  const [ofFull, ofEmpty] = after.map((late, at) => shares(/** @type {any} */ (before[at]), late, seconds));
  const idle = /** @type {Idle} */ ({ full: ofFull, empty: ofEmpty });
  log(
    `idle for ${seconds.toFixed(0)} s: ${(100 * (idle.full.server + idle.full.redis)).toFixed(2)} % of a core`,
  );
  return idle;
}

/** @param {import('../servers/test-server.mjs').TestServer} testServer */
async function usage(testServer) {
  const { commands } = await testServer.calls();
  return { ...testServer.cpu(), commands };
}

/** @typedef {{ server: number, redis: number, commands: number }} Usage */
/** @param {Usage} before @param {Usage} after @param {number} seconds */
function shares(before, after, seconds) {
  return {
    server: (after.server - before.server) / seconds,
    redis: (after.redis - before.redis) / seconds,
    commandsPerSecond: (after.commands - before.commands) / seconds,
  };
}

/** @param {Idle | undefined} idle @param {string} store its name @returns {import('../report/target-table.mjs').Row[]} */
export function idleVerdicts(idle, store) {
  if (!idle) return [];
  const { full, empty } = idle;
  const percent = (/** @type {{ server: number, redis: number }} */ { server, redis }) =>
    100 * (server + redis);
  return [
    {
      key: 'idle',
      name: `idle, ${store}`,
      values: {
        server: 100 * full.server,
        Redis: 100 * full.redis,
        sum: percent(full),
        'empty store': percent(empty),
        'more than it': percent(full) - percent(empty),
      },
      unit: '% of a core',
      target: `≤ ${100 * IDLE_SHARE} more than the empty store`,
      met: percent(full) - percent(empty) <= 100 * IDLE_SHARE,
    },
  ];
}
