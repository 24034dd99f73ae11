/**
 * The scenarios of a run, in their order. Each measures, prints its tables, and adds to the figures that are written as JSON; what has a
 * target goes to `figures.targets` too.
 */
import { measureRunningServer } from './running-server.mjs';
import { bytesVerdicts, measureBytes } from './job-memory.mjs';
import { growBacklog, growNamespaces, growQueues, growthVerdicts } from './growth.mjs';
import { idleVerdicts } from './idle.mjs';
import { CHART, writeChart } from '../report/growth-chart.mjs';
import { bytesTable, comparisonTable, growthTable, idleTable, throughputTable } from '../report/tables.mjs';
import { measureStart, startVerdicts } from './start-time.mjs';
import { runConfiguration, CONFIGURATIONS, throughputVerdicts } from './throughput.mjs';
import { runCluster } from '../cluster.mjs';
import { runConsole } from '../console.mjs';
import { runExplain } from '../explain.mjs';
import { runFairKeys } from '../fair-keys.mjs';
import { runFsync } from '../fsync.mjs';
import { runInProcess } from '../in-process.mjs';
import { runMonthAhead } from '../month-ahead.mjs';
import { runNative } from '../native.mjs';
import { runOperations } from '../operations.mjs';
import { runPush } from '../push.mjs';
import { runSteady } from '../steady.mjs';
import { runTiming } from '../timing.mjs';
import { runTypes } from '../types.mjs';
import { runWaiters } from '../waiters.mjs';
import { runWakeUps } from '../wake-ups.mjs';
import { runWorkers } from '../workers.mjs';

/** @typedef {import('../run.mjs').Context} Context */
/** @typedef {Record<string, any>} Figures */
/** `isQuick`: a quick run has it unless it is told `--only` which scenarios to run. */
/** @typedef {{ name: string, isQuick: boolean, run: (context: Context, figures: Figures) => Promise<void> }} Scenario */

/** @param {Figures} figures @param {string} scenario @param {import('../report/target-table.mjs').Row[]} rows in place of those it had */
function setTargets(figures, scenario, rows) {
  figures.targets = { ...figures.targets, [scenario]: rows };
}

/** @param {string} title @param {string[]} tables */
function print(title, ...tables) {
  console.log(`### ${title}\n\n${tables.join('\n\n')}\n`);
}

/** @param {keyof typeof CONFIGURATIONS} name @returns {Scenario} */
function throughputScenario(name) {
  return {
    name,
    isQuick: name === '1 worker, AOF off' || name === '2 workers, AOF everysec',
    async run(context, figures) {
      const configuration = await runConfiguration(context, name);
      print(`${name}, E = ${configuration.e.toFixed(1)}`, throughputTable(configuration));
      figures.configurations = { ...figures.configurations, [name]: configuration };
      // A row counts with the number of workers that serves it better: each configuration judges all so far.
      setTargets(figures, 'throughput', throughputVerdicts(figures.configurations));
    },
  };
}

/** @type {Scenario} */
const backlogScenario = {
  name: 'growth: backlog',
  isQuick: true,
  async run(context, figures) {
    const sizes = await growBacklog(context);
    print('Growth: jobs in one queue', growthTable(sizes), comparisonTable(sizes));
    figures.growth = { ...figures.growth, backlog: sizes };
    setTargets(figures, 'backlog', growthVerdicts(sizes));
    if (!context.plot) return;
    writeChart(sizes, context.machine);
    context.log(`drawn: ${CHART}`);
  },
};

/** @type {Scenario} */
const queuesScenario = {
  name: 'growth: queues',
  isQuick: false,
  async run(context, figures) {
    const sizes = await growQueues(context);
    print('Growth: queues', growthTable(sizes), comparisonTable(sizes));
    figures.growth = { ...figures.growth, queues: sizes };
    setTargets(figures, 'queues', growthVerdicts(sizes));
  },
};

