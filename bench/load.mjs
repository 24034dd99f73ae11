/**
 * The load generator: a child process that holds the connections and plays one row after the other, as the parent tells it over
 * IPC. The same generator plays all rows of a run, the bare server's included. Its own CPU is not counted.
 */
import { performance } from 'node:perf_hooks';
import { answerParent } from './child.mjs';
import { Connection } from './connection.mjs';
import { held } from './machine.mjs';
import { sendRequest } from './play.mjs';
import { PLAYS } from './plays.mjs';
import { quantiles } from './quantiles.mjs';

/** @type {Connection[]} */
let connections = [];
let token = '';
/** Lists of targets that rows name. @type {Map<string, import('./plays.mjs').Target[]>} */
const spreads = new Map();

/**
 * Plays as many operations as the row says, or as `maxMs` allows, in a closed loop over all connections, or over the first
 * `connections`. A row with `hold`, the server's process id, is played in batches instead.
 *
 * @param {any} row
 */
async function play(row) {
  const make = PLAYS[row.play];
  if (!make) throw new Error(`no such play: ${row.play}`);
  const plan = make(row, (row.spread && spreads.get(row.spread)) ?? [{ path: row.path, token }]);
  if (plan.total < 1) throw new Error(`${row.name}: the rows before it left nothing to do`);
  const latencies = new Float64Array(plan.total);
  const startedMs = performance.now();
  const deadlineMs = startedMs + row.maxMs;
  let [begun, done] = [0, 0];
  const nextOperation = () => (begun < plan.total && performance.now() < deadlineMs ? begun++ : null);
  const onDone = (/** @type {number} */ ms) => (latencies[done++] = ms);
  const used = connections.slice(0, row.connections);
  if (row.hold) await playInBatches(used, { ...row, plan, onDone });
  else {
    await Promise.all(
      used.map((connection) => playOn(connection, { name: row.name, plan, nextOperation, onDone })),
    );
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const { p50, p99, max } = quantiles(latencies.subarray(0, done));
  return { operations: done, seconds, p50, p99, max };
}

/**
 * Plays operations on one connection until there are no more.
 *
 * @param {Connection} connection
 * @param {{ name: string, plan: import('./plays.mjs').Play, nextOperation: () => number | null, onDone: (ms: number) => void }} row
 * @returns {Promise<void>}
 */
function playOn(connection, { name, plan, nextOperation, onDone }) {
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
 * Plays one operation on each connection at a time. The server is stopped while their requests are sent, so it reads all of them in
 * one turn of its event loop: the script calls that Redis gets are the same in every run.
 *
 * @param {Connection[]} clients
 * @param {{ name: string, hold: number, plan: import('./plays.mjs').Play, onDone: (ms: number) => void }} row
 */
async function playInBatches(clients, { name, hold, plan, onDone }) {
  for (let first = 0; first < plan.total; first += clients.length) {
    const batch = clients.slice(0, plan.total - first);
    const startedMs = performance.now();
    let answers = batch.map(() => '');
    for (let step = 0; ; step++) {
      const sent = answers.flatMap((answer, at) => plan.next(first + at, step, answer) ?? []);
      if (sent.length === 0) break;
      const send = (
        /** @type {import('./plays.mjs').Sent} */ { request, expect },
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
  play,
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
