#!/usr/bin/env node
/**
 * The benchmark: `npm run bench [-- FLAGS]`; docs/benchmarks.md says what is measured, and how.
 *
 *     --quick                 small sizes, each row once: under a minute
 *     --only "NAME;…"         only the scenarios whose names contain one of these
 *     --jobs N                of the scenarios that have a size of their own: operations
 *     --compare FILE          prints what has changed since the run that FILE holds
 *     --plot                  draws docs/growth.svg also of a quick run
 *     --out FILE              where the figures go as JSON, instead of bench/results/
 *     --redis PROGRAM --server FILE   other programs than redis-server and the built server
 *     --against URL           the rows on a server that runs already; --token T or --admin URL, --pid N,… --redis-pid N,…
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { cleaningUp } from './scenarios/standalone.mjs';
import { comparison } from './report/compare.mjs';
import { CONNECTIONS, startGenerator } from './load/generator.mjs';
import { machine } from './measure/processes.mjs';
import { runningServerScenario, SCENARIOS } from './scenarios/all.mjs';
import { BODY, BULK } from './load/workloads.mjs';
import { FULL, QUICK } from './scenarios/sizes.mjs';
import { BUILT_SERVER } from './servers/test-server.mjs';
import { targetTable } from './report/target-table.mjs';

/**
 * What every scenario works with.
 *
 * @typedef {object} Context
 * @property {string} program the built server's main file
 * @property {string} redis the redis-server program
 * @property {boolean} quick
 * @property {number} [jobs] how many, in place of the size of the run
 * @property {typeof FULL} size
 * @property {import('./load/generator.mjs').Generator} load
 * @property {ReturnType<typeof machine>} machine
 * @property {boolean} plot whether the growth of the backlog is drawn
 * @property {(text: string) => void} log gets progress messages
 */

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    jobs: { type: 'string' },
    compare: { type: 'string' },
    plot: { type: 'boolean', default: false },
    out: { type: 'string' },
    redis: { type: 'string', default: 'redis-server' },
    server: { type: 'string', default: BUILT_SERVER },
    against: { type: 'string' },
    token: { type: 'string' },
    admin: { type: 'string' },
    pid: { type: 'string', default: '' },
    'redis-pid': { type: 'string', default: '' },
  },
});

/** The scenarios to run, in their order. @returns {import('./scenarios/all.mjs').Scenario[]} */
function wantedScenarios() {
  const numbers = (/** @type {string} */ list) => list.split(',').filter(Boolean).map(Number);
  if (flags.against) {
    const { token, admin, pid, 'redis-pid': redisPid } = flags;
    const known = { ...(token ? { token } : {}), ...(admin ? { admin } : {}) };
    return [
      runningServerScenario({
        url: flags.against,
        ...known,
        pids: numbers(pid),
        redisPids: numbers(redisPid),
      }),
    ];
  }
  const names = flags.only?.split(';').map((wanted) => wanted.trim());
  const isInRun = ({ name, isQuick }) =>
    names ? names.some((wanted) => name.includes(wanted)) : isQuick || !flags.quick;
  const wanted = SCENARIOS.filter(isInRun);
  if (wanted.length > 0) return wanted;
  throw new Error(`no scenario of that name; there are: ${SCENARIOS.map(({ name }) => name).join('; ')}`);
}

/** @param {ReturnType<typeof machine>} about */
function heading({ cpu, cores, node, redis, commit, startedAt, loadAverageBefore }) {
  return (
    `${cpu}, ${cores} cores; Node ${node}, Redis ${redis}; commit ${commit}, ${startedAt.slice(0, 16)}Z; load average before: ` +
    `${loadAverageBefore.join(' ')}. Columns \`server\` and \`Redis\` are CPU seconds per million operations.\n`
  );
}

await cleaningUp(async () => {
  const startedMs = performance.now();
  const scenarios = wantedScenarios();
  const about = machine(flags.redis);
  console.log(heading(about));
  /** @type {Context} */
  const context = {
    program: flags.server,
    redis: flags.redis,
    quick: flags.quick,
    ...(flags.jobs === undefined ? {} : { jobs: Number(flags.jobs) }),
    size: flags.quick ? QUICK : FULL,
    load: startGenerator(),
    machine: about,
    plot: flags.plot || !flags.quick,
    log: (text) => console.error(text),
  };
  /** @type {Record<string, any>} */
  const figures = {};
  for (const { name, run } of scenarios) {
    const partMs = performance.now();
    await run(context, figures);
    context.log(`${name}: ${((performance.now() - partMs) / 1_000).toFixed(1)} s`);
  }
  await context.load.stop();

  const targets = Object.values(figures.targets ?? {}).flat();
  if (targets.length > 0) console.log(`### Targets\n\n${targetTable(targets)}\n`);
  const settings = {
    connections: CONNECTIONS,
    bodyBytes: BODY.length,
    bulk: BULK,
    size: context.size,
    quick: flags.quick,
  };
  const seconds = (performance.now() - startedMs) / 1_000;
  const result = { machine: about, settings, seconds, ...figures };
  if (flags.compare) console.log(`${comparison(flags.compare, result)}\n`);
  const out =
    flags.out ?? join(import.meta.dirname, 'results', `${about.startedAt.replaceAll(':', '-')}.json`);
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, `${JSON.stringify(result, null, 2)}\n`);
  console.log(`${seconds.toFixed(0)} s; written to ${out}`);
});
