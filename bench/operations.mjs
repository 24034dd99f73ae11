#!/usr/bin/env node
/**
 * Operations over many jobs, each action over all jobs that it can act on: jobs in a second, how long a step holds Redis, and Redis's CPU
 * for each job. An action that misses a job, or counts one twice, is an error.
 *
 *     runOperations({ program, redis, workers, quick, jobs, killEverySeconds, log }) → { rows: [{ key, name, values, unit, target, met }] }
 *
 * By itself: `node bench/operations.mjs [--quick] [--jobs N] [--kill-every S]`; N live and N dead jobs. AOF is off. With `--kill-every`
 * the server is ended by SIGKILL and started again while the actions run, every S seconds on average.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { runStandalone } from './scenarios/standalone.mjs';
import { pause } from './load/child-process.mjs';
import { startModule, stop, until } from './measure/processes.mjs';
import { startRedis } from './servers/redis.mjs';
import { NAMESPACE, requestToken, spawnServer } from './servers/test-server.mjs';

const JOBS = { full: 1_000_000, quick: 4_000 };
/** Milliseconds of Redis for one step, at most. */
const MOST_MS = 5;
const POLL_MS = 50;
/** Steps that take longer are recorded, in microseconds; and how many. */
const RECORDED = { us: 50, steps: 1_000_000 };

/** In this order each action finds jobs: the dead of `dead-a` are retried, those of `dead-b` respawned, and all of them are deleted at last. */
const ACTIONS = [
  { key: 'dry-run', action: 'cancel', filter: { queue: 'live' }, dry_run: true },
  { key: 'patch', action: 'patch', filter: { queue: 'live' }, set: { priority: 3 } },
  { key: 'move', action: 'move', filter: { queue: 'live' }, to: 'moved' },
  { key: 'cancel', action: 'cancel', filter: { queue: 'moved' } },
  { key: 'retry', action: 'retry', filter: { queue: 'dead-a' }, share: 0.5 },
  { key: 'respawn', action: 'respawn', filter: { queue: 'dead-b' }, share: 0.5 },
  { key: 'delete', action: 'delete', filter: {} },
];

/** @param {import('./scenarios/standalone.mjs').Options} options */
export async function runOperations({ program, redis, workers, quick, jobs, killEverySeconds, log }) {
  const count = jobs ?? (quick ? JOBS.quick : JOBS.full);
  const store = await startRedis(redis, 'off');
  const client = new Redis(store.port, '127.0.0.1', { protocol: 2 });
  try {
    await fill(store.port, count);
    log(`${count} live and ${count} dead jobs`);
    const server = await RestartedServer.start({ program, store, workers }, killEverySeconds);
    try {
      const rows = [];
      for (const { share = 1, ...action } of ACTIONS) {
        rows.push(await measure({ server, client, store }, action, count * share));
        log(`${action.key}: ${JSON.stringify(rows.at(-1)?.values)}`);
      }
      return { rows };
    } finally {
      await server.stop();
    }
  } finally {
    client.disconnect();
    await store.stop();
  }
}

/** A server that is killed and started again while operations run, if a time between kills is given. */
class RestartedServer {
  kills = 0;
  /** @type {Promise<void>} */
  killing = Promise.resolve();
  isKilling = false;

  /** @param {Parameters<typeof spawnServer>[0]} options @param {number} [killEverySeconds] */
  static async start(options, killEverySeconds) {
    const self = new RestartedServer();
    self.options = options;
    self.killEverySeconds = killEverySeconds;
    await self.spawn();
    return self;
  }

  async spawn() {
    const { server, port, adminPort } = await spawnServer(this.options);
    this.server = server;
    const token = (this.token ??= await until(server, () =>
      requestToken(`http://127.0.0.1:${adminPort}`, NAMESPACE),
    ));
    const url = `http://127.0.0.1:${port}/v1/${NAMESPACE}/operations`;
    const headers = { 'x-token': token, 'content-type': 'application/json' };
    await until(server, async () => jsonOf(await fetch(url, { headers })));
    [this.url, this.headers] = [url, headers];
  }

