/**
 * The parts of a run, in their order. Each measures, prints its tables, and adds to the figures that are written as JSON; what has a
 * target goes to `figures.targets` too.
 */
import { runAgainst } from './against.mjs';
import { bytesVerdicts, measureBytes } from './bytes.mjs';
import { growBacklog, growNamespaces, growQueues, growthVerdicts } from './growth.mjs';
import { idleVerdicts } from './idle.mjs';
import { PLOT, writePlot } from './plot.mjs';
import { bytesTable, comparisonTable, growthTable, idleTable, stageTable } from './report.mjs';
import { measureStart, startVerdicts } from './start-time.mjs';
import { runStage, STAGES, throughputVerdicts } from './throughput.mjs';
import { runInProcess } from './in-process.mjs';
import { runNative } from './native.mjs';
import { runPush } from './push.mjs';
import { runSteady } from './steady.mjs';
import { runTiming } from './timing.mjs';
import { runWaiters } from './waiters.mjs';
import { runWakeUps } from './wake-ups.mjs';
import { runWorkers } from './workers.mjs';

/** @typedef {import('./run.mjs').Context} Context */
/** @typedef {Record<string, any>} Figures */
/** `isQuick`: a quick run has it unless it is told `--only` which parts to run. */
/** @typedef {{ name: string, isQuick: boolean, run: (context: Context, figures: Figures) => Promise<void> }} Part */

/** @param {Figures} figures @param {string} part @param {import('./targets.mjs').Row[]} rows in place of those it had */
function setTargets(figures, part, rows) {
  figures.targets = { ...figures.targets, [part]: rows };
}

/** @param {string} title @param {string[]} tables */
function print(title, ...tables) {
  console.log(`### ${title}\n\n${tables.join('\n\n')}\n`);
}

/** @param {keyof typeof STAGES} name @returns {Part} */
function stagePart(name) {
  return {
    name,
    isQuick: name === '1 worker, AOF off' || name === '2 workers, AOF everysec',
    async run(context, figures) {
      const stage = await runStage(context, name);
      print(`${name}, E = ${stage.e.toFixed(1)}`, stageTable(stage));
      figures.stages = { ...figures.stages, [name]: stage };
      // A row counts with the number of workers that serves it better: each stage judges all so far.
      setTargets(figures, 'throughput', throughputVerdicts(figures.stages));
    },
  };
}

/** @type {Part} */
const backlogPart = {
  name: 'growth: backlog',
  isQuick: true,
  async run(context, figures) {
    const sizes = await growBacklog(context);
    print('Growth: jobs in one queue', growthTable(sizes), comparisonTable(sizes));
    figures.growth = { ...figures.growth, backlog: sizes };
    setTargets(figures, 'backlog', growthVerdicts(sizes));
    if (!context.plot) return;
    writePlot(sizes, context.machine);
    context.log(`drawn: ${PLOT}`);
  },
};

/** @type {Part} */
const queuesPart = {
  name: 'growth: queues',
  isQuick: false,
  async run(context, figures) {
    const sizes = await growQueues(context);
    print('Growth: queues', growthTable(sizes), comparisonTable(sizes));
    figures.growth = { ...figures.growth, queues: sizes };
    setTargets(figures, 'queues', growthVerdicts(sizes));
  },
};

/** @type {Part} */
const namespacesPart = {
  name: 'growth: namespaces; idle',
  isQuick: false,
  async run(context, figures) {
    const { sizes, idle } = await growNamespaces(context);
    print(
      'Growth: namespaces',
      growthTable(sizes),
      comparisonTable(sizes),
      ...(idle ? [idleTable(idle)] : []),
    );
    figures.growth = { ...figures.growth, namespaces: sizes, idle };
    setTargets(figures, 'namespaces', [
      ...growthVerdicts(sizes),
      ...idleVerdicts(idle, sizes[0]?.name ?? ''),
    ]);
  },
};

/** @type {Part} */
const bytesPart = {
  name: 'bytes',
  isQuick: true,
  async run(context, figures) {
    const bytes = await measureBytes(context);
    print('Bytes per job', bytesTable('ready', bytes.ready), bytesTable('scheduled', bytes.scheduled));
    figures.bytes = bytes;
    setTargets(figures, 'bytes', bytesVerdicts(bytes));
  },
};

/** @type {Part} */
const startPart = {
  name: 'start',
  isQuick: true,
  async run(context, figures) {
    figures.start = await measureStart(context);
    setTargets(figures, 'start', startVerdicts(figures.start));
  },
};

/**
 * One that has targets and no table of its own, by one worker. Its name is the key of its figures.
 *
 * @param {string} name
 * @param {boolean} isQuick
 * @param {(options: import('./alone.mjs').Options) => Promise<{ rows: import('./targets.mjs').Row[] }>} measure
 * @returns {Part}
 */
function targetsPart(name, isQuick, measure) {
  return {
    name,
    isQuick,
    async run({ program, redis, quick, log }, figures) {
      figures[name] = await measure({ program, redis, workers: 1, quick, log });
      setTargets(figures, name, figures[name].rows);
    },
  };
}

/** Thousands of idle long polls: not in a quick run, for resting and settling alone take half a minute. */
const waitersPart = targetsPart('waiters', false, runWaiters);
/** One job now and then, for one of many who wait. */
const wakeUpsPart = targetsPart('wake-ups', true, runWakeUps);
/** The native API, and few connections on both APIs. */
const nativePart = targetsPart('native', true, runNative);
/** The engine as a library, and BullMQ beside it. */
const inProcessPart = targetsPart('in process', true, runInProcess);
/** Workers over Redis alone, over HTTP and of BullMQ. */
const workersPart = targetsPart('workers', true, runWorkers);
/** HTTP push to a receiver on this machine. */
const pushPart = targetsPart('push', false, runPush);
/** Jobs at a steady rate, and workers that wait for them. */
const steadyPart = targetsPart('steady', false, runSteady);
/** Delays, leases that run out, many jobs due at one instant. */
const timingPart = targetsPart('timing', true, runTiming);

/** @type {Part[]} */
export const PARTS = [
  ...Object.keys(STAGES).map((name) => stagePart(/** @type {keyof typeof STAGES} */ (name))),
  nativePart,
  inProcessPart,
  workersPart,
  pushPart,
  backlogPart,
  queuesPart,
  namespacesPart,
  bytesPart,
  startPart,
  waitersPart,
  wakeUpsPart,
  steadyPart,
  timingPart,
];

/** The rows on a server that runs already. @param {import('./against.mjs').Other} other @returns {Part} */
export function againstPart(other) {
  return {
    name: 'against',
    isQuick: true,
    async run(context, figures) {
      const stage = await runAgainst(context, other);
      print(`${other.url}, E = ${stage.e.toFixed(1)}`, stageTable(stage));
      figures.stages = { [other.url]: stage };
    },
  };
}
