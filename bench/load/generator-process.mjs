/**
 * The load generator: a child process that holds the connections and runs one workload after the other, as the parent tells it over
 * IPC. The same generator runs all workloads of a run, the bare server's included. Its own CPU is not counted.
 */
import { performance } from 'node:perf_hooks';
import { answerParent } from './child-process.mjs';
import { Connection } from './connection.mjs';
import { held } from '../measure/processes.mjs';
import { sendRequest } from './pacing.mjs';
import { REQUEST_PLANS } from './requests.mjs';
import { quantiles } from '../measure/quantiles.mjs';

/** @type {Connection[]} */
let connections = [];
let token = '';
/** Lists of targets that workloads name. @type {Map<string, import('./requests.mjs').Target[]>} */
const spreads = new Map();

/**
 * Runs as many operations as the workload says, or as `maxMs` allows, in a closed loop over all connections, or over the first
 * `connections`. A workload with `hold`, the server's process id, is run in batches instead.
 *
 * @param {any} workload
 */
async function run(workload) {
  const make = REQUEST_PLANS[workload.requests];
  if (!make) throw new Error(`no such requests: ${workload.requests}`);
  const plan = make(
    workload,
    (workload.spread && spreads.get(workload.spread)) ?? [{ path: workload.path, token }],
  );
  if (plan.total < 1) throw new Error(`${workload.name}: the workloads before it left nothing to do`);
  const latencies = new Float64Array(plan.total);
  const startedMs = performance.now();
  const deadlineMs = startedMs + workload.maxMs;
  let [begun, done] = [0, 0];
  const nextOperation = () => (begun < plan.total && performance.now() < deadlineMs ? begun++ : null);
  const onDone = (/** @type {number} */ ms) => (latencies[done++] = ms);
  const used = connections.slice(0, workload.connections);
  if (workload.hold) await runInBatches(used, { ...workload, plan, onDone });
  else {
    await Promise.all(
      used.map((connection) => runOn(connection, { name: workload.name, plan, nextOperation, onDone })),
    );
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const { p50, p99, max } = quantiles(latencies.subarray(0, done));
  return { operations: done, seconds, p50, p99, max };
}

/**
 * Runs operations on one connection until there are no more.
 *
 * @param {Connection} connection
 * @param {{ name: string, plan: import('./requests.mjs').RequestPlan, nextOperation: () => number | null, onDone: (ms: number) => void }} workload
 * @returns {Promise<void>}
 */
function runOn(connection, { name, plan, nextOperation, onDone }) {
  return new Promise((resolve, reject) => {
    const operation = () => {
      const n = nextOperation();
      if (n === null) return resolve();
      const startedMs = performance.now();
      const step = (/** @type {number} */ at, /** @type {string} */ answer) => {
        const sent = plan.next(n, at, answer);
        if (!sent) {
          onDone(performance.now() - startedMs);
          return operation();
        }
        const { request, expect, wantsBody, check } = sent;
        const answered = (/** @type {number} */ status, /** @type {string} */ body) => {
          if (status === expect && (!check || check(body))) step(at + 1, body);
          else reject(new Error(`${name}: status ${status}, not what was expected (${expect}): ${body}`));
        };
        connection.send(request, wantsBody, answered, reject);
      };
      step(0, '');
    };
    operation();
  });
}

/**
 * Runs one operation on each connection at a time. The server is stopped while their requests are sent, so it reads all of them in
 * one turn of its event loop: the script calls that Redis gets are the same in every run.
 *
 * @param {Connection[]} clients
 * @param {{ name: string, hold: number, plan: import('./requests.mjs').RequestPlan, onDone: (ms: number) => void }} workload
 */
async function runInBatches(clients, { name, hold, plan, onDone }) {
  for (let first = 0; first < plan.total; first += clients.length) {
    const batch = clients.slice(0, plan.total - first);
    const startedMs = performance.now();
    let answers = batch.map(() => '');
    for (let step = 0; ; step++) {
      const sent = answers.flatMap((answer, at) => plan.next(first + at, step, answer) ?? []);
      if (sent.length === 0) break;
      const send = (
        /** @type {import('./requests.mjs').Sent} */ { request, expect },
        /** @type {number} */ at,
      ) => sendRequest(/** @type {Connection} */ (batch[at]), request, expect);
      answers = (await Promise.all(held(hold, () => sent.map(send)))).map(({ body }) => body);
      const wrong = answers.find((answer, at) => sent[at]?.check?.(answer) === false);
      if (wrong !== undefined) throw new Error(`${name}: not what was expected: ${wrong}`);
    }
    for (const _ of batch) onDone(performance.now() - startedMs);
  }
}

answerParent({
  run,
  /** Opens connections to another server; those to the one before are closed. */
  async connect({ host, port, token: its, count }) {
    for (const connection of connections) connection.close();
    token = its;
    connections = Array.from({ length: count }, () => new Connection(host, port));
    await Promise.all(connections.map(({ opened }) => opened));
  },
  /** Gives a list of targets a name. */
  spread({ name, targets }) {
    spreads.set(name, targets);
  },
});
