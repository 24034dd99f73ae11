/** What an operation costs as the store grows: in jobs, in queues, in namespaces. One worker, AOF off. */
import { pause } from '../load/child-process.mjs';
import { fillEach, fillQueue, namespaceTargets, queueTargets } from './fill.mjs';
import { COMMANDS_SLACK, GROWTH } from '../report/targets.mjs';
import { measureIdle } from './idle.mjs';
import { figuresOf, runInTurns, ratiosOf } from '../measure/turns.mjs';
import { startServer } from '../servers/test-server.mjs';
import { warmUp } from './throughput.mjs';

/**
 * A store of a certain size, and what it is held against.
 *
 * @typedef {object} Sized
 * @property {string} name
 * @property {number} jobs that wait in it
 * @property {number} e
 * @property {number} bareRate
 * @property {Record<string, import('../load/generator.mjs').Measured>} figures
 * @property {{ name: string, ratios: Record<string, import('../measure/turns.mjs').Ratios> }[]} comparisons
 */

/** @typedef {import('../run.mjs').Context} Context */
/** @typedef {import('../servers/test-server.mjs').TestServer} TestServer */

/** Statistics of the last requests are written by then, in milliseconds. */
const SETTLE_MS = 2_000;

const count = (/** @type {number} */ n) => n.toLocaleString('en');

/** One queue with more and more jobs. @param {Context} context @returns {Promise<Sized[]>} */
export function growBacklog(context) {
  const { load, size, log } = context;
  return onServers(context, ['empty', 'full'], async (servers) => {
    const candidates = { empty: { testServer: servers.empty }, full: { testServer: servers.full } };
    const before = await runInTurns(context, candidates);
    const sizes = [sized('empty', 0, before, [])];
    for (const jobs of size.growth.backlogs.slice(1)) {
      await load.connect(servers.full);
      const missing = jobs - (sizes.at(-1)?.jobs ?? 0);
      const { rate } = await fillQueue(load, servers.full, 'row', missing);
      log(`growth: ${count(jobs)} jobs in one queue, stored at ${count(Math.round(rate))}/s`);
      const after = await runInTurns(context, candidates);
      const name = `${count(jobs)} jobs`;
      const ratios = ratiosOf({ before, after, full: 'full', empty: 'empty' });
      sizes.push(sized(name, jobs, after, [{ name: `${name}, against an empty store`, ratios }]));
    }
    return sizes;
  });
}

/** Many queues of one namespace. @param {Context} context @returns {Promise<Sized[]>} */
export function growQueues(context) {
  const { queues, fewQueues, jobsEach } = context.size.growth;
  const targetsOn = (/** @type {number} */ many) => (/** @type {TestServer} */ testServer) =>
    Promise.resolve(queueTargets(many, testServer.token));
  return growSpread(context, {
    name: `${count(queues)} queues`,
    each: jobsEach,
    full: targetsOn(queues),
    similar: targetsOn(fewQueues),
  });
}

/** Many namespaces with many queues, and what they cost when nothing happens. @param {Context} context */
export async function growNamespaces(context) {
  const { queues, namespaces, jobsEach } = context.size.growth;
  /** @type {import('./idle.mjs').Idle | undefined} */
  let idle;
  const sizes = await growSpread(context, {
    name: `${count(namespaces)} namespaces with ${count(queues)} queues`,
    each: jobsEach,
    full: (testServer) => namespaceTargets(testServer, namespaces, queues),
    similar: (testServer) => namespaceTargets(testServer, namespaces, namespaces),
    atTheEnd: async (servers) => void (idle = await measureIdle(context, servers)),
  });
  return { sizes, idle };
}

/**
 * @param {Context} context
 * @param {object} store
 * @param {string} store.name
 * @param {number} store.each jobs in each queue
 * @param {(testServer: TestServer) => Promise<import('../load/requests.mjs').Target[]>} store.full
 * @param {(testServer: TestServer) => Promise<import('../load/requests.mjs').Target[]>} store.similar of the small store: one job in each queue, so that none is forgotten
 * @param {(servers: { empty: TestServer, full: TestServer }) => Promise<void>} [store.atTheEnd]
 * @returns {Promise<Sized[]>}
 */