/** @type {Scenario} */
const namespacesScenario = {
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

/** @type {Scenario} */
const bytesScenario = {
  name: 'bytes',
  isQuick: true,
  async run(context, figures) {
    const bytes = await measureBytes(context);
    print('Bytes per job', bytesTable('ready', bytes.ready), bytesTable('scheduled', bytes.scheduled));
    figures.bytes = bytes;
    setTargets(figures, 'bytes', bytesVerdicts(bytes));
  },
};

/** @type {Scenario} */
const startScenario = {
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
 * @param {(options: import('./standalone.mjs').Options) => Promise<{ rows: import('../report/target-table.mjs').Row[] }>} measure
 * @returns {Scenario}
 */
function targetsScenario(name, isQuick, measure) {
  return {
    name,
    isQuick,
    async run({ program, redis, quick, jobs, log }, figures) {
      const size = jobs === undefined ? {} : { jobs };
      figures[name] = await measure({ program, redis, workers: 1, quick, ...size, log });
      setTargets(figures, name, figures[name].rows);
    },
  };
}

/** Thousands of idle long polls: not in a quick run, resting and settling take half a minute. */
const waitersScenario = targetsScenario('waiters', false, runWaiters);
/** One job now and then, for one of many who wait. */
const wakeUpsScenario = targetsScenario('wake-ups', true, runWakeUps);
/** The native API, and few connections on both APIs. */
const nativeScenario = targetsScenario('native', true, runNative);
/** Why a job does not run, in a long queue: what the script takes. */
const explainScenario = targetsScenario('explain', false, runExplain);
/** Actions over all jobs of a filter. */
const operationsScenario = targetsScenario('operations', false, runOperations);
/** Leases by type, behind jobs of another type. */
const typesScenario = targetsScenario('types', false, runTypes);
/** Ten million jobs, due in a month. */
const monthScenario = targetsScenario('month ahead', false, runMonthAhead);
/** 64 namespaces over four masters. */
const clusterScenario = targetsScenario('cluster', false, runCluster);
/** An fsync before each answer. */
const fsyncScenario = targetsScenario('fsync', false, runFsync);
/** Fair queues with many keys. */
const fairKeysScenario = targetsScenario('fair keys', false, runFairKeys);
/** The engine as a library, and BullMQ beside it. */
const inProcessScenario = targetsScenario('in process', true, runInProcess);
/** Workers over Redis alone, over HTTP and of BullMQ. */
const workersScenario = targetsScenario('workers', true, runWorkers);
/** HTTP push to a receiver on this machine. */
const pushScenario = targetsScenario('push', false, runPush);
/** Jobs at a steady rate, and workers that wait for them. */
const steadyScenario = targetsScenario('steady', false, runSteady);
/** Delays, leases that run out, many jobs due at one instant. */
const timingScenario = targetsScenario('timing', true, runTiming);
/** The history of queues, and overviews that poll. */
const consoleScenario = targetsScenario('console', false, runConsole);

/** @type {Scenario[]} */
export const SCENARIOS = [
  ...Object.keys(CONFIGURATIONS).map((name) =>
    throughputScenario(/** @type {keyof typeof CONFIGURATIONS} */ (name)),
  ),
  nativeScenario,
  explainScenario,
  operationsScenario,
  typesScenario,
  fairKeysScenario,
  fsyncScenario,
  clusterScenario,
  monthScenario,
  inProcessScenario,
  workersScenario,
  pushScenario,
  backlogScenario,
  queuesScenario,
  namespacesScenario,
  bytesScenario,
  startScenario,
  waitersScenario,
  wakeUpsScenario,
  steadyScenario,
  timingScenario,
  consoleScenario,
];

/** The rows on a server that runs already. @param {import('./running-server.mjs').Other} other @returns {Scenario} */
export function runningServerScenario(other) {
  return {
    name: 'against',
    isQuick: true,
    async run(context, figures) {
      const configuration = await measureRunningServer(context, other);
      print(`${other.url}, E = ${configuration.e.toFixed(1)}`, throughputTable(configuration));
      figures.configurations = { [other.url]: configuration };
    },
  };
}
