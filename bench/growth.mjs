/** What an operation costs as the store grows: in jobs, in queues, in namespaces. One worker, AOF off. */
import { pause } from './child.mjs';
import { fillEach, fillQueue, namespaceTargets, queueTargets } from './fill.mjs';
import { COMMANDS_SLACK, GROWTH } from './goals.mjs';
import { measureIdle } from './idle.mjs';
import { figuresOf, playRounds, ratiosOf } from './rounds.mjs';
import { startServer } from './stage.mjs';
import { warmUp } from './throughput.mjs';

/**
 * A store of a certain size, and what it is held against.
 *
 * @typedef {object} Sized
 * @property {string} name
 * @property {number} jobs that wait in it
 * @property {number} e
 * @property {number} bareRate
 * @property {Record<string, import('./generator.mjs').Measured>} figures
 * @property {{ name: string, ratios: Record<string, import('./rounds.mjs').Ratios> }[]} comparisons
 */

/** @typedef {import('./run.mjs').Context} Context */
/** @typedef {import('./stage.mjs').Stage} Stage */

/** Statistics of the last requests are written by then, in milliseconds. */
const SETTLE_MS = 2_000;

const count = (/** @type {number} */ n) => n.toLocaleString('en');

/** One queue with more and more jobs. @param {Context} context @returns {Promise<Sized[]>} */
export function growBacklog(context) {
  const { load, size, log } = context;
  return onServers(context, ['empty', 'full'], async (stages) => {
    const contestants = { empty: { stage: stages.empty }, full: { stage: stages.full } };
    const before = await playRounds(context, contestants);
    const sizes = [sized('empty', 0, before, [])];
    for (const jobs of size.growth.backlogs.slice(1)) {
      await load.connect(stages.full);
      const missing = jobs - (sizes.at(-1)?.jobs ?? 0);
      const { rate } = await fillQueue(load, stages.full, 'row', missing);
      log(`growth: ${count(jobs)} jobs in one queue, stored at ${count(Math.round(rate))}/s`);
      const after = await playRounds(context, contestants);
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
  const targetsOn = (/** @type {number} */ many) => (/** @type {Stage} */ stage) =>
    Promise.resolve(queueTargets(many, stage.token));
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
    full: (stage) => namespaceTargets(stage, namespaces, queues),
    similar: (stage) => namespaceTargets(stage, namespaces, namespaces),
    atTheEnd: async (stages) => void (idle = await measureIdle(context, stages)),
  });
  return { sizes, idle };
}

/**
 * @param {Context} context
 * @param {object} store
 * @param {string} store.name
 * @param {number} store.each jobs in each queue
 * @param {(stage: Stage) => Promise<import('./plays.mjs').Target[]>} store.full
 * @param {(stage: Stage) => Promise<import('./plays.mjs').Target[]>} store.similar of the small store: one job in each queue, so that none is forgotten
 * @param {(stages: { empty: Stage, full: Stage }) => Promise<void>} [store.atTheEnd]
 * @returns {Promise<Sized[]>}
 */
function growSpread(context, { name, each, full, similar, atTheEnd }) {
  const { load, log } = context;
  return onServers(context, ['empty', 'similar', 'full'], async (stages) => {
    const contestants = Object.fromEntries(Object.entries(stages).map(([who, stage]) => [who, { stage }]));
    const before = await playRounds(context, contestants);
    const fillOne = async (/** @type {'similar' | 'full'} */ who, targets, jobs) => {
      await load.connect(stages[who]);
      contestants[who] = { stage: stages[who], spread: who };
      return fillEach(load, stages[who], { name: who, targets }, jobs);
    };
    await fillOne('similar', await similar(stages.similar), 1);
    const { operations, rate } = await fillOne('full', await full(stages.full), each);
    log(`growth: ${name}, ${count(operations)} jobs, stored at ${count(Math.round(rate))}/s`);
    const after = await playRounds(context, contestants);
    // Not in turns with the others: what requests to thousands of queues leave to be done within the second would be in these.
    await pause(SETTLE_MS);
    const sameAfter = await playRounds(context, {
      empty: { stage: stages.empty },
      full: { stage: stages.full },
    });
    await atTheEnd?.(stages);
    const against = (
      /** @type {string} */ what,
      /** @type {string} */ empty,
      /** @type {import('./rounds.mjs').Rounds} */ played,
    ) => ({
      name: `${name}, ${what}`,
      ratios: ratiosOf({ before, after: played, full: 'full', empty }),
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
 * @param {import('./rounds.mjs').Rounds} rounds
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
 * @param {(stages: Record<Name, Stage>) => Promise<T>} act
 */
async function onServers({ load, size, program, redis }, names, act) {
  const kind = { program, redis, aof: /** @type {const} */ ('off'), workers: 1 };
  const starts = await Promise.allSettled(names.map(() => startServer(kind)));
  const started = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  try {
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    for (const stage of started) {
      await load.connect(stage);
      await warmUp(load, stage, size.growth.warm);
    }
    return await act(/** @type {any} */ (Object.fromEntries(names.map((name, at) => [name, started[at]]))));
  } finally {
    await Promise.all(started.map((stage) => stage.stop()));
  }
}

/** @param {Sized[]} sizes @returns {import('./targets.mjs').Row[]} */
export function growthVerdicts(sizes) {
  return sizes.flatMap(({ comparisons }) => comparisons.map(({ name, ratios }) => verdict(name, ratios)));
}

/** @param {string} name @param {Record<string, import('./rounds.mjs').Ratios>} ratios @returns {import('./targets.mjs').Row} */
function verdict(name, ratios) {
  const worst = (/** @type {keyof import('./rounds.mjs').Ratios} */ figure) =>
    Math.max(...Object.values(ratios).map((ratio) => ratio[figure])) - 1;
  const [server, redis, commands] = [worst('server'), worst('redis'), worst('commands')];
  return {
    key: `growth: ${name}`,
    name: `growth: ${name}; the operation that grows most`,
    values: { server: 100 * server, Redis: 100 * redis, commands: 100 * commands },
    unit: '% dearer',
    target: `≤ ${100 * GROWTH.server}, ≤ ${100 * GROWTH.redis}, no more (± ${100 * COMMANDS_SLACK})`,
    met: server <= GROWTH.server && redis <= GROWTH.redis && commands <= COMMANDS_SLACK,
  };
}