function growSpread(context, { name, each, full, similar, atTheEnd }) {
  const { load, log } = context;
  return onServers(context, ['empty', 'similar', 'full'], async (servers) => {
    const candidates = Object.fromEntries(
      Object.entries(servers).map(([who, testServer]) => [who, { testServer }]),
    );
    const before = await runInTurns(context, candidates);
    const fillOne = async (/** @type {'similar' | 'full'} */ who, targets, jobs) => {
      await load.connect(servers[who]);
      candidates[who] = { testServer: servers[who], spread: who };
      return fillEach(load, servers[who], { name: who, targets }, jobs);
    };
    await fillOne('similar', await similar(servers.similar), 1);
    const { operations, rate } = await fillOne('full', await full(servers.full), each);
    log(`growth: ${name}, ${count(operations)} jobs, stored at ${count(Math.round(rate))}/s`);
    const after = await runInTurns(context, candidates);
    // Not in turns with the others: what requests to thousands of queues leave to be done within the second would be in these.
    await pause(SETTLE_MS);
    const sameAfter = await runInTurns(context, {
      empty: { testServer: servers.empty },
      full: { testServer: servers.full },
    });
    await atTheEnd?.(servers);
    const against = (
      /** @type {string} */ what,
      /** @type {string} */ empty,
      /** @type {import('../measure/turns.mjs').Rounds} */ later,
    ) => ({
      name: `${name}, ${what}`,
      ratios: ratiosOf({ before, after: later, full: 'full', empty }),
    });
    const comparisons = [
      against('requests to one queue, against an empty store', 'empty', sameAfter),
      against(
        'requests to all of them, against a small store with requests spread equally',
        'similar',
        after,
      ),
      against('requests to all of them, against one queue of an empty store', 'empty', after),
    ];
    return [sized(name, operations, after, comparisons)];
  });
}

/**
 * @param {string} name
 * @param {number} jobs
 * @param {import('../measure/turns.mjs').Rounds} rounds
 * @param {Sized['comparisons']} comparisons
 * @returns {Sized}
 */
function sized(name, jobs, rounds, comparisons) {
  const { e, bareRate } = rounds;
  return { name, jobs, e, bareRate, figures: figuresOf(rounds, 'full'), comparisons };
}

/**
 * Runs `act` on a warm server for each name.
 *
 * @template {string} Name
 * @template T
 * @param {Context} context
 * @param {Name[]} names
 * @param {(servers: Record<Name, TestServer>) => Promise<T>} act
 */
async function onServers({ load, size, program, redis }, names, act) {
  const kind = { program, redis, aof: /** @type {const} */ ('off'), workers: 1 };
  const starts = await Promise.allSettled(names.map(() => startServer(kind)));
  const started = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  try {
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    for (const testServer of started) {
      await load.connect(testServer);
      await warmUp(load, testServer, size.growth.warm);
    }
    return await act(/** @type {any} */ (Object.fromEntries(names.map((name, at) => [name, started[at]]))));
  } finally {
    await Promise.all(started.map((testServer) => testServer.stop()));
  }
}

/** @param {Sized[]} sizes @returns {import('../report/target-table.mjs').Row[]} */
export function growthVerdicts(sizes) {
  return sizes.flatMap(({ comparisons }) => comparisons.map(({ name, ratios }) => verdict(name, ratios)));
}

/** @param {string} name @param {Record<string, import('../measure/turns.mjs').Ratios>} ratios @returns {import('../report/target-table.mjs').Row} */
function verdict(name, ratios) {
  const worst = (/** @type {keyof import('../measure/turns.mjs').Ratios} */ figure) =>
    Math.max(...Object.values(ratios).map((ratio) => ratio[figure])) - 1;
  const [server, redis, commands] = [worst('server'), worst('redis'), worst('commands')];
  return {
    key: `growth: ${name}`,
    name: `growth: ${name}; the operation that grows most`,
    values: { server: 100 * server, Redis: 100 * redis, commands: 100 * commands },
    unit: '% more',
    target: `≤ ${100 * GROWTH.server}, ≤ ${100 * GROWTH.redis}, no more (± ${100 * COMMANDS_SLACK})`,
    met: server <= GROWTH.server && redis <= GROWTH.redis && commands <= COMMANDS_SLACK,
  };
}
