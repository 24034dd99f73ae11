/** What is measured: a Redis of our own and the built server over it, fresh for every set of rows. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cpuSeconds, start, startModule, stop, until } from '../measure/processes.mjs';
import { freePort } from '../../scripts/setup/free-port.mjs';
import { startRedis } from './redis.mjs';

/** The built server that is measured unless another one is named. */
export const BUILT_SERVER = join(import.meta.dirname, '..', '..', 'dist', 'main.js');
const HOST = '127.0.0.1';
/** Tokens are made this many at a time. */
const TOKENS_AT_ONCE = 16;

export const NAMESPACE = 'bench';

/**
 * @typedef {object} TestServer
 * @property {string} [host] left out: this machine
 * @property {number} port where requests go
 * @property {string} token of the namespace `bench`
 * @property {() => { server: number, redis: number }} cpu seconds used so far
 * @property {() => Promise<number>} usedMemory Redis's used_memory in bytes
 * @property {() => Promise<import('./redis.mjs').Calls>} calls what Redis has run so far
 * @property {() => Promise<number>} [instructions] of Redis so far, on a test server that counts them
 * @property {(namespaces: string[]) => Promise<string[]>} tokens makes a token for each namespace
 * @property {{ server: number, redis: number }} [pids]
 * @property {number} [redisPort]
 * @property {number} [adminPort]
 * @property {() => Promise<void>} stop
 */

/**
 * Starts Redis and the server.
 *
 * @param {{ program: string, redis: string, aof: 'off' | 'everysec' | 'always', workers: number, counts?: import('../measure/instructions.mjs').CounterName | undefined, settings?: string }} options `settings`: more of its configuration
 * @returns {Promise<TestServer>}
 */
export async function startServer({ program, redis, aof, workers, counts, settings }) {
  const store = await startRedis(redis, aof, counts);
  const testServer = await startServerOn({ program, store, workers, settings });
  return {
    ...testServer,
    async stop() {
      await testServer.stop();
      await store.stop();
    },
  };
}

/**
 * Starts the server over a Redis that is up, and outlives it.
 *
 * @param {{ program: string, store: import('./redis.mjs').MeasuredRedis, workers: number, settings?: string | undefined }} options
 * @returns {Promise<TestServer>}
 */
export async function startServerOn({ program, store, workers, settings }) {
  const { server, port, adminPort } = await spawnServer({ program, store, workers, settings });
  const token = await until(server, () => makeToken(adminPort, NAMESPACE));
  await until(server, () => ready(port, token));
  return {
    port,
    token,
    cpu: () => ({ server: cpuSeconds(server.pid), redis: store.cpu() }),
    usedMemory: store.usedMemory,
    calls: store.calls,
    ...(store.instructions && { instructions: store.instructions }),
    tokens: (namespaces) => makeTokens(adminPort, namespaces),
    pids: { server: server.pid, redis: store.pid },
    redisPort: store.port,
    adminPort,
    stop: () => stop(server),
  };
}

/**
 * Runs `act` on a server of its own.
 *
 * @template T
 * @param {{ program: string, redis: string, aof: 'off' | 'everysec', workers: number }} options
 * @param {(testServer: TestServer) => Promise<T>} act
 * @returns {Promise<T>}
 */
export async function withServer(options, act) {
  const testServer = await startServer(options);
  try {
    return await act(testServer);
  } finally {
    await testServer.stop();
  }
}

/**
 * Starts the server over a Redis that is up, and does not wait for it.
 *
 * @param {{ program: string, store: import('./redis.mjs').MeasuredRedis, workers: number, settings?: string | undefined }} options
 */
export async function spawnServer({ program, store, workers, settings = '' }) {
  if (!existsSync(program)) throw new Error(`${program} is missing: run \`npm run build\` first`);
  const [port, adminPort] = [await freePort(), await freePort()];
  const config = join(store.folder, 'bench.toml');
  writeFileSync(config, configText({ port, adminPort, store, workers }) + settings);
  const spawnedMs = performance.now();
  const server = start(process.execPath, [program, '-c', config], { cwd: store.folder });
  return { server, port, adminPort, spawnedMs };
}

/** Calls of the native API. @param {number} port @param {string} token */
export function callsOn(port, token) {
  return async (/** @type {string} */ method, /** @type {string} */ path, /** @type {object} */ body) => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/${NAMESPACE}/${path}`, {
      method,
      headers: { 'x-token': token, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
}

/** Starts the bare server. @param {number} [redisPort] it stores each body there @returns {Promise<TestServer>} */
export async function startBare(redisPort) {
  const args = redisPort === undefined ? [] : [String(redisPort)];
  const server = startModule(join(import.meta.dirname, 'bare-server.mjs'), args);
  const port = await new Promise((resolve) =>
    server.child.once('message', (message) => resolve(message.port)),
  );
  return {
    port,
    token: 'none',
    pids: { server: server.pid, redis: 0 },
    cpu: () => ({ server: cpuSeconds(server.pid), redis: 0 }),
    usedMemory: () => Promise.resolve(0),
    calls: () => Promise.resolve({ commands: 0, scripts: 0 }),
    tokens: (namespaces) => Promise.resolve(namespaces.map(() => 'none')),
    stop: () => stop(server, 'SIGKILL'),
  };
}

/** A call may take long: a stall of a machine that others use too is in the figures, and must not end the run. */
function configText({ port, adminPort, store, workers }) {
  return `
[server]
host = "${HOST}"
port = ${port}
workers = ${workers}
drain_ms = 1000
ready_lag_ms = 0

[admin]
host = "${HOST}"
port = ${adminPort}

[pools.default]
${store.cluster ? `cluster = ${JSON.stringify(store.cluster.map((one) => `${HOST}:${one}`))}` : `url = "redis://${HOST}:${store.port}"`}
allow_unsafe = true

[redis]
command_timeout_ms = 10000

[data]
dir = "${join(store.folder, 'data')}"

[log]
level = "warn"
`;
}

/** @param {number} adminPort @param {string[]} namespaces */
export async function makeTokens(adminPort, namespaces) {
  /** @type {string[]} */
  const tokens = [];
  for (let from = 0; from < namespaces.length; from += TOKENS_AT_ONCE) {
    const some = namespaces.slice(from, from + TOKENS_AT_ONCE);
    tokens.push(...(await Promise.all(some.map((namespace) => makeToken(adminPort, namespace)))));
  }
  return tokens;
}

/** @param {number} adminPort @param {string} namespace @returns {Promise<string>} */
function makeToken(adminPort, namespace) {
  return requestToken(`http://${HOST}:${adminPort}`, namespace);
}

/** Makes a token as lmstfy's admin port does. @param {string} admin its URL @param {string} namespace @returns {Promise<string>} */
export async function requestToken(admin, namespace) {
  const url = new URL(`/token/${namespace}?description=bench`, admin);
  const response = await fetch(url, { method: 'POST' });
  if (response.status !== 201) throw new Error(`no token: status ${response.status}`);
  return (await response.json()).token;
}

async function ready(/** @type {number} */ port, /** @type {string} */ token) {
  const response = await fetch(`http://${HOST}:${port}/api/${NAMESPACE}/none`, {
    headers: { 'X-Token': token },
  });
  if (response.status !== 404) throw new Error(`status ${response.status}`);
}