  beginKills() {
    if (this.killEverySeconds === undefined) return;
    this.isKilling = true;
    this.killing = this.kill();
  }

  async kill() {
    while (this.isKilling) {
      await pause(Math.random() * 2_000 * this.killEverySeconds);
      if (!this.isKilling) return;
      await stop(this.server, 'SIGKILL');
      this.kills += 1;
      await this.spawn();
    }
  }

  async endKills() {
    this.isKilling = false;
    await this.killing;
  }

  async stop() {
    await this.endKills();
    await stop(this.server);
  }
}

/** @param {number} port @param {number} count */
async function fill(port, count) {
  const args = [String(port), NAMESPACE, String(count), String(count)];
  const filler = startModule(join(import.meta.dirname, 'load', 'operations-fill-process.mjs'), args);
  await new Promise((resolve, reject) => {
    filler.child.once('exit', (code) =>
      code === 0 ? resolve(undefined) : reject(new Error(`filling ended with ${code}`)),
    );
  });
}

/** @returns {Promise<import('./report/target-table.mjs').Row>} */
async function measure({ server, client, store }, { key, ...request }, expected) {
  await client.config('SET', 'slowlog-log-slower-than', String(RECORDED.us));
  await client.config('SET', 'slowlog-max-len', String(RECORDED.steps));
  await client.slowlog('RESET');
  const [beganMs, cpuBefore, killsBefore] = [performance.now(), store.cpu(), server.kills];
  const operation = await run(server, request);
  const [seconds, cpu] = [(performance.now() - beganMs) / 1_000, store.cpu() - cpuBefore];
  const steps = await stepsOf(client);
  const { matched, done, failed, skipped } = operation;
  const isWhole = matched === expected && (request.dry_run || done === expected);
  if (operation.state !== 'done' || !isWhole || failed + skipped > 0)
    throw new Error(`${key} of ${expected} jobs: ${JSON.stringify(operation)}`);
  const kills = server.kills - killsBefore;
  const values = {
    'jobs/s': matched / seconds,
    steps: steps.length,
    'step p50': part(steps, 0.5),
    p99: part(steps, 0.99),
    max: part(steps, 1),
    'CPU per job': (cpu / matched) * 1_000,
    ...(server.killEverySeconds === undefined ? {} : { kills }),
  };
  return {
    ...{ key: `operations-${key}`, name: `operation: ${key} of ${matched} jobs`, values, unit: 'ms' },
    ...{ target: `p99 ≤ ${MOST_MS}`, met: values.p99 <= MOST_MS },
  };
}

/** Starts an operation and waits for its end, whatever ends the server meanwhile. @param {RestartedServer} server */
async function run(server, request) {
  const { url, headers } = server;
  let answer = await jsonOf(await fetch(url, { method: 'POST', headers, body: JSON.stringify(request) }));
  server.beginKills();
  while (answer.state === 'running') {
    await pause(POLL_MS);
    const found = fetch(`${server.url}/${answer.id}`, { headers }).then(jsonOf);
    answer = await (server.isKilling ? found.catch(() => answer) : found);
  }
  await server.endKills();
  return answer;
}

/** @param {Response} response */
async function jsonOf(response) {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text);
}

/** How long the steps held Redis, in milliseconds, sorted. @param {Redis} client */
async function stepsOf(client) {
  const entries = /** @type {[number, number, number, string[]][]} */ (await client.slowlog('GET', -1));
  const times = entries.flatMap(([, , us, [, name = '']]) =>
    /step_operation/.test(name) ? [us / 1_000] : [],
  );
  return times.sort((one, other) => one - other);
}

/** @param {number[]} sorted @param {number} share */
function part(sorted, share) {
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runStandalone(runOperations);
